/** The product as its own process: `standalone` on a data directory, as a user starts it. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openHttp2, type Http2Client, type Identity } from './http-client.ts'

const LAUNCHER = join(import.meta.dirname, '..', 'src', 'launch.mjs')
/** What `npm start` and the launcher give to Node. */
const FLAGS = ['--max-semi-space-size=4']

/** How a process ended. */
export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

/** A running `standalone`. Disposing kills it. */
export interface Product extends AsyncDisposable {
  readonly pid: number
  readonly url: string
  readonly directory: string
  readonly identity: Identity
  /** Milliseconds from the start of the process to the first 200 of /readyz. */
  readonly readyMs: number
  /** A new connection as the administrator. */
  connect(): Http2Client
  /** Sends a signal and waits for the end. */
  stop(signal: NodeJS.Signals): Promise<Exit>
  readonly exited: Promise<Exit>
}

/** Runs the program to its end, at most 30 s. */
export async function runProduct(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Exit> {
  const child = start(args, env)
  const timer = setTimeout(() => child.kill('SIGKILL'), 30_000)
  try {
    return await collect(child)
  } finally {
    clearTimeout(timer)
  }
}

/** What may be different about a start. */
export interface StartOptions {
  /** More flags of the program. */
  readonly args?: readonly string[]
  /** `standalone` unless given. */
  readonly command?: 'serve'
  /** With the worker, and in a process group of its own, as a shell starts it. */
  readonly worker?: boolean
}

/** Starts `standalone` (or `serve`) without samples on a free port, and waits until it is ready. Rejects with what it said when it ends before. */
export async function startProduct(directory: string, { args = [], worker = false, command }: StartOptions = {}): Promise<Product> {
  const begun = performance.now()
  const alone = command ? [command] : ['standalone', '--no-samples', ...(worker ? [] : ['--no-worker'])]
  const child = start([...alone, '--data-dir', directory, '--port', '0', ...args], {}, worker)
  const exited = collect(child)
  const url = await firstUrl(child, exited)
  const identity = readIdentity(join(directory, 'kubeconfig'))
  const readyMs = await ready(url, identity, begun)
  const stop = (signal: NodeJS.Signals) => {
    child.kill(signal)
    return exited
  }
  return {
    pid: child.pid as number, url, directory, identity, readyMs, exited, stop,
    connect: () => openHttp2(url, identity),
    async [Symbol.asyncDispose]() {
      await stop('SIGKILL')
    },
  }
}

function start(args: readonly string[], env: Readonly<Record<string, string>> = {}, detached = false): ChildProcess {
  return spawn(process.execPath, [...FLAGS, LAUNCHER, ...args], { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env }, detached })
}

async function collect(child: ChildProcess): Promise<Exit> {
  let [stdout, stderr] = ['', '']
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null]
  return { code, signal, stdout, stderr }
}

async function firstUrl(child: ChildProcess, exited: Promise<Exit>): Promise<string> {
  const printed = new Promise<string>((resolve) => {
    let text = ''
    child.stdout?.on('data', (chunk: string) => {
      text += chunk
      const url = /serves .* on (https:\S+)\n/.exec(text)?.[1]
      if (url && /kubeconfig: .*\n/.test(text)) resolve(url)
    })
  })
  const ended = exited.then(({ code, signal, stdout, stderr }) => {
    throw new Error(`the server ended before it was ready, code ${code}, signal ${signal}:\n${stdout}${stderr}`)
  })
  ended.catch(() => {})
  return await Promise.race([printed, ended])
}

async function ready(url: string, identity: Identity, begun: number): Promise<number> {
  using client = openHttp2(url, identity)
  const { status, text } = await client.send('GET', '/readyz')
  if (status !== 200) throw new Error(`not ready: ${status} ${text}`)
  return performance.now() - begun
}

/** The certificates in a kubeconfig. */
export function readIdentity(kubeconfig: string): Identity {
  const text = readFileSync(kubeconfig, 'utf8')
  const member = (name: string) => Buffer.from(new RegExp(`${name}: (\\S+)`).exec(text)?.[1] ?? '', 'base64').toString('utf8')
  return { ca: member('certificate-authority-data'), cert: member('client-certificate-data'), key: member('client-key-data') }
}

/** A directory that is removed when it is disposed. */
export function temporaryDirectory(prefix: string): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), prefix))
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) }
}
