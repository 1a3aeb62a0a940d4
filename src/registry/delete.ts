/**
 * DELETE of one object and of a collection.
 * upstream: registry/generic/registry/store.go: Delete, DeleteCollection; registry/rest/delete.go: BeforeDelete
 */
import { beginDeletion, formatTime } from '../api/metadata.ts'
import { formatApiVersion, type KubeObject } from '../api/object.ts'
import { conflict, deleted, forbidden, notFound, StatusError, type Status } from '../api/status.ts'
import type { CacheEntry } from '../../storage/watch-cache.ts'
import { admitDeletion, validateAdmission } from './admission.ts'
import { commitObject } from './commit-object.ts'
import { currentEntry, latestEntry, toLive, type LiveEntry } from './live-entry.ts'
import { relativeKey, type ResourceStore } from './resource-store.ts'
import { preconditionFailed, unstored, type WriteOptions, type WriteResult } from './write.ts'

/** metav1.DeleteOptions, parsed. */
export interface DeleteOptions {
  readonly propagationPolicy?: 'Foreground' | 'Background' | 'Orphan'
  readonly orphanDependents?: boolean
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string }
}

export type Deletion =
  /** The object is gone. */
  | { readonly kind: 'removed'; readonly status: Status }
  /** Finalizers are pending; the object as it is now. */
  | { readonly kind: 'pending'; readonly result: WriteResult }

/** Deletes an object, or begins its deletion when it has finalizers. Throws 404, and 409 for a failed precondition. */
export async function remove(store: ResourceStore, name: string, deletion: DeleteOptions, options: WriteOptions): Promise<Deletion> {
  const key = relativeKey(store.definition, options.namespace, name)
  let live = currentEntry(store, key)
  let stale = true
  for (;;) {
    try {
      if (!live) throw notFound(store.resource, name)
      const outcome = await attempt(store, live, deletion, options)
      if (outcome.kind !== 'lost') return outcome
      live = outcome.live
    } catch (error) {
      const latest = stale ? await latestEntry(store, key) : live
      if (!stale || latest?.revision === live?.revision) throw error
      live = latest
    }
    stale = false
  }
}

async function attempt(store: ResourceStore, live: LiveEntry, deletion: DeleteOptions, options: WriteOptions): Promise<Deletion | { kind: 'lost'; live: LiveEntry | undefined }> {
  const { metadata } = live.hub
  const name = metadata.name ?? ''
  checkPreconditions(store, live, deletion)
  const request = {
    operation: 'DELETE' as const, definition: store.definition, version: options.version, subresource: '', namespace: options.namespace, name, old: live.hub, dryRun: options.dryRun,
  }
  await admitDeletion(store.admission, request)
  const reason = store.strategy.forbidDelete?.(live.hub)
  if (reason) throw forbidden(store.resource, name, reason)
  await validateAdmission(store.admission, request)
  const step = nextStep(store, live.hub, deletion)
  if (step === 'remove') {
    const emptied = (metadata.finalizers ?? []).length > 0 ? removedFinalizers(store, live, deletion, options) : undefined
    if (emptied) return emptied
    if (!options.dryRun) {
      const outcome = await commitObject(store, { key: live.key, expected: live.revision })
      if (outcome.kind === 'lost') return { kind: 'lost', live: toLive(store, live.key, outcome.live) }
    }
    return { kind: 'removed', status: deleted(store.resource, name, metadata.uid) }
  }
  // What the request version does not have, and no lens keeps, is lost as by every write through it.
  const hub = store.conversion.lift(store.codec.view(step, options.version), options.version, live.hub)
  if (options.dryRun) return { kind: 'pending', result: unstored(hub, store, options.version, live.revision) }
  const outcome = await commitObject(store, { key: live.key, expected: live.revision, hub, current: live.value })
  if (outcome.kind === 'lost') return { kind: 'lost', live: toLive(store, live.key, outcome.live) }
  return { kind: 'pending', result: { ready: store.codec.encode(live.key, outcome.value, options.version), revision: outcome.revision } }
}

// A deletion that takes the last finalizers away begins as an update upstream, which ends before it has made an object: a dry run answers with one that has
// nothing but a type, and a resourceVersion is compared with none.
function removedFinalizers(store: ResourceStore, { hub, revision }: LiveEntry, { preconditions }: DeleteOptions, options: WriteOptions): Deletion | undefined {
  if (options.dryRun) {
    const { group, names } = store.definition
    const bytes = Buffer.from(JSON.stringify({ apiVersion: formatApiVersion(group, options.version), kind: names.kind }))
    return { kind: 'pending', result: { ready: { bytes, place: 0 } } }
  }
  if (preconditions?.resourceVersion === undefined) return undefined
  throw preconditionFailed(store, hub.metadata.name ?? '', `ResourceVersion in precondition: , ResourceVersion in object meta: ${revision}`, options)
}

// What a deletion does to the object: takes it away, or marks it until its finalizers, or what its strategy knows of, let it go.
function nextStep(store: ResourceStore, hub: KubeObject, deletion: DeleteOptions): KubeObject | 'remove' {
  const now = store.clock.now()
  const { propagationPolicy: policy, orphanDependents } = deletion
  const step = beginDeletion(hub, { now, ...(policy ? { policy } : {}), ...(orphanDependents === undefined ? {} : { orphanDependents }) })
  if (!step.remove) return step.object
  const held = store.strategy.holdDeletion?.(hub)
  if (!held) return 'remove'
  if (hub.metadata.deletionTimestamp !== undefined) return hub
  const { generation } = hub.metadata
  return { ...held, metadata: { ...held.metadata, deletionTimestamp: formatTime(now), deletionGracePeriodSeconds: 0, ...(generation === undefined ? {} : { generation: generation + 1 }) } }
}

// The messages name the Kind, unlike every other conflict.
function checkPreconditions(store: ResourceStore, live: LiveEntry, { preconditions }: DeleteOptions): void {
  const { group, names } = store.definition
  const kind = { group, resource: names.kind }
  const name = live.hub.metadata.name ?? ''
  const uid = live.hub.metadata.uid ?? ''
  if (preconditions?.uid !== undefined && preconditions.uid !== uid) {
    throw conflict(kind, name, `the UID in the precondition (${preconditions.uid}) does not match the UID in record (${uid}). The object might have been deleted and then recreated`)
  }
  if (preconditions?.resourceVersion !== undefined && preconditions.resourceVersion !== String(live.revision)) {
    throw conflict(kind, name, `the ResourceVersion in the precondition (${preconditions.resourceVersion}) does not match the ResourceVersion in record (${live.revision}). The object might have been modified`)
  }
}

/** Deletes the listed objects one by one. What is gone already is skipped; the first other error ends it and is thrown. */
export async function removeAll(store: ResourceStore, entries: readonly CacheEntry[], deletion: DeleteOptions, options: WriteOptions): Promise<void> {
  for (const { key } of entries) {
    const slash = key.indexOf('/')
    const namespace = slash < 0 ? '' : key.slice(0, slash)
    try {
      await remove(store, key.slice(slash + 1), deletion, { ...options, namespace })
    } catch (error) {
      if (!(error instanceof StatusError) || error.code !== 404) throw error
    }
  }
}
