/** Objects as the watch cache holds them, the order of their keys, and the change of one object. */
import { undecodableClass, type UndecodableClass } from './object-codec.ts'
import type { CacheEntry, Codec, IndexedFields } from './watch-cache.ts'

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

/** A cached object that cannot be decoded; lists and reads that meet it fail, nothing is left out. `more`: how many others a list has met. */
export class Undecodable extends Error {
  readonly key: string
  readonly class: UndecodableClass
  constructor(key: string, cause: unknown, more = 0) {
    const others = more > 0 ? `; and ${more} more: see storage quarantine list` : ''
    super(`cannot decode ${key} (${undecodableClass(cause)}): ${cause instanceof Error ? cause.message : String(cause)}${others}`, { cause })
    this.name = 'Undecodable'
    this.key = key
    this.class = undecodableClass(cause)
  }
}

/** An encoded form kept beside its entry; `ready` is gone once the budget took it back. */
export interface EncodedForm {
  readonly version: string
  /** The same entry in another version. */
  readonly sibling: EncodedForm | undefined
}

const NOTHING_INDEXED: IndexedFields = { labels: {}, fields: {}, uid: '' }

/** A cache entry with what only the cache uses. One flat object, since there may be 100,000 of them. */
export class HeldEntry implements CacheEntry {
  readonly key: string
  readonly revision: number
  readonly createRevision: number
  readonly value: Uint8Array
  readonly index: IndexedFields
  /** Why the value has no meaning; undefined for a good one. */
  readonly problem: Undecodable | undefined
  /** Encoded forms of this entry, newest version first; see encoded-bytes.ts, which alone changes it. */
  forms: EncodedForm | undefined

  constructor(key: string, value: Uint8Array, revision: number, createRevision: number, codec: Codec) {
    let index = NOTHING_INDEXED
    let problem: Undecodable | undefined
    try {
      index = codec.index(key, value)
    } catch (cause) {
      problem = new Undecodable(key, cause)
    }
    this.key = key
    this.revision = revision
    this.createRevision = createRevision
    this.value = value
    this.index = index
    this.problem = problem
    this.forms = undefined
  }
}

/** The entry itself; throws its Undecodable when its value has no meaning. */
export function decodable(entry: HeldEntry): HeldEntry {
  if (entry.problem !== undefined) throw entry.problem
  return entry
}

/** Throws for the first of the entries whose value has no meaning, saying how many there are. */
export function checkDecodable(entries: readonly HeldEntry[]): void {
  const [first, ...others] = entries.flatMap(({ problem }) => problem ?? [])
  if (first !== undefined) throw new Undecodable(first.key, first.cause, others.length)
}

/** One change of one key. `entry` is absent for a delete, `previous` for a key that was absent before. */
export interface Change {
  readonly key: string
  readonly revision: number
  readonly entry: HeldEntry | undefined
  readonly previous: HeldEntry | undefined
}

/** Bytes in memory of their own: a view would keep everything around it alive. */
export function ownBytes(bytes: Uint8Array): Uint8Array {
  return bytes.byteLength === bytes.buffer.byteLength ? bytes : Uint8Array.prototype.slice.call(bytes)
}

/** The rest of `key` after `length` characters, as a string of its own: a slice would keep the whole key alive. */
export function relativeKey(key: string, length: number): string {
  return Buffer.from(key.slice(length)).toString()
}
