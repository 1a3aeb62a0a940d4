/** `kubectl apply -k deploy/crd` on a real kube-apiserver, and the webhook that makes its own certificates. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../free-ports.ts'
import { startControlPlane, type ControlPlane } from '../control-plane/control-plane.ts'
import { kubectl } from '../kubectl.ts'
import { JOBS, startWebhook } from './fallback.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const DEFINITION = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/notebookvalidationjobs.mlops.dev'
const SECRET = '/api/v1/namespaces/mlops-system/secrets/mlops-webhook-certificate'

test('installed with one command, a webhook tells the definition who signs its certificate, and renews what is broken', { timeout: 600_000 }, async () => {
  await using plane = await startControlPlane()
  const run = kubectl('35', plane.kubeconfig)
  const must = async (args: string[], input?: string): Promise<string> => {
    const { code, stdout, stderr } = await run(args, input)
    assert.equal(code, 0, `${args.join(' ')}: ${stderr}`)
    return stdout
  }
  const apply = ['apply', '-k', join(ROOT, 'deploy', 'crd')]
  // The namespace is not there for a dry run of what is in it.
  await must(['create', 'namespace', 'mlops-system'])
  await must([...apply, '--dry-run=server'])
  const printed = await must(apply)
  for (const kind of ['customresourcedefinition', 'validatingadmissionpolicy', 'deployment', 'service', 'clusterrole', 'poddisruptionbudget']) assert.match(printed, new RegExp(`${kind}\\S*/\\S+ (created|configured)`))

  // No pods and no network of Services here: the Service's name leads to this machine.
  await must(['-n', 'mlops-system', 'delete', 'service', 'mlops-webhook'])
  const webhook = await launch(plane.kubeconfig, await freePort())
  try {
    const { port } = new URL(webhook.url)
    await must(['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'Service', metadata: { name: 'mlops-webhook', namespace: 'mlops-system' }, spec: { type: 'ExternalName', externalName: 'localhost', ports: [{ port: Number(port) }] } }))
    const patch = { spec: { conversion: { webhook: { clientConfig: { service: { port: Number(port) } } } } } }
    await plane.send('PATCH', DEFINITION, { body: patch, type: 'application/merge-patch+json' })
    const { conversion } = (await plane.send('GET', DEFINITION)).body.spec
    const { data } = (await plane.send('GET', SECRET)).body
    assert.equal(conversion.webhook.clientConfig.caBundle, data['ca.crt'])
    const job = { apiVersion: 'mlops.dev/v1alpha1', kind: 'NotebookValidationJob', metadata: { name: 'x' }, spec: { notebook: { git: { url: 'https://git.example/nb.git', ref: 'main', path: 'a.ipynb' } } } }
    assert.equal(await eventually(async () => (await plane.send('POST', JOBS('v1alpha1'), { body: job })).status), 201)
    assert.equal((await plane.send('GET', JOBS('v1', 'x'))).body.spec.notebook.path, 'a.ipynb')

    await holdWorker(plane, must)

    // Applied again, the manifests leave the bundle and the Secret as they are.
    await must(apply)
    const again = (await plane.send('GET', DEFINITION)).body.spec.conversion.webhook.clientConfig.caBundle
    assert.deepEqual([again, (await plane.send('GET', SECRET)).body.data], [conversion.webhook.clientConfig.caBundle, data])
  } finally {
    await webhook.end('SIGTERM')
  }
  // Another replica uses what is there; a certificate that cannot be used is made anew by the same authority.
  const before = (await plane.send('GET', SECRET)).body
  await plane.send('PUT', SECRET, { body: { ...before, data: { ...before.data, 'tls.crt': Buffer.from('nonsense').toString('base64') } } })
  const second = await launch(plane.kubeconfig, 0)
  await second.end('SIGTERM')
  const after = (await plane.send('GET', SECRET)).body.data
  assert.equal(after['ca.crt'], before.data['ca.crt'])
  assert.match(Buffer.from(after['tls.crt'], 'base64').toString(), /BEGIN CERTIFICATE/)
})

// The worker with no more rights than the manifests give it.
async function holdWorker(plane: ControlPlane, must: (args: string[], input?: string) => Promise<string>): Promise<void> {
  // Nobody makes service accounts here.
  await must(['create', 'serviceaccount', 'default']).catch(() => {})
  const token = (await must(['-n', 'mlops-system', 'create', 'token', 'mlops-worker'])).trim()
  const kubeconfig = join(plane.directory, 'worker.kubeconfig')
  await writeFile(kubeconfig, JSON.stringify({
    apiVersion: 'v1', kind: 'Config', 'current-context': 'c',
    clusters: [{ name: 'c', cluster: { server: plane.url, 'certificate-authority-data': Buffer.from(plane.pki.ca).toString('base64') } }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'c' } }], users: [{ name: 'c', user: { token } }],
  }))
  const spec = { notebook: { git: { url: 'https://git.example/nb.git', revision: 'main' }, path: 'a.ipynb' } }
  const job = (name: string, more: object) => ({ apiVersion: 'mlops.dev/v1', kind: 'NotebookValidationJob', metadata: { name }, spec: { ...spec, ...more } })
  for (const body of [job('runs', {}), job('unsupported', { notebook: { ...spec.notebook, git: { ...spec.notebook.git, lfs: 'Fetch' } } })]) {
    const { status, text } = await plane.send('POST', JOBS('v1'), { body })
    assert.equal(status, 201, text)
  }
  const args = ['worker', '--kubeconfig', kubeconfig, '--executor', 'pods', '--pod-image', 'mlops-apiserver', '--lease', 'mlops-system/mlops-worker', '--status-kibibytes', '96']
  const child = spawn(process.execPath, [join(ROOT, 'src', 'launch.mjs'), ...args], { stdio: ['ignore', 'ignore', 'inherit'] })
  const exited = once(child, 'exit')
  try {
    const pods = async (): Promise<string[]> => (await plane.send('GET', '/api/v1/namespaces/default/pods')).body.items.map((pod: { metadata: { ownerReferences: [{ name: string }] } }) => pod.metadata.ownerReferences[0].name)
    await until(async () => assert.ok((await pods()).includes('runs')))
    await until(async () => {
      const { status } = (await plane.send('GET', JOBS('v1alpha1', 'unsupported'))).body
      assert.equal(status?.phase, 'Failed')
    })
    assert.equal((await plane.send('GET', JOBS('v1', 'unsupported'))).body.status.reason, 'NotSupported')
  } finally {
    child.kill('SIGTERM')
    await exited
  }
}

async function until(holds: () => Promise<void>): Promise<void> {
  for (let i = 0; ; i++) {
    try {
      return await holds()
    } catch (error) {
      if (i === 600) throw error
      await sleep(100)
    }
  }
}

async function eventually(attempt: () => Promise<number>): Promise<number> {
  let status = 0
  for (let i = 0; i < 300; i++) {
    status = await attempt()
    if (status < 400) return status
    await sleep(100)
  }
  return status
}

function launch(kubeconfig: string, port: number): ReturnType<typeof startWebhook> {
  return startWebhook(['--port', String(port), '--cluster', kubeconfig, '--service', 'mlops-system/mlops-webhook', '--certificate-secret', 'mlops-webhook-certificate'])
}
