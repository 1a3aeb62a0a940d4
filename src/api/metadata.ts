/**
 * What the server does to metadata on create, update and delete.
 * upstream: apiserver/pkg/registry/rest/{meta,create,update,delete}.go, apiserver/pkg/registry/generic/registry/store.go,
 * apiextensions-apiserver/pkg/registry/customresource/{strategy,status_strategy}.go
 */
import { formatTime } from './go-time.ts'
import { deepEqual, type JsonObject, type KubeObject, type ObjectMeta } from './object.ts'
import { renderJson, sortKeys } from './status.ts'

export { validateObjectMeta, validateObjectMetaUpdate, validateFieldManager, type MetadataRules } from './metadata-validate.ts'
export { formatTime } from './go-time.ts'

type Metadata = ObjectMeta & JsonObject

/** Metadata without the named fields; the same when it has none of them. */
function without(meta: Metadata, keys: readonly (keyof ObjectMeta)[]): Metadata {
  if (!keys.some((key) => meta[key] !== undefined)) return meta
  const copy = { ...meta }
  for (const key of keys) delete copy[key]
  return copy
}

/** Metadata of a create request without what only the server sets. upstream: rest.WipeObjectMetaSystemFields */
export function wipeForCreate(meta: Metadata): Metadata {
  return without(meta, ['creationTimestamp', 'uid', 'deletionTimestamp', 'deletionGracePeriodSeconds', 'selfLink'])
}

/** What a new object gets. `now` in milliseconds since the epoch; `random` gives numbers in [0, 1). */
export interface Stamp {
  readonly now: number
  readonly uid: string
  readonly random: () => number
}

/** The object with creationTimestamp, uid, generation 1 and, from generateName, a name where it has none. upstream: rest.BeforeCreate, FillObjectMetaSystemFields; PrepareObjectForStorage for selfLink */
export function stampForCreate(object: KubeObject, stamp: Stamp): KubeObject {
  const { name, generateName: base } = object.metadata
  const metadata: Metadata = { ...without(object.metadata, ['selfLink']), creationTimestamp: formatTime(stamp.now), uid: stamp.uid, generation: 1 }
  if (!name && base) metadata.name = generateName(base, stamp.random)
  return { ...object, metadata }
}

const MAX_GENERATED_BASE = 58
const SUFFIX_CHARACTERS = 'bcdfghjklmnpqrstvwxz2456789'

/** A name with five random characters. upstream: apiserver/pkg/storage/names.SimpleNameGenerator */
export function generateName(base: string, random: () => number): string {
  let suffix = ''
  for (let i = 0; i < 5; i++) suffix += SUFFIX_CHARACTERS[Math.floor(random() * SUFFIX_CHARACTERS.length)]
  const cut = Buffer.byteLength(base) > MAX_GENERATED_BASE ? Buffer.from(base).subarray(0, MAX_GENERATED_BASE).toString() : base
  return cut + suffix
}

/** The object without its status: what a create through a version with the status subresource keeps. */
export function dropStatus(object: KubeObject): KubeObject {
  if (!Object.hasOwn(object, 'status')) return object
  const { status: _, ...rest } = object
  return rest as KubeObject
}

/** How an update is prepared. `statusSubresource`: the version has it, so that the main resource cannot change the status. */
export interface UpdateOptions {
  readonly statusSubresource: boolean
}

/**
 * An updated object with what an update cannot change taken from the old one: status (with the subresource), generation (one more
 * when anything beside metadata changed), uid when absent, timestamps. upstream: rest.BeforeUpdate, customResourceStrategy.PrepareForUpdate
 */
export function prepareMetadataForUpdate(object: KubeObject, old: KubeObject, options: UpdateOptions): KubeObject {
  const next = options.statusSubresource ? withStatusOf(object, old) : object
  const metadata = restoreSystemFields(next.metadata, old.metadata)
  const generation = old.metadata.generation ?? 0
  const changed = !deepEqual({ ...next, metadata: null }, { ...old, metadata: null })
  return { ...next, metadata: withGeneration(metadata, changed ? generation + 1 : generation) }
}

/** A status update: the old object with the new status, and the managedFields that record the change. upstream: statusStrategy.PrepareForUpdate */
export function prepareForStatusUpdate(object: KubeObject, old: KubeObject): KubeObject {
  const metadata = without(old.metadata, ['managedFields'])
  const { managedFields } = object.metadata
  const next = { ...old, metadata: managedFields === undefined ? metadata : { ...metadata, managedFields } }
  return withStatusOf(next, object)
}

function withStatusOf(object: KubeObject, source: KubeObject): KubeObject {
  if (!Object.hasOwn(source, 'status')) return dropStatus(object)
  return object.status === source.status ? object : { ...object, status: source.status }
}

function withGeneration(meta: Metadata, generation: number): Metadata {
  return generation === 0 ? without(meta, ['generation']) : { ...meta, generation }
}

