/**
 * The step of create, update, JSON and merge patch, of the object and its subresources, that settles who owns what.
 * upstream: apimachinery/pkg/util/managedfields/internal/{fieldmanager,skipnonapplied}.go
 */
import type { JsonObject, KubeObject } from '../object.ts'
import { decodeManagedFields, encodeManagedFields, NO_MANAGERS, type Managed } from './managers.ts'
import { scopeOf, type Endpoint, type Scope } from './scope.ts'
import { trackWrite } from './track-write.ts'
import { requestType } from './updater.ts'
import { TypeMismatch, validateTyped } from './validate.ts'

/** A write that is no apply. Objects are in the request version, pruned, defaulted and with coerced metadata. */
export interface TrackedUpdate extends Endpoint {
  /** Absent on create. */
  readonly live: KubeObject | undefined
  /** As the request makes it, with the managedFields that it has. */
  readonly next: KubeObject
  /** See `managerName`. */
  readonly manager: string
  /** Milliseconds since the epoch. */
  readonly now: number
}

/**
 * `next` with its managedFields settled. managedFields of a request are taken as the new base (`[{}]` clears them), except through a
 * subresource. Nothing is tracked on an object that has none, unless it is being created; an object that ownership cannot type
 * loses them, as its validation is not this step's, and so does one that would nest too deep to be read again. upstream: FieldManager.UpdateNoErrors
 */
export function trackUpdate(write: TrackedUpdate): KubeObject {
  const { live, next, manager, now } = write
  const base = baseOf(write)
  const bare = withoutManagedFields(next)
  if (base.managers.size === 0 && live?.metadata.uid) return bare
  const scope = scopeOf(write)
  // Only an update of the status gets on with it.
  if (next.kind !== scope.kind || scope.typeOf(next.apiVersion) === undefined) return bare
  if (bringsUnknownVersion(scope, base, live)) return bare
  const before = withoutManagedFields(live ?? emptyObject(scope))
  try {
    const type = requestType(scope)
    validateTyped(bare, type, { allowDuplicates: true })
    validateTyped(before, type, { allowDuplicates: true })
    return withManagedFields(bare, trackWrite(scope, before, bare, base, manager, now))
  } catch (error) {
    if (error instanceof TypeMismatch) return bare
    throw error
  }
}

// Upstream forgets all owners when one names a version that is not defined (kubernetes/kubernetes#111937). Here an entry may stay until the next update when its
// version goes, so that no object loses its owners with it.
function bringsUnknownVersion(scope: Scope, { managers }: Managed, live: KubeObject | undefined): boolean {
  const unknown = [...managers.values()].map(({ apiVersion }) => apiVersion).filter((apiVersion) => scope.typeOf(apiVersion) === undefined)
  if (unknown.length === 0) return false
  const known = new Set([...tryDecode(live?.metadata.managedFields).managers.values()].map(({ apiVersion }) => apiVersion))
  return unknown.some((apiVersion) => !known.has(apiVersion))
}

// upstream: decodeLiveOrNew
function baseOf({ live, next, subresource }: TrackedUpdate): Managed {
  if (subresource === '') {
    const sent = next.metadata.managedFields
    if (isReset(sent)) return NO_MANAGERS
    const decoded = tryDecode(sent)
    if (decoded.managers.size > 0) return decoded
  }
  return tryDecode(live?.metadata.managedFields)
}

function isReset(entries: readonly JsonObject[] | undefined): boolean {
  const [first] = entries ?? []
  return first !== undefined && entries?.length === 1 && !Object.values(first).some((value) => value !== undefined)
}

function tryDecode(entries: readonly JsonObject[] | undefined): Managed {
  try {
    return decodeManagedFields(entries)
  } catch {
    return NO_MANAGERS
  }
}

/** What an object is compared with that is being created. */
export function emptyObject({ apiVersion, kind }: Scope): KubeObject {
  const object: JsonObject = { apiVersion, kind }
  return object as KubeObject
}

/** The object without managedFields; the same object when it has none. */
export function withoutManagedFields(object: KubeObject): KubeObject {
  if (object.metadata?.managedFields === undefined) return object
  const { managedFields: _, ...metadata } = object.metadata
  return { ...object, metadata }
}

/** An object that has no managedFields, with these. */
export function withManagedFields(object: KubeObject, managed: Managed): KubeObject {
  const managedFields = encodeManagedFields(managed)
  return managedFields === undefined ? object : { ...object, metadata: { ...object.metadata, managedFields } }
}
