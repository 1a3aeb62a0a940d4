/**
 * The contract of a store: keys, bytes and revisions. `backend.suite.ts` is the same contract as a runnable suite;
 * every implementation passes it. Nothing here knows what a Kubernetes object is.
 *
 * Revisions are positive safe integers. Each commit that writes gets one new revision, greater than every earlier one,
 * and one event per key written, all at that revision. Keys are compared by their UTF-8 bytes.
 */

/** A key with its current value. */
export interface KeyValue {
  readonly key: string
  readonly value: Uint8Array
  /** Revision of the last write of this key. */
  readonly modRevision: number
  /** Revision of the write that made this key. */
  readonly createRevision: number
}

/** What `range` reads: all keys k with `start` ≤ k < `end`. */
export interface RangeRequest {
  readonly start: string
  /** Exclusive. `prefixEnd(prefix)` gives the end of a prefix. */
  readonly end: string
  /** At most this many keys; absent: all. */
  readonly limit?: number
  /** Read as of this revision; absent: the current one (linearizable). */
  readonly revision?: number
  /** Only count; `kvs` is then empty. */
  readonly countOnly?: boolean
  /** The number of keys is not wanted: `count` may then be as small as that of `kvs`. Counting costs as much as there are keys. */
  readonly uncounted?: boolean
}

export interface RangeResult {
  readonly kvs: readonly KeyValue[]
  /** True when the limit cut something off. */
  readonly more: boolean
  /** Number of keys in the range, whatever the limit. */
  readonly count: number
  /** The revision of the read: the one asked for, else the store's current one. */
  readonly revision: number
}

/** The largest value a store takes: an object of 1.5 MiB (upstream's limit, etcd's --max-request-bytes) with its envelope. */
export const MAX_VALUE_BYTES = 1536 * 1024 + 4096

/** A condition of a commit. */
export type Compare =
  /** The key's modRevision equals this; 0: the key is absent. */
  | { readonly key: string; readonly modRevision: number }
  /** Every key in the range has a modRevision below this (also true for an empty range). */
  | { readonly start: string; readonly end: string; readonly modRevisionBelow: number }

/** What to write, under which conditions. Each key is written at most once; deleting an absent key writes nothing. */
export interface CommitRequest {
  readonly compare: readonly Compare[]
  readonly put?: readonly { readonly key: string; readonly value: Uint8Array; readonly lease?: string }[]
  readonly delete?: readonly string[]
  /** It can wait: a store may carry out the commits of others first that came at the same time. */
  readonly background?: boolean
  /** It is small and shows, steers or ends work: a store with little room may keep the last of it for such commits. */
  readonly essential?: boolean
}

/**
 * The outcome of a commit. A lost race is a value: `current` has, for every single key that was compared, what it holds now
 * (undefined: absent), read at `revision`.
 */
export type CommitResult =
  /** `revision` is the new one, or the current one when nothing was to be written. */
  | { readonly succeeded: true; readonly revision: number }
  | { readonly succeeded: false; readonly revision: number; readonly current: ReadonlyMap<string, KeyValue | undefined> }

/** One change. For a delete `value` is absent; `previous` is the value before (absent when the key is new). */
export interface WatchEvent {
  readonly type: 'put' | 'delete'
  readonly key: string
  readonly value?: Uint8Array
  readonly previous?: KeyValue
  readonly createRevision: number
  readonly revision: number
}

/** Events of whole revisions, in order; `revision` is the progress: everything up to it has been delivered. `events` may be empty. */
export interface WatchBatch {
  readonly events: readonly WatchEvent[]
  readonly revision: number
}

export interface WatchRequest {
  readonly start: string
  readonly end: string
  /** Events with a revision > this one. */
  readonly after: number
  readonly signal?: AbortSignal
}

/** A lease: keys put under it vanish when it ends. */
export interface Lease {
  readonly id: string
  /** The lease now ends its time to live from now; throws LeaseExpired when it is gone. */
  keepAlive(): Promise<void>
  /** Ends the lease now; its keys are deleted. No error when it is gone already. */
  revoke(): Promise<void>
}

