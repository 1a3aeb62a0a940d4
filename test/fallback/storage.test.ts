/** `storage … --crd` on a real kube-apiserver: what etcd holds afterwards is at the version that it says, and nothing is lost on the way. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { writeKubeconfig } from '../../src/commands/kubeconfig.ts'
import { runProduct, type Exit } from '../product.ts'
import { JOBS, startFallback, type Fallback } from './fallback.ts'

const DEFINITION = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/notebookvalidationjobs.mlops.dev'
const COUNT = 60

let fallback: Fallback
before(async () => {
  fallback = await startFallback()
  await Promise.all(Array.from({ length: COUNT }, (_, i) => create(`job-${i}`)))
}, { timeout: 600_000 })
after(async () => await fallback[Symbol.asyncDispose]())

async function create(name: string): Promise<void> {
  const body = { apiVersion: 'mlops.dev/v1', kind: 'NotebookValidationJob', metadata: { name }, spec: { notebook: { git: { url: 'https://git.example/nb.git', revision: 'main' }, path: 'a.ipynb' }, suspend: true, comparison: { mode: 'Exact' } } }
  assert.equal((await fallback.plane.send('POST', JOBS('v1'), { body })).status, 201)
}

const storage = (...args: string[]): Promise<Exit> => runProduct(['storage', ...args, '--crd', '--kubeconfig', fallback.plane.kubeconfig])
async function must(code: number, ...args: string[]): Promise<Exit> {
  const exit = await storage(...args)
  assert.equal(exit.code, code, `${args.join(' ')}: ${exit.stdout}${exit.stderr}`)
  return exit
}

/** The versions in the bytes of etcd. */
async function storedAt(): Promise<Record<string, number>> {
  const values = await fallback.plane.etcd.client.getAll().prefix('/registry/mlops.dev/notebookvalidationjobs/').strings()
  const counts: Record<string, number> = {}
  for (const value of Object.values(values)) {
    const { apiVersion } = JSON.parse(value) as { apiVersion: string }
    counts[apiVersion] = (counts[apiVersion] ?? 0) + 1
  }
  return counts
}
const storedVersions = async (): Promise<string[]> => (await fallback.plane.send('GET', DEFINITION)).body.status.storedVersions
const digest = async (): Promise<string> => /digest (\w+)/.exec((await must(0, 'verify', '--deep')).stdout)![1]!

test('objects go to the poorest version and back, and lose nothing; what is proven is trimmed', { timeout: 300_000 }, async () => {
  assert.match((await must(0, 'status')).stdout, /store: kube-apiserver v1\.36\.3, revision [\d,]+\n\nnotebookvalidationjobs\.mlops\.dev\n {2}objects {9}60: 60 at v1\n {2}written at {6}v1 \(epoch 1\)/)
  const first = await digest()
  await must(0, 'set-version', 'v1alpha1')
  assert.deepEqual(await storedVersions(), ['v1', 'v1alpha1'])
  assert.deepEqual(await storedAt(), { 'mlops.dev/v1': COUNT })
  assert.match((await must(5, 'verify')).stdout, /60 at v1 or v1alpha1/)
  assert.match((await must(5, 'trim')).stderr, /there is no proof that every object of notebookvalidationjobs\.mlops\.dev is stored at v1alpha1: storage migrate makes one/)
  assert.match((await must(0, 'migrate', '--dry-run')).stdout, /^60 objects: 60 would be rewritten, 0 already at v1alpha1, 0 cannot be used; nothing was written/)
  assert.deepEqual(await storedAt(), { 'mlops.dev/v1': COUNT })
  const { stdout } = await must(0, 'migrate')
  assert.match(stdout, /^60 objects: 60 rewritten, 0 already at v1alpha1, 0 conflicts left, 0 quarantined; proof at revision [\d,]+; storedVersions \[v1alpha1\]/)
  assert.deepEqual([await storedAt(), await storedVersions()], [{ 'mlops.dev/v1alpha1': COUNT }, ['v1alpha1']])
  assert.equal(await digest(), first)
  assert.match((await must(0, 'migrate', '--to', 'v1')).stdout, /60 rewritten.*storedVersions \[v1\]/)
  assert.deepEqual([await storedAt(), await storedVersions(), await digest()], [{ 'mlops.dev/v1': COUNT }, ['v1'], first])
  assert.match((await must(0, 'migrate')).stdout, /^60 objects: 0 rewritten, 60 already at v1/)
  const status = JSON.parse((await must(0, 'status', '--output', 'json')).stdout)
  assert.deepEqual([status[0].proof.current, status[0].proof.byVersion, status[0].next], [true, { v1: COUNT }, 'Nothing: all objects are stored at the newest version'])
})

