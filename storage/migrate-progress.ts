/** What a running migration shows: values, for a terminal, a condition or a metric. */
import type { Clock } from '../src/base/clock.ts'
import { accountOf, addCounters } from './migrate-job.ts'
import type { Counters, Job, Phase } from './migrate-job.ts'
import type { LimitedBy } from './migrate-throttle.ts'

/** The state of a migration at one moment. */
export interface Progress {
  readonly id: string
  readonly target: string
  readonly phase: Phase
  /** Objects when it began. */
  readonly total: number
  /** Objects dealt with in this pass; while it verifies, objects read. */
  readonly done: number
  readonly counters: Counters
  /** Objects a second, over the last seconds. */
  readonly rate: number
  /** Seconds until the phase ends at this rate; undefined: nobody knows. */
  readonly etaSeconds?: number
  readonly limitedBy?: LimitedBy
  /** Milliseconds held back, by reason. */
  readonly waitedMs: Readonly<Record<string, number>>
  readonly shards: readonly { readonly done: number; readonly finished: boolean }[]
}

/** Follows the rate: an average in which the last five seconds weigh most. */
export function openRate(clock: Clock): { add(done: number): number } {
  let last = { at: clock.monotonic(), done: 0 }
  let rate: number | undefined
  return {
    add(done) {
      const now = clock.monotonic()
      const seconds = (now - last.at) / 1000
      if (done < last.done) last = { at: now, done }
      else if (seconds > 0.1) {
        const current = (done - last.done) / seconds
        rate = rate === undefined ? current : rate + (current - rate) * (1 - Math.exp(-seconds / 5))
        last = { at: now, done }
      }
      return rate ?? 0
    },
  }
}

/** Puts a state together. */
export function progressOf(
  job: Job,
  at: { readonly phase: Phase; readonly checkpoints: readonly { readonly counters: Counters; readonly done: boolean }[]; readonly scanned?: number; readonly rate: number },
  throttle: { readonly limitedBy: LimitedBy | undefined; readonly waited: ReadonlyMap<string, number> },
): Progress {
  const last = addCounters(...at.checkpoints.map(({ counters }) => counters))
  const done = at.scanned ?? last.seen
  const left = Math.max(0, job.total - done)
  return {
    id: job.id,
    target: job.target,
    phase: at.phase,
    total: job.total,
    done,
    counters: accountOf(job, last),
    rate: at.rate,
    ...(at.rate > 0 && { etaSeconds: left / at.rate }),
    ...(throttle.limitedBy !== undefined && { limitedBy: throttle.limitedBy }),
    waitedMs: Object.fromEntries(throttle.waited),
    shards: at.checkpoints.map((checkpoint) => ({ done: checkpoint.counters.seen, finished: checkpoint.done })),
  }
}