export interface BackendStatus {
  /** For example "sqlite" or "etcd 3.6.16". */
  readonly engine: string
  readonly revision: number
  /** Every revision below this one is gone. */
  readonly compactedRevision: number
  /** Bytes used on disk. */
  readonly bytes: number
  /** The store's room, where it can tell: bytes in all, bytes left until it refuses writes, and how many of those work that can wait should leave to others. */
  readonly space?: { readonly limitBytes: number; readonly freeBytes: number; readonly reserveBytes: number }
  /** It is on a read-only file system: reads are answered, all else is rejected with Unavailable. */
  readonly readOnly?: true
  /** Goes up with each change of the leader, where there is one. */
  readonly term?: number
  /** What is added to the revisions of the engine, where something is. */
  readonly offset?: number
}

/** Nine methods. All reject with Unavailable when the store cannot be reached or is closed. */
export interface Backend extends AsyncDisposable {
  /** The current value of a key (linearizable). */
  get(key: string): Promise<KeyValue | undefined>
  /** Rejects with Compacted for a revision that is gone, FutureRevision for one that is not there yet. */
  range(request: RangeRequest): Promise<RangeResult>
  /**
   * All or nothing, durable when it resolves. Rejects with OutOfSpace or TooLarge when nothing was written,
   * with UnknownOutcome when nobody can say: the caller reads back and decides; it is never sent again blindly.
   * Rejects with LeaseExpired for a put under a lease that is gone, with TypeError for a request that makes no sense.
   */
  commit(request: CommitRequest): Promise<CommitResult>
  /**
   * Changes after a revision, then those to come, until the iteration is left or the signal aborts. The first batch comes at once
   * (empty when there is nothing to replay); writes outside the range show as progress. Throws Compacted when `after` + 1 is already
   * compacted. Ends without an error when the store is closed.
   */
  watch(request: WatchRequest): AsyncIterable<WatchBatch>
  /** The store's current revision (linearizable): every commit that resolved before the call is at or below it. */
  currentRevision(): Promise<number>
  lease(ttlSeconds: number): Promise<Lease>
  /**
   * Forgets values and events older than `revision`; the value of each key as of `revision` stays readable. Earlier revisions are refused
   * once it resolves, their bytes may go later. No error when it is compacted already; FutureRevision beyond the current one.
   */
  compact(revision: number): Promise<void>
  status(): Promise<BackendStatus>
  close(): Promise<void>
}

/** Any failure of a backend. */
export class BackendError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
  }
}

/** The revision asked for is compacted. */
export class Compacted extends BackendError {
  readonly compactedRevision: number
  constructor(compactedRevision: number) {
    super(`required revision has been compacted, oldest is ${compactedRevision}`)
    this.compactedRevision = compactedRevision
  }
}

/** The revision asked for lies in the future. */
export class FutureRevision extends BackendError {
  readonly currentRevision: number
  constructor(currentRevision: number) {
    super(`required revision is a future revision, current is ${currentRevision}`)
    this.currentRevision = currentRevision
  }
}

/** The store cannot be reached, is stopping or is closed. Nothing was written. */
export class Unavailable extends BackendError {}

/** The commit may or may not have happened. */
export class UnknownOutcome extends BackendError {}

/** The disk or the store's quota is full. Nothing was written. */
export class OutOfSpace extends BackendError {}

/** The value is larger than the store takes. Nothing was written. */
export class TooLarge extends BackendError {}

/** The lease has ended. */
export class LeaseExpired extends BackendError {}

/** The exclusive end of the range of all keys that start with `prefix` (a non-empty string whose last character is ASCII). */
export function prefixEnd(prefix: string): string {
  return prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1)
}

/** Orders keys by their UTF-8 bytes: negative, zero or positive. (Plain string comparison differs between surrogates and U+E000 and up.) */
export function compareKeys(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i)
    const y = b.charCodeAt(i)
    if (x !== y) return codeUnitRank(x) - codeUnitRank(y)
  }
  return a.length - b.length
}

/** Puts surrogates, which stand for U+10000 and up, above every other code unit. */
function codeUnitRank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit
}
