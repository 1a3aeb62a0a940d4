/** Compaction by age: marks which revision it was when, and forgets what is older than asked for. */
import type { Clock, Timer } from '../src/base/clock.ts'
import type { Log } from '../src/base/log.ts'

export interface CompactorOptions {
  readonly clock: Clock
  readonly log: Log
  /** History is kept for this long, up to a tenth more. */
  readonly compactAfterMs: number
  /** The store's current revision. */
  readonly revision: () => number
  readonly compact: (revision: number) => Promise<void>
  /** Empties the write-ahead log; called when nothing was written for a while. */
  readonly checkpoint: () => Promise<void>
}

/** Starts compacting; the answer stops it. */
export function startCompactor({ clock, log, compactAfterMs, revision, compact, checkpoint }: CompactorOptions): { stop(): void } {
  const marks: { at: number; revision: number }[] = []
  let timer: Timer
  let stopped = false
  let compacted = 0
  let tidy = false

  const mark = (): boolean => {
    const now = revision()
    const idle = marks.at(-1)?.revision === now
    marks.push({ at: clock.monotonic(), revision: now })
    return idle
  }
  /** The newest revision that is old enough. Its mark stays: it says from when on nothing was written. */
  const due = (): number | undefined => {
    const limit = clock.monotonic() - compactAfterMs
    let found: number | undefined
    while (marks[0] && marks[0].at <= limit) found = marks.shift()!.revision
    return found
  }
  const tick = async (): Promise<void> => {
    const idle = mark()
    const old = due()
    if (old !== undefined && old > compacted) {
      await compact(old)
      compacted = old
      // Its rows are removed from now on: the log is emptied next time.
      tidy = false
    } else if (!idle) tidy = false
    else if (!tidy) {
      await checkpoint()
      tidy = true
    }
  }
  const schedule = (): void => {
    timer = clock.schedule(compactAfterMs / 10, () => {
      void tick()
        .catch((err: unknown) => !stopped && log.warn('compaction has failed', { err }))
        .finally(() => !stopped && schedule())
    })
  }
  mark()
  schedule()
  return {
    stop() {
      stopped = true
      timer.cancel()
    },
  }
}
