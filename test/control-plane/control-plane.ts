/** A real kube-apiserver on its own etcd, both on loopback. All that it makes goes when it is disposed of. */
import { spawn, type ChildProcess } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { openSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../free-ports.ts'
import { systemClock } from '../../src/base/clock.ts'
import { writeKubeconfig } from '../../src/commands/kubeconfig.ts'
import { ensurePki, type Pki } from '../../src/commands/pki.ts'
import { startCluster, type EtcdCluster } from '../etcd/etcd-cluster.ts'
import { sendRequest, type Answer, type Send } from '../harness.ts'
import { kubernetesBinary } from './kubernetes-binaries.ts'

const READY_TIMEOUT_MS = 60_000
const POLL_MS = 100
const SERVICE_CIDR = '10.0.0.0/24'
const HOSTS = ['127.0.0.1', 'localhost', 'kubernetes.default.svc', '10.0.0.1']

export interface ControlPlaneOptions {
  /** More flags for kube-apiserver. */
  readonly args?: readonly string[]
  /** Before kube-apiserver starts, so many revisions pass and are compacted. */
  readonly skipRevisions?: number
}

export interface ControlPlane extends AsyncDisposable {
  readonly url: string
  /** `ca` signs the server and its clients. */
  readonly pki: Pki
  /** Signs those that kube-apiserver lets speak for others, and what it shows to aggregated servers. */
  readonly frontProxy: Pki
  /** A kubeconfig of the administrator. */
  readonly kubeconfig: string
  readonly directory: string
  readonly etcd: EtcdCluster
  send(method: string, path: string, options?: Send): Promise<Answer>
  /** Ends kube-apiserver as a crash would; etcd goes on. */
  stopServer(): Promise<void>
  /** Starts it again, at the same address, and waits until it is ready. */
  startServer(): Promise<void>
  /** Creates CustomResourceDefinitions (JSON texts) and waits until their resources are served. */
  install(manifests: readonly string[]): Promise<void>
}

/** Starts both and waits until kube-apiserver is ready. Makes their binaries first when they are missing, which takes minutes. */
export async function startControlPlane({ args = [], skipRevisions = 0 }: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const binary = await kubernetesBinary('kube-apiserver')
  const directory = await mkdtemp(join(tmpdir(), 'control-plane-'))
  const stack = new AsyncDisposableStack()
  stack.defer(() => rm(directory, { recursive: true, force: true }))
  try {
    const pki = await ensurePki(join(directory, 'pki'), { hosts: HOSTS, clock: systemClock })
    const frontProxy = await ensurePki(join(directory, 'front-proxy'), { hosts: [], clock: systemClock })
    // Its data is thrown away, so it need not survive a crash.
    const etcd = stack.use(await startCluster({ version: '3.6.16', args: ['--unsafe-no-fsync'] }))
    await pass(etcd, skipRevisions)
    const port = await freePort()
    const flags = [...(await flagsOf(directory)), `--etcd-servers=${etcd.endpoints.join(',')}`, `--secure-port=${port}`, ...args]
    const url = `https://127.0.0.1:${port}`
    const log = join(directory, 'kube-apiserver.log')
    let child = run(binary, flags, log)
    stack.defer(() => end(child))
    const kubeconfig = join(directory, 'kubeconfig')
    await writeKubeconfig(kubeconfig, { server: url, ca: pki.ca, ...pki.admin, name: 'control-plane' })
    const send = (method: string, path: string, options: Send = {}) => sendRequest(url, pki, method, path, options)
    await waitUntilReady(child, send, log)
    const owned = stack.move()
    return {
      url, pki, frontProxy, kubeconfig, directory, etcd, send,
      stopServer: () => end(child),
      async startServer() {
        child = run(binary, flags, log)
        await waitUntilReady(child, send, log)
      },
      install: (manifests) => install(send, manifests),
      [Symbol.asyncDispose]: () => owned.disposeAsync(),
    }
  } catch (error) {
    await stack.disposeAsync()
    throw error
  }
}

async function pass(etcd: EtcdCluster, count: number): Promise<void> {
  let left = count
  const work = async () => {
    while (left-- > 0) await etcd.client.put('skipped').value('').exec()
  }
  await Promise.all(Array.from({ length: 64 }, work))
  if (count > 0) await etcd.client.kv.compact({ revision: String(count) })
}

async function flagsOf(directory: string): Promise<string[]> {
  const accounts = generateKeyPairSync('rsa', { modulusLength: 2048, privateKeyEncoding: { type: 'pkcs8', format: 'pem' }, publicKeyEncoding: { type: 'spki', format: 'pem' } })
  const [publicKey, privateKey] = [join(directory, 'accounts.pub'), join(directory, 'accounts.key')]
  await Promise.all([writeFile(publicKey, accounts.publicKey), writeFile(privateKey, accounts.privateKey, { mode: 0o600 })])
  const pki = (name: string): string => join(directory, 'pki', name)
  const frontProxy = (name: string): string => join(directory, 'front-proxy', name)
  return [
    '--bind-address=127.0.0.1', '--advertise-address=127.0.0.1', `--service-cluster-ip-range=${SERVICE_CIDR}`,
    `--tls-cert-file=${pki('server.crt')}`, `--tls-private-key-file=${pki('server.key')}`, `--client-ca-file=${pki('ca.crt')}`,
    `--requestheader-client-ca-file=${frontProxy('ca.crt')}`, '--requestheader-extra-headers-prefix=X-Remote-Extra-', '--requestheader-group-headers=X-Remote-Group',
    '--requestheader-username-headers=X-Remote-User', `--proxy-client-cert-file=${frontProxy('admin.crt')}`, `--proxy-client-key-file=${frontProxy('admin.key')}`,
    '--service-account-issuer=https://kubernetes.default.svc', `--service-account-key-file=${publicKey}`, `--service-account-signing-key-file=${privateKey}`,
    '--authorization-mode=Node,RBAC', '--allow-privileged=true',
  ]
}

function run(binary: string, flags: readonly string[], log: string): ChildProcess {
  const file = openSync(log, 'a')
  // It dies with this process, however that ends.
  return spawn('setpriv', ['--pdeathsig', 'KILL', binary, ...flags], { stdio: ['ignore', file, file], env: { PATH: process.env['PATH'] } })
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}

type SendFunction = ControlPlane['send']

async function waitUntilReady(child: ChildProcess, send: SendFunction, log: string): Promise<void> {
  const ended = () => child.exitCode !== null || child.signalCode !== null
  const ready = await eventually(async () => ended() || ((await send('GET', '/readyz')).status === 200 && (await send('GET', '/api/v1/namespaces/default')).status === 200))
  if (!ready || ended()) throw new Error(`kube-apiserver does not start: ${(await readFile(log, 'utf8')).split('\n').slice(-20).join('\n')}`)
}

async function eventually(attempt: () => Promise<boolean>): Promise<boolean> {
  for (const limit = performance.now() + READY_TIMEOUT_MS; performance.now() < limit; await sleep(POLL_MS)) {
    if (await attempt().catch(() => false)) return true
  }
  return false
}

interface Installed {
  readonly metadata: { readonly name: string }
  readonly spec: { readonly group: string; readonly names: { readonly plural: string }; readonly versions: readonly { readonly name: string; readonly served: boolean }[] }
}

async function install(send: SendFunction, manifests: readonly string[]): Promise<void> {
  const paths: string[] = []
  for (const body of manifests) {
    const answer = await send('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', { body })
    if (answer.status !== 201) throw new Error(`the definition is refused: ${answer.text}`)
    const { spec } = answer.body as Installed
    for (const { name, served } of spec.versions) if (served) paths.push(`/apis/${spec.group}/${name}/${spec.names.plural}`)
  }
  for (const path of paths) {
    if (!(await eventually(async () => (await send('GET', path)).status === 200))) throw new Error(`${path} is not served: ${(await send('GET', path)).text}`)
  }
}
