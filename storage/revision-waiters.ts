/** Readers that wait for a revision to arrive. */
import type { Clock, Timer } from '../src/base/clock.ts'

interface Waiter {
  readonly revision: number
  settle(error?: unknown): void
}

/** Waits end when the revision arrives, at a deadline, or when a signal aborts. */
export class RevisionWaiters {
  readonly #clock: Clock
  readonly #waiters = new Set<Waiter>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** See `WatchCache.waitFor`. */
  wait(revision: number, options: { timeoutMs?: number; signal?: AbortSignal }): Promise<void> {
    const { timeoutMs, signal } = options
    if (signal?.aborted) return Promise.reject(signal.reason)
    return new Promise((resolve, reject) => {
      let timer: Timer | undefined
      const aborted = (): void => waiter.settle(signal!.reason)
      const waiter: Waiter = {
        revision,
        settle: (error) => {
          this.#waiters.delete(waiter)
          timer?.cancel()
          signal?.removeEventListener('abort', aborted)
          if (error === undefined) resolve()
          else reject(error)
        },
      }
      this.#waiters.add(waiter)
      signal?.addEventListener('abort', aborted, { once: true })
      if (timeoutMs === undefined) return
      timer = this.#clock.schedule(timeoutMs, () => waiter.settle(new DOMException(`revision ${revision} did not arrive in time`, 'TimeoutError')))
    })
  }

  /** The revision has arrived. */
  advance(revision: number): void {
    for (const waiter of this.#waiters) if (waiter.revision <= revision) waiter.settle()
  }

  /** No revision will arrive any more. */
  fail(error: Error): void {
    for (const waiter of this.#waiters) waiter.settle(error)
  }
}
