/**
 * A watch as a stream of frames, one JSON object a line or one protobuf message after another. Plain frames are made once per event and version and written to every
 * watcher. A slow reader stops the iteration here; the cache cuts it off when too much waits for it.
 * upstream: apiserver/pkg/endpoints/handlers/watch.go: ServeHTTP
 */
import { once } from 'node:events'
import { spliceRevision } from '../api/codec.ts'
import { formatApiVersion, type KubeObject } from '../api/object.ts'
import { expired, internalError, StatusError } from '../api/status.ts'
import { encodeEntry, parseReady } from '../registry/read.ts'
import { undecodableStatus } from '../registry/resource-store.ts'
import type { Watch } from '../registry/watch.ts'
import { TooOld, type CacheEvent, type WatchItem } from '../../storage/watch-cache.ts'
import type { RequestContext } from './context.ts'
import { encodeEvent } from './encode-protobuf.ts'
import { PROTOBUF, type Negotiated } from './negotiate.ts'
import { renderValue } from './respond.ts'
import { transformEvent } from './transform.ts'

/** Which bookmarks the client has asked for: those of progress, and the one that ends the initial events. */
export interface Marks {
  readonly progress: boolean
  readonly end: boolean
}

const FLUSH_BYTES = 64 * 1024

/** Writes the headers at once, then events until the watch ends; resolves when the response is finished. */
export async function streamWatch(context: RequestContext, negotiated: Negotiated, watch: Watch, marks: Marks): Promise<void> {
  const { res, warnings, signal } = context
  res.statusCode = 200
  const protobuf = negotiated.mediaType === PROTOBUF
  res.setHeader('Content-Type', protobuf ? `${PROTOBUF};stream=watch` : 'application/json')
  res.setHeader('Cache-Control', 'no-cache, private')
  const values = warnings.headers()
  if (values.length > 0) res.setHeader('Warning', values)
  res.flushHeaders()
  const frames = framesOf(context, negotiated, watch)
  try {
    for await (const items of watch.items) await writeItems(context, frames, items, marks)
  } catch (error) {
    if (!signal.aborted && error !== NOT_A_LIST) res.write(encodeFrame(negotiated, 'ERROR', statusOf(error)))
  }
  res.end()
}

const COMPACT = { mediaType: 'application/json', pretty: false } as const

function encodeFrame({ mediaType }: Negotiated, type: string, object: unknown): Buffer {
  return mediaType === PROTOBUF ? encodeEvent(type, object) : Buffer.from(renderValue(COMPACT, { type, object }))
}

/** Ends a stream silently. */
const NOT_A_LIST = new Error('content is not a list')

function framesOf(context: RequestContext, negotiated: Negotiated, watch: Watch): Frames {
  if (negotiated.as === undefined) return new PlainFrames(context, watch.initialEvents)
  if (negotiated.as !== 'PartialObjectMetadataList') return new TransformedFrames(context, negotiated)
  // An object cannot be made a list, nor be written by the encoder of lists as it is.
  const refuse = (): never => {
    throw NOT_A_LIST
  }
  return { event: refuse, bookmark: refuse }
}

interface Frames {
  event(event: CacheEvent): Buffer
  bookmark(revision: number, initialEventsEnd: boolean): Buffer
  /** The initial events are over. */
  goLive?(): void
}

async function writeItems({ res, signal }: RequestContext, frames: Frames, items: readonly WatchItem[], marks: Marks): Promise<void> {
  let pending: Buffer[] = []
  let size = 0
  const flush = async () => {
    if (pending.length === 0) return
    const bytes = pending.length === 1 ? (pending[0] as Buffer) : Buffer.concat(pending, size)
    pending = []
    size = 0
    if (!res.write(bytes)) await once(res, 'drain', { signal })
  }
  for (const item of items) {
    if (item.type === 'BOOKMARK' && item.initialEventsEnd) frames.goLive?.()
    if (item.type === 'BOOKMARK' && !(item.initialEventsEnd ? marks.end : marks.progress)) continue
    const frame = item.type === 'BOOKMARK' ? frames.bookmark(item.revision, item.initialEventsEnd === true) : frames.event(item)
    pending.push(frame)
    size += frame.length
    if (size >= FLUSH_BYTES) await flush()
  }
  await flush()
}

function statusOf(error: unknown): unknown {
  const known = undecodableStatus(error)
  if (known instanceof StatusError) return known.status
  if (known instanceof TooOld) return expired(known.message).status
  return internalError(known instanceof Error ? known.message : String(known)).status
}

// The frames of live changes, by version and then by the change, which is one object for all its watchers and lives until the last has read it.
const shared = new Map<string, WeakMap<CacheEvent, Buffer>>()

// Frames of whole objects, shared by all watchers of a version once they are past their initial state.
class PlainFrames implements Frames {
  readonly #context: RequestContext
  readonly #frames: WeakMap<CacheEvent, Buffer>
  #live: boolean
  constructor(context: RequestContext, initialEvents: boolean) {
    this.#context = context
    this.#live = !initialEvents
    const scope = `${context.store.prefix}${context.version.name}`
    this.#frames = shared.get(scope) ?? new WeakMap()
    shared.set(scope, this.#frames)
  }

  event(event: CacheEvent): Buffer {
    if (!this.#live) return this.#encode(event)
    const known = this.#frames.get(event)
    if (known) return known
    const frame = this.#encode(event)
    this.#frames.set(event, frame)
    return frame
  }

  #encode({ type, entry, revision }: CacheEvent): Buffer {
    const ready = encodeEntry(this.#context.store, entry, this.#context.version.name)
    return Buffer.concat([Buffer.from(`{"type":"${type}","object":`), spliceRevision(ready.bytes, ready.place, revision), Buffer.from('}\n')])
  }

  bookmark(revision: number, initialEventsEnd: boolean): Buffer {
    return Buffer.from(renderValue(COMPACT, { type: 'BOOKMARK', object: bookmarkObject(this.#context, revision, initialEventsEnd) }))
  }

  goLive(): void {
    this.#live = true
  }
}

function bookmarkObject({ store, version }: RequestContext, revision: number, initialEventsEnd: boolean): KubeObject {
  const annotations = initialEventsEnd ? { annotations: { 'k8s.io/initial-events-end': 'true' } } : {}
  return {
    kind: store.definition.names.kind,
    apiVersion: formatApiVersion(store.definition.group, version.name),
    metadata: { resourceVersion: String(revision), ...annotations },
  }
}

// Tables and metadata: made for one watcher.
class TransformedFrames implements Frames {
  readonly #context: RequestContext
  readonly #negotiated: Negotiated
  #first = true
  constructor(context: RequestContext, negotiated: Negotiated) {
    this.#context = context
    this.#negotiated = negotiated
  }

  event({ type, entry, revision }: CacheEvent): Buffer {
    const ready = encodeEntry(this.#context.store, entry, this.#context.version.name)
    return this.#frame(type, parseReady(ready, revision), false)
  }

  bookmark(revision: number, initialEventsEnd: boolean): Buffer {
    return this.#frame('BOOKMARK', bookmarkObject(this.#context, revision, initialEventsEnd), true)
  }

  #frame(type: string, object: KubeObject, bookmark: boolean): Buffer {
    const first = this.#first
    this.#first = false
    return encodeFrame(this.#negotiated, type, transformEvent(this.#context, this.#negotiated, object, { first, bookmark }))
  }
}
