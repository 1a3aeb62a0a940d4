/**
 * The only writer of responses: objects, lists, tables and Statuses, in what the client accepts.
 * upstream: apiserver/pkg/endpoints/handlers/responsewriters/writers.go, handlers/response.go
 */
import { constants, createGzip, gzipSync } from 'node:zlib'
import { once } from 'node:events'
import type { Writable } from 'node:stream'
import type { Response } from 'express'
import { encodeInOrder, encodeYaml, parseStored, spliceRevision } from '../api/codec.ts'
import type { Json, KubeObject } from '../api/object.ts'
import type { StatusError } from '../api/status.ts'
import { encodeEntry, parseReady, type Page } from '../registry/read.ts'
import type { WriteResult } from '../registry/write.ts'
import type { CacheEntry, ReadyBytes } from '../../storage/watch-cache.ts'
import type { RequestContext } from './context.ts'
import { encodeAnswer } from './encode-protobuf.ts'
import { indentJson } from './indent-json.ts'
import { listPieces, type PieceList } from './list-pieces.ts'
import { PROTOBUF, type Negotiated } from './negotiate.ts'
import { transformList, transformObject } from './transform.ts'
import type { Warnings } from './warnings.ts'

/** Bodies above this are compressed for clients that accept gzip. upstream: defaultGzipThresholdBytes */
const GZIP_THRESHOLD = 128 * 1024
/** Lists are written in pieces of about this size, each when the one before is on its way. */
const CHUNK_BYTES = 256 * 1024

/** Writes the object that a write left. */
export function respondObject(context: RequestContext, negotiated: Negotiated, result: WriteResult, code = result.created ? 201 : 200): void {
  const { ready, revision } = result
  const bytes = revision === undefined ? ready.bytes : spliceRevision(ready.bytes, ready.place, revision)
  respondBytes(context, negotiated, bytes, code)
}

/** Writes a cached object. */
export function respondEntry(context: RequestContext, negotiated: Negotiated, entry: CacheEntry): void {
  const ready = encodeEntry(context.store, entry, context.version.name)
  respondBytes(context, negotiated, spliceRevision(ready.bytes, ready.place, entry.revision), 200)
}

function respondBytes(context: RequestContext, negotiated: Negotiated, bytes: Uint8Array, code: number): void {
  if (negotiated.as === undefined && negotiated.mediaType === 'application/json' && !negotiated.pretty) {
    send(context.res, code, negotiated.mediaType, Buffer.concat([bytes, NEWLINE]), context.warnings)
    return
  }
  if (negotiated.as === undefined) {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
    const body = negotiated.mediaType === 'application/yaml' ? encodeYaml(parseStored(bytes)) : indentJson(text)
    send(context.res, code, negotiated.mediaType, Buffer.from(body), context.warnings)
    return
  }
  respondValue(context, negotiated, transformObject(context, negotiated, { metadata: {}, ...(parseStored(bytes) as object) } as KubeObject), code)
}

const NEWLINE = Buffer.from('\n')

/** Writes a value whose key order is its own (Status, Table, …). */
export function respondValue(context: Pick<RequestContext, 'res' | 'warnings'>, negotiated: Negotiated, value: unknown, code: number): void {
  send(context.res, code, negotiated.mediaType, renderBody(negotiated, value), context.warnings)
}

function renderBody(negotiated: Negotiated, value: unknown): Buffer {
  return negotiated.mediaType === PROTOBUF ? encodeAnswer(value) : Buffer.from(renderValue(negotiated, value))
}

/** A value as text in the negotiated media type, which is not protobuf. */
export function renderValue(negotiated: Pick<Negotiated, 'mediaType' | 'pretty'>, value: unknown): string {
  const text = renderJson(value)
  if (negotiated.mediaType === 'application/yaml') return encodeYaml(parseStored(Buffer.from(text)))
  return negotiated.pretty ? indentJson(text) : `${text}\n`
}

function renderJson(value: unknown): string {
  try {
    return escapeHtml(stringify(value))
  } catch (error) {
    // The whole objects of a table may nest deeper than JSON.stringify, which is faster, can follow.
    if (error instanceof RangeError) return encodeInOrder(value as Json)
    throw error
  }
}

// A replacer costs several times the rest, and hardly any value needs it.
function stringify(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch (error) {
    if (error instanceof TypeError) return JSON.stringify(value, bigints)
    throw error
  }
}

// bigint members of a transformed object keep their digits.
function bigints(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(String(value)) : value
}

const HTML = /[<>&\u2028\u2029]/g

