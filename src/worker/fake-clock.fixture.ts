/** A clock that stands still until a test moves it. */
import type { Clock } from '../base/clock.ts'

export interface FakeClock extends Clock {
  /** Moves the time, runs what is due in its order, and lets what it started settle. */
  advance(milliseconds: number): Promise<void>
}

/** Lets everything that is not waiting for a timer go on. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve))
}

/** Makes a clock that starts at `start`, in milliseconds since the epoch. */
export function fakeClock(start = Date.UTC(2026, 0, 1)): FakeClock {
  let time = start
  let count = 0
  const timers = new Set<{ due: number; task: () => void }>()
  const schedule: Clock['schedule'] = (milliseconds, task) => {
    const timer = { due: time + milliseconds, task }
    timers.add(timer)
    return { cancel: () => void timers.delete(timer) }
  }
  return {
    now: () => time,
    monotonic: () => time,
    schedule,
    sleep: (milliseconds, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason)
        const timer = schedule(milliseconds, resolve)
        signal?.addEventListener('abort', () => (timer.cancel(), reject(signal.reason)))
      }),
    random: () => 0,
    uuid: () => `00000000-0000-4000-8000-${String(++count).padStart(12, '0')}`,
    bytes: (length) => new Uint8Array(length).fill(++count),
    advance: async (milliseconds) => {
      const end = time + milliseconds
      await settle()
      for (;;) {
        const [next] = [...timers].filter(({ due }) => due <= end).sort((a, b) => a.due - b.due)
        if (!next) break
        timers.delete(next)
        time = Math.max(time, next.due)
        next.task()
        await settle()
      }
      time = end
    },
  }
}
