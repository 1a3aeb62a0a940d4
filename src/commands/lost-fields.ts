/** What a conversion loses of an object, told field by field. */
import { deepEqual, isObject, type Json, type JsonObject } from '../api/object.ts'

/** A field that is not the same after the way there and back. `path` is as `spec.parts[0].weight`. */
export interface LostField {
  readonly path: string
  readonly how: 'lost' | 'changed' | 'added'
}

/** Fields in which an object differs from what came back of it: the innermost ones; items of lists are told by their places. */
export function lostFields(object: JsonObject, back: JsonObject): LostField[] {
  const found: LostField[] = []
  const pending: { readonly path: string; readonly from: Json | undefined; readonly to: Json | undefined }[] = [{ path: '', from: object, to: back }]
  // Without recursion, since values may nest as deep as the parser takes them.
  for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
    const { path, from, to } = at
    const inner = deepEqual(from, to) ? [] : membersOf(path, from, to)
    if (inner === undefined) found.push({ path, how: to === undefined ? 'lost' : from === undefined ? 'added' : 'changed' })
    else pending.push(...inner.toReversed())
  }
  return found
}

// Nothing for what is to be told as a whole.
function membersOf(path: string, from: Json | undefined, to: Json | undefined): { path: string; from: Json | undefined; to: Json | undefined }[] | undefined {
  if ([from, to].every((value) => value === undefined || isObject(value))) {
    const [left, right] = [(from ?? {}) as JsonObject, (to ?? {}) as JsonObject]
    const names = [...new Set([...Object.keys(left), ...Object.keys(right)])]
    if (names.length === 0) return undefined
    const own = (side: JsonObject, name: string): Json | undefined => (Object.hasOwn(side, name) ? side[name] : undefined)
    return names.map((name) => ({ path: path === '' ? name : `${path}.${name}`, from: own(left, name), to: own(right, name) }))
  }
  if ([from, to].every((value) => value === undefined || Array.isArray(value))) {
    const [left, right] = [(from ?? []) as Json[], (to ?? []) as Json[]]
    const length = Math.max(left.length, right.length)
    if (length === 0) return undefined
    return Array.from({ length }, (_, i) => ({ path: `${path}[${i}]`, from: left[i], to: right[i] }))
  }
  return undefined
}
