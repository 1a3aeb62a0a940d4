/** The JSON merge patch (RFC 7386) that turns one value into another. */
import { deepEqual, getKey, isObject, type Json, type JsonObject, setKey } from '../api/object.ts'

/** The patch from `before` to `after`; undefined when they are equal. Absent in `after` means removed. */
export function diffMergePatch(before: JsonObject, after: JsonObject): JsonObject | undefined {
  const patch: JsonObject = {}
  for (const key of Object.keys(after)) {
    const [old, value] = [getKey(before, key), getKey(after, key)]
    if (value === undefined || deepEqual(old, value)) continue
    setKey(patch, key, isObject(old) && isObject(value) ? (diffMergePatch(old, value) ?? {}) : (value as Json))
  }
  for (const key of Object.keys(before)) {
    if (getKey(before, key) !== undefined && getKey(after, key) === undefined) setKey(patch, key, null)
  }
  return Object.keys(patch).length === 0 ? undefined : patch
}