test('a migration under which clients write, interrupted and given again, ends with the proof', { timeout: 300_000 }, async () => {
  await must(0, 'set-version', 'v1beta1')
  const stop = new AbortController()
  const writer = (async () => {
    for (let i = 0; !stop.signal.aborted; i++) {
      const name = `job-${i % COUNT}`
      await fallback.plane.send('PATCH', JOBS(['v1', 'v1alpha1', 'v1beta1'][i % 3]!, name), { body: { metadata: { labels: { touched: String(i) } } }, type: 'application/merge-patch+json' })
    }
  })()
  const child = spawn(process.execPath, [join(import.meta.dirname, '..', '..', 'src', 'launch.mjs'), 'storage', 'migrate', '--rate', '10', '--crd', '--kubeconfig', fallback.plane.kubeconfig], { stdio: 'ignore' })
  const ended = once(child, 'exit')
  await sleep(5000)
  child.kill('SIGINT')
  assert.deepEqual(await ended, [130, null])
  assert.deepEqual(await storedVersions(), ['v1', 'v1beta1'])
  await must(0, 'migrate', '--rate', '0')
  stop.abort()
  await writer
  assert.deepEqual([await storedAt(), await storedVersions()], [{ 'mlops.dev/v1beta1': COUNT }, ['v1beta1']])
  await must(0, 'migrate', '--to', 'v1')
})

test('a webhook that is away for a while holds the migration up, and no object is lost', { timeout: 300_000 }, async () => {
  const first = await digest()
  await must(0, 'set-version', 'v1alpha1')
  await fallback.stopWebhook()
  const migrating = storage('migrate')
  await sleep(4000)
  await fallback.startWebhook()
  const { code, stdout, stderr } = await migrating
  assert.equal(code, 0, stdout + stderr)
  assert.deepEqual([await storedAt(), await storedVersions(), await digest()], [{ 'mlops.dev/v1alpha1': COUNT }, ['v1alpha1'], first])
  await must(0, 'migrate', '--to', 'v1')
})

test('objects that admission refuses block it, and are named; rights and usage are told as elsewhere', { timeout: 300_000 }, async () => {
  const base = '/apis/admissionregistration.k8s.io/v1'
  const policy = {
    apiVersion: 'admissionregistration.k8s.io/v1', kind: 'ValidatingAdmissionPolicy', metadata: { name: 'freeze' },
    spec: { matchConstraints: { resourceRules: [{ apiGroups: ['mlops.dev'], apiVersions: ['*'], operations: ['UPDATE'], resources: ['notebookvalidationjobs'] }] }, validations: [{ expression: "object.metadata.name != 'job-7'", message: 'job-7 is frozen' }] },
  }
  assert.equal((await fallback.plane.send('POST', `${base}/validatingadmissionpolicies`, { body: policy })).status, 201)
  assert.equal((await fallback.plane.send('POST', `${base}/validatingadmissionpolicybindings`, { body: { apiVersion: policy.apiVersion, kind: 'ValidatingAdmissionPolicyBinding', metadata: { name: 'freeze' }, spec: { policyName: 'freeze', validationActions: ['Deny'] } } })).status, 201)
  const frozen = async (): Promise<boolean> => (await fallback.plane.send('PATCH', `${JOBS('v1', 'job-7')}?dryRun=All`, { body: {}, type: 'application/merge-patch+json' })).status === 422
  for (let i = 0; i < 300 && !(await frozen()); i++) await sleep(100)
  await must(0, 'set-version', 'v1beta1')
  assert.match((await must(6, 'migrate', '--dry-run')).stdout, /1 cannot be used[\s\S]*bad: default\/job-7/)
  assert.match((await must(6, 'migrate')).stdout, /has not succeeded: Blocked \(default\/job-7: .*job-7 is frozen\)/)
  assert.deepEqual(await storedVersions(), ['v1', 'v1beta1'])
  await fallback.plane.send('DELETE', `${base}/validatingadmissionpolicybindings/freeze`)
  for (let i = 0; i < 300 && (await frozen()); i++) await sleep(100)
  await must(0, 'migrate', '--to', 'v1')
  await must(2, 'set-version', 'v9')
  await must(2, 'retire-version', 'v1alpha1')
  await must(2, 'migrate', '--pause')
  await must(2, 'status', '--resource', 'others.mlops.dev')
})

