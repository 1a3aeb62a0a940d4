/** Deletes objects of kinds that live for a limited time only (Event), as etcd's leases do for kube-apiserver. */
import type { Clock } from '../base/clock.ts'
import { openComplaint } from '../base/complaint.ts'
import type { Log } from '../base/log.ts'
import { remove } from './delete.ts'
import { internalWrite } from './write.ts'
import type { ResourceStore } from './resource-store.ts'

const EVERY_MS = 60_000

/** Runs until the signal aborts; looks once a minute. */
export async function expireObjects(store: ResourceStore, options: { readonly signal: AbortSignal; readonly clock: Clock; readonly log: Log }): Promise<void> {
  const { signal, clock, log } = options
  const complaint = openComplaint(log, 'cannot delete expired objects', { resource: store.resource.resource })
  while (!signal.aborted) {
    try {
      await clock.sleep(EVERY_MS, signal)
      await expireOnce(store, clock.now())
      complaint.well()
    } catch (error) {
      if (!signal.aborted) complaint.failed(error)
    }
  }
}

/** Deletes what has expired at `now` (milliseconds since the epoch); returns how much it was. */
export async function expireOnce(store: ResourceStore, now: number): Promise<number> {
  const { expire } = store.strategy
  if (!expire) return 0
  let count = 0
  for (const { value } of store.cache.list({}).entries) {
    const object = store.codec.open(value)
    const since = Date.parse(expire.since(object) ?? '')
    if (!(since + expire.seconds * 1000 < now)) continue
    const { name = '', namespace = '', uid } = object.metadata
    await remove(store, name, { preconditions: uid ? { uid } : {} }, internalWrite(store, namespace))
    count++
  }
  return count
}
