/** All watchers of a cache, found by what they watch, so that an event costs only those it may concern. */
import type { Change } from './cache-entry.ts'
import { ChangeEvents } from './cache-event.ts'
import type { CacheWatcher } from './cache-watcher.ts'

type Group = Map<string, Set<CacheWatcher>>

function join(group: Group, name: string, watcher: CacheWatcher): void {
  const members = group.get(name)
  if (members === undefined) group.set(name, new Set([watcher]))
  else members.add(watcher)
}

function leave(group: Group, name: string, watcher: CacheWatcher): void {
  const members = group.get(name)
  members?.delete(watcher)
  if (members?.size === 0) group.delete(name)
}

/** Watchers by key, else by prefix. */
export class CacheWatchers {
  readonly #byKey: Group = new Map()
  readonly #byPrefix: Group = new Map()
  /** The distinct lengths of the prefixes: an event looks up one prefix of its key for each. */
  #lengths: readonly number[] = []
  add(watcher: CacheWatcher): void {
    const { key, prefix = '' } = watcher.options
    if (key !== undefined) return join(this.#byKey, key, watcher)
    join(this.#byPrefix, prefix, watcher)
    this.#measure()
  }

  /** Removes a watcher, if it was added. */
  remove(watcher: CacheWatcher): void {
    const { key, prefix = '' } = watcher.options
    if (key !== undefined) return leave(this.#byKey, key, watcher)
    leave(this.#byPrefix, prefix, watcher)
    this.#measure()
  }

  /** Offers a change to every watcher whose key or prefix it falls under. */
  offer(change: Change): void {
    if (this.#byKey.size + this.#byPrefix.size === 0) return
    const events = new ChangeEvents(change)
    this.#offerTo(this.#byKey.get(change.key), events)
    for (const length of this.#lengths) {
      if (length <= change.key.length) this.#offerTo(this.#byPrefix.get(change.key.slice(0, length)), events)
    }
  }

  *[Symbol.iterator](): Iterator<CacheWatcher> {
    for (const group of [this.#byKey, this.#byPrefix]) for (const members of group.values()) yield* members
  }

  #offerTo(members: Set<CacheWatcher> | undefined, events: ChangeEvents): void {
    if (members !== undefined) for (const watcher of members) watcher.offer(events)
  }

  #measure(): void {
    this.#lengths = [...new Set([...this.#byPrefix.keys()].map((prefix) => prefix.length))]
  }
}
