/**
 * watch: where it starts. upstream: apiserver/pkg/storage/cacher/cacher.go: Watch
 */
import type { WatchItem } from '../../storage/watch-cache.ts'
import { buildFilter, type Scope } from './filter.ts'
import type { ListOptions } from './list-options.ts'
import { parseResourceVersion } from './resource-version.ts'
import { freshen, waitForRevision, type ResourceStore } from './resource-store.ts'

/** A watch that has passed all checks that answer with an HTTP status. */
export interface Watch {
  /** Items in order. The iteration may throw TooOld, Undecodable or a StatusError, which become an ERROR event. */
  readonly items: AsyncIterable<WatchItem[]>
  /** It begins with the present state. */
  readonly initialEvents: boolean
}

/** How long a watch lives. */
export interface WatchLifetime {
  readonly signal: AbortSignal
  /** When it will be ended, counted from now. */
  readonly endsAfterMs: number
  /** Called when its client reads too slowly and it is ended for that. */
  readonly onSlow: () => void
}

/** upstream: cacher: bookmarkFrequency */
const BOOKMARK_MS = 60_000

/** Checks a watch and prepares it; nothing is read before the first iteration. Throws 400 or 500 for a bad selector or resourceVersion. */
export function watch(store: ResourceStore, scope: Scope, options: ListOptions, lifetime: WatchLifetime): Watch {
  const filter = buildFilter(store, scope)
  const revision = parseResourceVersion(options.resourceVersion)
  const base = { ...filter, ...lifetime, ...(options.allowWatchBookmarks ? { bookmarkEveryMs: BOOKMARK_MS } : {}) }
  return { items: start(), initialEvents: options.sendInitialEvents ?? revision === 0 }

  async function* start(): AsyncGenerator<WatchItem[]> {
    if (options.sendInitialEvents === true) {
      // The state must hold everything up to now, or up to the revision that is asked for.
      if (options.resourceVersion === '') await freshen(store)
      else await waitForRevision(store, revision, options.resourceVersion)
      yield* store.cache.watch({ ...base, initialEvents: true })
    } else if (revision > 0) {
      yield* store.cache.watch({ ...base, after: revision })
    } else if (options.sendInitialEvents === false) {
      yield* store.cache.watch({ ...base, after: store.cache.revision })
    } else {
      yield* store.cache.watch({ ...base, initialEvents: true })
    }
  }
}
