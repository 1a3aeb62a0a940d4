/** What the tests of the watch cache share: a codec of small values, and readers that keep what they saw. */
import { systemClock } from '../src/base/clock.ts'
import { silentLog } from '../src/base/log.ts'
import { openMemoryBackend } from '../test/model/memory-backend.ts'
import type { Backend } from './backend.ts'
import { ByteBudget, openWatchCache } from './watch-cache.ts'
import type { Codec, IndexedFields, WatchCache, WatchCacheOptions, WatchItem, WatchOptions } from './watch-cache.ts'

/** Where the objects of these tests are. */
export const PREFIX = 'data/things/'

/** Values are JSON `{labels, text}`; "broken" cannot be decoded. Version "stored" is a view of the value, any other a copy. */
export const codec: Codec = {
  index: (_key, value) => {
    const text = Buffer.from(value).toString()
    if (text === 'broken') throw new Error('broken value')
    return { labels: (JSON.parse(text) as { labels: Record<string, string> }).labels, fields: {}, uid: '' }
  },
  encode: (_key, value, version) => {
    if (Buffer.from(value).toString() === 'broken') throw new Error('broken value')
    return { bytes: version === 'stored' ? value.subarray(1) : Buffer.from(`${version}:${Buffer.from(value).toString()}`), place: 1 }
  },
}

/** A value that `codec` understands. */
export const valueOf = (labels: Record<string, string>, text = ''): Uint8Array => Buffer.from(JSON.stringify({ labels, text }))

/** Writes an object; returns the revision. */
export async function put(backend: Backend, key: string, value: Uint8Array = valueOf({})): Promise<number> {
  return (await backend.commit({ compare: [], put: [{ key: PREFIX + key, value }] })).revision
}

/** Deletes an object; returns the revision. */
export async function remove(backend: Backend, key: string): Promise<number> {
  return (await backend.commit({ compare: [], delete: [PREFIX + key] })).revision
}

interface Opened extends AsyncDisposable {
  readonly backend: Backend
  readonly cache: WatchCache
}

/** A cache over a store in memory that `fill` has filled. */
export async function open(fill: (backend: Backend) => Promise<unknown> = async () => {}, options: Partial<WatchCacheOptions> = {}): Promise<Opened> {
  const backend = options.backend ?? openMemoryBackend()
  await fill(backend)
  const cache = await openWatchCache({ prefix: PREFIX, codec, budget: new ByteBudget(), clock: systemClock, log: silentLog, ...options, backend })
  return {
    backend,
    cache,
    [Symbol.asyncDispose]: async () => {
      await cache.close()
      await backend.close()
    },
  }
}

/** A short form of an item: what a person would say of it. */
function told(item: WatchItem): string {
  if (item.type === 'BOOKMARK') return item.initialEventsEnd ? `BOOKMARK ${item.revision} end` : `BOOKMARK ${item.revision}`
  return `${item.type} ${item.entry.key} ${item.revision}`
}

/** Reads a watch in the background. */
export function read(cache: WatchCache, options: Partial<WatchOptions>): { items: WatchItem[]; told: () => string[]; stop: () => void; done: Promise<unknown> } {
  const items: WatchItem[] = []
  const stop = new AbortController()
  const run = async (): Promise<unknown> => {
    try {
      for await (const batch of cache.watch({ signal: stop.signal, ...options })) items.push(...batch)
      return 'ended'
    } catch (error) {
      return error
    }
  }
  return { items, told: () => items.map(told), stop: () => stop.abort(), done: run() }
}

/** Lets everything that is under way settle. */
export async function settle(cache?: WatchCache, revision = 0): Promise<void> {
  await cache?.waitFor(revision, { signal: AbortSignal.timeout(2000) })
  await new Promise((resolve) => setImmediate(resolve))
}

/** A selector. */
export const isRed = (index: IndexedFields): boolean => index.labels['color'] === 'red'
