/**
 * Whole objects inside an object (x-kubernetes-embedded-resource): their metadata is coerced and validated like the object's own.
 * upstream: apiextensions-apiserver/pkg/apiserver/schema/objectmeta/{algorithm,validation}.go
 */
import { addErrors, BoundedTexts, MAX_FIELD_ERRORS } from './error-limits.ts'
import { DecodeError } from './go-json-error.ts'
import { coerceObjectMeta, type CoerceOptions } from './metadata-coerce.ts'
import { validateObjectMeta } from './metadata-validate.ts'
import { dns1035Errors, pathSegmentName } from './names.ts'
import { getKey, isObject, type Json, type JsonObject, type KubeObject } from './object.ts'
import type { Schema } from './schema.ts'
import { additionalOf, DROP, propertyOf, replaceItems, replaceMembers, somewhere } from './schema-walk.ts'
import { fieldError, sortKeys, type FieldError } from './status.ts'

const hasEmbedded = somewhere((schema) => schema['x-kubernetes-embedded-resource'] === true)

/**
 * Coerces the metadata of embedded objects. Returns the object (the same when nothing changes) and the sorted paths of unknown
 * metadata fields. Throws DecodeError for malformed ones, unless lenient.
 */
export function coerceEmbedded(object: KubeObject, schema: Schema, options: CoerceOptions): { object: KubeObject; unknown: string[] } {
  if (!hasEmbedded(schema)) return { object, unknown: [] }
  const unknown = new BoundedTexts()
  const walker = new Walker(options, unknown)
  const coerced = walker.below(object, { ...schema, 'x-kubernetes-embedded-resource': false }, { field: '', dotted: '' }) as KubeObject
  return { object: coerced, unknown: sortKeys(unknown.texts) }
}

/**
 * The same for a value that stands at `path` and follows `schema`, itself an embedded object where the schema says so. Throws
 * DecodeError `path: message` for malformed metadata. upstream: objectmeta.Coerce
 */
export function coerceEmbeddedValue(value: Json, schema: Schema, path: string): Json {
  return hasEmbedded(schema) ? new Walker({ lenient: false }, new BoundedTexts()).below(value, schema, { field: path, dotted: path }) : value
}

/** A path in both forms: map keys bracketed (errors) and dotted (unknown fields). */
interface Place {
  readonly field: string
  readonly dotted: string
}

class Walker {
  private readonly options: CoerceOptions
  private readonly unknown: BoundedTexts
  constructor(options: CoerceOptions, unknown: BoundedTexts) {
    this.options = options
    this.unknown = unknown
  }

  below(value: Json, schema: Schema | undefined, at: Place): Json {
    if (typeof value !== 'object' || value === null || schema === undefined) return value
    const embedded = schema['x-kubernetes-embedded-resource'] === true
    if (!embedded && !hasEmbedded(schema)) return value
    if (Array.isArray(value)) {
      return replaceItems(value, (item, i) => this.below(item, schema.items, { field: `${at.field}[${i}]`, dotted: `${at.dotted}[${i}]` }))
    }
    if (!isObject(value)) return value
    const coerced = embedded ? this.typeAndMetadata(value, at) : value
    return this.members(coerced, schema, at)
  }

  private members(value: JsonObject, schema: Schema, at: Place): JsonObject {
    return replaceMembers(value, (key, member) => {
      const property = propertyOf(schema, key)
      const additional = property === undefined ? additionalOf(schema) : undefined
      const field = additional === undefined ? child(at.field, key) : `${at.field}[${key}]`
      return this.below(member, property ?? additional, { field, dotted: child(at.dotted, key) })
    })
  }

  private typeAndMetadata(value: JsonObject, at: Place): JsonObject {
    return replaceMembers(value, (key, member) => {
      if (key === 'apiVersion' || key === 'kind') return this.typeField(key, member, at)
      return key === 'metadata' ? this.metadata(member, at) : member
    })
  }

  private typeField(key: string, member: Json, at: Place): Json | typeof DROP {
    if (typeof member === 'string') return member
    if (this.options.lenient) return DROP
    throw invalid(child(at.field, key), member, 'must be a string')
  }

  private metadata(member: Json, at: Place): Json {
    try {
      const { metadata, unknown } = coerceObjectMeta(member, this.options)
      for (const path of unknown) this.unknown.add(`${child(at.dotted, 'metadata')}.${path}`)
      return metadata
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error
      throw invalid(child(at.field, 'metadata'), member, error.message)
    }
  }
}

function invalid(field: string, value: Json, detail: string): DecodeError {
  return new DecodeError(`${field}: ${fieldError('FieldValueInvalid', field, value, detail).body}`)
}

function child(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`
}

/** Errors of embedded objects: their type, and their metadata as that of an object. upstream: objectmeta.Validate */
export function embeddedErrors(object: KubeObject, schema: Schema): FieldError[] {
  return embeddedValueErrors(object, schema, '')
}

/** The same for a value that stands at `path`. */
export function embeddedValueErrors(value: Json, schema: Schema, path: string): FieldError[] {
  const errors: FieldError[] = []
  if (hasEmbedded(schema)) collectErrors(value, schema, path, errors)
  return errors
}

function collectErrors(value: Json, schema: Schema | undefined, path: string, errors: FieldError[]): void {
  if (errors.length >= MAX_FIELD_ERRORS) return
  if (typeof value !== 'object' || value === null || schema === undefined || !hasEmbedded(schema)) return
  if (Array.isArray(value)) {
    for (const [i, item] of value.entries()) collectErrors(item, schema.items, `${path}[${i}]`, errors)
    return
  }
  if (!isObject(value)) return
  if (schema['x-kubernetes-embedded-resource']) validateEmbedded(value, path, errors)
  for (const [key, member] of Object.entries(value)) {
    const property = propertyOf(schema, key)
    if (member !== undefined) collectErrors(member, property ?? additionalOf(schema), property ? child(path, key) : `${path}[${key}]`, errors)
  }
}

function validateEmbedded(value: JsonObject, path: string, errors: FieldError[]): void {
  for (const key of ['apiVersion', 'kind'] as const) {
    const text = getKey(value, key)
    const field = child(path, key)
    if (text === undefined) errors.push(fieldError('FieldValueRequired', field, '', ''))
    else if (typeof text !== 'string') errors.push(fieldError('FieldValueInvalid', field, text, 'must be a string'))
    else {
      const detail = text === '' ? 'must not be empty' : key === 'kind' ? kindError(text) : groupVersionError(text)
      if (detail !== '') errors.push(fieldError('FieldValueInvalid', field, text, detail))
    }
  }
  if (getKey(value, 'metadata') === undefined) return
  // Lenient, since only what did not come through coerceEmbedded (an object of a wrong kind) may be malformed here.
  const { metadata } = coerceObjectMeta(getKey(value, 'metadata'), { lenient: true })
  const named = metadata.name ? metadata : { ...metadata, name: 'fakename' }
  const rules = { namespaced: (metadata.namespace ?? '') !== '', nameRule: pathSegmentName, path: child(path, 'metadata') }
  addErrors(errors, validateObjectMeta(named, rules))
}

function kindError(kind: string): string {
  const errors = dns1035Errors(kind.toLowerCase())
  return errors.length === 0 ? '' : `may have mixed case, but should otherwise match: ${errors.join(',')}`
}

function groupVersionError(apiVersion: string): string {
  return apiVersion.split('/').length > 2 ? `unexpected GroupVersion string: ${apiVersion}` : ''
}
