/** History that a cache no longer holds, read from the store. */
import { compareKeys, Compacted, prefixEnd } from './backend.ts'
import type { Backend, KeyValue, WatchEvent } from './backend.ts'
import { decodable, HeldEntry, TooOld } from './cache-entry.ts'
import type { Change } from './cache-entry.ts'
import { eventsOf } from './cache-event.ts'
import { PAGE_SIZE } from './cache-feed.ts'
import { covers, keyAfter } from './cache-page.ts'
import type { CacheEvent, Codec, Filter, ListOptions, Snapshot } from './watch-cache.ts'

/** Where the history is, and what its bytes mean. */
export interface LogOptions {
  readonly backend: Backend
  readonly prefix: string
  readonly codec: Codec
}

/** Events of whole revisions as a watcher sees them; everything up to `revision` has been seen. */
export interface LogBatch {
  readonly events: CacheEvent[]
  readonly revision: number
}

/** The part of the store that the filter can match. */
function rangeOf(prefix: string, { key, prefix: within = '' }: Filter): { start: string; end: string } {
  if (key !== undefined) return { start: prefix + key, end: keyAfter(prefix + key) }
  return { start: prefix + within, end: prefixEnd(prefix + within) }
}

/**
 * The events after a revision, from the store's revision log, then those to come, until the signal aborts.
 * Throws TooOld when the history needed is compacted, Undecodable as a live watch would, and what the backend throws.
 */
export async function* readLog(options: LogOptions, filter: Filter, after: number, signal: AbortSignal): AsyncGenerator<LogBatch> {
  const { backend, prefix } = options
  let position = after
  try {
    for await (const batch of backend.watch({ ...rangeOf(prefix, filter), after, signal })) {
      const { events, error } = eventsOf(changesOf(options, batch.events, position, filter), filter)
      if (error === undefined) position = Math.max(position, batch.revision)
      yield { events, revision: position }
      if (error !== undefined) throw error
    }
  } catch (err) {
    throw err instanceof Compacted ? new TooOld(position, err.compactedRevision) : err
  }
}

function* changesOf(options: LogOptions, events: readonly WatchEvent[], position: number, filter: Filter): Generator<Change> {
  for (const event of events) yield changeOf(options, event, position, filter)
}

/** An event of the log as a change. A previous value that was compacted away and is needed makes the watch too old. */
function changeOf({ prefix, codec }: LogOptions, event: WatchEvent, position: number, filter: Filter): Change {
  const key = event.key.slice(prefix.length)
  const { value, revision, createRevision } = event
  const isNew = event.type === 'put' && createRevision === revision
  const isNeeded = covers(filter, key) && !isNew && (event.type === 'delete' || filter.matches !== undefined)
  if (isNeeded && event.previous === undefined) throw new TooOld(position, revision)
  return {
    key,
    revision,
    entry: value === undefined || event.type === 'delete' ? undefined : new HeldEntry(key, value, revision, createRevision, codec),
    previous: isNeeded ? entryOf({ prefix, codec }, event.previous!) : undefined,
  }
}

/** The entry for a stored value. */
export function entryOf({ prefix, codec }: Pick<LogOptions, 'prefix' | 'codec'>, kv: KeyValue): HeldEntry {
  return new HeldEntry(kv.key.slice(prefix.length), kv.value, kv.modRevision, kv.createRevision, codec)
}

/** A page of the state at a revision, read from the store; the same page that `pageOf` makes of that state. Rejects with Compacted and FutureRevision. */
export async function readPage(options: LogOptions, revision: number, list: ListOptions): Promise<Snapshot> {
  const { backend, prefix } = options
  const { matches, startKey = '' } = list
  const { start: low, end } = rangeOf(prefix, list)
  const limit = list.limit !== undefined && list.limit > 0 ? list.limit : Infinity
  const entries: HeldEntry[] = []
  let start = compareKeys(prefix + startKey, low) > 0 ? prefix + startKey : low
  for (;;) {
    const size = matches === undefined ? Math.min(limit - entries.length, PAGE_SIZE) : PAGE_SIZE
    const page = await backend.range({ start, end, limit: size, revision })
    for (const kv of page.kvs) {
      if (entries.length >= limit) return { revision, entries, nextKey: keyAfter(entries.at(-1)!.key) }
      const entry = decodable(entryOf(options, kv))
      if (matches === undefined || matches(entry.index)) entries.push(entry)
    }
    const last = page.kvs.at(-1)
    if (!page.more || last === undefined) return { revision, entries }
    start = keyAfter(last.key)
    if (entries.length < limit) continue
    const nextKey = keyAfter(entries.at(-1)!.key)
    return matches === undefined ? { revision, entries, nextKey, remaining: page.count - page.kvs.length } : { revision, entries, nextKey }
  }
}
