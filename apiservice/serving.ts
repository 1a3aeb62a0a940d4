/** TLS serving of HTTP/2 and HTTP/1.1 on one port, chosen by ALPN, with a graceful stop. */
import {
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type Http2Stream,
  type ServerHttp2Session,
} from 'node:http2'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Server as NetServer, type AddressInfo, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import type { Clock } from '../src/base/clock.ts'
import type { Log } from '../src/base/log.ts'

/** A request over either protocol; `httpVersionMajor` tells which. */
export type HttpRequest = IncomingMessage | Http2ServerRequest
/** Its response. Over HTTP/2 neither `Connection`, `Transfer-Encoding` nor a status message may be set. */
export type HttpResponse = ServerResponse | Http2ServerResponse
/** Answers one request. What it throws is logged and answered with 500. */
export type HttpHandler = (request: HttpRequest, response: HttpResponse) => void

/** A serving certificate and the authorities that client certificates may come from, all PEM. */
export interface Certificates {
  readonly key: string
  readonly cert: string
  /** Without it no client certificate is asked for. */
  readonly clientCa?: string
}

export interface ServeTlsOptions extends Certificates {
  readonly handler: HttpHandler
  readonly host: string
  /** 0 for any free one. */
  readonly port: number
  readonly log: Log
  readonly clock: Clock
}

/** A listening server. */
export interface TlsServer {
  /** The address it listens on, with the true port. */
  readonly address: AddressInfo
  /** Uses other certificates for new connections. Those that are open stay, but for those whose client certificate was refused: they end as on a stop, to be shown anew. */
  setCertificates(certificates: Certificates): void
  /**
   * Stops: no new connections, GOAWAY on HTTP/2, `Connection: close` on HTTP/1.1; resolves when the last
   * request has ended, and after `graceMs` at the latest, when what is left is cut. `told` is called when all connections know.
   */
  close(options: { readonly graceMs: number; told?(): void }): Promise<void>
}

const KIB = 1024
const MIB = 1024 * KIB
const HEADER_LIMIT = 60 * KIB
// Node resets an HTTP/2 stream whose header list is longer than clients are told, without an answer and with no way to give one: they are told
// more than we take, so that what lies between is read and answered with 431. A connection receives one header list at a time. Much more is
// of no use: after eight continuation frames of 16 KiB nghttp2 ends the whole connection, which no setting of Node's changes.
const TOLD_HEADER_LIMIT = 128 * KIB
// The aggregator sends all users' requests over one connection: upstream gives aggregated servers as many streams.
const STREAMS_PER_CONNECTION = 1000
// A body that nobody reads yet may fill its stream's window, not that of the connection.
const STREAM_WINDOW = 256 * KIB
const CONNECTION_WINDOW = 64 * MIB
const SECOND = 1000
// How long a connection is read on after its last answer.
const LINGER_MS = 2 * SECOND
// A connection that ends has been quiet for so long, unless it never is. upstream's goAwayTimeout (http2) is the second that it stays.
const QUIET_MS = 20
const QUIET_WAIT_MS = 2 * SECOND
const LINGER_AWAY_MS = SECOND

/**
 * Serves `handler` over TLS on host:port. Rejects with a message that names the port when it is taken or may not be used.
 * upstream: apiserver/pkg/server/secure_serving.go: SecureServingInfo.Serve
 */
export async function serveTls(options: ServeTlsOptions): Promise<TlsServer> {
  const { log, clock } = options
  const server = createServer(options)
  const open = track(server, log, clock)
  server.on('request', (request, response) => {
    open.watch(request, response)
    if (request.httpVersionMajor === 1) request.url = originForm(request.url ?? '/')
    if (request.httpVersionMajor === 2 && headerSize(request) > HEADER_LIMIT) {
      refuseHeader(request as Http2ServerRequest, response as Http2ServerResponse)
      return
    }
    try {
      options.handler(request, response)
    } catch (err) {
      log.error('request handler failed', { err, method: request.method, url: request.url })
      if (response.headersSent) response.destroy()
      else failWith500(response)
    }
  })
  await listen(server, options.host, options.port)
  return {
    address: server.address() as AddressInfo,
    setCertificates(certificates) {
      server.setSecureContext(secureContext(certificates))
      open.drainRefused()
    },
    close: async ({ graceMs, told }) => {
      const closed = stopListening(server)
      void open.drain().then(told)
      const deadline = clock.schedule(graceMs, () => open.destroy())
      // The deadline does not keep the process alive, but the open sockets do.
      await closed
      deadline.cancel()
      // What is left are timers of its own.
      server.close()
    },
  }
}

// Resolves when the last connection has ended. An HTTP/2 server's own close ends its sessions at once.
function stopListening(server: Http2SecureServer): Promise<void> {
  return new Promise((resolve) => NetServer.prototype.close.call(server, () => resolve()))
}

