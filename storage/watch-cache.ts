/**
 * One cache per resource, for all its versions: list and watch are answered from memory.
 *
 * Each object is held once, as its stored bytes with the place where its resourceVersion goes; JSON in another version is made
 * once and kept under a byte budget shared by all caches. What the bytes mean is injected (Codec): this file knows no Kubernetes object.
 */
import type { Backend } from './backend.ts'

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
  /** Only keys that start with this (a namespace: "default/"). */
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
  /** Items a slow reader may have waiting before it is cut off (the iteration ends). */
  readonly buffer?: number
}

/** The watch cannot go on: the revision is older than the cache and the store keep. */
export class TooOld extends Error {
  readonly requested: number
  readonly oldest: number
  constructor(requested: number, oldest: number) {
    super(`too old resource version: ${requested} (${oldest})`)
    this.name = 'TooOld'
    this.requested = requested
    this.oldest = oldest
  }
}

/** A cached object that cannot be decoded; lists and reads that meet it fail, nothing is left out. */
export class Undecodable extends Error {
  readonly key: string
  constructor(key: string, cause: unknown) {
    super(`cannot decode ${key}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
    this.name = 'Undecodable'
    this.key = key
  }
}

export interface WatchCache extends AsyncDisposable {
  /** True once the first state is complete. */
  readonly ready: boolean
  /** Revision up to which the cache is complete. */
  readonly revision: number
  readonly size: number
  /** Resolves when the cache is at least at `revision`; rejects with the signal's reason, or after `timeoutMs` with a TimeoutError DOMException. */
  waitFor(revision: number, options?: { timeoutMs?: number; signal?: AbortSignal }): Promise<void>
  /** The entry at the cache's present revision. */
  get(key: string): CacheEntry | undefined
  /** The present state. Every returned page can be continued with `listAt` for some time. */
  list(options: ListOptions): Snapshot
  /** The state at a revision: from a kept snapshot, else from the store. Rejects with Compacted or FutureRevision. */
  listAt(revision: number, options: ListOptions): Promise<Snapshot>
  /** Items in order; ends when the signal aborts, the reader is too slow, or the cache closes. Throws TooOld before or instead of the first item. */
  watch(options: WatchOptions): AsyncIterable<WatchItem[]>
  /** JSON of an entry in a version, made once and kept under the budget. */
  encode(entry: CacheEntry, version: string): ReadyBytes
  /** Forgets every encoded form (the meaning of the bytes has changed). */
  close(): Promise<void>
}

export type { Backend }
