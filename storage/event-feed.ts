/**
 * Watches of a store in this process: events come from a window in memory, and from the store's log for a watcher that is behind it.
 * A watcher is only a cursor, so a slow one costs nothing and cannot lose or repeat an event.
 */
import { compareKeys, Unavailable } from './backend.ts'
import type { BackendError, WatchBatch, WatchEvent, WatchRequest } from './backend.ts'

/** Bytes of values kept in the window. */
const WINDOW_BYTES = 8 * 1024 * 1024

/** What a watcher that is behind the window asks the log for. */
export interface LogRequest {
  readonly start: string
  readonly end: string
  /** Events with a revision > this one. */
  readonly after: number
}

export interface FeedOptions {
  /** The store's revision when the feed opens; later ones are published. */
  readonly revision: number
  /** The next whole revisions of the log, at least one when there is any; rejects with Compacted when `after` + 1 is gone. */
  readonly read: (request: LogRequest) => Promise<WatchBatch>
  /** Bytes of values kept in memory; default 8 MiB. */
  readonly windowBytes?: number
}

export interface EventFeed {
  /** The newest revision published. */
  readonly revision: number
  /** Number of watchers. */
  readonly watchers: number
  /** Adds the events of the revisions up to `revision`, in order. Watchers see them in a later microtask. */
  publish(events: readonly WatchEvent[], revision: number): void
  /** Events below this revision are no longer served. */
  compact(revision: number): void
  watch(request: WatchRequest): AsyncIterable<WatchBatch>
  /** Ends every watch: cleanly, or by throwing `cause`. Later ones throw `cause` or Unavailable. */
  end(cause?: BackendError): void
}

interface Watcher {
  left: boolean
  wake: () => void
}

/** Opens a feed; see EventFeed. */
export function openFeed(options: FeedOptions): EventFeed {
  const window = openWindow(options.revision, options.windowBytes ?? WINDOW_BYTES)
  const watchers = new Set<Watcher>()
  let revision = options.revision
  const end: { reached: boolean; cause?: BackendError } = { reached: false }

  const wakeAll = (): void => {
    for (const watcher of watchers) watcher.wake()
  }

  const nextBatch = async (request: WatchRequest, after: number): Promise<WatchBatch> => {
    if (after < window.after) return options.read({ start: request.start, end: request.end, after })
    return { events: window.events(request, after), revision }
  }

  async function* follow(request: WatchRequest, watcher: Watcher): AsyncGenerator<WatchBatch, void, undefined> {
    if (end.reached) throw end.cause ?? new Unavailable('the store is closed')
    watchers.add(watcher)
    const leave = (): void => leaveWatch(watcher)
    request.signal?.addEventListener('abort', leave, { once: true })
    try {
      let cursor = request.after
      for (let first = true; !watcher.left && !request.signal?.aborted && !end.reached; ) {
        if (!first && revision <= cursor) {
          await new Promise<void>((resolve) => (watcher.wake = resolve))
          continue
        }
        first = false
        const batch = await nextBatch(request, cursor)
        if (watcher.left) return
        cursor = Math.max(cursor, batch.revision)
        yield batch
      }
      if (end.cause && !watcher.left && !request.signal?.aborted) throw end.cause
    } catch (err) {
      // The log cannot be read once the store closes; that ends the watch cleanly.
      if (!end.reached || end.cause) throw err
    } finally {
      request.signal?.removeEventListener('abort', leave)
      watchers.delete(watcher)
    }
  }

  return {
    get revision() {
      return revision
    },
    get watchers() {
      return watchers.size
    },
    publish(events, upTo) {
      window.add(events)
      revision = upTo
      wakeAll()
    },
    compact: (oldest) => window.trim(oldest - 1),
    watch: (request) => ({
      [Symbol.asyncIterator]() {
        const watcher: Watcher = { left: false, wake: () => {} }
        return leavable(follow(request, watcher), watcher)
      },
    }),
    end(cause) {
      if (end.reached) return
      end.reached = true
      if (cause) end.cause = cause
      wakeAll()
    },
  }
}

function leaveWatch(watcher: Watcher): void {
  watcher.left = true
  watcher.wake()
}

/** A generator queues `return` behind a `next` that may wait for ever; this one wakes it first. */
function leavable(generator: AsyncGenerator<WatchBatch, void, undefined>, watcher: Watcher): AsyncIterator<WatchBatch> {
  return {
    next: () => generator.next(),
    return: () => {
      leaveWatch(watcher)
      return generator.return()
    },
  }
}

interface Window {
  /** All events above this revision are here. */
  readonly after: number
  add(events: readonly WatchEvent[]): void
  /** Drops the events up to a revision. */
  trim(upTo: number): void
  events(range: { start: string; end: string }, after: number): WatchEvent[]
}

function openWindow(revision: number, maxBytes: number): Window {
  let kept: WatchEvent[] = []
  let first = 0
  let bytes = 0
  let after = revision

  const drop = (): void => {
    const event = kept[first++]!
    bytes -= eventBytes(event)
    after = Math.max(after, event.revision)
    // Dropping from the front of an array one by one would move the rest each time.
    if (first > 1024 && first * 2 > kept.length) {
      kept = kept.slice(first)
      first = 0
    }
  }
  const indexAbove = (target: number): number => {
    let low = first
    let high = kept.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (kept[middle]!.revision > target) high = middle
      else low = middle + 1
    }
    return low
  }
  return {
    get after() {
      return after
    },
    add(events) {
      for (const event of events) {
        kept.push(event)
        bytes += eventBytes(event)
      }
      while (bytes > maxBytes && first < kept.length) drop()
    },
    trim(upTo) {
      while (first < kept.length && kept[first]!.revision <= upTo) drop()
      after = Math.max(after, upTo)
    },
    events(range, above) {
      const found: WatchEvent[] = []
      for (let i = indexAbove(above); i < kept.length; i++) {
        const event = kept[i]!
        if (compareKeys(event.key, range.start) >= 0 && compareKeys(event.key, range.end) < 0) found.push(event)
      }
      return found
    },
  }
}

/** An estimate: the bytes it holds, and the objects around them. */
function eventBytes(event: WatchEvent): number {
  return (event.value?.byteLength ?? 0) + (event.previous?.value.byteLength ?? 0) + 256
}
