/**
 * The promise of lists of type set and map: no item twice, no keys twice.
 * upstream: apiextensions-apiserver/pkg/apiserver/schema/listtype/validation.go ValidateListSetsAndMaps
 */
import { MAX_FIELD_ERRORS } from './error-limits.ts'
import { encodeJson } from './json-encode.ts'
import { Float, getKey, isInteger, isObject, setKey, type Json, type JsonObject } from './object.ts'
import type { Schema } from './schema.ts'
import { additionalOf, propertyOf, somewhere } from './schema-walk.ts'
import { fieldError, type FieldError } from './status.ts'

const hasListTypes = somewhere((schema) => schema['x-kubernetes-list-type'] === 'set' || schema['x-kubernetes-list-type'] === 'map')

/** Errors of the lists in a value. With `old`, the value it replaces: none, when the old value broke the promise anywhere. */
export function listTypeErrors(value: Json, schema: Schema, old?: Json): FieldError[] {
  const errors: FieldError[] = []
  collect(value, schema, '', errors)
  if (errors.length > 0 && old !== undefined && listTypeErrors(old, schema).length > 0) return []
  return errors
}

function collect(value: Json, schema: Schema | undefined, path: string, errors: FieldError[]): void {
  if (typeof value !== 'object' || value === null || schema === undefined || !hasListTypes(schema)) return
  if (Array.isArray(value)) {
    const type = schema['x-kubernetes-list-type']
    if (type === 'set') duplicates(value, path, errors, scalarOrJson)
    if (type === 'map') mapErrors(value, schema['x-kubernetes-list-map-keys'] ?? [], path, errors)
    for (const [i, item] of value.entries()) collect(item, schema.items, `${path}[${i}]`, errors)
    return
  }
  if (!isObject(value)) return
  for (const [key, member] of Object.entries(value)) {
    const property = propertyOf(schema, key)
    const at = property === undefined ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`
    if (member !== undefined) collect(member, property ?? additionalOf(schema), at, errors)
  }
}

// Of a value that stands several times only the second place is reported.
function duplicates(items: Json[], path: string, errors: FieldError[], identity: (item: Json) => string): void {
  const seen = new Map<string, number>()
  for (const [i, item] of items.entries()) {
    const key = identity(item)
    const times = seen.get(key) ?? 0
    seen.set(key, times + 1)
    if (times === 1 && errors.length < MAX_FIELD_ERRORS) errors.push(fieldError('FieldValueDuplicate', `${path}[${i}]`, item, ''))
  }
}

// Go's equality of scalars: 1 is not 1.0.
function scalarOrJson(item: Json): string {
  if (item instanceof Float || (typeof item === 'number' && !isInteger(item))) return `float ${encodeJson(item)}`
  return encodeJson(item)
}

function mapErrors(items: Json[], keys: readonly string[], path: string, errors: FieldError[]): void {
  const bad = items.findIndex((item) => item !== null && !isObject(item))
  if (bad >= 0) {
    const text = 'must be an object for an array of list-type map'
    errors.push(fieldError('FieldValueInvalid', `${path}[${bad}]`, items[bad], text))
    return
  }
  const keysOnly = items.map((item): JsonObject => {
    const out: JsonObject = {}
    for (const key of keys) {
      const value = isObject(item) ? getKey(item, key) : undefined
      if (value !== undefined) setKey(out, key, value)
    }
    return out
  })
  duplicates(keysOnly, path, errors, (item) => keys.map((key) => identityOfKey(item as JsonObject, key)).join('\n'))
}

function identityOfKey(item: JsonObject, key: string): string {
  const value = getKey(item, key)
  return value === undefined ? '' : scalarOrJson(value)
}
