/**
 * Workers with the rights of deploy/crd on a real kube-apiserver. There is no kubelet: the test says how pods go, and
 * a server of its own has the logs of the pods that it binds to its node.
 */
import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeReport } from '../../src/worker/job.fixture.ts'
import { writeReportLog } from '../../src/worker/report-log.ts'
import { type Fallback, startFallback } from '../fallback/fallback.ts'
import { kubectl } from '../kubectl.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const NAMESPACE = 'team'
const PODS = `/api/v1/namespaces/${NAMESPACE}/pods`
const JOBS = `/apis/mlops.dev/v1/namespaces/${NAMESPACE}/notebookvalidationjobs`
const MERGE = 'application/merge-patch+json'
const COMMIT = 'c'.repeat(40)

type Pod = { metadata: { name: string; uid: string; ownerReferences: { name: string }[] }; spec: { schedulingGates?: unknown[] } }

const logs = new Map<string, string>()
let node: ReturnType<typeof createServer>
let fallback: Fallback
let kubeconfig: string
const workers: ChildProcess[] = []

before(
  async () => {
    fallback = await startFallback()
    const { plane } = fallback
    const run = kubectl('35', plane.kubeconfig)
    const must = async (args: string[], input?: string): Promise<string> => {
      const { code, stdout, stderr } = await run(args, input)
      assert.equal(code, 0, `${args.join(' ')}: ${stderr}`)
      return stdout
    }
    await must(['create', 'namespace', 'mlops-system'])
    await must(['create', 'namespace', NAMESPACE])
    await must(['label', 'namespace', NAMESPACE, 'pod-security.kubernetes.io/enforce=restricted'])
    // nobody makes service accounts here
    await must(['-n', NAMESPACE, 'create', 'serviceaccount', 'default'])
    await must(['apply', '-f', join(ROOT, 'deploy/crd/worker.yaml')])
    const token = (await must(['-n', 'mlops-system', 'create', 'token', 'mlops-worker'])).trim()
    await startNode()
    kubeconfig = join(plane.directory, 'worker.kubeconfig')
    await writeFile(kubeconfig, JSON.stringify({
      apiVersion: 'v1', kind: 'Config', 'current-context': 'c',
      clusters: [{ name: 'c', cluster: { server: plane.url, 'certificate-authority-data': Buffer.from(plane.pki.ca).toString('base64') } }],
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'c' } }], users: [{ name: 'c', user: { token } }],
    }))
  },
  { timeout: 600_000 },
)

after(async () => {
  for (const worker of workers) await end(worker)
  node?.close()
  node?.closeAllConnections()
  await fallback?.[Symbol.asyncDispose]()
})

