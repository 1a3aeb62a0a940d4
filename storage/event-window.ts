/** The newest events of a store, in memory. */
import { compareKeys } from './backend.ts'
import type { WatchEvent } from './backend.ts'

/** See `openWindow`. */
export interface EventWindow {
  /** All events above this revision are here. */
  readonly after: number
  /** Adds events of later revisions, in order. */
  add(events: readonly WatchEvent[]): void
  /** Drops the events up to a revision. */
  trim(upTo: number): void
  /** The events of a range of keys above a revision. */
  events(range: { start: string; end: string }, after: number): WatchEvent[]
}

/** Opens an empty window at a revision; it keeps events with up to `maxBytes` of values, the newest ones. */
export function openWindow(revision: number, maxBytes: number): EventWindow {
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
