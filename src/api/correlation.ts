/**
 * Which old value belongs to a new one, for ratcheting: members by name, items of `map` lists by their keys, nothing else.
 * upstream: apiserver/pkg/cel/common/equality.go CorrelatedObject
 */
import { encodeJson } from './json-encode.ts'
import { deepEqual, getKey, isObject, type Json, type JsonObject } from './object.ts'
import type { Schema } from './schema.ts'
import { memberSchema } from './schema-walk.ts'

/** A value beside the old one that it replaces, with the schema that relates their parts. */
export class Correlation {
  readonly schema: Schema
  readonly value: Json
  readonly old: Json
  private oldByKeys: Map<string, Json> | undefined
  private equal: boolean | undefined

  constructor(schema: Schema, value: Json, old: Json) {
    this.schema = schema
    this.value = value
    this.old = old
  }

  /** Whether old and new are deeply equal, as Go sees it. */
  get unchanged(): boolean {
    this.equal ??= deepEqual(this.value, this.old)
    return this.equal
  }

  /** The correlation of a member, when both objects have it and the schema knows it. */
  member(key: string): Correlation | undefined {
    if (!isObject(this.value) || !isObject(this.old)) return undefined
    const value = getKey(this.value, key)
    const old = getKey(this.old, key)
    const schema = memberSchema(this.schema, key)
    return value === undefined || old === undefined || schema === undefined ? undefined : new Correlation(schema, value, old)
  }

  /** The correlation of an item, in lists of type map. */
  item(index: number): Correlation | undefined {
    const { schema, value, old } = this
    if (schema.items === undefined || schema['x-kubernetes-list-type'] !== 'map' || !Array.isArray(value) || !Array.isArray(old)) return undefined
    const keys = schema['x-kubernetes-list-map-keys'] ?? []
    this.oldByKeys ??= indexByKeys(old, keys)
    const item = value[index] as Json
    const match = isObject(item) ? this.oldByKeys.get(keysText(item, keys)) : undefined
    return match === undefined ? undefined : new Correlation(schema.items, item, match)
  }
}

function indexByKeys(items: Json[], keys: readonly string[]): Map<string, Json> {
  const index = new Map<string, Json>()
  for (const item of items) {
    if (!isObject(item)) continue
    const text = keysText(item, keys)
    if (!index.has(text)) index.set(text, item)
  }
  return index
}

function keysText(item: JsonObject, keys: readonly string[]): string {
  return keys.map((key) => encodeJson(getKey(item, key) ?? null)).join('\n')
}