test('the rights that the README names are enough', { timeout: 300_000 }, async () => {
  const { send, directory, url, pki } = fallback.plane
  const rbac = '/apis/rbac.authorization.k8s.io/v1'
  const metadata = { name: 'migrator' }
  const rules = [
    { apiGroups: ['apiextensions.k8s.io'], resources: ['customresourcedefinitions'], resourceNames: ['notebookvalidationjobs.mlops.dev'], verbs: ['get', 'update', 'patch'] },
    { apiGroups: ['apiextensions.k8s.io'], resources: ['customresourcedefinitions/status'], resourceNames: ['notebookvalidationjobs.mlops.dev'], verbs: ['update'] },
    { apiGroups: ['mlops.dev'], resources: ['notebookvalidationjobs'], verbs: ['list', 'patch'] },
  ]
  const subjects = [{ kind: 'ServiceAccount', name: 'migrator', namespace: 'default' }]
  await send('POST', '/api/v1/namespaces/default/serviceaccounts', { body: { metadata } })
  await send('POST', `${rbac}/clusterroles`, { body: { metadata, rules } })
  await send('POST', `${rbac}/clusterrolebindings`, { body: { metadata, roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'migrator' }, subjects } })
  const { token } = (await send('POST', '/api/v1/namespaces/default/serviceaccounts/migrator/token', { body: { spec: {} } })).body.status
  const kubeconfig = join(directory, 'migrator.kubeconfig')
  await writeFile(kubeconfig, JSON.stringify({
    apiVersion: 'v1', kind: 'Config', 'current-context': 'c', users: [{ name: 'c', user: { token } }], contexts: [{ name: 'c', context: { cluster: 'c', user: 'c' } }],
    clusters: [{ name: 'c', cluster: { server: url, 'certificate-authority-data': Buffer.from(pki.ca).toString('base64') } }],
  }))
  for (const version of ['v1beta1', 'v1']) {
    const { code, stdout, stderr } = await runProduct(['storage', 'migrate', '--to', version, '--crd', '--kubeconfig', kubeconfig])
    assert.equal(code, 0, stdout + stderr)
    assert.deepEqual(await storedVersions(), [version])
  }
})

test('who has no rights is refused; an object that a version cannot show blocks a migration to it, by its name, and the way back is open', { timeout: 300_000 }, async () => {
  const { pki, url, directory } = fallback.plane
  const nobody = join(directory, 'nobody.kubeconfig')
  // The certificate of the server proves no user.
  await writeKubeconfig(nobody, { server: url, ca: pki.ca, key: pki.server.key, cert: pki.server.cert, name: 'nobody' })
  assert.equal((await runProduct(['storage', 'status', '--crd', '--kubeconfig', nobody])).code, 3)
  const gone = join(directory, 'gone.kubeconfig')
  await writeKubeconfig(gone, { server: 'https://127.0.0.1:1', ca: pki.ca, ...pki.admin, name: 'gone' })
  assert.equal((await runProduct(['storage', 'status', '--crd', '--kubeconfig', gone])).code, 9)

  const env = Array.from({ length: 100 }, (_, i) => ({ name: `E${i}_${'n'.repeat(900)}`, value: 'v'.repeat(1000) }))
  const body = { apiVersion: 'mlops.dev/v1', kind: 'NotebookValidationJob', metadata: { name: 'large' }, spec: { notebook: { git: { url: 'https://git.example/nb.git', revision: 'main' }, path: 'a.ipynb' }, suspend: true, podTemplate: { env } } }
  assert.equal((await fallback.plane.send('POST', JOBS('v1'), { body })).status, 201)
  assert.match((await must(6, 'verify', '--deep')).stderr, /NotebookValidationJob default\/large: what this version cannot show has \d+ bytes/)
  assert.match((await must(6, 'migrate', '--to', 'v1alpha1')).stdout, /has not succeeded: .*default\/large/)
  assert.deepEqual([await storedVersions(), await storedAt()], [['v1', 'v1alpha1'], { 'mlops.dev/v1': COUNT + 1 }])
  await must(0, 'migrate', '--to', 'v1')
  assert.deepEqual([await storedVersions(), await storedAt()], [['v1'], { 'mlops.dev/v1': COUNT + 1 }])
})
