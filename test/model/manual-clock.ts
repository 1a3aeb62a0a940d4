/** A clock that stands still until it is told to move: for tests. */
import { randomBytes, randomUUID } from 'node:crypto'
import type { Clock, Timer } from '../../src/base/clock.ts'

export interface ManualClock extends Clock {
  /** Moves the time on by `ms`, running what falls due in its order, and lets promises that follow from it settle. */
  advance(ms: number): Promise<void>
}

interface Task {
  readonly at: number
  readonly run: () => void
}

/** Opens a clock that shows `start` (milliseconds since the epoch; default 2026-01-01). Randomness is real, except that `random` is always 0.5. */
export function openManualClock(start = Date.UTC(2026, 0, 1)): ManualClock {
  const tasks = new Set<Task>()
  let now = start

  const schedule = (ms: number, run: () => void): Timer => {
    const task = { at: now + ms, run }
    tasks.add(task)
    return { cancel: () => tasks.delete(task) }
  }
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
  return {
    now: () => now,
    monotonic: () => now - start,
    schedule,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        const timer = schedule(ms, resolve)
        signal?.addEventListener('abort', () => {
          timer.cancel()
          reject(signal.reason)
        })
      }),
    random: () => 0.5,
    uuid: () => randomUUID(),
    bytes: (length) => randomBytes(length),
    async advance(ms) {
      const target = now + ms
      for (;;) {
        const due = [...tasks].filter((task) => task.at <= target).sort((a, b) => a.at - b.at)[0]
        if (!due) break
        now = Math.max(now, due.at)
        tasks.delete(due)
        due.run()
        await settle()
      }
      now = target
      await settle()
    },
  }
}
