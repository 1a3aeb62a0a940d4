/** A real kube-apiserver with this server behind it: registered by APIServices and reached through a Service, with the rights that a cluster would give it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../free-ports.ts'
import { systemClock } from '../../src/base/clock.ts'
import { ensurePki, type Pki } from '../../src/commands/pki.ts'
import { startControlPlane, type ControlPlane } from '../control-plane/control-plane.ts'

const LAUNCHER = join(import.meta.dirname, '..', '..', 'src', 'launch.mjs')
export const NAMESPACE = 'mlops-system'
export const SERVICE = 'api'
/** The Secret for a certificate of the server's own; it is there, and empty. */
export const SECRET = 'serving'
const ACCOUNT = 'mlops-apiserver'
const PATIENCE_MS = 90_000

/** How a process ended. */
export interface Exit {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** A running `serve --cluster`. */
export interface Served {
  readonly url: string
  readonly exited: Promise<Exit>
  stop(signal?: NodeJS.Signals): Promise<Exit>
}

/** The control plane and what a server needs to join it. */
export interface Aggregated extends AsyncDisposable {
  readonly plane: ControlPlane
  /** Signs the serving certificate of this server; its files are `pki/server.{crt,key}` and `pki/ca.crt` below `directory`. */
  readonly pki: Pki
  readonly directory: string
  /** The port that the Service leads to. */
  readonly port: number
  /** A kubeconfig with the token of the service account. */
  readonly kubeconfig: string
  /** Starts a server, with the certificate of `pki` unless `ownCertificate`, and waits until it serves. Rejects with what it said when it ends before. */
  start(args?: readonly string[], options?: { readonly ownCertificate: boolean }): Promise<Served>
  /** Waits until all APIServices are available. */
  available(): Promise<void>
}

/** Starts the control plane with what a cluster has for this server: Service, service account and its rights. */
export async function startAggregated(): Promise<Aggregated> {
  await using stack = new AsyncDisposableStack()
  const plane = stack.use(await startControlPlane())
  const directory = join(plane.directory, 'aggregated')
  await mkdir(directory)
  const pki = await ensurePki(join(directory, 'pki'), { hosts: [`${SERVICE}.${NAMESPACE}.svc`, '127.0.0.1'], clock: systemClock })
  const port = await freePort()
  await grant(plane, port)
  const kubeconfig = await writeTokenKubeconfig(plane, directory)
  const running = new Set<Served>()
  stack.defer(async () => void (await Promise.all([...running].map((served) => served.stop('SIGKILL')))))
  const owned = stack.move()
  return {
    plane, pki, directory, port, kubeconfig,
    async start(args = [], { ownCertificate } = { ownCertificate: false }) {
      const served = await start([
        'serve', '--data-dir', join(directory, 'data'), '--cluster', kubeconfig, '--port', String(port), '--service', `${NAMESPACE}/${SERVICE}:${port}`, '--log-level', 'info',
        ...(ownCertificate ? ['--certificate-secret', SECRET] : filesOf(directory)), ...args,
      ])
      running.add(served)
      return served
    },
    available: () => eventually('the APIServices are available', async () => {
      const { body } = await plane.send('GET', '/apis/apiregistration.k8s.io/v1/apiservices')
      const ours = body.items.filter((item: ApiServiceStatus) => item.spec.group?.endsWith('mlops.dev'))
      return ours.length === 4 && ours.every((item: ApiServiceStatus) => item.status?.conditions?.some(({ type, status }) => type === 'Available' && status === 'True'))
    }),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

interface ApiServiceStatus {
  readonly spec: { readonly group?: string }
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] }
}

const filesOf = (directory: string): string[] => ['--tls-cert-file', join(directory, 'pki', 'server.crt'), '--tls-private-key-file', join(directory, 'pki', 'server.key'), '--tls-ca-file', join(directory, 'pki', 'ca.crt')]

/** Asks until the answer is yes; rejects with `what` after a minute and a half. */
export async function eventually(what: string, attempt: () => Promise<boolean>): Promise<void> {
  let last: unknown
  for (const limit = performance.now() + PATIENCE_MS; performance.now() < limit; await sleep(100)) {
    try {
      if (await attempt()) return
      last = undefined
    } catch (error) {
      last = error
    }
  }
  throw new Error(`it does not happen that ${what}`, { cause: last })
}

/** Creates an object; it must not be there. */
export async function create(plane: ControlPlane, path: string, body: object): Promise<void> {
  const answer = await plane.send('POST', path, { body })
  if (answer.status !== 201) throw new Error(`POST ${path}: ${answer.status} ${answer.text}`)
}

// The least that works: what is more than this is a mistake that no test would find.
async function grant(plane: ControlPlane, port: number): Promise<void> {
  const rbac = '/apis/rbac.authorization.k8s.io/v1'
  const subjects = [{ kind: 'ServiceAccount', name: ACCOUNT, namespace: NAMESPACE }]
  const role = (kind: string, name: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind, name })
  await create(plane, '/api/v1/namespaces', { metadata: { name: NAMESPACE } })
  await create(plane, `/api/v1/namespaces/${NAMESPACE}/services`, { metadata: { name: SERVICE }, spec: { type: 'ExternalName', externalName: 'localhost', ports: [{ port }] } })
  await create(plane, `/api/v1/namespaces/${NAMESPACE}/serviceaccounts`, { metadata: { name: ACCOUNT } })
  await create(plane, `${rbac}/clusterrolebindings`, { metadata: { name: 'mlops-auth-delegator' }, roleRef: role('ClusterRole', 'system:auth-delegator'), subjects })
  await create(plane, `${rbac}/namespaces/kube-system/rolebindings`, { metadata: { name: 'mlops-authentication-reader' }, roleRef: role('Role', 'extension-apiserver-authentication-reader'), subjects })
  await create(plane, `${rbac}/clusterroles`, {
    metadata: { name: ACCOUNT },
    rules: [
      { apiGroups: [''], resources: ['namespaces'], verbs: ['get', 'list', 'watch'] },
      { apiGroups: ['apiextensions.k8s.io'], resources: ['customresourcedefinitions'], verbs: ['get'] },
      { apiGroups: ['apiregistration.k8s.io'], resources: ['apiservices'], verbs: ['get', 'create', 'update'] },
    ],
  })
  await create(plane, `/api/v1/namespaces/${NAMESPACE}/secrets`, { metadata: { name: SECRET } })
  await create(plane, `${rbac}/namespaces/${NAMESPACE}/roles`, { metadata: { name: ACCOUNT }, rules: [{ apiGroups: [''], resources: ['secrets'], resourceNames: [SECRET], verbs: ['get', 'update'] }] })
  await create(plane, `${rbac}/namespaces/${NAMESPACE}/rolebindings`, { metadata: { name: ACCOUNT }, roleRef: role('Role', ACCOUNT), subjects })
  await create(plane, `${rbac}/clusterrolebindings`, { metadata: { name: ACCOUNT }, roleRef: role('ClusterRole', ACCOUNT), subjects })
}

