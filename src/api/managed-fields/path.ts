/**
 * Where a field stands: a path of field names, keys of list items, values of set items and indexes.
 * upstream: structured-merge-diff/fieldpath/{element,path}.go
 */
import { compareBytes, formatGoFloat, goQuote } from '../go-text.ts'
import { encodeJson } from '../json-encode.ts'
import { Float, type Json } from '../object.ts'
import { compareValues } from './value.ts'

/** One step of a path. `fields` of a key are sorted by name. */
export type PathElement =
  | { readonly kind: 'field'; readonly name: string }
  | { readonly kind: 'key'; readonly fields: readonly KeyField[] }
  | { readonly kind: 'value'; readonly value: Json }
  | { readonly kind: 'index'; readonly index: number }

/** A field of an item's key with its value. */
export interface KeyField {
  readonly name: string
  readonly value: Json
}

/** A path from the root of an object. */
export type Path = readonly PathElement[]

/** The element of a field. */
export const field = (name: string): PathElement => ({ kind: 'field', name })

/** The path of nested fields. */
export const fieldPath = (...names: string[]): Path => names.map(field)

const RANKS = { field: 0, key: 1, value: 2, index: 3 } as const

/** Order of elements: fields, keys, values, indexes. upstream: PathElement.Compare */
export function compareElements(a: PathElement, b: PathElement): number {
  if (a.kind === 'field' && b.kind === 'field') return compareNames(a.name, b.name)
  if (a.kind === 'key' && b.kind === 'key') return compareKeys(a.fields, b.fields)
  if (a.kind === 'value' && b.kind === 'value') return compareValues(a.value, b.value)
  if (a.kind === 'index' && b.kind === 'index') return a.index - b.index
  return RANKS[a.kind] - RANKS[b.kind]
}

function compareNames(a: string, b: string): number {
  return a === b ? 0 : compareBytes(a, b)
}

function compareKeys(a: readonly KeyField[], b: readonly KeyField[]): number {
  for (let i = 0; ; i++) {
    const [left, right] = [a[i], b[i]]
    if (left === undefined || right === undefined) return a.length - b.length
    const order = compareNames(left.name, right.name) || compareValues(left.value, right.value)
    if (order !== 0) return order
  }
}

/** The path as people read it: `.spec.ports[port=80,protocol="TCP"].name`. upstream: Path.String */
export function formatPath(path: Path): string {
  return path.map(formatElement).join('')
}

/** One element as people read it. upstream: PathElement.String */
export function formatElement(element: PathElement): string {
  switch (element.kind) {
    case 'field':
      return `.${element.name}`
    case 'key':
      return `[${element.fields.map(({ name, value }) => `${name}=${formatValue(value)}`).join(',')}]`
    case 'value':
      return `[=${formatValue(element.value)}]`
    case 'index':
      return `[${element.index}]`
  }
}

function formatValue(value: Json): string {
  if (typeof value === 'string') return goQuote(value)
  if (value instanceof Float) return formatGoFloat(value.value)
  if (typeof value === 'number' && !Number.isInteger(value)) return formatGoFloat(value)
  return encodeJson(value)
}