function restoreSystemFields(meta: Metadata, old: Metadata): Metadata {
  const restored = without(meta, ['selfLink', 'creationTimestamp'])
  return {
    ...restored,
    ...(meta.uid || old.uid === undefined ? {} : { uid: old.uid }),
    ...(old.creationTimestamp === undefined ? {} : { creationTimestamp: old.creationTimestamp }),
    ...(old.deletionTimestamp === undefined ? {} : { deletionTimestamp: old.deletionTimestamp }),
    ...(old.deletionGracePeriodSeconds === undefined || meta.deletionGracePeriodSeconds !== undefined
      ? {}
      : { deletionGracePeriodSeconds: old.deletionGracePeriodSeconds }),
  }
}

/** Whether duplicates were found in the request itself or in the object after admission (patches): the warning says which. */
export type DedupMoment = 'request' | 'admission'

/** The object with each owner reference once, and the warning when there were more. upstream: handlers.dedupOwnerReferencesAndAddWarning */
export function dedupOwnerReferences(object: KubeObject, moment: DedupMoment = 'request'): { object: KubeObject; warning?: string } {
  const references = object.metadata.ownerReferences ?? []
  const seen = new Set<string>()
  const dropped: string[] = []
  const kept = references.filter((reference) => {
    const text = renderJson(reference)
    if (seen.has(text)) dropped.push(reference.uid)
    return !seen.has(text) && seen.add(text)
  })
  if (dropped.length === 0) return { object }
  const when = moment === 'request' ? '' : ' after mutating admission happens'
  const warning =
    `.metadata.ownerReferences contains duplicate entries${when}; API server dedups owner references in 1.20+, ` +
    `and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${dropped.join(', ')}`
  return { object: { ...object, metadata: { ...object.metadata, ownerReferences: kept } }, warning }
}

const STANDARD_FINALIZERS = new Set(['orphan', 'foregroundDeletion', 'kubernetes'])

/** Warnings for finalizers that a request adds under names without a path. `old` is absent on create. upstream: customresource/strategy.go generateWarningsFromObj */
export function finalizerWarnings(object: KubeObject, old: KubeObject | undefined): string[] {
  const known = new Set(old?.metadata.finalizers ?? [])
  const added = [...new Set(object.metadata.finalizers ?? [])].filter((finalizer) => !known.has(finalizer))
  return sortKeys(added)
    .filter((finalizer) => !finalizer.includes('/') && !STANDARD_FINALIZERS.has(finalizer))
    .map((finalizer) => {
      const path = finalizer.includes('.') ? ' including a path (/)' : ''
      return `metadata.finalizers: "${finalizer}": prefer a domain-qualified finalizer name${path} to avoid accidental conflicts with other finalizer writers`
    })
}

/** The part of DeleteOptions that decides about dependents; `now` in milliseconds since the epoch. */
export interface DeletionOptions {
  readonly policy?: 'Orphan' | 'Foreground' | 'Background'
  readonly orphanDependents?: boolean
  readonly now: number
}

/** What a deletion does: the object goes, or it stays with a deletionTimestamp until its finalizers are gone. */
export type Deletion = { readonly remove: true } | { readonly remove: false; readonly object: KubeObject }

/** Begins (or continues) the deletion of an object; the same object when nothing changes. upstream: registry.Store.Delete, markAsDeleting */
export function beginDeletion(object: KubeObject, options: DeletionOptions): Deletion {
  const finalizers = deletionFinalizers(object.metadata.finalizers ?? [], options)
  if (finalizers.length === 0) return { remove: true }
  const { deletionTimestamp, generation } = object.metadata
  const now = formatTime(options.now)
  const metadata: Metadata = {
    ...object.metadata,
    finalizers,
    deletionTimestamp: deletionTimestamp === undefined || deletionTimestamp > now ? now : deletionTimestamp,
    deletionGracePeriodSeconds: 0,
    ...(deletionTimestamp === undefined && generation !== undefined ? { generation: generation + 1 } : {}),
  }
  return { remove: false, object: deepEqual(metadata, object.metadata) ? object : { ...object, metadata } }
}

// upstream: registry/store.go deletionFinalizersForGarbageCollection
function deletionFinalizers(finalizers: string[], options: DeletionOptions): string[] {
  const explicit = options.orphanDependents !== undefined || options.policy !== undefined
  const orphan = explicit ? (options.orphanDependents ?? options.policy === 'Orphan') : finalizers.includes('orphan')
  const foreground = explicit
    ? options.orphanDependents === undefined && options.policy === 'Foreground'
    : !orphan && finalizers.includes('foregroundDeletion')
  const adjusted = finalizers.filter((finalizer) => finalizer !== 'orphan' && finalizer !== 'foregroundDeletion')
  if (orphan) adjusted.push('orphan')
  if (foreground) adjusted.push('foregroundDeletion')
  const before = new Set(finalizers)
  const after = new Set(adjusted)
  return before.size === after.size && before.isSubsetOf(after) ? finalizers : adjusted
}

/** Whether an update of `old` to `object` is the one that ends its deletion. upstream: registry.Store.deleteWithoutFinalizers, ShouldDeleteDuringUpdate */
export function endsDeletion(object: KubeObject, old: KubeObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds } = old.metadata
  return deletionTimestamp !== undefined && !deletionGracePeriodSeconds && (object.metadata.finalizers ?? []).length === 0
}
