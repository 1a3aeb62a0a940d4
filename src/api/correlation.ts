/**
 * Which old value belongs to a new one, for ratcheting: members by name, items of `map` lists by their keys, nothing else.
 * upstream: apiserver/pkg/cel/common/{equality,maplist}.go CorrelatedObject
 */
import { deepEqual, getKey, isInteger, isNumber, isObject, toNumber, type Json, type JsonObject } from './object.ts'
import type { Schema } from './schema.ts'
import { memberSchema } from './schema-walk.ts'

/** A value beside the old one that it replaces, with the schema that relates their parts. */
export class Correlation {
  readonly schema: Schema
  readonly value: Json
  readonly old: Json
  private find: ((item: Json) => Json | undefined) | undefined
  private equal: boolean | undefined

  constructor(schema: Schema, value: Json, old: Json) {
    this.schema = schema
    this.value = value
    this.old = old
  }

  /**
   * Whether old and new are equal as upstream compares them: part by part along the schema. A member that the schema does not know makes
   * an object unequal to itself, and of a list of type map the order does not count. upstream: CachedDeepEqual
   */
  get unchanged(): boolean {
    this.equal ??= this.compare()
    return this.equal
  }

  private compare(): boolean {
    const { value, old, schema } = this
    if (Array.isArray(value)) {
      if (!Array.isArray(old) || value.length !== old.length) return false
      if (schema['x-kubernetes-list-type'] !== 'map') return deepEqual(value, old)
      return value.every((_, i) => this.item(i)?.unchanged ?? false)
    }
    if (!isObject(value)) return deepEqual(value, old)
    if (!isObject(old)) return false
    const keys = definedKeys(value)
    return keys.length === definedKeys(old).length && keys.every((key) => this.member(key)?.unchanged ?? false)
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
    if (schema.items === undefined || !Array.isArray(value) || !Array.isArray(old)) return undefined
    this.find ??= oldItems(schema, old)
    const item = value[index] as Json
    const match = this.find(item)
    return match === undefined ? undefined : new Correlation(schema.items, item, match)
  }
}

/** Finds the old item with the same key; only lists of type map have one. The first of several wins. upstream: MapList */
export function oldItems(schema: Schema, old: readonly Json[] | undefined): (item: Json) => Json | undefined {
  const keys = schema['x-kubernetes-list-map-keys'] ?? []
  if (old === undefined || schema['x-kubernetes-list-type'] !== 'map' || keys.length === 0) return () => undefined
  const known = new Map<string, Json>()
  for (const item of old) {
    const key = keyOf(item, keys)
    if (key !== undefined && !known.has(key)) known.set(key, item)
  }
  return (item) => {
    const key = keyOf(item, keys)
    return key === undefined ? undefined : known.get(key)
  }
}

// Nothing for an item that lacks a key, or has one that is no scalar.
function keyOf(item: Json, keys: readonly string[]): string | undefined {
  if (!isObject(item)) return undefined
  const parts: string[] = []
  for (const name of keys) {
    const value = getKey(item, name)
    if (typeof value !== 'string' && typeof value !== 'boolean' && !isNumber(value)) return undefined
    parts.push(isNumber(value) ? `${isInteger(value) ? 'int' : 'float'} ${toNumber(value)}` : `${typeof value} ${String(value)}`)
  }
  return JSON.stringify(parts)
}

const definedKeys = (object: JsonObject): string[] => Object.keys(object).filter((key) => object[key] !== undefined)
