/**
 * The Scale of an object: what its scale subresource shows, and what a write of it changes.
 * upstream: apiextensions-apiserver/pkg/registry/customresource/etcd.go: scaleFromCustomResource, scaleUpdatedObjectInfo
 */
import { fieldsOf, nestedValue } from './nested-value.ts'
import { getKey, isInteger, isObject, setKey, type GroupVersionKind, type Json, type JsonObject, type KubeObject } from './object.ts'
import type { PrinterColumn, ScaleDefinition } from './resource.ts'
import { AGE } from './table.ts'

/** The kind of every scale subresource. */
export const SCALE_KIND: GroupVersionKind = { group: 'autoscaling', version: 'v1', kind: 'Scale' }

/** A Scale, its members in the order of Go's struct. */
export interface Scale extends KubeObject {
  readonly spec: { readonly replicas?: number }
  readonly status: { readonly replicas: number; readonly selector?: string }
}

/** Stands for the replicas of an object that has none. upstream: invalidSpecReplicas */
export const NO_REPLICAS = -2147483648

/**
 * The Scale of an object, without managedFields, and whether the object has replicas at all. Throws Error for a field of another type
 * than its path promises.
 */
export function scaleOf(object: KubeObject, { specReplicasPath, statusReplicasPath, labelSelectorPath }: ScaleDefinition): { scale: Scale; hasReplicas: boolean } {
  const replicas = integerAt(object, specReplicasPath)
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata
  const scale = makeScale({
    metadata: defined({ name, namespace, uid, resourceVersion, creationTimestamp }),
    replicas: replicas ?? 0,
    current: integerAt(object, statusReplicasPath) ?? 0,
    selector: labelSelectorPath ? stringAt(object, labelSelectorPath) : '',
  })
  return { scale, hasReplicas: replicas !== undefined }
}

/** A Scale of its parts. Go leaves out what is zero, but for the current replicas. */
export function makeScale(of: { metadata: KubeObject['metadata']; replicas: number; current: number; selector: string }): Scale {
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: of.metadata,
    spec: of.replicas === 0 ? {} : { replicas: of.replicas },
    status: { replicas: of.current, ...(of.selector === '' ? {} : { selector: of.selector }) },
  }
}

function defined(members: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined && value !== ''))
}

// Cut to 32 bits, as Go converts it.
function integerAt(object: KubeObject, path: string): number | undefined {
  const value = nestedValue(object, path, 'int64', isInteger)
  return value === undefined ? undefined : Number(BigInt.asIntN(32, BigInt(value as number | bigint)))
}

function stringAt(object: KubeObject, path: string): string {
  return (nestedValue(object, path, 'string', (value) => typeof value === 'string') as string | undefined) ?? ''
}

/** The object with other replicas. Throws Error when there is something else on the way to them. upstream: unstructured.SetNestedField */
export function withReplicas(object: KubeObject, path: string, replicas: number): KubeObject {
  return setNested(object, fieldsOf(path), replicas, []) as KubeObject
}

function setNested(object: JsonObject, [field = '', ...rest]: readonly string[], value: Json, done: readonly string[]): JsonObject {
  const copy = { ...object }
  const member = getKey(object, field)
  const place = [...done, field]
  if (rest.length === 0) setKey(copy, field, value)
  else if (member === undefined || isObject(member)) setKey(copy, field, setNested(member ?? {}, rest, value, place))
  else throw new Error(`value cannot be set because .${place.join('.')} is not a map[string]interface{}`)
  return copy
}

/** The columns of a Scale's table after its name. upstream: apiextensions-apiserver/pkg/apiserver: getScaleColumnsForVersion */
export const SCALE_COLUMNS: readonly PrinterColumn[] = [
  { name: 'Desired', type: 'integer', description: 'Number of desired replicas', jsonPath: '.spec.replicas' },
  { name: 'Available', type: 'integer', description: 'Number of actual replicas', jsonPath: '.status.replicas' },
  AGE,
]
