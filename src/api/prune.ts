/**
 * Pruning of unknown fields and of nulls, by structural schema.
 * upstream: apiextensions-apiserver/pkg/apiserver/schema/pruning/algorithm.go, .../schema/defaulting/prune.go
 */
import { BoundedTexts } from './error-limits.ts'
import { isObject, type Json } from './object.ts'
import type { Schema } from './schema.ts'
import { DROP, memberSchema, propertyOf, replaceItems, replaceMembers, somewhere } from './schema-walk.ts'
import { sortKeys } from './status.ts'

/** `root`: the value is a whole object, whose apiVersion, kind and metadata are never pruned. */
export interface PruneOptions {
  readonly root: boolean
}

/** What pruning leaves, and the sorted paths of what it dropped (`spec.list[0].bar`). */
export interface Pruned<T extends Json = Json> {
  readonly value: T
  readonly unknown: string[]
}

/** Drops what the schema does not know. The value is the same when nothing is dropped. upstream: pruning.PruneWithOptions */
export function prune<T extends Json>(value: T, schema: Schema, options: PruneOptions): Pruned<T> {
  const unknown = new BoundedTexts()
  const pruned = pruneValue(value, schema, new Path(undefined, ''), options.root || schema['x-kubernetes-embedded-resource'] === true, unknown)
  return { value: pruned as T, unknown: sortKeys(unknown.texts) }
}

/** A path that becomes text only when something is reported. */
class Path {
  readonly parent: Path | undefined
  readonly step: string | number
  constructor(parent: Path | undefined, step: string | number) {
    this.parent = parent
    this.step = step
  }
  toString(): string {
    if (this.parent === undefined) return ''
    const lead = this.parent.toString()
    if (typeof this.step === 'number') return `${lead}[${this.step}]`
    return lead === '' ? this.step : `${lead}.${this.step}`
  }
}

function report(unknown: BoundedTexts, path: Path, key: string): void {
  if (!unknown.full) unknown.add(new Path(path, key).toString())
}

function isMetaField(key: string): boolean {
  return key === 'apiVersion' || key === 'kind' || key === 'metadata'
}

function pruneValue(value: Json, schema: Schema | undefined, path: Path, embedded: boolean, unknown: BoundedTexts): Json {
  if (typeof value !== 'object' || value === null) return value
  if (schema === undefined) return pruneSchemaless(value, path, unknown)
  const preserve = schema['x-kubernetes-preserve-unknown-fields'] === true
  if (Array.isArray(value)) {
    // Items of a preserving node are preserved with their schema or without.
    if (preserve && schema.items === undefined) return value
    const items = preserve ? preserving(schema.items as Schema) : schema.items
    return replaceItems(value, (item, i) => pruneChild(item, items, path, i, unknown))
  }
  if (!isObject(value)) return value
  return replaceMembers(value, (key, member) => {
    if (embedded && isMetaField(key)) return member
    const property = propertyOf(schema, key)
    if (property !== undefined) return pruneChild(member, property, path, key, unknown)
    // One that is false keeps the member too: validation refuses it.
    if (schema.additionalProperties !== undefined) {
      return pruneChild(member, typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined, path, key, unknown)
    }
    if (preserve) return member
    report(unknown, path, key)
    return DROP
  })
}

function pruneChild(value: Json, schema: Schema | undefined, path: Path, step: string | number, unknown: BoundedTexts): Json {
  if (typeof value !== 'object' || value === null) return value
  return pruneValue(value, schema, new Path(path, step), schema?.['x-kubernetes-embedded-resource'] === true, unknown)
}

const preserved = new WeakMap<Schema, Schema>()

function preserving(schema: Schema): Schema {
  if (schema['x-kubernetes-preserve-unknown-fields']) return schema
  let copy = preserved.get(schema)
  if (copy === undefined) {
    copy = { ...schema, 'x-kubernetes-preserve-unknown-fields': true }
    preserved.set(schema, copy)
  }
  return copy
}

// Without a schema objects are emptied, and arrays searched for objects. Arrays in arrays may nest deeply here, so no recursion.
function pruneSchemaless(value: Json, path: Path, unknown: BoundedTexts): Json {
  if (isObject(value)) {
    return replaceMembers(value, (key) => {
      report(unknown, path, key)
      return DROP
    })
  }
  if (!Array.isArray(value)) return value
  return pruneArrays(value, path, unknown)
}

function pruneArrays(root: Json[], path: Path, unknown: BoundedTexts): Json[] {
  const out: Json[] = []
  const pending: { from: Json[]; to: Json[]; path: Path }[] = [{ from: root, to: out, path }]
  let changed = false
  for (let work = pending.pop(); work !== undefined; work = pending.pop()) {
    for (const [i, item] of work.from.entries()) {
      const at = new Path(work.path, i)
      if (Array.isArray(item)) {
        const to: Json[] = []
        work.to.push(to)
        pending.push({ from: item, to, path: at })
        continue
      }
      const next = isObject(item) ? pruneSchemaless(item, at, unknown) : item
      changed ||= next !== item
      work.to.push(next)
    }
  }
  return changed ? out : root
}

// Nulls matter only where a schema has members that may not be null, which is nearly everywhere.
const hasMembers = somewhere((schema) => schema.properties !== undefined || typeof schema.additionalProperties === 'object')

/** Drops members that are null, may not be, and have no default. The value is the same when nothing is dropped. upstream: defaulting.PruneNonNullableNullsWithoutDefaults */
export function dropNulls<T extends Json>(value: T, schema: Schema): T {
  return dropNullsBelow(value, schema) as T
}

function dropNullsBelow(value: Json, schema: Schema | undefined): Json {
  if (typeof value !== 'object' || value === null || schema === undefined || !hasMembers(schema)) return value
  if (Array.isArray(value)) return replaceItems(value, (item) => dropNullsBelow(item, schema.items))
  if (!isObject(value)) return value
  return replaceMembers(value, (key, member) => {
    const below = memberSchema(schema, key)
    if (member !== null) return dropNullsBelow(member, below)
    return below !== undefined && !below.nullable && (below.default ?? null) === null ? DROP : null
  })
}
