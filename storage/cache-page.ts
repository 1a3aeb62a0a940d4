/** Lists and pages of a state. */
import { compareKeys } from './backend.ts'
import { checkDecodable } from './cache-entry.ts'
import type { HeldEntry } from './cache-entry.ts'
import type { SortedEntries } from './cache-state.ts'
import type { Filter, ListOptions, Snapshot } from './watch-cache.ts'

/** Whether the filter's key and prefix, without its `matches`, take in the key. */
export function covers(filter: Filter, key: string): boolean {
  if (filter.key !== undefined && filter.key !== key) return false
  return filter.prefix === undefined || key.startsWith(filter.prefix)
}

/** The key from which a list that ended with `key` goes on. */
export function keyAfter(key: string): string {
  return `${key}\u0000`
}

/** The first and last possible keys of the filter, as ranks of the state. */
function bounds(state: SortedEntries, options: ListOptions): { from: number; to: number } {
  const { key, prefix = '', startKey = '' } = options
  const low = key ?? prefix
  const start = compareKeys(startKey, low) > 0 ? startKey : low
  const from = state.rank((k) => compareKeys(k, start) < 0)
  if (key !== undefined) {
    const to = state.rank((k) => compareKeys(k, key) <= 0)
    return { from, to: key.startsWith(prefix) ? Math.max(from, to) : from }
  }
  const to = prefix === '' ? state.size : state.rank((k) => k.startsWith(prefix) || compareKeys(k, prefix) < 0)
  return { from, to: Math.max(from, to) }
}

/**
 * The page of a state that the options ask for. Throws Undecodable when an entry that belongs, or may belong, to it cannot be decoded.
 *
 * As upstream (apiserver pkg/storage/etcd3/store.go GetList) a page is full at its limit-th match, and continues when any key follows that one, whether that matches or not.
 */
export function pageOf(state: SortedEntries, revision: number, options: ListOptions): Snapshot {
  const { from, to } = bounds(state, options)
  const { matches } = options
  const limit = options.limit !== undefined && options.limit > 0 ? options.limit : Infinity
  if (matches !== undefined) return matchingPage(state, { from, to }, revision, matches, limit)
  const end = Math.min(to, from + limit)
  const entries = state.slice(from, end)
  if (state.undecodable > 0) checkDecodable(entries)
  if (end === to) return { revision, entries }
  return { revision, entries, nextKey: keyAfter(entries.at(-1)!.key), remaining: to - end }
}

function matchingPage(state: SortedEntries, { from, to }: { from: number; to: number }, revision: number, matches: NonNullable<Filter['matches']>, limit: number): Snapshot {
  const entries: HeldEntry[] = []
  const candidates = state.slice(from, to)
  for (const [i, entry] of candidates.entries()) {
    if (entries.length >= limit) return { revision, entries, nextKey: keyAfter(entries.at(-1)!.key) }
    if (entry.problem !== undefined) checkDecodable(candidates.slice(i))
    if (matches(entry.index)) entries.push(entry)
  }
  return { revision, entries }
}
