/** One watcher of a cache: a bounded queue between the feed and a reader. */
import type { Clock, Timer } from '../src/base/clock.ts'
import type { ChangeEvents } from './cache-event.ts'
import type { CacheEvent, WatchItem, WatchOptions } from './watch-cache.ts'

/** Items a reader may have waiting; they are shared between watchers, so this is mostly pointers. */
const DEFAULT_BUFFER = 10_000
/** Bytes of stored values that what is waiting may keep alive. */
const DEFAULT_BUFFER_BYTES = 64 * 1024 * 1024
/** The last bookmark comes this long before the reader leaves (apiserver pkg/storage/cacher/cache_watcher.go bookmarkAfterResourceVersion, nextBookmarkTime). */
const LAST_BOOKMARK_MS = 2000

/** Takes what a watcher's filter lets through, from `after` on, until it ends. */
export class CacheWatcher {
  readonly options: WatchOptions
  /** Changes up to this revision are not offered: the reader has them from elsewhere, or does not want them. */
  after = 0
  readonly #clock: Clock
  readonly #buffer: number
  readonly #bufferBytes: number
  readonly #started: number
  #waiting: WatchItem[] = []
  #waitingBytes = 0
  #isFinished = false
  #error: unknown = undefined
  readonly #abort = new AbortController()
  #wake: (() => void) | undefined = undefined
  #bookmarkDue = false
  #hasLast = false
  #timer: Timer | undefined = undefined

  constructor(options: WatchOptions, clock: Clock, buffer: number = DEFAULT_BUFFER) {
    this.options = options
    this.#clock = clock
    this.#buffer = options.buffer ?? buffer
    this.#bufferBytes = options.bufferBytes ?? DEFAULT_BUFFER_BYTES
    this.#started = clock.monotonic()
  }

  /** True when nothing more shall be read. (A watcher that only finishes still delivers all it has.) */
  get ended(): boolean {
    return this.#abort.signal.aborted
  }

  /** Aborts when the watcher ends. */
  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** Queues the change if the filter shows it. More than the reader may have waiting ends the watcher. */
  offer(events: ChangeEvents): void {
    if (this.#isFinished || events.change.revision <= this.after) return
    try {
      const event = events.for(this.options)
      if (event === undefined) return
      // One event may wait, however large it is.
      const bytes = this.#waiting.length === 0 ? 0 : this.#waitingBytes + event.entry.value.byteLength
      if (this.#waiting.length >= this.#buffer || bytes > this.#bufferBytes) this.#cutOff()
      else this.#queue(event)
    } catch (error) {
      this.#error = error
      this.#isFinished = true
    }
    this.#wakeReader()
  }

  #queue(event: CacheEvent): void {
    this.#waiting.push(event)
    this.#waitingBytes += event.entry.value.byteLength
  }

  #cutOff(): void {
    this.end()
    this.options.onSlow?.()
  }

  /** Ends the watcher at once: what is still waiting is dropped, and comes again when the client resumes. */
  end(): void {
    this.#isFinished = true
    this.#error = undefined
    this.#waiting = []
    this.#waitingBytes = 0
    this.#timer?.cancel()
    this.#abort.abort()
    this.#wakeReader()
  }

  /** Takes no more; the watcher ends after what it has. */
  finish(): void {
    this.#isFinished = true
    this.#wakeReader()
  }

  /** The next items, as soon as there are any; undefined at the end. `progress` is the revision up to which everything was offered. */
  async next(progress: () => number): Promise<WatchItem[] | undefined> {
    for (;;) {
      const items = this.#take(progress)
      if (items.length > 0) return items
      if (this.#error !== undefined) throw this.#error
      if (this.#isFinished) return undefined
      await new Promise<void>((resolve) => (this.#wake = resolve))
    }
  }

  /** From now on bookmarks come, as often as the options say. */
  startBookmarks(): void {
    const { bookmarkEveryMs, endsAfterMs } = this.options
    if (bookmarkEveryMs === undefined || this.#isFinished) return
    const toLast = endsAfterMs === undefined ? 0 : this.#started + endsAfterMs - LAST_BOOKMARK_MS - this.#clock.monotonic()
    // Once only: a timer that rings a moment early would else be set again for the rest.
    const isLast = toLast > 0 && toLast < bookmarkEveryMs && !this.#hasLast
    if (isLast) this.#hasLast = true
    this.#timer = this.#clock.schedule(isLast ? toLast : bookmarkEveryMs, () => {
      this.#bookmarkDue = true
      this.#wakeReader()
    })
  }

  #take(progress: () => number): WatchItem[] {
    const items = this.#waiting
    this.#waiting = []
    this.#waitingBytes = 0
    const revision = progress()
    if (this.#bookmarkDue && !this.#isFinished && revision >= this.after) {
      this.#bookmarkDue = false
      items.push({ type: 'BOOKMARK', revision })
      this.startBookmarks()
    }
    return items
  }

  #wakeReader(): void {
    const wake = this.#wake
    this.#wake = undefined
    wake?.()
  }
}
