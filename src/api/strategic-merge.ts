/**
 * Strategic merge patch, as far as core kinds need it: objects merge, null deletes, lists are replaced unless a merge key is
 * known for their path; the directives `$patch`, `$retainKeys`, `$deleteFromPrimitiveList/…` and `$setElementOrder/…`.
 * upstream: apimachinery/pkg/util/strategicpatch/patch.go: StrategicMergePatch
 */
import { deepEqual, getKey, isObject, setKey, type Json, type JsonObject } from './object.ts'
import { unprocessablePatch } from './status.ts'

/** Merge keys by dotted path of the list, e.g. `{"metadata.ownerReferences": "uid"}`; the key "" is for a list of scalars that merges as a set. */
export type MergeKeys = { readonly [path: string]: string }

/** What ObjectMeta says of itself for every kind. */
const META_KEYS: MergeKeys = { 'metadata.ownerReferences': 'uid', 'metadata.finalizers': '' }

const ORDER = '$setElementOrder/'
const DELETE = '$deleteFromPrimitiveList/'

/** Applies a strategic merge patch; `mergeKeys` are those of the kind beside ObjectMeta's own. Throws 422 for a malformed directive and for what nests too deep for the stack. */
export function applyStrategicMerge(target: JsonObject, patch: JsonObject, mergeKeys: MergeKeys): Json {
  try {
    return mergeObjects(target, patch, '', { ...META_KEYS, ...mergeKeys })
  } catch (error) {
    if (error instanceof RangeError) throw unprocessablePatch()
    throw error
  }
}

function mergeObjects(target: JsonObject, patch: JsonObject, path: string, keys: MergeKeys): JsonObject {
  const directive = getKey(patch, '$patch')
  if (directive === 'replace') return withoutDirectives(patch)
  if (directive === 'delete') return {}
  if (directive !== undefined && directive !== 'merge') throw unprocessablePatch()
  const merged = retain(target, getKey(patch, '$retainKeys'))
  for (const [key, change] of Object.entries(patch)) {
    if (key.startsWith(DELETE)) deleteScalars(merged, key.slice(DELETE.length), change ?? null)
  }
  for (const key of Object.keys(patch)) {
    if (key.startsWith('$')) continue
    const change = patch[key] ?? null
    const value = change === null ? undefined : mergeValue(getKey(merged, key), change, path === '' ? key : `${path}.${key}`, keys)
    if (value === undefined) delete merged[key]
    else setKey(merged, key, value)
  }
  for (const [key, order] of Object.entries(patch)) {
    if (key.startsWith(ORDER)) reorder(merged, key.slice(ORDER.length), order ?? null, path, keys)
  }
  return merged
}

function retain(target: JsonObject, names: Json | undefined): JsonObject {
  if (names === undefined) return { ...target }
  if (!Array.isArray(names)) throw unprocessablePatch()
  const kept: JsonObject = {}
  for (const key of Object.keys(target)) if (names.includes(key)) setKey(kept, key, target[key] ?? null)
  return kept
}

function mergeValue(current: Json | undefined, change: Json, path: string, keys: MergeKeys): Json {
  if (isObject(change)) return mergeObjects(isObject(current) ? current : {}, change, path, keys)
  if (!Array.isArray(change)) return change
  const mergeKey = Object.hasOwn(keys, path) ? keys[path] : undefined
  if (mergeKey === undefined) return change.filter((item) => !isDirective(item)).map(withoutNested)
  const list = Array.isArray(current) ? current : []
  return mergeKey === '' ? mergeScalars(list, change) : mergeList(list, change, mergeKey, path, keys)
}

const isDirective = (item: Json): boolean => isObject(item) && getKey(item, '$patch') !== undefined
const withoutNested = (item: Json): Json => (isObject(item) ? withoutDirectives(item) : item)

function mergeScalars(list: readonly Json[], change: readonly Json[]): Json[] {
  const merged = [...list]
  for (const item of change) if (!merged.some((other) => deepEqual(other, item))) merged.push(item)
  return merged
}

function mergeList(list: readonly Json[], change: readonly Json[], mergeKey: string, path: string, keys: MergeKeys): Json[] {
  const replacing = change.some((item) => isObject(item) && getKey(item, '$patch') === 'replace' && getKey(item, mergeKey) === undefined)
  let merged: Json[] = replacing ? [] : [...list]
  for (const item of change) {
    if (!isObject(item)) throw unprocessablePatch()
    const id = getKey(item, mergeKey)
    const directive = getKey(item, '$patch')
    if (id === undefined) {
      if (directive === 'replace') continue
      throw unprocessablePatch()
    }
    const at = merged.findIndex((other) => isObject(other) && deepEqual(getKey(other, mergeKey), id))
    if (directive === 'delete') merged = merged.filter((other) => !(isObject(other) && deepEqual(getKey(other, mergeKey), id)))
    else if (at < 0) merged.push(mergeObjects({}, item, path, keys))
    else merged[at] = mergeObjects(merged[at] as JsonObject, item, path, keys)
  }
  return merged
}

function deleteScalars(merged: JsonObject, key: string, values: Json): void {
  if (!Array.isArray(values)) throw unprocessablePatch()
  const list = getKey(merged, key)
  if (Array.isArray(list)) setKey(merged, key, list.filter((item) => !values.some((value) => deepEqual(value, item))))
}

// Items that the order names come in its order; the others keep their place behind the item they followed.
function reorder(merged: JsonObject, key: string, order: Json, path: string, keys: MergeKeys): void {
  if (!Array.isArray(order)) throw unprocessablePatch()
  const list = getKey(merged, key)
  const listPath = path === '' ? key : `${path}.${key}`
  const mergeKey = Object.hasOwn(keys, listPath) ? keys[listPath] : undefined
  if (!Array.isArray(list) || mergeKey === undefined) return
  const identity = (item: Json): Json | undefined => (mergeKey === '' ? item : isObject(item) ? getKey(item, mergeKey) : undefined)
  const rank = (item: Json): number => order.findIndex((entry) => deepEqual(identity(entry), identity(item)))
  const named = list.filter((item) => rank(item) >= 0).sort((a, b) => rank(a) - rank(b))
  let next = 0
  setKey(merged, key, list.map((item) => (rank(item) < 0 ? item : (named[next++] ?? item))))
}

function withoutDirectives(value: JsonObject): JsonObject {
  const kept: JsonObject = {}
  for (const key of Object.keys(value)) {
    const member = value[key] ?? null
    if (member !== null && !key.startsWith('$')) setKey(kept, key, isObject(member) ? withoutDirectives(member) : member)
  }
  return kept
}
