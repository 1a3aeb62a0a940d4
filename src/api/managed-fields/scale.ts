/**
 * Ownership of the replicas field, which the scale subresource knows under another path than its parent.
 * upstream: apimachinery/pkg/util/managedfields/scalehandler.go
 */
import { formatApiVersion, type JsonObject } from '../object.ts'
import type { ResourceDefinition } from '../resource.ts'
import { difference, fieldSet, hasPath, isEmptySet } from './field-set.ts'
import { decodeManagedFields, encodeManagedFields, type OwnedFields } from './managers.ts'
import { fieldPath, type Path } from './path.ts'

const SCALE_API_VERSION = 'autoscaling/v1'
const SCALE_REPLICAS = fieldPath('spec', 'replicas')

// Nothing for a version that is not defined, null for one without scale.
function replicasPath(definition: ResourceDefinition, apiVersion: string): Path | null | undefined {
  const version = definition.versions.find(({ name }) => formatApiVersion(definition.group, name) === apiVersion)
  if (version === undefined) return undefined
  const path = version.subresources?.scale?.specReplicasPath
  return path === undefined ? null : fieldPath(...path.replace(/^\./, '').split('.'))
}

/**
 * The managedFields of a Scale: the owners of its parent's replicas. Throws Error when an entry of the parent is not valid.
 * upstream: ScaleHandler.ToSubresource
 */
export function toScaleEntries(definition: ResourceDefinition, parent: readonly JsonObject[] | undefined): JsonObject[] | undefined {
  const { managers, times } = decodeManagedFields(parent)
  const out = new Map<string, OwnedFields>()
  for (const [manager, owned] of managers) {
    const path = replicasPath(definition, owned.apiVersion)
    if (path && hasPath(owned.set, path)) out.set(manager, { ...owned, set: fieldSet(SCALE_REPLICAS), apiVersion: SCALE_API_VERSION })
  }
  return encodeManagedFields({ managers: out, times })?.map(inOrder)
}

const ENTRY_MEMBERS = ['manager', 'operation', 'apiVersion', 'time', 'fieldsType', 'fieldsV1', 'subresource'] as const

// A Scale is a struct, which is written in the order of its members.
function inOrder(entry: JsonObject): JsonObject {
  return Object.fromEntries(ENTRY_MEMBERS.filter((name) => entry[name] !== undefined).map((name) => [name, entry[name]]))
}

/**
 * The managedFields of the parent after a write of its Scale through `apiVersion`. A new owner's entry has no time, as upstream.
 * Throws Error when an entry is not valid. upstream: ScaleHandler.ToParent
 */
export function toParentEntries(
  definition: ResourceDefinition, apiVersion: string, parent: readonly JsonObject[] | undefined, scale: readonly JsonObject[] | undefined,
): JsonObject[] | undefined {
  const { managers, times } = decodeManagedFields(parent)
  const scaled = new Map(decodeManagedFields(scale).managers)
  const out = new Map<string, OwnedFields>()
  for (const [manager, owned] of managers) {
    const path = replicasPath(definition, owned.apiVersion)
    if (path === undefined) continue
    const keeps = !path || !hasPath(owned.set, path) || scaled.delete(manager)
    const set = keeps ? owned.set : difference(owned.set, fieldSet(path))
    if (keeps || !isEmptySet(set)) out.set(manager, { ...owned, set })
  }
  const path = replicasPath(definition, apiVersion) ?? []
  for (const [manager, owned] of scaled) {
    if (hasPath(owned.set, SCALE_REPLICAS)) out.set(manager, { set: fieldSet(path), apiVersion, applied: owned.applied })
  }
  return encodeManagedFields({ managers: out, times })
}
