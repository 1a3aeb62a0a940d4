/** A small client of kube-apiserver: JSON over HTTPS, bounded in time. */
import { Agent, request as requestHttps, type RequestOptions } from 'node:https'
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import type { Clock } from '../src/base/clock.ts'

/** An object of an answer. */
export type KubeJson = { readonly [field: string]: unknown }

/** What proves the server's identity and ours, PEM. */
export interface ClusterCredentials {
  /** Absent: the authorities that Node knows. */
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
  readonly token?: string
}

/** Where a kube-apiserver is. */
export interface ClusterAccess {
  /** `https://10.0.0.1:443`, perhaps with a path before all paths. */
  readonly server: string
  /** The name that its certificate must have, where it is not that of the address. */
  readonly tlsServerName?: string
  /** Reads the credentials; called again about once a minute, since tokens are renewed in their files. */
  credentials(): Promise<ClusterCredentials>
}

/** One request. `path` begins with a slash and may have a query. */
export interface KubeRequest {
  readonly method: 'GET' | 'POST' | 'PUT'
  readonly path: string
  readonly body?: unknown
  /** Default: 10 s. */
  readonly timeoutMs?: number
  readonly accept?: string
  readonly signal?: AbortSignal
}

/** A line of a watch. */
export interface KubeEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'
  readonly object: KubeJson
}

/** The client. Both methods reject with KubeStatusError for an answer that is no success, and with KubeUnreachable for none. */
export interface KubeClient {
  request(request: KubeRequest): Promise<KubeJson>
  /** Events of a path that asks for a watch; ends when the server ends it, throws when it breaks or `idleMs` pass without a byte. */
  watch(path: string, options: { readonly signal: AbortSignal; readonly idleMs: number; readonly accept?: string }): AsyncGenerator<KubeEvent>
  /** Ends all connections. */
  close(): void
}

/** An answer that is no success. */
export class KubeStatusError extends Error {
  override readonly name = 'KubeStatusError'
  readonly code: number
  readonly reason: string
  constructor(code: number, reason: string, message: string) {
    super(message)
    this.code = code
    this.reason = reason
  }
}

/** There is no answer, or it cannot be read. The message names the request and its URL, as Go's url.Error does. */
export class KubeUnreachable extends Error {
  override readonly name = 'KubeUnreachable'
}

const TIMEOUT_MS = 10_000
const CREDENTIALS_MS = 60_000
const BODY_LIMIT = 64 * 1024 * 1024
const LINE_LIMIT = 8 * 1024 * 1024
const CONNECTIONS = 64

interface Sending extends KubeRequest {
  readonly signal: AbortSignal
}

/** Opens a client; it connects when it is asked something. */
export function openKubeClient({ access, userAgent, clock }: { readonly access: ClusterAccess; readonly userAgent: string; readonly clock: Clock }): KubeClient {
  const connections = openConnections(access, clock)
  const base = new URL(access.server)
  const prefix = base.pathname.replace(/\/$/, '')
  const send = async (request: Sending): Promise<IncomingMessage> => {
    const { agent, token } = await connections.current()
    const bytes = request.body === undefined ? undefined : Buffer.from(JSON.stringify(request.body))
    const host = base.hostname.replace(/^\[|\]$/g, '')
    const options: RequestOptions = {
      agent, host, port: base.port || 443, path: prefix + request.path, method: request.method, signal: request.signal,
      servername: access.tlsServerName ?? (isIP(host) ? '' : host),
      headers: {
        accept: request.accept ?? 'application/json',
        'user-agent': userAgent,
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(bytes ? { 'content-type': 'application/json', 'content-length': bytes.length } : {}),
      },
    }
    const response = await new Promise<IncomingMessage>((resolve, reject) => requestHttps(options, resolve).on('error', reject).end(bytes))
    if (response.statusCode === 401) connections.forget()
    return response
  }
  const describe = (request: KubeRequest, error: unknown): Error => {
    if (error instanceof KubeStatusError) return error
    const method = request.method[0] + request.method.slice(1).toLowerCase()
    return new KubeUnreachable(`${method} "${access.server.replace(/\/$/, '')}${request.path}": ${error instanceof Error ? error.message || String(error) : String(error)}`, { cause: error })
  }
  return {
    async request(request) {
      const limit = new AbortController()
      const { timeoutMs = TIMEOUT_MS } = request
      const timer = clock.schedule(timeoutMs, () => limit.abort(new Error(`no answer in ${timeoutMs} ms`)))
      try {
        const signal = request.signal ? AbortSignal.any([request.signal, limit.signal]) : limit.signal
        return await readAnswer(await send({ ...request, signal }))
      } catch (error) {
        throw describe(request, limit.signal.aborted ? limit.signal.reason : error)
      } finally {
        timer.cancel()
      }
    },
    async *watch(path, { signal, idleMs, accept }) {
      const request = { method: 'GET' as const, path, ...(accept === undefined ? {} : { accept }) }
      const idle = new AbortController()
      const expect = () => clock.schedule(idleMs, () => idle.abort(new Error(`nothing was heard in ${idleMs} ms`)))
      let timer = expect()
      try {
        const response = await send({ ...request, signal: AbortSignal.any([signal, idle.signal]) })
        if (response.statusCode !== 200) await readAnswer(response)
        yield* readEvents(response, () => {
          timer.cancel()
          timer = expect()
        })
      } catch (error) {
        throw describe(request, idle.signal.aborted ? idle.signal.reason : error)
      } finally {
        timer.cancel()
      }
    },
    close: () => connections.close(),
  }
}

