/** An HTTP/2 client for tests and benches: many requests over few connections, and watches as iterables of events. */
import { connect, constants, type ClientHttp2Session, type ClientHttp2Stream, type OutgoingHttpHeaders } from 'node:http2'
import type { Answer, Send } from './harness.ts'

/** Who calls, all PEM. */
export interface Identity {
  readonly ca: string
  readonly cert: string
  readonly key: string
}

/** An event of a watch. */
export interface Event {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR'
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into objects of any shape
  readonly object: any
}

/** A watch under way: iterate it once. It ends with the response; it throws when the connection breaks. */
export interface EventStream extends AsyncIterable<Event> {
  /** Headers of the answer. Rejects when there is none. */
  readonly headers: Promise<Readonly<Record<string, string>>>
  /** Resets the stream; with CANCEL unless another code is given. */
  close(code?: number): void
}

export interface Http2Client extends Disposable {
  readonly session: ClientHttp2Session
  /** One request. `discard` leaves `text` empty. */
  send(method: string, path: string, options?: Send & { readonly discard?: boolean }): Promise<Answer>
  /** A request whose body and answer the caller handles. */
  open(headers: OutgoingHttpHeaders, options?: { readonly endStream?: boolean }): ClientHttp2Stream
  watch(path: string, headers?: Record<string, string>): EventStream
}

/** Connects; requests wait for the connection. */
export function openHttp2(url: string, { ca, cert, key }: Identity): Http2Client {
  const session = connect(url, { ca, cert, key, maxSessionMemory: 1000 })
  // Every stream of a broken connection fails by itself.
  session.on('error', () => {})
  session.on('connect', () => session.setLocalWindowSize(64 * 1024 * 1024))
  const open: Http2Client['open'] = (headers, options) => session.request(headers, options)
  return {
    session,
    open,
    send: (method, path, options = {}) => sendOver(open, method, path, options),
    watch: (path, headers = {}) => watchOver(open({ ':path': path, ...headers })),
    [Symbol.dispose]: () => session.destroy(),
  }
}

function sendOver(open: Http2Client['open'], method: string, path: string, { headers = {}, body, type, discard }: Send & { readonly discard?: boolean }): Promise<Answer> {
  const bytes = body === undefined ? undefined : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
  return new Promise((resolve, reject) => {
    const stream = open({
      ':method': method,
      ':path': path,
      ...(bytes ? { 'content-type': type ?? 'application/json', 'content-length': bytes.length } : {}),
      ...headers,
    })
    stream.on('error', reject)
    stream.on('close', () => reject(new Error(`${method} ${path}: the stream closed without an answer, code ${stream.rstCode}`)))
    stream.on('response', ({ ':status': status = 0, ...answered }) => {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => {
        if (!discard) chunks.push(chunk)
      })
      stream.on('end', () => {
        if (stream.rstCode !== constants.NGHTTP2_NO_ERROR) return reject(new Error(`${method} ${path}: the answer was cut off, code ${stream.rstCode}`))
        const text = Buffer.concat(chunks).toString('utf8')
        resolve({ status, headers: answered as Answer['headers'], text, body: text.startsWith('{') ? JSON.parse(text) : text })
      })
    })
    stream.end(bytes)
  })
}

function watchOver(stream: ClientHttp2Stream): EventStream {
  const headers = new Promise<Readonly<Record<string, string>>>((resolve, reject) => {
    stream.once('response', (answered) => resolve(answered as unknown as Record<string, string>))
    stream.once('error', reject)
    stream.once('close', () => reject(new Error('the watch closed without an answer')))
  })
  headers.catch(() => {})
  return {
    headers,
    close: (code = constants.NGHTTP2_CANCEL) => stream.close(code),
    async *[Symbol.asyncIterator]() {
      let rest = ''
      stream.setEncoding('utf8')
      for await (const text of stream as AsyncIterable<string>) {
        const lines = (rest + text).split('\n')
        rest = lines.pop() ?? ''
        for (const line of lines) yield JSON.parse(line) as Event
      }
      if (rest !== '') throw new Error(`the watch ended within an event: ${rest.slice(0, 100)}`)
    },
  }
}