/** A node whose kubelet knows nothing but logs. */
async function startNode(): Promise<void> {
  const { plane } = fallback
  const [cert, key] = await Promise.all(['server.crt', 'server.key'].map((file) => readFile(join(plane.directory, 'pki', file))))
  node = createServer({ cert, key }, ({ url = '' }, response) => {
    const text = logs.get(new URL(url, 'https://node').pathname)
    response.writeHead(text === undefined ? 404 : 200, { 'content-type': 'text/plain' }).end(text)
  })
  await once(node.listen(0, '127.0.0.1'), 'listening')
  const { port } = node.address() as AddressInfo
  const status = { addresses: [{ type: 'InternalIP', address: '127.0.0.1' }], daemonEndpoints: { kubeletEndpoint: { Port: port } } }
  const answer = await plane.send('POST', '/api/v1/nodes', { body: { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node1' }, status } })
  assert.equal(answer.status, 201, answer.text)
}

async function bind({ metadata: { name } }: Pod): Promise<void> {
  const answer = await fallback.plane.send('POST', `${PODS}/${name}/binding`, { body: { apiVersion: 'v1', kind: 'Binding', metadata: { name }, target: { kind: 'Node', name: 'node1' } } })
  assert.equal(answer.status, 201, answer.text)
}

async function end(worker: ChildProcess): Promise<void> {
  if (worker.exitCode !== null || worker.signalCode !== null) return
  const exited = once(worker, 'exit')
  worker.kill('SIGCONT')
  worker.kill('SIGTERM')
  await exited
}

function startWorker(): ChildProcess {
  const args = ['worker', '--kubeconfig', kubeconfig, '--executor', 'pods', '--pod-image', 'mlops-apiserver', '--concurrency', '8', '--status-kibibytes', '96', '--log-level', 'error']
  const worker = spawn(process.execPath, [join(ROOT, 'src/launch.mjs'), ...args], { stdio: ['ignore', 'ignore', 'inherit'] })
  workers.push(worker)
  return worker
}

async function until<T>(what: string, find: () => Promise<T | undefined | false>): Promise<T> {
  for (let i = 0; i < 900; i++) {
    const found = await find()
    if (found !== undefined && found !== false) return found
    await sleep(100)
  }
  throw new Error(`not seen: ${what}`)
}

async function createJob(name: string, more: object = {}): Promise<void> {
  const spec = { notebook: { git: { url: 'https://git.example/nb.git', revision: 'main' }, path: 'a.ipynb' }, ...more }
  const { status, text } = await fallback.plane.send('POST', JOBS, { body: { apiVersion: 'mlops.dev/v1', kind: 'NotebookValidationJob', metadata: { name }, spec } })
  assert.equal(status, 201, text)
}

const job = async (name: string) => (await fallback.plane.send('GET', `${JOBS}/${name}`)).body
const podsOf = async (name: string): Promise<Pod[]> =>
  ((await fallback.plane.send('GET', PODS)).body.items as Pod[]).filter(({ metadata }) => metadata.ownerReferences[0]?.name === name)

/** The pod of an attempt, when a scheduler may have it. */
const admitted = (name: string, number: number): Promise<Pod> =>
  until(`pod ${number} of ${name}`, async () => (await podsOf(name)).find(({ metadata, spec }) => metadata.name.endsWith(`-${number}`) && !spec.schedulingGates?.length))

const says = (name: string, reason: string): Promise<unknown> => until(`${name} ${reason}`, async () => (await job(name)).status?.reason === reason)

async function setPod({ metadata: { name, uid } }: Pod, status: object): Promise<void> {
  const answer = await fallback.plane.send('PATCH', `${PODS}/${name}/status`, { body: { metadata: { uid }, status }, type: MERGE })
  assert.equal(answer.status, 200, answer.text)
}

const ended = (exitCode: number, message = '', reason = exitCode === 0 ? 'Completed' : 'Error') => {
  const now = new Date().toISOString().replace(/\.\d+/, '')
  return { terminated: { exitCode, reason, message, startedAt: now, finishedAt: now } }
}
const container = (name: string, state: object) => ({ name, state, image: 'x', imageID: '', ready: false, restartCount: 0 })
const cloned = [container('clone', ended(0, JSON.stringify({ source: { commit: COMMIT } })))]

test('a worker runs jobs as pods, in a namespace that admits nothing but the restricted profile, and without more rights than its manifest gives', { timeout: 300_000 }, async () => {
  startWorker()
  const names = ['ends', 'passes', 'auth', 'evicted', 'suspended']
  await createJob('ends', {
    notebook: { git: { url: 'https://git.example/nb.git', credentialsSecretRef: { name: 'creds' } }, path: 'a.ipynb' },
    podTemplate: { automountServiceAccountToken: true, env: [{ name: 'X', value: '1' }], resources: { limits: { memory: '1Gi' }, requests: { memory: '1Gi' } } },
  })
  for (const name of names.slice(1)) await createJob(name)
  const pods = Object.fromEntries(await Promise.all(names.map(async (name) => [name, await admitted(name, 1)] as const)))
  for (const name of names) assert.deepEqual((await job(name)).status.podRef, { name: pods[name]!.metadata.name, uid: pods[name]!.metadata.uid })

  await bind(pods.passes!)
  logs.set(`/containerLogs/${NAMESPACE}/${pods.passes!.metadata.name}/report`, `a line of somebody else\n${writeReportLog(JSON.stringify(makeReport()))}`)
  await setPod(pods.passes!, { phase: 'Succeeded', initContainerStatuses: cloned, containerStatuses: [container('execute', ended(0)), container('report', ended(0))] })
  await setPod(pods.auth!, { phase: 'Failed', initContainerStatuses: [container('clone', ended(1, JSON.stringify({ failure: { reason: 'GitAuthenticationFailed', class: 'Final', message: 'no' } })))] })
  await setPod(pods.evicted!, { phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory.' })
  await setPod(pods.ends!, { phase: 'Running', initContainerStatuses: cloned, containerStatuses: [container('execute', { running: {} }), container('report', { running: {} })] })
  await fallback.plane.send('PATCH', `${JOBS}/suspended`, { body: { spec: { suspend: true } }, type: MERGE })

  await says('passes', 'Validated')
  assert.equal((await job('passes')).status.cells.length, 1)
  await says('auth', 'GitAuthenticationFailed')
  await says('suspended', 'Suspended')
  assert.deepEqual(await podsOf('suspended'), [])
  await says('ends', 'Running')
  assert.equal((await job('ends')).status.source.commit, COMMIT)
  await setPod(pods.ends!, { phase: 'Succeeded', containerStatuses: [container('execute', ended(0)), container('report', ended(0))] })
  await says('ends', 'ResultsUnavailable')
  assert.equal((await podsOf('ends')).length, 1, 'a pod that has ended stays')
  await admitted('evicted', 2)
  assert.equal((await job('evicted')).status.attempts, 2)
})

test('a leader that is paused and goes on, while another one leads: one pod for each attempt', { timeout: 300_000 }, async () => {
  const leader = async (): Promise<string> => (await fallback.plane.send('GET', '/apis/coordination.k8s.io/v1/namespaces/mlops-system/leases/mlops-worker')).body.spec.holderIdentity
  const [first] = workers
  const before = await leader()
  startWorker()
  const seen = new Map<string, Set<string>>()
  const watching = new AbortController()
  const note = async (): Promise<void> => {
    while (!watching.signal.aborted) {
      for (const { metadata, spec } of await podsOf('paused')) if (!spec.schedulingGates?.length) seen.set(metadata.name, (seen.get(metadata.name) ?? new Set()).add(metadata.uid))
      await sleep(50)
    }
  }
  const noting = note()
  await createJob('paused')
  const pod = await admitted('paused', 1)
  await setPod(pod, { phase: 'Running', initContainerStatuses: cloned, containerStatuses: [container('execute', { running: {} }), container('report', { running: {} })] })
  await says('paused', 'Running')
  first!.kill('SIGSTOP')
  assert.notEqual(await until('another leader', async () => ((await leader()) === before ? undefined : await leader())), before)
  // what the paused one does not see
  await fallback.plane.send('DELETE', `${PODS}/${pod.metadata.name}?gracePeriodSeconds=0`)
  await admitted('paused', 2)
  first!.kill('SIGCONT')
  await sleep(8_000)
  const { status } = await job('paused')
  assert.deepEqual([status.attempts, status.podRef.uid], [2, (await podsOf('paused'))[0]?.metadata.uid])
  assert.equal((await podsOf('paused')).length, 1)
  watching.abort()
  await noting
  assert.deepEqual([...seen.values()].map(({ size }) => size), [1, 1])
  assert.notEqual(await leader(), before)
})

test('a stop leaves pods running, and the next worker takes them up', { timeout: 300_000 }, async () => {
  for (const worker of workers) await end(worker)
  const { status } = await job('paused')
  assert.equal(status.attempts, 2)
  const [pod] = await podsOf('paused')
  assert.ok(pod)
  startWorker()
  await setPod(pod, { phase: 'Failed', initContainerStatuses: cloned, containerStatuses: [container('execute', ended(137, '', 'OOMKilled')), container('report', ended(1))] })
  await until('a verdict', async () => (await job('paused')).status?.phase === 'Failed')
  assert.equal((await job('paused')).status.reason, 'OutOfMemory')
  assert.equal((await job('paused')).status.attempts, 2)
})