function escapeHtml(text: string): string {
  return text.replace(HTML, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Writes an error as a Status. */
export function respondError(res: Response, negotiated: Negotiated, { status }: StatusError, warnings: Warnings): void {
  if (status.details?.retryAfterSeconds) res.setHeader('Retry-After', String(status.details.retryAfterSeconds))
  send(res, status.code, negotiated.mediaType, renderBody(negotiated, status), warnings)
}

/** Writes plain text. */
export function respondText(res: Response, code: number, text: string): void {
  res.setHeader('X-Content-Type-Options', 'nosniff')
  send(res, code, 'text/plain; charset=utf-8', Buffer.from(text))
}

function head(res: Response, code: number, mediaType: string, warnings?: Warnings): void {
  res.statusCode = code
  res.setHeader('Content-Type', mediaType)
  res.setHeader('Cache-Control', 'no-cache, private')
  const values = warnings?.headers() ?? []
  if (values.length > 0) res.setHeader('Warning', values)
}

// Only the bare word counts, without parameters. upstream: responsewriters.negotiateContentEncoding
function acceptsGzip(res: Response): boolean {
  return String(res.req.headers['accept-encoding'] ?? '').split(',').some((token) => token.trim() === 'gzip')
}

function send(res: Response, code: number, mediaType: string, body: Buffer, warnings?: Warnings): void {
  if (res.headersSent || res.writableEnded) return
  head(res, code, mediaType, warnings)
  let bytes = body
  if (body.length > GZIP_THRESHOLD && acceptsGzip(res)) {
    res.setHeader('Content-Encoding', 'gzip')
    res.setHeader('Vary', 'Accept-Encoding')
    bytes = gzipSync(body, { level: 1 })
  }
  res.setHeader('Content-Length', bytes.length)
  res.end(res.req.method === 'HEAD' ? undefined : bytes)
}

/** Writes a list. JSON is joined of ready bytes; every other form is made of the parsed objects. */
export async function respondList(context: RequestContext, negotiated: Negotiated, page: Page): Promise<void> {
  const { store, version } = context
  // Encoded first, so that an object that cannot be decoded is a 500 and not a broken body.
  const ready = page.entries.map((entry) => encodeEntry(store, entry, version.name))
  const pieces = listPieces(context, negotiated, page, ready)
  if (pieces) {
    await streamList(context, pieces, ready.reduce((sum, { bytes }) => sum + bytes.length, 0))
    return
  }
  if (negotiated.as !== undefined) {
    const items = page.entries.map((entry, i) => parseReady(ready[i] as ReadyBytes, entry.revision))
    respondValue(context, negotiated, transformList(context, negotiated, items, page), 200)
    return
  }
  const text = joinPieces(listPieces(context, PLAIN, page, ready) as PieceList)
  const body = negotiated.mediaType === 'application/yaml' ? encodeYaml(parseStored(Buffer.from(text))) : indentJson(text)
  send(context.res, 200, negotiated.mediaType, Buffer.from(body), context.warnings)
}

const PLAIN: Negotiated = { mediaType: 'application/json', pretty: false }

function joinPieces(list: PieceList): string {
  return Buffer.concat([...chunks(list)]).toString('utf8')
}

// `objectBytes` is about how much it will be.
async function streamList({ res, warnings, signal }: RequestContext, list: PieceList, objectBytes: number): Promise<void> {
  head(res, 200, 'application/json', warnings)
  if (res.req.method === 'HEAD') {
    res.end()
    return
  }
  let out: Writable = res
  if (objectBytes > GZIP_THRESHOLD && acceptsGzip(res)) {
    res.setHeader('Content-Encoding', 'gzip')
    res.setHeader('Vary', 'Accept-Encoding')
    const gzip = createGzip({ level: 1, strategy: constants.Z_DEFAULT_STRATEGY })
    gzip.pipe(res)
    out = gzip
  }
  for (const chunk of chunks(list)) {
    if (!out.write(chunk)) await once(out, 'drain', { signal })
  }
  out.end(NEWLINE)
}

function* chunks({ open, pieces, close }: PieceList): Generator<Buffer> {
  let chunk = Buffer.allocUnsafe(CHUNK_BYTES)
  let length = chunk.write(open)
  let first = true
  for (const { lead, bytes, start, place, end, member, tail } of pieces) {
    // A character takes three bytes at most in UTF-8 for each UTF-16 unit.
    const needed = 1 + 3 * (lead.length + tail.length) + member.length + end - start
    if (length + needed > chunk.length) {
      yield chunk.subarray(0, length)
      chunk = Buffer.allocUnsafe(Math.max(CHUNK_BYTES, needed))
      length = 0
    }
    if (!first) length += chunk.write(',', length)
    first = false
    length += chunk.write(lead, length)
    if (end > start) {
      chunk.set(bytes.subarray(start, place), length)
      length += place - start
      length += chunk.write(member, length, 'latin1')
      chunk.set(bytes.subarray(place, end), length)
      length += end - place
    }
    length += chunk.write(tail, length)
  }
  yield chunk.subarray(0, length)
  yield Buffer.from(close)
}
