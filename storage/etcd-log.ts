/** The log that a watcher reads while it is behind what the process has in memory: a watch of etcd that ends. */
import { compareKeys, Compacted } from './backend.ts'
import type { WatchBatch, WatchEvent } from './backend.ts'
import type { Clock } from '../src/base/clock.ts'
import type { LogRequest } from './event-feed.ts'
import { watchAfter } from './etcd-watch.ts'
import type { WatchSource } from './etcd-watch.ts'

/** A batch is not made longer than this, in bytes of values. */
const BATCH_BYTES = 4 * 1024 * 1024
/** etcd sends what it has to a watch from the past within a tenth of a second. */
const QUIET_MS = 250

export interface LogOptions extends WatchSource {
  readonly clock: Clock
  /** The revision up to which all watchers have been told. */
  readonly revision: () => number
  /** Every revision below this one is gone. */
  readonly compactedRevision: () => number
  /** Makes something happen under the prefix. */
  readonly stir: () => void
  /** Ends the reading. */
  readonly signal: AbortSignal
}

/**
 * The next whole revisions after `after`, at least up to the feed's present one unless that is too much. etcd never says that there is nothing
 * more, so a silent watch is stirred: when that shows, everything before has been seen.
 */
export async function readLog(options: LogOptions, { after, start, end }: LogRequest): Promise<WatchBatch> {
  if (after + 1 < options.compactedRevision()) throw new Compacted(options.compactedRevision())
  const target = options.revision()
  const events: WatchEvent[] = []
  const abort = new AbortController()
  let revision = after
  let bytes = 0
  const stir = options.clock.schedule(QUIET_MS, options.stir)
  try {
    for await (const batch of watchAfter(options, after, AbortSignal.any([abort.signal, options.signal]))) {
      revision = batch.revision
      for (const event of batch.events) {
        bytes += (event.value?.byteLength ?? 0) + (event.previous?.value.byteLength ?? 0)
        if (compareKeys(event.key, start) >= 0 && compareKeys(event.key, end) < 0) events.push(event)
      }
      if (revision >= target || bytes >= BATCH_BYTES) break
    }
  } catch (err) {
    // What has come is whole; the next call meets the failure again if it lasts.
    if (revision === after) throw err
  } finally {
    stir.cancel()
    abort.abort()
  }
  return { events, revision }
}
