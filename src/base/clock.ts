/**
 * Time and randomness, the two ambient inputs. Everything that needs either takes a Clock;
 * only this file touches the real ones, so tests inject theirs.
 */
import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'

/** A cancellable timer, as `Clock.schedule` returns it. */
export interface Timer {
  cancel(): void
}

/** Source of time and randomness. Times are milliseconds since the epoch. */
export interface Clock {
  /** Wall-clock time in milliseconds since the epoch. */
  now(): number
  /** Monotonic milliseconds: for measuring and for deadlines, never shown to a client. */
  monotonic(): number
  /** Resolves after `ms`; rejects with the signal's reason when it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** Runs `task` once after `ms`. The timer does not keep the process alive. */
  schedule(ms: number, task: () => void): Timer
  /** A random number in [0, 1). */
  random(): number
  /** A random RFC 4122 version 4 UUID. */
  uuid(): string
  /** `length` random bytes. */
  bytes(length: number): Uint8Array
}

/** The real clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: async (ms, signal) => {
    await delay(ms, undefined, signal ? { signal } : {})
  },
  schedule: (ms, task) => {
    const timer = setTimeout(task, ms)
    timer.unref()
    return { cancel: () => clearTimeout(timer) }
  },
  random: () => Math.random(),
  uuid: () => randomUUID(),
  bytes: (length) => randomBytes(length),
}
