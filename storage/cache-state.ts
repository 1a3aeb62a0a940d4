/** The entries of a cache at one revision: a persistent sorted map, so that keeping an old state costs nothing. */
import { compareKeys } from './backend.ts'
import type { HeldEntry } from './cache-entry.ts'

type Chunk = readonly HeldEntry[]

/** Most entries of a chunk: a write copies one chunk and the list of chunks. */
const CHUNK_MAX = 256
/** A chunk below this is joined with its neighbour. */
const CHUNK_MIN = 64

/** How many entries, from the front, satisfy `before` (true for a first part of them, then false). */
function partition(chunk: Chunk, before: (key: string) => boolean): number {
  let low = 0
  let high = chunk.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (before(chunk[middle]!.key)) low = middle + 1
    else high = middle
  }
  return low
}

function rankIn(chunk: Chunk, key: string): number {
  let low = 0
  let high = chunk.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (compareKeys(chunk[middle]!.key, key) < 0) low = middle + 1
    else high = middle
  }
  return low
}

/** Immutable entries in key byte order, in chunks that later states share. */
export class SortedEntries {
  static readonly empty: SortedEntries = new SortedEntries([], 0, 0)

  readonly #chunks: readonly Chunk[]
  readonly size: number
  /** How many of the entries cannot be decoded. */
  readonly undecodable: number

  private constructor(chunks: readonly Chunk[], size: number, undecodable: number) {
    this.#chunks = chunks
    this.size = size
    this.undecodable = undecodable
  }

  /** Takes entries that are already in key order. */
  static from(entries: readonly HeldEntry[]): SortedEntries {
    const chunks: Chunk[] = []
    const length = (CHUNK_MAX * 3) / 4
    for (let at = 0; at < entries.length; at += length) chunks.push(entries.slice(at, at + length))
    return new SortedEntries(chunks, entries.length, entries.reduce((sum, entry) => sum + weight(entry), 0))
  }

  get(key: string): HeldEntry | undefined {
    const chunk = this.#chunks[this.#chunkFor(key)]
    if (chunk === undefined) return undefined
    const entry = chunk[rankIn(chunk, key)]
    return entry?.key === key ? entry : undefined
  }

  /** This state with `entry` put in the place of its key. */
  with(entry: HeldEntry): SortedEntries {
    const place = this.#chunkFor(entry.key)
    const chunk = (this.#chunks[place] ?? []).slice()
    const at = rankIn(chunk, entry.key)
    const old = chunk[at]?.key === entry.key ? chunk[at] : undefined
    const chunks = this.#chunks.slice()
    if (old === undefined) chunk.splice(at, 0, entry)
    else chunk[at] = entry
    if (chunk.length > CHUNK_MAX) chunks.splice(place, 1, chunk.slice(0, CHUNK_MAX / 2), chunk.slice(CHUNK_MAX / 2))
    else chunks[place] = chunk
    const added = old === undefined ? 1 : 0
    return new SortedEntries(chunks, this.size + added, this.undecodable + weight(entry) - weight(old))
  }

  /** This state without the key. */
  without(key: string): SortedEntries {
    const place = this.#chunkFor(key)
    const chunk = this.#chunks[place]
    const at = chunk === undefined ? 0 : rankIn(chunk, key)
    const old = chunk?.[at]
    if (chunk === undefined || old?.key !== key) return this
    const rest = chunk.slice()
    rest.splice(at, 1)
    const chunks = this.#chunks.slice()
    const neighbour = chunks[place + 1]
    if (rest.length === 0) chunks.splice(place, 1)
    else if (rest.length < CHUNK_MIN && neighbour !== undefined && neighbour.length < CHUNK_MAX / 2) chunks.splice(place, 2, rest.concat(neighbour))
    else chunks[place] = rest
    return new SortedEntries(chunks, this.size - 1, this.undecodable - weight(old))
  }

  /** How many entries, from the front, satisfy `before` (which is true for a first part of the keys, then false). */
  rank(before: (key: string) => boolean): number {
    const chunks = this.#chunks
    let low = 0
    let high = chunks.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (before(chunks[middle]![0]!.key)) low = middle + 1
      else high = middle
    }
    if (low === 0) return 0
    let rank = partition(chunks[low - 1]!, before)
    for (let at = 0; at < low - 1; at++) rank += chunks[at]!.length
    return rank
  }

  /** The entries from rank `from` up to, not including, rank `to`. */
  slice(from: number, to: number): HeldEntry[] {
    const entries: HeldEntry[] = []
    let start = 0
    for (const chunk of this.#chunks) {
      if (start >= to) break
      const last = Math.min(chunk.length, to - start)
      for (let at = Math.max(0, from - start); at < last; at++) entries.push(chunk[at]!)
      start += chunk.length
    }
    return entries
  }

  /** Every entry in order, without copying. */
  *[Symbol.iterator](): Iterator<HeldEntry> {
    for (const chunk of this.#chunks) yield* chunk
  }

  /** The last chunk that begins at or before the key; 0 when the key comes before them all. */
  #chunkFor(key: string): number {
    let low = 0
    let high = this.#chunks.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (compareKeys(this.#chunks[middle]![0]!.key, key) <= 0) low = middle + 1
      else high = middle
    }
    return Math.max(0, low - 1)
  }
}

function weight(entry: HeldEntry | undefined): number {
  return entry?.problem === undefined ? 0 : 1
}
