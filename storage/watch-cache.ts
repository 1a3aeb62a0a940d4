/**
 * One cache per resource, for all its versions: list and watch are answered from memory.
 *
 * Each object is held once, as its stored bytes with the place where its resourceVersion goes; JSON in another version is made
 * once and kept under a byte budget shared by all caches. What the bytes mean is injected (Codec): this file knows no Kubernetes object.
 */
import type { Clock } from '../src/base/clock.ts'
import type { Log } from '../src/base/log.ts'
import type { Backend } from './backend.ts'
import { CachedPrefix } from './cached-prefix.ts'
import type { ByteBudget } from './encoded-bytes.ts'

export { TooOld, Undecodable } from './cache-entry.ts'
export { ByteBudget } from './encoded-bytes.ts'

/** JSON bytes of one object, complete except for its revision, whose decimal text goes in at `place` (a byte offset). */
export interface ReadyBytes {
  readonly bytes: Uint8Array
  readonly place: number
}

/** What the cache knows of an object without parsing it again; made by `Codec.index`. Opaque fields are for the injected filters. */
export interface IndexedFields {
  readonly labels: Readonly<Record<string, string>>
  /** Values for field selectors, by `<version>` then label; labels that hold in every version stand under "". */
  readonly fields: Readonly<Record<string, Readonly<Record<string, string>>>>
  readonly uid: string
}

/** One object in the cache. Immutable. */
export interface CacheEntry {
  /** Key relative to the resource's prefix: `<namespace>/<name>` or `<name>`. */
  readonly key: string
  readonly revision: number
  readonly createRevision: number
  /** The stored value, envelope included. */
  readonly value: Uint8Array
  readonly index: IndexedFields
}

/** The meaning of the bytes, injected by the registry. Both throw for a value that cannot be decoded. */
export interface Codec {
  index(key: string, value: Uint8Array): IndexedFields
  /** The object's JSON in a version. */
  encode(key: string, value: Uint8Array, version: string): ReadyBytes
}

/** Which entries a list or watch wants. Absent parts match everything. */
export interface Filter {
  /** Only keys that start with this (a namespace: "default/"). Ends in an ASCII character. */
  readonly prefix?: string
  /** Only this key. */
  readonly key?: string
  readonly matches?: (index: IndexedFields) => boolean
}

export interface ListOptions extends Filter {
  readonly limit?: number
  /** Exclusive start: only keys greater than or equal to this relative key. */
  readonly startKey?: string
}

/** A list: entries in key order at one revision. */
export interface Snapshot {
  readonly revision: number
  readonly entries: readonly CacheEntry[]
  /** With a limit: a relative key to go on from, absent when nothing is left. */
  readonly nextKey?: string
  /** Entries after this page, when no `matches` was given. */
  readonly remaining?: number
}

/** One change as a watcher sees it, after the filter: `entry` is the object to show, `revision` the event's. */
export interface CacheEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  /** For DELETED: the last state, to be shown with `revision` (not with `entry.revision`). */
  readonly entry: CacheEntry
  readonly revision: number
}

/** What a watcher reads: events, or progress (everything up to `revision` was delivered), or the mark after the initial state. */
export type WatchItem = CacheEvent | { readonly type: 'BOOKMARK'; readonly revision: number; readonly initialEventsEnd?: true }

export interface WatchOptions extends Filter {
  /** Events after this revision; absent with `initialEvents`. */
  readonly after?: number
  /** Begin with an ADDED for every current entry, then a BOOKMARK with initialEventsEnd; the state is at least at this revision. */
  readonly initialEvents?: boolean
  readonly signal: AbortSignal
  /** Items a slow reader may have waiting before it is cut off (the iteration ends); default: the cache's `watcherBuffer`. */
  readonly buffer?: number
  /** Bytes of stored values that those items may keep alive; default 64 MiB. */
  readonly bufferBytes?: number
  /** Called when the reader is cut off because too much waits for it: it may hang in the middle of an item. */
  readonly onSlow?: () => void
  /** A BOOKMARK this often, after the initial events; absent: none. */
  readonly bookmarkEveryMs?: number
  /** When the reader means to leave, counted from the start: a last BOOKMARK comes two seconds before. Only with `bookmarkEveryMs`. */
  readonly endsAfterMs?: number
}

export interface WatchCache extends AsyncDisposable {
  /** True when the state is complete and changes arrive; false while the store cannot be reached. Reads and watches then go on from what is there. */
  readonly ready: boolean
  /** Revision up to which the cache is complete. */
  readonly revision: number
  readonly size: number
  /** Number of watch iterations that have begun and not ended. */
  readonly watchers: number
  /** Resolves when the cache is at least at `revision`; rejects with the signal's reason, or after `timeoutMs` with a TimeoutError DOMException. Unavailable when the cache closes. */
  waitFor(revision: number, options?: { timeoutMs?: number; signal?: AbortSignal }): Promise<void>
  /** The entry at the cache's present revision. Throws Undecodable, as `list` and `listAt` do. */
  get(key: string): CacheEntry | undefined
  /** The present state. Every returned page can be continued with `listAt` for some time. */
  list(options: ListOptions): Snapshot
  /** The state at a revision: from a kept snapshot or the latest changes, else from the store. Rejects with Compacted or FutureRevision. */
  listAt(revision: number, options: ListOptions): Promise<Snapshot>
  /**
   * Items in order; ends when the signal aborts, the reader is too slow, the cache closes, or changes were lost while the store was away for longer than
   * its history. Throws TooOld when history that is needed is compacted (before the first item, or while catching up), Undecodable for a change that it
   * would have to show and cannot. Live watchers of one change get the same CacheEvent object, so that its bytes can be made once.
   */
  watch(options: WatchOptions): AsyncIterable<WatchItem[]>
  /** JSON of an entry in a version, made once and kept under the budget. Throws Undecodable. */
  encode(entry: CacheEntry, version: string): ReadyBytes
  /** Ends every watch and wait, and gives back what the encoded forms took of the budget. */
  close(): Promise<void>
}

/** What a cache is made from. */
export interface WatchCacheOptions {
  readonly backend: Backend
  /** Of the store's keys, for example "data/notebookvalidationjobs.mlops.dev/". */
  readonly prefix: string
  readonly codec: Codec
  /** For encoded forms; shared by all caches. */
  readonly budget: ByteBudget
  readonly clock: Clock
  readonly log: Log
  /** Called with each entry whose value turns out to have no meaning, or none in a version: when it comes, and when it is encoded. */
  readonly onUndecodable?: (entry: Pick<CacheEntry, 'key' | 'revision'>) => void
  /** Changes kept in memory; default 10,000, and fewer when they hold more than 32 MiB of replaced values. */
  readonly windowEvents?: number
  /** Default of WatchOptions.buffer; 10,000 unless given (waiting items are shared between watchers). */
  readonly watcherBuffer?: number
}

/**
 * Opens the cache of a prefix; resolves when its first state is complete, however long the store takes. It follows the store's watch and comes back
 * with growing pauses when that breaks. Rejects with the signal's reason when that aborts before.
 */
export async function openWatchCache(options: WatchCacheOptions, signal?: AbortSignal): Promise<WatchCache> {
  const cache = new CachedPrefix(options)
  try {
    await cache.waitFor(1, signal === undefined ? {} : { signal })
  } catch (err) {
    await cache.close()
    throw err
  }
  return cache
}
