/** What one change looks like to one watcher. */
import { decodable } from './cache-entry.ts'
import type { Change } from './cache-entry.ts'
import { covers } from './cache-page.ts'
import type { CacheEvent, Filter } from './watch-cache.ts'

/**
 * A change through a filter: an object that begins to match is ADDED, one that stops matching is DELETED with its previous content
 * (apiserver pkg/storage/cacher/cacher.go updateResourceVersion, cache_watcher.go convertToWatchEvent). Undefined: the watcher does not see it.
 * Throws Undecodable when that cannot be told, or when the object to show cannot be decoded.
 */
export function typeFor(change: Change, filter: Filter): CacheEvent['type'] | undefined {
  if (!covers(filter, change.key)) return undefined
  const { entry, previous } = change
  const { matches } = filter
  if (matches === undefined) {
    if (entry === undefined) return previous && decodable(previous) && 'DELETED'
    return decodable(entry).createRevision === change.revision ? 'ADDED' : 'MODIFIED'
  }
  const does = entry !== undefined && matches(decodable(entry).index)
  const did = previous !== undefined && matches(decodable(previous).index)
  if (does) return did ? 'MODIFIED' : 'ADDED'
  return did ? 'DELETED' : undefined
}

/** The up to three events of one change, each made once, so that all watchers get the same object. */
export class ChangeEvents {
  readonly change: Change
  #added: CacheEvent | undefined = undefined
  #modified: CacheEvent | undefined = undefined
  #deleted: CacheEvent | undefined = undefined

  constructor(change: Change) {
    this.change = change
  }

  /** The event a watcher with this filter gets, if any. Throws as `typeFor`. */
  for(filter: Filter): CacheEvent | undefined {
    switch (typeFor(this.change, filter)) {
      case 'ADDED':
        return (this.#added ??= { type: 'ADDED', entry: this.change.entry!, revision: this.change.revision })
      case 'MODIFIED':
        return (this.#modified ??= { type: 'MODIFIED', entry: this.change.entry!, revision: this.change.revision })
      case 'DELETED':
        return (this.#deleted ??= { type: 'DELETED', entry: this.change.previous!, revision: this.change.revision })
      default:
        return undefined
    }
  }
}

/** What a watcher with this filter sees of changes, up to the first that throws; `error` is what that threw. */
export function eventsOf(changes: Iterable<Change>, filter: Filter): { events: CacheEvent[]; error?: unknown } {
  const events: CacheEvent[] = []
  try {
    for (const change of changes) {
      const event = new ChangeEvents(change).for(filter)
      if (event !== undefined) events.push(event)
    }
    return { events }
  } catch (error) {
    return { events, error }
  }
}
