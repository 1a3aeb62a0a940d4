/** Answers that are kept for a while, each asked for once at a time. */
import type { Clock } from '../src/base/clock.ts'

/** An answer and for how many milliseconds it holds; 0: it is not kept. */
export interface Fresh<T> {
  readonly value: T
  readonly ttlMs: number
}

export interface ExpiringCache<T> {
  /** The answer of `key`, from `load` when it is not known; who asks while it is loaded waits for the same. A failure is not kept. */
  get(key: string, load: () => Promise<Fresh<T>>): Promise<T>
}

/** Opens a cache of at most `maxEntries`; the oldest go first. */
export function openExpiringCache<T>({ maxEntries, clock }: { readonly maxEntries: number; readonly clock: Clock }): ExpiringCache<T> {
  const known = new Map<string, { readonly value: T; readonly until: number }>()
  const loading = new Map<string, Promise<T>>()
  const keep = (key: string, { value, ttlMs }: Fresh<T>): void => {
    known.delete(key)
    if (ttlMs <= 0) return
    known.set(key, { value, until: clock.monotonic() + ttlMs })
    for (const oldest of known.keys()) {
      if (known.size <= maxEntries) break
      known.delete(oldest)
    }
  }
  const begin = async (key: string, load: () => Promise<Fresh<T>>): Promise<T> => {
    try {
      const fresh = await load()
      keep(key, fresh)
      return fresh.value
    } finally {
      loading.delete(key)
    }
  }
  return {
    get(key, load) {
      const entry = known.get(key)
      if (entry && clock.monotonic() < entry.until) return Promise.resolve(entry.value)
      known.delete(key)
      let pending = loading.get(key)
      if (!pending) {
        pending = begin(key, load)
        loading.set(key, pending)
      }
      return pending
    },
  }
}