function secureContext({ key, cert, clientCa }: Certificates): { key: string; cert: string; ca?: string; minVersion: 'TLSv1.2' } {
  return { key, cert, minVersion: 'TLSv1.2', ...(clientCa === undefined ? {} : { ca: clientCa }) }
}

function createServer(options: Certificates): Http2SecureServer {
  const server = createSecureServer({
    ...secureContext(options),
    allowHTTP1: true,
    // Without a CA of our own Node would accept certificates of every public authority.
    requestCert: options.clientCa !== undefined,
    rejectUnauthorized: false,
    handshakeTimeout: 10 * SECOND,
    // In megabytes. With the default of 10 a few slow readers on a shared connection end all of its streams.
    maxSessionMemory: 1000,
    // One header line for each group of a user arrives through the aggregator; the size limit counts.
    maxHeaderListPairs: 2000,
    settings: { maxConcurrentStreams: STREAMS_PER_CONNECTION, initialWindowSize: STREAM_WINDOW, maxHeaderListSize: TOLD_HEADER_LIMIT },
  })
  const http1 = server as unknown as { maxHeaderSize: number; headersTimeout: number; requestTimeout: number; keepAliveTimeout: number }
  http1.maxHeaderSize = HEADER_LIMIT
  // upstream: ReadHeaderTimeout 32 s, IdleTimeout 90 s
  http1.headersTimeout = 32 * SECOND
  http1.requestTimeout = 60 * SECOND
  http1.keepAliveTimeout = 90 * SECOND
  return server
}

async function listen(server: Http2SecureServer, host: string, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  }).catch((error: NodeJS.ErrnoException) => {
    throw new Error(listenMessage(error, host, port), { cause: error })
  })
}

function listenMessage(error: NodeJS.ErrnoException, host: string, port: number): string {
  if (error.code === 'EADDRINUSE') return `port ${port} is in use by another program on ${host}: stop it or choose another port`
  if (error.code === 'EACCES') return `port ${port} on ${host} is not allowed for this user: choose one above 1023`
  if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND') return `${host} is not an address of this machine`
  return `cannot listen on ${host} port ${port}: ${error.message}`
}

// upstream's rule for the size of a header list: name, value and 32 bytes for each entry (RFC 9113 6.5.2)
function headerSize(request: HttpRequest): number {
  const { rawHeaders } = request
  let size = rawHeaders.length * 16
  for (const text of rawHeaders) size += text.length
  return size
}

function refuseHeader(request: Http2ServerRequest, response: Http2ServerResponse): void {
  response.writeHead(431, { 'content-type': 'text/plain; charset=utf-8' })
  response.end('431 Request Header Fields Too Large')
  request.resume()
}

// A proxy may send the whole URL, of which the path counts (RFC 9112 3.2.2).
function originForm(target: string): string {
  const authority = /^[a-z][a-z\d+.-]*:\/\/[^/?#]*/i.exec(target)
  if (authority === null) return target
  const rest = target.slice(authority[0].length)
  return rest.startsWith('/') ? rest : `/${rest}`
}

// Over HTTP/1.1 the parser refuses bytes that are no request.
function answerClientError(error: NodeJS.ErrnoException, socket: Socket, clock: Clock): void {
  // What still arrives after the answer is an error each time.
  if (!socket.writableEnded) endSocket(socket, CLIENT_ERRORS[error.code ?? ''] ?? '400 Bad Request', clock)
}

// The last answer on a connection. The socket is ended, not destroyed: the peer may still be sending, and would lose the answer.
function endSocket(socket: Duplex, status: string, clock: Clock): void {
  const busy = (socket as Duplex & { _httpMessage?: ServerResponse })._httpMessage
  if (!socket.writable || busy?.headersSent) {
    socket.destroy()
    return
  }
  socket.on('error', () => {})
  socket.end(`HTTP/1.1 ${status}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n${status}`)
  socket.resume()
  const timer = clock.schedule(LINGER_MS, () => socket.destroy())
  socket.once('close', () => timer.cancel())
}

const CLIENT_ERRORS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
}

function failWith500(response: HttpResponse): void {
  response.statusCode = 500
  response.setHeader('content-type', 'text/plain; charset=utf-8')
  ;(response as ServerResponse).end('This request caused apiserver to panic. Look in the logs for details.\n')
}

interface OpenConnections {
  /** Notes a request, so that its HTTP/1.1 connection is known to be busy. */
  watch(request: HttpRequest, response: HttpResponse): void
  /** Ends what is idle now and the rest as soon as it becomes idle. Resolves when all connections were told. */
  drain(): Promise<void>
  /** Does so with connections whose client certificate was not accepted. */
  drainRefused(): void
  /** Cuts everything. */
  destroy(): void
}

