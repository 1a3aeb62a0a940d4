/**
 * Objects as values: the JSON data model as kube-apiserver sees it.
 *
 * Numbers follow Go's unstructured decoding, where int64 and float64 are different types:
 *  - an integer literal (no `.`, `e`) within int64 is an integer: a JS `number` when safe, else a `bigint`;
 *  - a literal with a fraction or exponent is a float: a JS `number` when it is not integral, else a `Float`
 *    (so `1` and `1.0` stay different, as in Go's reflect.DeepEqual);
 *  - an integer literal beyond int64 becomes a `Float`, as upstream.
 * Inputs are never mutated: every function of src/api returns new values (sharing unchanged parts).
 */

/** A float64 whose value is integral (written `1.0` or `1e3`). A non-integral float is a plain number. */
export class Float {
  readonly value: number
  constructor(value: number) {
    this.value = value
  }
  toJSON(): number {
    return this.value
  }
}

export type JsonScalar = null | boolean | number | bigint | Float | string
export type Json = JsonScalar | Json[] | JsonObject
export interface JsonObject {
  [key: string]: Json | undefined
}

/** A reference to an owner, as in metav1.OwnerReference. */
export type OwnerReference = {
  apiVersion: string
  kind: string
  name: string
  uid: string
  controller?: boolean
  blockOwnerDeletion?: boolean
}

/** metav1.ObjectMeta as JSON: every field optional, times in RFC 3339 with whole seconds. */
export type ObjectMeta = {
  name?: string
  generateName?: string
  namespace?: string
  selfLink?: string
  uid?: string
  resourceVersion?: string
  generation?: number
  creationTimestamp?: string
  deletionTimestamp?: string
  deletionGracePeriodSeconds?: number
  labels?: Record<string, string>
  annotations?: Record<string, string>
  ownerReferences?: OwnerReference[]
  finalizers?: string[]
  managedFields?: JsonObject[]
}

/** A Kubernetes object of any kind. `metadata` is always an object once decoded. */
export interface KubeObject extends JsonObject {
  apiVersion: string
  kind: string
  metadata: ObjectMeta & JsonObject
}

/** group, version and kind of an object; `group` is empty for core. */
export interface GroupVersionKind {
  group: string
  version: string
  kind: string
}

/** True for a JSON object (not null, not an array, not a Float). */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Float)
}

/** True for an int64: a safe integral number or a bigint. `1.0` is not one. */
export function isInteger(value: unknown): value is number | bigint {
  return typeof value === 'bigint' || (typeof value === 'number' && Number.isInteger(value))
}

/** True for any JSON number. */
export function isNumber(value: unknown): value is number | bigint | Float {
  return typeof value === 'number' || typeof value === 'bigint' || value instanceof Float
}

/** The value as a JS number, exact only within 2^53. */
export function toNumber(value: number | bigint | Float): number {
  return value instanceof Float ? value.value : Number(value)
}

/** Own property of an object, never one of its prototype's (`toString`, `__proto__`, …). */
export function getKey(object: JsonObject, key: string): Json | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined
}

/** Sets an own property, also for the key `__proto__`. Only for objects that the caller has just made. */
export function setKey(object: JsonObject, key: string, value: Json): void {
  if (key === '__proto__') Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true })
  else object[key] = value
}

/**
 * Equality as Go's reflect.DeepEqual on decoded JSON: 1 differs from 1.0, absent differs from null, key order does not count.
 * Without recursion, since values may nest as deep as the parser takes them.
 */
export function deepEqual(a: unknown, b: unknown): boolean {
  // Containers still to compare, in pairs.
  const pending: unknown[] = []
  if (!sameScalar(a, b, pending)) return false
  while (pending.length > 0) {
    const right = pending.pop()
    const left = pending.pop()
    if (Array.isArray(left) ? !sameItems(left, right, pending) : !sameMembers(left as JsonObject, right, pending)) return false
  }
  return true
}

// Containers are put off; everything else is compared.
function sameScalar(a: unknown, b: unknown, pending: unknown[]): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || a === null) return false
  if (a instanceof Float) return b instanceof Float && a.value === b.value
  pending.push(a, b)
  return true
}

function sameItems(a: unknown[], b: unknown, pending: unknown[]): boolean {
  if (!Array.isArray(b) || a.length !== b.length) return false
  for (let i = 0; i < a.length; i++) if (!sameScalar(a[i], b[i], pending)) return false
  return true
}

function sameMembers(a: JsonObject, b: unknown, pending: unknown[]): boolean {
  if (!isObject(b)) return false
  let count = 0
  for (const key of Object.keys(a)) {
    const value = a[key]
    if (value === undefined) continue
    count++
    if (!Object.hasOwn(b, key) || !sameScalar(value, b[key], pending)) return false
  }
  for (const key of Object.keys(b)) if (b[key] !== undefined) count--
  return count === 0
}

/** Splits an apiVersion: `v1` has the group "". */
export function parseApiVersion(apiVersion: string): { group: string; version: string } {
  const slash = apiVersion.indexOf('/')
  return slash < 0 ? { group: '', version: apiVersion } : { group: apiVersion.slice(0, slash), version: apiVersion.slice(slash + 1) }
}

/** The apiVersion of a group and a version. */
export function formatApiVersion(group: string, version: string): string {
  return group === '' ? version : `${group}/${version}`
}
