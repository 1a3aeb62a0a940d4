/** Earlier states of a cache, kept so that a paged list goes on where it began. */
import type { Clock } from '../src/base/clock.ts'
import type { SortedEntries } from './cache-state.ts'

/** As long as the store's own history, after which upstream's continue tokens expire too. */
const KEEP_MS = 5 * 60 * 1000
const KEEP_STATES = 64
/** Bytes of replaced values that the kept states may keep alive. */
const KEEP_BYTES = 64 * 1024 * 1024

interface KeptState {
  readonly state: SortedEntries
  readonly usedAt: number
  /** Bytes replaced, since the cache began, up to this state. */
  readonly replacedBytes: number
}

/** States by revision, bounded in number, age and bytes: the least recently used go first. */
export class RecentStates {
  readonly #clock: Clock
  readonly #kept = new Map<number, KeptState>()
  /** Bytes replaced since the cache began: what a kept state alone keeps alive is at most what came after it. */
  #replacedBytes = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Keeps a state, or keeps it longer. */
  keep(revision: number, state: SortedEntries): void {
    const replacedBytes = this.#kept.get(revision)?.replacedBytes ?? this.#replacedBytes
    this.#kept.delete(revision)
    this.#kept.set(revision, { state, usedAt: this.#clock.monotonic(), replacedBytes })
    this.#trim()
  }

  find(revision: number): SortedEntries | undefined {
    this.#trim()
    return this.#kept.get(revision)?.state
  }

  /** A write replaced or deleted a value of this many bytes. */
  replaced(bytes: number): void {
    this.#replacedBytes += bytes
    if (this.#kept.size > 0) this.#trim()
  }

  clear(): void {
    this.#kept.clear()
  }

  #trim(): void {
    const oldest = this.#clock.monotonic() - KEEP_MS
    for (const [revision, kept] of this.#kept) {
      const expendable = kept.usedAt < oldest || this.#kept.size > KEEP_STATES || this.#replacedBytes - kept.replacedBytes > KEEP_BYTES
      if (expendable) this.#kept.delete(revision)
    }
  }
}
