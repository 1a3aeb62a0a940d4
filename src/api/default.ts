/**
 * Defaulting by structural schema.
 * upstream: apiextensions-apiserver/pkg/apiserver/schema/defaulting/algorithm.go Default
 */
import { isObject, setKey, type Json, type JsonObject } from './object.ts'
import type { Schema } from './schema.ts'
import { memberSchema, replaceItems, replaceMembers, somewhere } from './schema-walk.ts'

const hasDefaults = somewhere((schema) => (schema.default ?? null) !== null)

/** The value with the schema's defaults where a member is absent, or null where it may not be. The same value when nothing is filled. */
export function applyDefaults<T extends Json>(value: T, schema: Schema): T {
  return defaulted(value, schema) as T
}

function defaulted(value: Json, schema: Schema | undefined): Json {
  if (typeof value !== 'object' || value === null || schema === undefined || !hasDefaults(schema)) return value
  if (Array.isArray(value)) {
    return replaceItems(value, (item) => defaulted(item === null ? replaceNull(schema.items) : item, schema.items))
  }
  if (!isObject(value)) return value
  const filled = fill(value, schema)
  return replaceMembers(filled, (key, member) => {
    const below = memberSchema(schema, key)
    return defaulted(member === null ? replaceNull(below) : member, below)
  })
}

function replaceNull(schema: Schema | undefined): Json {
  return schema === undefined || schema.nullable ? null : (schema.default ?? null)
}

function fill(object: JsonObject, schema: Schema): JsonObject {
  let copy: JsonObject | undefined
  for (const [key, value] of defaultsOf(schema)) {
    if (Object.hasOwn(object, key) && object[key] !== undefined) continue
    copy ??= { ...object }
    setKey(copy, key, value)
  }
  return copy ?? object
}

const ownDefaults = new WeakMap<Schema, readonly [string, Json][]>()

function defaultsOf(schema: Schema): readonly [string, Json][] {
  let defaults = ownDefaults.get(schema)
  if (defaults === undefined) {
    defaults = Object.entries(schema.properties ?? {}).flatMap(([key, property]): [string, Json][] => {
      const value = property.default ?? null
      return value === null ? [] : [[key, value]]
    })
    ownDefaults.set(schema, defaults)
  }
  return defaults
}
