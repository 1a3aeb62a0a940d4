/**
 * What belongs together in an object and its stored form, so that rules can compare and failures of what was not touched can pass.
 * upstream: apiserver/pkg/cel/common/{equality,maplist}.go, apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go: ratchetingOptions
 */
import { deepEqual, getKey, isNumber, isObject, type Json } from './object.ts'
import { itemKey } from './cel-values.ts'
import type { Schema } from './schema.ts'

/** A value and its old value; whether they are equal is found out once. */
export interface Pair {
  readonly value: Json
  readonly old: Json | undefined
  equal?: boolean
}

/** Where a node stands: its own pair when it has one, and that of the nearest ancestor that has one. */
export interface Correlation {
  readonly current?: Pair
  readonly parent?: Pair
}

/** Whether a node, or the nearest ancestor that has an old value, is unchanged. */
export function isUnchanged({ current, parent }: Correlation): boolean {
  const pair = current ?? parent
  if (pair === undefined) return false
  return (pair.equal ??= deepEqual(pair.value, pair.old))
}

/** The correlation of a member of an object. apiVersion and kind of the root never count as unchanged, since both sides are in one version. */
export function memberCorrelation(correlation: Correlation, key: string): Correlation {
  const { current, parent } = correlation
  if (current === undefined) return correlation
  if (parent === undefined && (key === 'apiVersion' || key === 'kind')) return {}
  const { value, old } = current
  if (!isObject(value) || !isObject(old)) return { parent: current }
  return { current: { value: getKey(value, key) ?? null, old: getKey(old, key) }, parent: current }
}

/** The correlation of an item of a list, whose old value was found by its key. */
export function itemCorrelation(correlation: Correlation, item: Json, old: Json | undefined): Correlation {
  const { current } = correlation
  if (current === undefined) return correlation
  return old === undefined ? { parent: current } : { current: { value: item, old }, parent: current }
}

/** Finds the old item with the same key; only lists of type map have one. The first of several wins. */
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

function keyOf(item: Json, keys: readonly string[]): string | undefined {
  if (!isObject(item)) return undefined
  const parts: string[] = []
  for (const name of keys) {
    const value = getKey(item, name)
    if (typeof value !== 'string' && typeof value !== 'boolean' && !isNumber(value)) return undefined
    parts.push(itemKey(value))
  }
  return JSON.stringify(parts)
}
