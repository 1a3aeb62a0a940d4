/**
 * How much of the store a migration takes: a number of commits under way at once, raised by one while they are fast and halved when they are slow,
 * lower while others write, and none while a stop condition holds.
 */
import type { Clock, Timer } from '../src/base/clock.ts'

/** What holds a migration back; undefined: nothing but the store's own speed. */
export type LimitedBy = 'CommitLatency' | 'OtherWriters' | 'Rate' | (string & {})

export interface ThrottleLimits {
  /** Commits under way at once, at most. */
  readonly inFlight: number
  /** The same while others write. */
  readonly inFlightBusy: number
  /** Halve when the 99th percentile of commits is above this. */
  readonly slowMs: number
  /** Raise when it is below this. */
  readonly fastMs: number
}

export const DEFAULT_LIMITS: ThrottleLimits = { inFlight: 32, inFlightBusy: 6, slowMs: 100, fastMs: 25 }

/** An evaluation after this long. */
const PERIOD_MS = 250
/** Others write when they make more commits a second than this. */
const BUSY_RATE = 20

export interface Throttle {
  readonly limitedBy: LimitedBy | undefined
  /** Milliseconds by reason for which it held the migration back: time that passed, however many commits waited in it. */
  readonly waited: ReadonlyMap<string, number>
  /** Runs a commit when its turn comes, and learns from its revision how many commits others made meanwhile; undefined: it was ended before. */
  run<T extends { readonly revision: number }>(commit: () => Promise<T>): Promise<T | undefined>
  /** Lets nothing run until the reason is gone (undefined). */
  stop(reason: string | undefined): void
  /** Objects a second, where an operator asks for a fixed limit; undefined: none. */
  limit(rate: number | undefined): void
  /** Nothing more is run. */
  end(): void
}

/** Opens a throttle. */
export function openThrottle(clock: Clock, limits: ThrottleLimits): Throttle {
  return new AdaptiveThrottle(clock, limits)
}

class AdaptiveThrottle implements Throttle {
  readonly #waited = new Map<string, number>()
  readonly #clock: Clock
  readonly #limits: ThrottleLimits
  readonly #queue: (() => void)[] = []
  #window: number
  #running = 0
  #stopped: string | undefined
  #slow = false
  /** What the last look found; before the first one nobody knows. */
  #busy: boolean | undefined
  #latencies: number[] = []
  #periodStart: number
  #own = 0
  #revision = 0
  #periodRevision = 0
  #rate: number | undefined
  #timer: Timer | undefined
  #ended = false
  #nextAt: number
  /** Since when commits have waited for a reason that is not accounted for yet. */
  #heldSince: number | undefined

  constructor(clock: Clock, limits: ThrottleLimits) {
    this.#clock = clock
    this.#limits = limits
    this.#window = limits.inFlight
    this.#periodStart = this.#nextAt = clock.monotonic()
  }

  get limitedBy(): LimitedBy | undefined {
    if (this.#stopped !== undefined) return this.#stopped
    if (this.#slow) return 'CommitLatency'
    if (this.#busy) return 'OtherWriters'
    return this.#rate === undefined ? undefined : 'Rate'
  }

  get waited(): ReadonlyMap<string, number> {
    this.#account()
    return this.#waited
  }

  stop(reason: string | undefined): void {
    this.#account()
    this.#stopped = reason
    this.#wake()
  }

  limit(rate: number | undefined): void {
    if (rate === this.#rate) return
    this.#account()
    this.#rate = rate
    this.#nextAt = this.#clock.monotonic()
    this.#wake()
  }

  end(): void {
    this.#account()
    this.#ended = true
    this.#timer?.cancel()
    for (const go of this.#queue.splice(0)) go()
    this.#heldSince = undefined
  }

  async run<T extends { readonly revision: number }>(commit: () => Promise<T>): Promise<T | undefined> {
    if (this.#ended) return undefined
    const turn = new Promise<void>((resolve) => this.#queue.push(resolve))
    this.#wake()
    await turn
    if (this.#ended) return undefined
    const start = this.#clock.monotonic()
    try {
      const result = await commit()
      this.#own++
      this.#revision = Math.max(this.#revision, result.revision)
      return result
    } finally {
      this.#latencies.push(this.#clock.monotonic() - start)
      this.#running--
      this.#evaluate()
      this.#wake()
    }
  }

  // The time until now is that of the reason until now: called before that may change.
  #account(): void {
    const [now, since, reason] = [this.#clock.monotonic(), this.#heldSince, this.limitedBy]
    if (since !== undefined && reason !== undefined && now > since) this.#waited.set(reason, (this.#waited.get(reason) ?? 0) + now - since)
    this.#heldSince = this.#queue.length > 0 ? now : undefined
  }

  // Careful until the first look says that nobody else writes.
  #allowed(): number {
    return this.#busy !== false ? Math.min(this.#window, this.#limits.inFlightBusy) : this.#window
  }

  // A place is handed on, so that nobody who comes meanwhile takes it. Who came last goes first: a few shards are worked on one after another, and the store has
  // their places at hand, where taking them in turn would touch those of all.
  #wake(): void {
    while (this.#stopped === undefined && this.#queue.length > 0 && this.#running < this.#allowed() && this.#isDue()) {
      this.#running++
      this.#queue.pop()!()
    }
    this.#account()
  }

  // With a fixed rate the next one has its moment; it is waited for by one timer for all.
  #isDue(): boolean {
    if (this.#rate === undefined) return true
    const now = this.#clock.monotonic()
    if (now >= this.#nextAt) {
      // What was missed is made up for, but not more than a second of it.
      this.#nextAt = Math.max(now - 1000, this.#nextAt) + 1000 / this.#rate
      return true
    }
    this.#timer?.cancel()
    this.#timer = this.#clock.schedule(this.#nextAt - now, () => this.#wake())
    return false
  }

  #evaluate(): void {
    const now = this.#clock.monotonic()
    const elapsed = now - this.#periodStart
    if (elapsed < PERIOD_MS) return
    this.#account()
    const sorted = this.#latencies.toSorted((a, b) => a - b)
    const p99 = sorted[Math.floor(sorted.length * 0.99)] ?? 0
    if (p99 > this.#limits.slowMs) this.#window = Math.max(1, this.#window >> 1)
    else if (p99 < this.#limits.fastMs) this.#window = Math.min(this.#limits.inFlight, this.#window + 1)
    this.#slow = this.#window < this.#limits.inFlight
    const others = this.#periodRevision > 0 ? this.#revision - this.#periodRevision - this.#own : 0
    this.#busy = (others * 1000) / elapsed > BUSY_RATE
    this.#periodStart = now
    this.#latencies = []
    this.#own = 0
    this.#periodRevision = this.#revision
  }
}
