/**
 * What the walkers over an object and its schema share: which schema a member has, whether a subtree of a schema holds anything
 * of interest (remembered per schema), and rebuilding only what changes.
 */
import { setKey, type Json, type JsonObject } from './object.ts'
import type { Schema } from './schema.ts'

/** The schema that `properties` gives a key, or undefined. */
export function propertyOf(schema: Schema, key: string): Schema | undefined {
  return schema.properties !== undefined && Object.hasOwn(schema.properties, key) ? schema.properties[key] : undefined
}

/** The schema of additionalProperties, when it is one. */
export function additionalOf(schema: Schema): Schema | undefined {
  return typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined
}

/** The schema of a member: its property, else additionalProperties. */
export function memberSchema(schema: Schema, key: string): Schema | undefined {
  return propertyOf(schema, key) ?? additionalOf(schema)
}

/** The schemas directly below one, without those of allOf, anyOf, oneOf and not. */
export function children(schema: Schema): Schema[] {
  const below = Object.values(schema.properties ?? {})
  const additional = additionalOf(schema)
  if (additional !== undefined) below.push(additional)
  if (schema.items !== undefined) below.push(schema.items)
  return below
}

/** A predicate that holds when a schema or one below it satisfies `test`; the answer is remembered by schema object. */
export function somewhere(test: (schema: Schema) => boolean): (schema: Schema) => boolean {
  const known = new WeakMap<Schema, boolean>()
  const holds = (schema: Schema): boolean => {
    const answer = known.get(schema)
    if (answer !== undefined) return answer
    const found = test(schema) || children(schema).some(holds)
    known.set(schema, found)
    return found
  }
  return holds
}

/** A member that `replaceMembers` is to leave out. */
export const DROP = Symbol('drop')

/** The object with each member replaced by `change`; the same object when nothing changes. */
export function replaceMembers(object: JsonObject, change: (key: string, value: Json) => Json | typeof DROP): JsonObject {
  let copy: JsonObject | undefined
  for (const key in object) {
    const value = object[key]
    if (value === undefined || !Object.hasOwn(object, key)) continue
    const next = change(key, value)
    if (next === value) continue
    copy ??= { ...object }
    if (next === DROP) delete copy[key]
    else setKey(copy, key, next)
  }
  return copy ?? object
}

/** The array with each item replaced by `change`; the same array when nothing changes. */
export function replaceItems(items: Json[], change: (item: Json, index: number) => Json): Json[] {
  let copy: Json[] | undefined
  for (let i = 0; i < items.length; i++) {
    const item = items[i] as Json
    const next = change(item, i)
    if (next === item) continue
    copy ??= items.slice()
    copy[i] = next
  }
  return copy ?? items
}
