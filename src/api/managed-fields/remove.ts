/**
 * A value without some of its fields and items.
 * upstream: structured-merge-diff/typed/remove.go
 */
import { isObject, setKey, type Json, type JsonObject } from '../object.ts'
import { finish, type Walk } from '../walk.ts'
import { below, hasMember, isEmptySet, type FieldSet } from './field-set.ts'
import { itemsOf } from './list-item.ts'
import { field } from './path.ts'
import { narrow, type Atom, type ListType, type MapType } from './typed.ts'

/** Removes a set of fields from a validated object. What loses all its members without being removed itself is null. */
export function removeFields(object: JsonObject, fields: FieldSet, type: Atom): JsonObject {
  if (isEmptySet(fields) || !type.map) return object
  return finish(removeMembers(object, fields, type.map)) ?? {}
}

function* removeFrom(value: Json, fields: FieldSet, type: Atom): Walk<Json> {
  const { map, scalar, list } = narrow(type, value)
  if (map) return isObject(value) && !map.atomic ? ((yield* removeMembers(value, fields, map)) ?? null) : null
  if (scalar) return value
  return list && Array.isArray(value) && !list.atomic ? ((yield* removeItems(value, fields, list)) ?? null) : null
}

function* removeMembers(object: JsonObject, fields: FieldSet, map: MapType): Walk<JsonObject | undefined> {
  const out: JsonObject = {}
  let kept = false
  for (const name of Object.keys(object)) {
    const member = object[name]
    const element = field(name)
    if (member === undefined || hasMember(fields, element)) continue
    const inner = below(fields, element)
    const type = map.fields.get(name) ?? map.element
    setKey(out, name, isEmptySet(inner) || !type ? member : ((yield removeFrom(member, inner, type)) as Json))
    kept = true
  }
  return kept ? out : undefined
}

function* removeItems(values: readonly Json[], fields: FieldSet, list: ListType): Walk<Json[] | undefined> {
  const out: Json[] = []
  for (const { element, value } of itemsOf(list, values)) {
    if (hasMember(fields, element)) continue
    const inner = below(fields, element)
    out.push(isEmptySet(inner) ? value : ((yield removeFrom(value, inner, list.element)) as Json))
  }
  return out.length > 0 ? out : undefined
}
