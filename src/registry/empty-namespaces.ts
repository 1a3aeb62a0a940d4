/**
 * Empties deleted namespaces and then lets them go (standalone mode; a cluster has its own controller).
 * upstream: pkg/controller/namespace/deletion/namespaced_resources_deleter.go
 */
import type { Clock } from '../base/clock.ts'
import { openComplaint, type Complaint } from '../base/complaint.ts'
import type { Log } from '../base/log.ts'
import { commitObject } from './commit-object.ts'
import { removeAll } from './delete.ts'
import { latestEntry } from './live-entry.ts'
import { internalWrite } from './write.ts'
import { freshen, type ResourceStore } from './resource-store.ts'

const RETRY_MS = 500

/** Runs until the signal aborts. `namespaced` are the stores whose objects live in namespaces. */
export async function emptyNamespaces(
  namespaces: ResourceStore,
  namespaced: readonly ResourceStore[],
  options: { readonly signal: AbortSignal; readonly clock: Clock; readonly log: Log },
): Promise<void> {
  const { signal, clock, log } = options
  while (!signal.aborted) {
    for await (const items of namespaces.cache.watch({ initialEvents: true, signal })) {
      for (const item of items) {
        if (item.type === 'BOOKMARK' || item.type === 'DELETED') continue
        // Content with finalizers may take its time; nothing waits for it.
        const complaint = openComplaint(log, 'cannot empty a namespace', { namespace: item.entry.key })
        void finish(namespaces, namespaced, item.entry.key, { clock, signal, complaint })
      }
    }
  }
}

// An object that cannot be decoded holds it up until it is repaired.
async function finish(namespaces: ResourceStore, namespaced: readonly ResourceStore[], name: string, { clock, signal, complaint }: Finishing): Promise<void> {
  while (!signal.aborted) {
    try {
      if (await isFinished(namespaces, namespaced, name)) return
      complaint.well()
    } catch (error) {
      if (!signal.aborted) complaint.failed(error)
    }
    await clock.sleep(RETRY_MS, signal).catch(() => {})
  }
}

interface Finishing {
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly complaint: Complaint
}

async function isFinished(namespaces: ResourceStore, namespaced: readonly ResourceStore[], name: string): Promise<boolean> {
  const live = await latestEntry(namespaces, name)
  if (live?.hub.metadata.deletionTimestamp === undefined) return true
  let left = 0
  for (const store of namespaced) left += await emptyOut(store, name)
  if (left > 0 || live.hub.metadata.finalizers?.length) return false
  return (await commitObject(namespaces, { key: name, expected: live.revision })).kind !== 'lost'
}

// Deletes what is there; returns how much still is.
async function emptyOut(store: ResourceStore, namespace: string): Promise<number> {
  await freshen(store)
  const { entries } = store.cache.list({ prefix: `${namespace}/` })
  if (entries.length === 0) return 0
  await removeAll(store, entries, { propagationPolicy: 'Background' }, internalWrite(store, namespace))
  await freshen(store)
  return store.cache.list({ prefix: `${namespace}/` }).entries.length
}