function track(server: Http2SecureServer, log: Log, clock: Clock): OpenConnections {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.setNoDelay(true)
    // Finds peers that went away without a word.
    socket.setKeepAlive(true, 30 * SECOND)
    socket.once('close', () => sockets.delete(socket))
  })
  server.on('tlsClientError', (err: Error) => log.debug('tls handshake failed', { err }))
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => answerClientError(error, socket, clock))
  // A tunnel through us would carry whatever its client likes: nothing behind such a request is read as another one.
  server.on('connect', (_request, socket) => endSocket(socket as Duplex, '405 Method Not Allowed', clock))
  server.on('upgrade', (_request, socket) => endSocket(socket as Duplex, '400 Bad Request', clock))
  server.on('error', (err: Error) => {
    // Before it listens, the start fails with it.
    if (server.listening) log.error('server failed', { err })
  })
  const sessions = trackSessions(server, log, clock)
  const http1 = trackHttp1(server)
  return {
    watch: http1.watch,
    async drain() {
      http1.drain()
      await sessions.drain()
    },
    drainRefused() {
      sessions.drainRefused()
      http1.drainRefused()
    },
    destroy() {
      sessions.destroy()
      for (const socket of sockets) socket.destroy()
    },
  }
}

function isRefused(socket: TLSSocket): boolean {
  return !socket.authorized && socket.getPeerX509Certificate() !== undefined
}

function trackSessions(server: Http2SecureServer, log: Log, clock: Clock): Pick<OpenConnections, 'drain' | 'drainRefused' | 'destroy'> {
  const sessions = new Set<ServerHttp2Session>()
  // When a request of a session began or ended last.
  const active = new WeakMap<object, number>()
  const note = (session: object | undefined): void => void (session && active.set(session, clock.monotonic()))
  let draining = false
  server.on('session', (session) => {
    sessions.add(session)
    session.setLocalWindowSize(CONNECTION_WINDOW)
    session.once('close', () => sessions.delete(session))
    session.on('error', (err: Error) => log.debug('http2 session ended', { err }))
    if (draining) session.close()
  })
  server.on('stream', (stream: Http2Stream) => {
    const { session } = stream
    note(session)
    stream.once('close', () => note(session))
    stream.on('error', (err) => log.debug('http2 stream ended', { err }))
    // A reset with NO_ERROR looks to Node like the end of the body: without this its request would never be over.
    stream.once('end', () => {
      if (stream.closed) stream.destroy()
    })
  })
  return {
    async drain() {
      draining = true
      await Promise.all([...sessions].map((session) => tell(session, () => active.get(session) ?? 0, clock)))
    },
    drainRefused() {
      for (const session of sessions) if (isRefused(session.socket as TLSSocket)) session.close()
    },
    destroy() {
      for (const session of sessions) session.destroy()
    },
  }
}

/**
 * Sends GOAWAY and later ends the session, when its last stream has ended. What a client sends before it has read the GOAWAY is lost, and it can repeat only what
 * has no body: nghttp2 takes nothing more, so a moment is chosen at which nothing is under way. Closed at once, even that would break.
 */
async function tell(session: ServerHttp2Session, active: () => number, clock: Clock): Promise<void> {
  for (const deadline = clock.monotonic() + QUIET_WAIT_MS; ; ) {
    const quietMs = clock.monotonic() - active()
    if (session.destroyed || quietMs >= QUIET_MS || clock.monotonic() >= deadline) break
    await clock.sleep(QUIET_MS - quietMs)
  }
  if (session.destroyed) return
  session.goaway()
  clock.schedule(LINGER_AWAY_MS, () => session.close())
}

function trackHttp1(server: Http2SecureServer): Pick<OpenConnections, 'watch' | 'drainRefused'> & { drain(): void } {
  // Unanswered requests of each connection.
  const busy = new Map<Socket, Set<ServerResponse>>()
  const ending = new WeakSet<Socket>()
  let draining = false
  const end = (socket: Socket, responses: ReadonlySet<ServerResponse>): void => {
    ending.add(socket)
    if (responses.size === 0) socket.destroy()
    for (const response of responses) if (!response.headersSent) response.shouldKeepAlive = false
  }
  server.on('secureConnection', (socket: TLSSocket) => {
    if (socket.alpnProtocol === 'h2') return
    if (draining) socket.destroy()
    else busy.set(socket, new Set())
    socket.once('close', () => busy.delete(socket))
  })
  return {
    watch(request, response) {
      if (request.httpVersionMajor === 2) return
      const http1 = response as ServerResponse
      const socket = request.socket
      busy.get(socket)?.add(http1)
      if (ending.has(socket)) http1.shouldKeepAlive = false
      http1.once('close', () => {
        busy.get(socket)?.delete(http1)
        if (ending.has(socket) && !busy.get(socket)?.size) socket.end()
      })
    },
    drain() {
      draining = true
      for (const [socket, responses] of busy) end(socket, responses)
    },
    drainRefused() {
      for (const [socket, responses] of busy) if (isRefused(socket as TLSSocket)) end(socket, responses)
    },
  }
}
