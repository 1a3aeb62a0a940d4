/**
 * Watches of a store in this process: events come from a window in memory, and from the store's log for a watcher that is behind it.
 * A watcher is only a cursor, so a slow one costs nothing and cannot lose or repeat an event.
 */
import { Unavailable } from './backend.ts'
import type { BackendError, WatchBatch, WatchEvent, WatchRequest } from './backend.ts'
import { openWindow } from './event-window.ts'
import type { EventWindow } from './event-window.ts'

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

/** Opens a feed; see EventFeed. */
export function openFeed({ revision, read, windowBytes = WINDOW_BYTES }: FeedOptions): EventFeed {
  const state: FeedState = { revision, read, window: openWindow(revision, windowBytes), watchers: new Set(), ended: false, cause: undefined }
  const wakeAll = (): void => {
    for (const watcher of state.watchers) watcher.wake()
  }
  return {
    get revision() {
      return state.revision
    },
    get watchers() {
      return state.watchers.size
    },
    publish(events, upTo) {
      state.window.add(events)
      state.revision = upTo
      wakeAll()
    },
    compact: (oldest) => state.window.trim(oldest - 1),
    watch: (request) => ({
      [Symbol.asyncIterator]() {
        const watcher: Watcher = { left: false, wake: () => {} }
        return leavable(follow(state, request, watcher), watcher)
      },
    }),
    end(cause) {
      if (state.ended) return
      state.ended = true
      state.cause = cause
      wakeAll()
    },
  }
}

interface FeedState {
  revision: number
  ended: boolean
  cause: BackendError | undefined
  readonly read: FeedOptions['read']
  readonly window: EventWindow
  readonly watchers: Set<Watcher>
}

interface Watcher {
  left: boolean
  wake: () => void
}

async function* follow(state: FeedState, request: WatchRequest, watcher: Watcher): AsyncGenerator<WatchBatch, void, undefined> {
  if (state.ended) throw state.cause ?? new Unavailable('the store is closed')
  const { signal } = request
  const leave = (): void => leaveWatch(watcher)
  if (signal?.aborted) return
  signal?.addEventListener('abort', leave, { once: true })
  state.watchers.add(watcher)
  try {
    let cursor = request.after
    for (let first = true; !watcher.left && !state.ended; first = false) {
      if (!first) await progress(state, watcher, cursor)
      if (watcher.left || state.ended) break
      const batch = await nextBatch(state, request, cursor)
      if (watcher.left) break
      cursor = Math.max(cursor, batch.revision)
      yield batch
    }
    if (state.cause && !watcher.left) throw state.cause
  } catch (err) {
    // The log cannot be read once the store closes; that ends the watch cleanly.
    if (!state.ended || state.cause) throw err
  } finally {
    signal?.removeEventListener('abort', leave)
    state.watchers.delete(watcher)
  }
}

/** Resolves when there is something after `cursor`, or the watch is over. */
async function progress(state: FeedState, watcher: Watcher, cursor: number): Promise<void> {
  while (state.revision <= cursor && !watcher.left && !state.ended) {
    await new Promise<void>((resolve) => (watcher.wake = resolve))
  }
}

async function nextBatch({ window, read, revision }: FeedState, { start, end }: WatchRequest, after: number): Promise<WatchBatch> {
  return after < window.after ? read({ start, end, after }) : { events: window.events({ start, end }, after), revision }
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
