/** Keeps a cache equal to a prefix of the store: reads all of it, then follows its watch, for ever. */
import type { Clock } from '../src/base/clock.ts'
import type { Log } from '../src/base/log.ts'
import { Compacted, prefixEnd, Unavailable } from './backend.ts'
import type { Backend, KeyValue, WatchBatch } from './backend.ts'
import type { HeldEntry } from './cache-entry.ts'

/** Keys per read. */
export const PAGE_SIZE = 500
const BACKOFF_MS = 50
const BACKOFF_MAX_MS = 5000

/** What is fed. All calls are synchronous, so that readers see whole revisions only. */
export interface FeedTarget {
  readonly revision: number
  /** The entry for a stored value: the one that is held already, when it is of the same revision. */
  hold(kv: KeyValue): HeldEntry
  /** The whole state; what came between the target's revision and this one is not known. */
  replace(entries: readonly HeldEntry[], revision: number): void
  apply(batch: WatchBatch): void
  /** Whether changes arrive as they happen. */
  setConnected(connected: boolean): void
}

export interface FeedOptions {
  readonly backend: Backend
  readonly prefix: string
  readonly clock: Clock
  readonly log: Log
}

/** The pause before try number `failures` + 1: doubling, with jitter so that many caches do not come back at once. */
export function backoffMs(failures: number, clock: Clock): number {
  return Math.min(BACKOFF_MAX_MS, BACKOFF_MS * 2 ** Math.min(failures, 16)) * (0.5 + clock.random())
}

/** Feeds the target until the signal aborts. Never rejects: what fails is logged and tried again, with a growing pause. */
export async function feedPrefix(options: FeedOptions, target: FeedTarget, signal: AbortSignal): Promise<void> {
  const { clock, log, prefix } = options
  let complete = false
  for (let failures = 0; !signal.aborted; ) {
    try {
      if (!complete) await readAll(options, target, signal)
      complete = true
      await follow(options, target, signal, () => (failures = 0))
      if (!signal.aborted) throw new Unavailable('the watch ended')
    } catch (err) {
      if (signal.aborted) return
      target.setConnected(false)
      const isBehind = complete && err instanceof Compacted
      if (isBehind) {
        complete = false
        log.warn('store history is gone, reading all again', { prefix, revision: target.revision, compactedRevision: err.compactedRevision })
        continue
      }
      log.warn('reading the store failed, trying again', { prefix, failures, err })
      await clock.sleep(backoffMs(failures++, clock), signal).catch(() => {})
    }
  }
}

async function follow({ backend, prefix }: FeedOptions, target: FeedTarget, signal: AbortSignal, arrived: () => void): Promise<void> {
  for await (const batch of backend.watch({ start: prefix, end: prefixEnd(prefix), after: target.revision, signal })) {
    if (signal.aborted) return
    target.apply(batch)
    target.setConnected(true)
    arrived()
  }
}

/** Reads all keys at one revision. The next page is asked for before the last one is worked on. */
async function readAll({ backend, prefix }: FeedOptions, target: FeedTarget, signal: AbortSignal): Promise<void> {
  const end = prefixEnd(prefix)
  const entries: HeldEntry[] = []
  let page = await backend.range({ start: prefix, end, limit: PAGE_SIZE, uncounted: true })
  const { revision } = page
  for (;;) {
    const last = page.kvs.at(-1)
    const next = page.more && last !== undefined ? backend.range({ start: `${last.key}\u0000`, end, limit: PAGE_SIZE, revision, uncounted: true }) : undefined
    for (const kv of page.kvs) entries.push(target.hold(kv))
    if (next === undefined) break
    page = await next
    if (signal.aborted) return
  }
  target.replace(entries, revision)
}
