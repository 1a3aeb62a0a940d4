/**
 * Server-side apply: a configuration, the fields that its manager wants and owns, becomes part of the object.
 * upstream: apimachinery/pkg/util/managedfields/internal/{fieldmanager,versioncheck,skipnonapplied,structuredmerge}.go
 */
import { applyDefaults } from '../default.ts'
import { formatTime } from '../go-time.ts'
import { isObject, type Json, type JsonObject, type KubeObject } from '../object.ts'
import { findVersion } from '../resource.ts'
import { badRequest, rawError } from '../status.ts'
import { ApplyConflicts, conflictError } from './conflict.ts'
import { difference, isEmptySet } from './field-set.ts'
import { fieldsLastApplied, KUBECTL_MANAGER, updateLastApplied } from './last-applied.ts'
import { decodeManagedFields, managerIdentifier, type Managed } from './managers.ts'
import { scopeOf, type Endpoint, type Scope } from './scope.ts'
import { stripMetadata, trackWrite } from './track-write.ts'
import { emptyObject, withManagedFields, withoutManagedFields } from './update.ts'
import { mergeApplied, requestType } from './updater.ts'
import { TypeMismatch, validateTyped } from './validate.ts'

/** An apply request. */
export interface ApplyRequest extends Endpoint {
  /** In the request version; absent: the object is to be created. */
  readonly live: KubeObject | undefined
  /** The decoded body, nothing of it checked or dropped. */
  readonly config: JsonObject
  /** The fieldManager parameter. */
  readonly manager: string
  /** Takes fields from others that they own with other values. */
  readonly force: boolean
  /** Milliseconds since the epoch. */
  readonly now: number
}

/**
 * The object that an apply makes, in the request version, defaulted, neither pruned nor validated. Throws StatusError: 400 for another
 * kind and for managedFields in the body, 500 for what is not of the schema's types, 409 for conflicts. upstream: FieldManager.Apply
 */
export function applyPatch(request: ApplyRequest): KubeObject {
  try {
    return applyTo(scopeOf(request), request)
  } catch (error) {
    if (error instanceof ApplyConflicts) throw conflictError(error.conflicts)
    if (error instanceof TypeMismatch) throw rawError(error.message)
    throw error
  }
}

function applyTo(scope: Scope, request: ApplyRequest): KubeObject {
  const { config, manager, force, now } = request
  const managed = decodeLive(request.live)
  checkKind(scope, config)
  const start = beforeFirstApply(scope, withoutManagedFields(request.live ?? emptyObject(scope)), managed, now)
  if (manager !== KUBECTL_MANAGER) return applyOnce(scope, request, start, force)
  return updateLastApplied(force ? applyOnce(scope, request, start, true) : applyAsKubectl(scope, request, start), config)
}

function decodeLive(live: KubeObject | undefined): Managed {
  try {
    return decodeManagedFields(live?.metadata.managedFields)
  } catch (error) {
    throw rawError(`failed to decode managed fields: ${(error as Error).message}`)
  }
}

/** What an apply starts from. `live` is without managedFields. */
interface Start {
  readonly live: KubeObject
  readonly managed: Managed
}

function checkKind(scope: Scope, config: JsonObject): void {
  const { apiVersion, kind } = typeOfObject(config)
  if (apiVersion === scope.apiVersion && kind === scope.kind) return
  throw badRequest(`invalid object type: ${kindText(config)}`)
}

function typeOfObject(object: JsonObject): { apiVersion: string; kind: string } {
  const { apiVersion, kind } = object
  return { apiVersion: typeof apiVersion === 'string' ? apiVersion : '', kind: typeof kind === 'string' ? kind : '' }
}

// upstream: schema.GroupVersionKind.String
function kindText(object: JsonObject): string {
  const { apiVersion, kind } = typeOfObject(object)
  const slashes = apiVersion.split('/').length - 1
  if (slashes > 1) return '/, Kind='
  return `${slashes === 1 ? apiVersion : `/${apiVersion}`}, Kind=${kind}`
}

// Fields that are there before anything is tracked get an owner. upstream: skipNonAppliedManager.Apply
function beforeFirstApply(scope: Scope, live: KubeObject, managed: Managed, now: number): Start {
  if (managed.managers.size > 0) return { live, managed }
  checkTyped(scope, live, true, (place) => `failed to create manager for existing fields: failed to convert new object (${place}) to smd typed: `)
  return { live, managed: trackWrite(scope, emptyObject(scope), live, managed, 'before-first-apply', now) }
}

function checkTyped(scope: Scope, object: JsonObject, allowDuplicates: boolean, lead: (place: string) => string): void {
  try {
    validateTyped(object, requestType(scope), { allowDuplicates })
  } catch (error) {
    if (!(error instanceof TypeMismatch)) throw error
    throw rawError(`${lead(placeOf(object))}${error.message}`)
  }
}

function placeOf(object: JsonObject): string {
  const metadata = isObject(object.metadata) ? object.metadata : {}
  return `${text(metadata.namespace)}/${text(metadata.name)}; ${kindText(object)}`
}

// What upstream converts is no Scale any more, and custom resources have no such version: a Scale can be applied only as it is.
const UNKNOWN_VERSION = 'request to convert CR to an invalid group/version: autoscaling/v1'

const text = (value: Json | undefined): string => (typeof value === 'string' ? value : '')

function applyOnce(scope: Scope, request: ApplyRequest, { live, managed }: Start, force: boolean): KubeObject {
  const { config, now, definition, version } = request
  if (isObject(config.metadata) && Array.isArray(config.metadata.managedFields)) throw badRequest('metadata.managedFields must be nil')
  checkTyped(scope, config, false, (place) => `failed to create typed patch object (${place}): `)
  checkTyped(scope, live, true, (place) => `failed to create typed live object (${place}): `)
  const manager = managerIdentifier({ manager: request.manager, operation: 'Apply', apiVersion: scope.apiVersion, subresource: scope.subresource })
  const applied = mergeApplied(scope, live, config as KubeObject, managed.managers, manager, force)
  const managers = stripMetadata(applied.managers, manager)
  if (applied.object === undefined) return withManagedFields(live, { managers, times: managed.times })
  if (scope.subresource === 'scale') throw rawError(`failed to convert new object (${placeOf(config)}) to proper version: ${UNKNOWN_VERSION}`)
  const schema = findVersion(definition, version)?.schema
  const object = withoutManagedFields(schema ? applyDefaults(applied.object, schema) : applied.object)
  return withManagedFields(object, { managers, times: new Map(managed.times).set(manager, formatTime(now)) })
}

/**
 * kubectl takes over what its annotation says it applied: such conflicts are none, and when there are no others the apply is forced.
 * upstream: lastAppliedManager.Apply
 */
function applyAsKubectl(scope: Scope, request: ApplyRequest, start: Start): KubeObject {
  try {
    return applyOnce(scope, request, start, false)
  } catch (error) {
    if (!(error instanceof ApplyConflicts)) throw error
    const allowed = fieldsLastApplied(scope, start.live)
    const remaining = allowed ? error.conflicts.map((conflict) => ({ ...conflict, fields: difference(conflict.fields, allowed) })).filter(({ fields }) => !isEmptySet(fields)) : error.conflicts
    if (remaining.length > 0) throw new ApplyConflicts(remaining)
    return applyOnce(scope, request, start, true)
  }
}
