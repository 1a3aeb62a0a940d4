/** The watch cache of one prefix of the store: its state, its history and its readers. */
import { BackendError, Unavailable } from './backend.ts'
import type { KeyValue, WatchBatch } from './backend.ts'
import { decodable, HeldEntry, ownBytes, relativeKey, Undecodable } from './cache-entry.ts'
import type { Change } from './cache-entry.ts'
import { eventsOf } from './cache-event.ts'
import { backoffMs, feedPrefix } from './cache-feed.ts'
import type { FeedTarget } from './cache-feed.ts'
import { readLog, readPage } from './cache-log.ts'
import { pageOf } from './cache-page.ts'
import { SortedEntries } from './cache-state.ts'
import { CacheWatcher } from './cache-watcher.ts'
import { CacheWatchers } from './cache-watchers.ts'
import { EventWindow } from './cache-window.ts'
import { RecentStates } from './recent-states.ts'
import { RevisionWaiters } from './revision-waiters.ts'
import type { CacheEntry, ListOptions, ReadyBytes, Snapshot, WatchCache, WatchCacheOptions, WatchItem, WatchOptions } from './watch-cache.ts'

const WINDOW_EVENTS = 10_000
/** Bytes of replaced values that the window alone keeps alive. */
const WINDOW_BYTES = 32 * 1024 * 1024
/** Items per batch of an initial state or of a replay from memory. */
const BATCH_ITEMS = 500

/** See WatchCache and `openWatchCache`. */
export class CachedPrefix implements WatchCache, FeedTarget {
  readonly #options: WatchCacheOptions
  readonly #watchers = new CacheWatchers()
  /** Every iteration that has begun and not ended, live or still catching up. */
  readonly #readers = new Set<CacheWatcher>()
  readonly #waiters: RevisionWaiters
  readonly #recent: RecentStates
  readonly #window: EventWindow
  readonly #closing = new AbortController()
  readonly #fed: Promise<void>
  #state = SortedEntries.empty
  #revision = 0
  #connected = false

  constructor(options: WatchCacheOptions) {
    const { budget, clock, windowEvents = WINDOW_EVENTS } = options
    this.#options = options
    this.#waiters = new RevisionWaiters(clock)
    this.#recent = new RecentStates(clock)
    this.#window = new EventWindow(0, { events: windowEvents, bytes: WINDOW_BYTES }, (previous) => budget.release(previous))
    this.#fed = feedPrefix(options, this, this.#closing.signal)
  }

  get ready(): boolean {
    return this.#revision > 0 && this.#connected
  }

  get revision(): number {
    return this.#revision
  }

  get size(): number {
    return this.#state.size
  }

  get watchers(): number {
    return this.#readers.size
  }