interface Connections {
  current(): Promise<{ readonly agent: Agent; readonly token?: string }>
  /** The credentials were refused: they are read again for the next request. */
  forget(): void
  close(): void
}

function openConnections(access: ClusterAccess, clock: Clock): Connections {
  let agent: Agent | undefined
  let identity = ''
  let read: { readonly at: number; readonly credentials: Promise<ClusterCredentials> } | undefined
  return {
    async current() {
      if (read === undefined || clock.monotonic() - read.at >= CREDENTIALS_MS) read = { at: clock.monotonic(), credentials: access.credentials() }
      const reading = read
      const { token, ...tls } = await reading.credentials.catch((error: unknown) => {
        if (read === reading) read = undefined
        throw error
      })
      const next = JSON.stringify(tls)
      if (agent === undefined || next !== identity) {
        // What is under way on the old one ends by itself.
        agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS, minVersion: 'TLSv1.2', ...tls })
        identity = next
      }
      return { agent, ...(token === undefined ? {} : { token }) }
    },
    forget() {
      read = undefined
    },
    close: () => agent?.destroy(),
  }
}

async function readAnswer(response: IncomingMessage): Promise<KubeJson> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > BODY_LIMIT) throw new Error(`the answer is longer than ${BODY_LIMIT} bytes`)
    chunks.push(chunk)
  }
  const code = response.statusCode ?? 0
  const value = parseObject(Buffer.concat(chunks).toString('utf8'))
  if (code >= 200 && code < 300 && value) return value
  throw statusError(code, value)
}

function statusError(code: number, value: KubeJson | undefined): KubeStatusError {
  return new KubeStatusError(code, String(value?.reason ?? ''), typeof value?.message === 'string' ? value.message : `HTTP status ${code}`)
}

function parseObject(text: string): KubeJson | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as KubeJson) : undefined
  } catch {
    return undefined
  }
}

async function* readEvents(response: IncomingMessage, heard: () => void): AsyncGenerator<KubeEvent> {
  response.setEncoding('utf8')
  let rest = ''
  try {
    for await (const text of response as AsyncIterable<string>) {
      heard()
      const lines = (rest + text).split('\n')
      rest = lines.pop() ?? ''
      if (rest.length > LINE_LIMIT) throw new Error(`an event is longer than ${LINE_LIMIT} characters`)
      for (const line of lines) yield readEvent(line)
    }
  } finally {
    response.destroy()
  }
}

function readEvent(line: string): KubeEvent {
  const event = parseObject(line)
  const object = event?.object
  if (typeof object !== 'object' || object === null) throw new Error('an event of a watch cannot be read')
  if (event?.type === 'ERROR') throw statusError(Number((object as KubeJson).code ?? 500), object as KubeJson)
  return event as unknown as KubeEvent
}
