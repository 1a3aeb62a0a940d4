/** Keys to look at: each at most once in the queue and never by two at a time. upstream: client-go/util/workqueue */
import type { Clock, Timer } from '../base/clock.ts'

const RETRY_BASE_MS = 100
const RETRY_MAX_MS = 30_000

/** A queue that runs `work` for its keys, several keys at once. What `work` throws is given to `onError` and the key comes back later. */
export class WorkQueue {
  private readonly waiting: string[] = []
  private readonly dirty = new Set<string>()
  private readonly processing = new Map<string, Promise<void>>()
  private readonly timers = new Map<string, { due: number; timer: Timer }>()
  private readonly failures = new Map<string, number>()
  private readonly options: WorkQueueOptions
  private stopped = false

  constructor(options: WorkQueueOptions) {
    this.options = options
  }

  /** Queues a key; one that is being worked on is looked at again afterwards. */
  add(key: string): void {
    if (this.stopped || this.dirty.has(key)) return
    this.dirty.add(key)
    if (this.processing.has(key)) return
    this.waiting.push(key)
    this.pump()
  }

  /** Queues a key later; of several times the earliest counts. */
  addAfter(key: string, milliseconds: number): void {
    if (milliseconds <= 0) return this.add(key)
    const { clock } = this.options
    const due = clock.monotonic() + milliseconds
    const planned = this.timers.get(key)
    if (this.stopped || (planned && planned.due <= due)) return
    planned?.timer.cancel()
    // a timer takes 31 bits; one that fires early only looks too soon
    const timer = clock.schedule(Math.min(milliseconds, 2 ** 31 - 1), () => {
      this.timers.delete(key)
      this.add(key)
    })
    this.timers.set(key, { due, timer })
  }

  /** Ends the queue; resolves when nothing is worked on any more. */
  async stop(): Promise<void> {
    this.stopped = true
    this.waiting.length = 0
    for (const { timer } of this.timers.values()) timer.cancel()
    this.timers.clear()
    await Promise.allSettled(this.processing.values())
  }

  private pump(): void {
    while (!this.stopped && this.processing.size < this.options.parallel) {
      const key = this.waiting.shift()
      if (key === undefined) return
      this.dirty.delete(key)
      this.processing.set(key, this.run(key))
    }
  }

  private async run(key: string): Promise<void> {
    try {
      // not before `add` has returned to whoever called it
      await Promise.resolve()
      await this.options.work(key)
      this.failures.delete(key)
    } catch (error) {
      const failures = (this.failures.get(key) ?? 0) + 1
      this.failures.set(key, failures)
      this.options.onError(key, error)
      this.addAfter(key, Math.min(RETRY_BASE_MS * 2 ** (failures - 1), RETRY_MAX_MS))
    } finally {
      this.processing.delete(key)
      if (this.dirty.has(key) && !this.stopped) this.waiting.push(key)
      this.pump()
    }
  }
}

export interface WorkQueueOptions {
  readonly work: (key: string) => Promise<void>
  readonly onError: (key: string, error: unknown) => void
  /** How many keys are worked on at once. */
  readonly parallel: number
  readonly clock: Clock
}