  async waitFor(revision: number, options: { timeoutMs?: number; signal?: AbortSignal } = {}): Promise<void> {
    if (this.#closing.signal.aborted) throw new Unavailable('the watch cache is closed')
    if (this.#revision < revision) await this.#waiters.wait(revision, options)
  }

  get(key: string): CacheEntry | undefined {
    const entry = this.#state.get(key)
    return entry && decodable(entry)
  }

  list(options: ListOptions): Snapshot {
    return this.#page(this.#state, this.#revision, options)
  }

  async listAt(revision: number, options: ListOptions): Promise<Snapshot> {
    const state = this.#stateAt(revision)
    return state === undefined ? readPage(this.#options, revision, options) : this.#page(state, revision, options)
  }

  encode(entry: CacheEntry, version: string): ReadyBytes {
    const { budget, codec } = this.#options
    try {
      return budget.encode(entry, version, codec)
    } catch (err) {
      this.#options.onUndecodable?.(entry)
      throw new Undecodable(entry.key, err)
    }
  }

  watch(options: WatchOptions): AsyncIterable<WatchItem[]> {
    return {
      [Symbol.asyncIterator]: () => {
        const watcher = new CacheWatcher(options, this.#options.clock, this.#options.watcherBuffer)
        const items = this.#read(watcher)
        // A generator queues `return` behind a `next` that may wait for ever; ending the watcher wakes it first.
        return {
          next: () => items.next(),
          return: () => {
            watcher.end()
            return items.return()
          },
        }
      },
    }
  }

  async close(): Promise<void> {
    if (!this.#closing.signal.aborted) {
      this.#closing.abort()
      for (const reader of this.#readers) reader.end()
      this.#waiters.fail(new Unavailable('the watch cache is closed'))
    }
    await this.#fed
    this.#recent.clear()
    this.#window.reset(this.#revision)
    for (const entry of this.#state) this.#options.budget.release(entry)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** For the feed. */
  hold(kv: KeyValue): HeldEntry {
    const { prefix, codec } = this.#options
    const key = kv.key.slice(prefix.length)
    const held = this.#state.get(key)
    if (held?.revision === kv.modRevision) return held
    return this.#entry(relativeKey(kv.key, prefix.length), kv.value, kv.modRevision, kv.createRevision, codec)
  }

  /** For the feed. Watchers that may have missed something end: their clients resume from what they have, or list again. */
  replace(entries: readonly HeldEntry[], revision: number): void {
    const state = SortedEntries.from(entries)
    const isSame = (key: string): boolean => state.get(key)?.revision === this.#state.get(key)?.revision && state.get(key) !== undefined
    for (const watcher of this.#watchers) {
      const { key } = watcher.options
      if (watcher.after < revision && !(key !== undefined && isSame(key))) watcher.finish()
    }
    for (const entry of this.#state) {
      if (state.get(entry.key) === entry) continue
      this.#recent.replaced(entry.value.byteLength)
      this.#options.budget.release(entry)
    }
    this.#state = state
    this.#window.reset(revision)
    this.#connected = true
    this.#advance(revision)
  }

  /** For the feed. */
  apply(batch: WatchBatch): void {
    const { prefix, codec } = this.#options
    for (const event of batch.events) {
      if (event.revision <= this.#revision) continue
      const previous = this.#state.get(event.key.slice(prefix.length))
      if (event.value === undefined) {
        if (previous !== undefined) this.#change({ key: previous.key, revision: event.revision, entry: undefined, previous })
        continue
      }
      const key = previous?.key ?? relativeKey(event.key, prefix.length)
      const entry = this.#entry(key, event.value, event.revision, event.createRevision, codec)
      this.#change({ key, revision: event.revision, entry, previous })
    }
    if (batch.revision > this.#revision) this.#advance(batch.revision)
  }

  /** For the feed. */
  setConnected(connected: boolean): void {
    this.#connected = connected
  }

  #entry(key: string, value: Uint8Array, revision: number, createRevision: number, codec: WatchCacheOptions['codec']): HeldEntry {
    const entry = new HeldEntry(key, ownBytes(value), revision, createRevision, codec)
    if (entry.problem !== undefined) {
      this.#options.log.error('stored object cannot be decoded', { key: this.#options.prefix + key, revision, err: entry.problem })
      this.#options.onUndecodable?.(entry)
    }
    return entry
  }

  #change(change: Change): void {
    const { key, entry, previous } = change
    this.#state = entry === undefined ? this.#state.without(key) : this.#state.with(entry)
    if (previous !== undefined) this.#recent.replaced(previous.value.byteLength)
    this.#window.push(change)
    this.#watchers.offer(change)
  }

  #advance(revision: number): void {
    this.#revision = revision
    this.#waiters.advance(revision)
  }

  #page(state: SortedEntries, revision: number, options: ListOptions): Snapshot {
    const page = pageOf(state, revision, options)
    if (page.nextKey !== undefined) this.#recent.keep(revision, state)
    return page
  }

  /** The state at a revision, when memory has it. */
  #stateAt(revision: number): SortedEntries | undefined {
    if (revision === this.#revision) return this.#state
    if (revision > this.#revision) return undefined
    const kept = this.#recent.find(revision)
    if (kept !== undefined || revision < this.#window.start) return kept
    const state = this.#window.undo(this.#state, revision)
    this.#recent.keep(revision, state)
    return state
  }

  async *#read(watcher: CacheWatcher): AsyncGenerator<WatchItem[], void, undefined> {
    const { signal, initialEvents } = watcher.options
    const leave = (): void => watcher.end()
    signal.addEventListener('abort', leave, { once: true })
    this.#readers.add(watcher)
    if (signal.aborted || this.#closing.signal.aborted) watcher.end()
    try {
      yield* initialEvents ? this.#initialEvents(watcher) : this.#catchUp(watcher)
      watcher.startBookmarks()
      for (;;) {
        const items = await watcher.next(() => this.#revision)
        if (items === undefined) return
        yield items
      }
    } finally {
      signal.removeEventListener('abort', leave)
      watcher.end()
      this.#readers.delete(watcher)
      this.#watchers.remove(watcher)
    }
  }

  /** The state now, with the watcher live behind it. */
  async *#initialEvents(watcher: CacheWatcher): AsyncGenerator<WatchItem[]> {
    const { key, prefix, matches, after = 0 } = watcher.options
    if (this.#revision < after) await this.waitFor(after, { signal: watcher.signal }).catch(() => watcher.end())
    if (watcher.ended) return
    const revision = this.#revision
    this.#goLive(watcher, revision)
    const { entries } = pageOf(this.#state, revision, { ...(key !== undefined && { key }), ...(prefix !== undefined && { prefix }), ...(matches && { matches }) })
    for (let at = 0; at + BATCH_ITEMS < entries.length && !watcher.ended; at += BATCH_ITEMS) yield entries.slice(at, at + BATCH_ITEMS).map(added)
    if (watcher.ended) return
    const rest = entries.slice(Math.floor(Math.max(0, entries.length - 1) / BATCH_ITEMS) * BATCH_ITEMS).map(added)
    yield [...rest, { type: 'BOOKMARK', revision, initialEventsEnd: true }]
  }

  /** What lies between the watcher's start and now: from the store's log up to the window, from there from memory. */
  async *#catchUp(watcher: CacheWatcher): AsyncGenerator<WatchItem[]> {
    let position = watcher.options.after ?? this.#revision
    for (let failures = 0; position < this.#window.start && !watcher.ended; ) {
      try {
        for await (const { events, revision } of readLog(this.#options, watcher.options, position, watcher.signal)) {
          if (watcher.ended) return
          failures = 0
          position = revision
          const backlog = position < this.#window.start ? undefined : this.#goLive(watcher, position)
          if (events.length > 0) yield events
          if (backlog === undefined) continue
          yield* this.#replay(watcher, backlog)
          return
        }
      } catch (err) {
        if (!(err instanceof BackendError)) throw err
        this.#options.log.warn('reading the history for a watch failed, trying again', { prefix: this.#options.prefix, position, err })
      }
      if (!watcher.ended) await this.#options.clock.sleep(backoffMs(failures++, this.#options.clock), watcher.signal).catch(() => {})
    }
    if (!watcher.ended) yield* this.#replay(watcher, this.#goLive(watcher, position))
  }

  /** From now on changes are offered to the watcher; returns those between `position` and now. */
  #goLive(watcher: CacheWatcher, position: number): Change[] {
    watcher.after = Math.max(position, this.#revision)
    this.#watchers.add(watcher)
    return this.#window.after(position)
  }

  *#replay(watcher: CacheWatcher, changes: readonly Change[]): Generator<WatchItem[]> {
    for (let at = 0; at < changes.length && !watcher.ended; at += BATCH_ITEMS) {
      const { events, error } = eventsOf(changes.slice(at, at + BATCH_ITEMS), watcher.options)
      if (events.length > 0) yield events
      if (error !== undefined) throw error
    }
  }
}

function added(entry: CacheEntry): WatchItem {
  return { type: 'ADDED', entry, revision: entry.revision }
}