async function writeTokenKubeconfig(plane: ControlPlane, directory: string): Promise<string> {
  const path = join(directory, 'kubeconfig')
  await writeFile(join(directory, 'token'), await tokenOf(plane, NAMESPACE, ACCOUNT))
  const cluster = { server: plane.url, 'certificate-authority-data': Buffer.from(plane.pki.ca).toString('base64') }
  await writeFile(path, JSON.stringify({
    apiVersion: 'v1', kind: 'Config', 'current-context': 'test',
    clusters: [{ name: 'test', cluster }], contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }], users: [{ name: 'test', user: { tokenFile: 'token' } }],
  }))
  return path
}

/** A token of a service account, for kube-apiserver itself unless other audiences are named. */
export async function tokenOf(plane: ControlPlane, namespace: string, account: string, audiences?: readonly string[]): Promise<string> {
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: audiences ? { audiences } : {} }
  const answer = await plane.send('POST', `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`, { body })
  if (answer.status !== 201) throw new Error(`no token of ${namespace}/${account}: ${answer.text}`)
  return answer.body.status.token
}

async function start(args: readonly string[]): Promise<Served> {
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', process.execPath, LAUNCHER, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  let ended = false
  const exited = once(child, 'close').then(([code]) => {
    ended = true
    return { code: code as number | null, stdout, stderr }
  })
  await eventually('the server serves', async () => ended || / on https:\S+\n/.test(stdout))
  const url = / on (https:\S+)\n/.exec(stdout)?.[1]
  if (url === undefined) throw new Error(`the server does not start: ${stdout}${stderr}`)
  return {
    url, exited,
    async stop(signal = 'SIGTERM') {
      child.kill(signal)
      return await exited
    },
  }
}
