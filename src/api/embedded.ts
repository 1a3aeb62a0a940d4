/**
 * Whole objects inside an object (x-kubernetes-embedded-resource): their metadata is coerced and validated like the object's own.
 * upstream: apiextensions-apiserver/pkg/apiserver/schema/objectmeta/{algorithm,validation}.go
 */
import { DecodeError } from './go-json-error.ts'
import { coerceObjectMeta, type CoerceOptions } from './metadata-coerce.ts'
import { isObject, type Json, type JsonObject, type KubeObject } from './object.ts'
import type { Schema } from './schema.ts'
import { additionalOf, DROP, propertyOf, replaceItems, replaceMembers, somewhere } from './schema-walk.ts'
import { fieldError, sortKeys } from './status.ts'

const hasEmbedded = somewhere((schema) => schema['x-kubernetes-embedded-resource'] === true)

/**
 * Coerces the metadata of embedded objects. Returns the object (the same when nothing changes) and the sorted paths of unknown
 * metadata fields. Throws DecodeError for malformed ones, unless lenient.
 */
export function coerceEmbedded(object: KubeObject, schema: Schema, options: CoerceOptions): { object: KubeObject; unknown: string[] } {
  if (!hasEmbedded(schema)) return { object, unknown: [] }
  const unknown: string[] = []
  const walker = new Walker(options, unknown)
  const coerced = walker.below(object, { ...schema, 'x-kubernetes-embedded-resource': false }, { field: '', dotted: '' }) as KubeObject
  return { object: coerced, unknown: sortKeys(unknown) }
}

/** A path in both forms: map keys bracketed (errors) and dotted (unknown fields). */
interface Place {
  readonly field: string
  readonly dotted: string
}

class Walker {
  private readonly options: CoerceOptions
  private readonly unknown: string[]
  constructor(options: CoerceOptions, unknown: string[]) {
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
      for (const path of unknown) this.unknown.push(`${child(at.dotted, 'metadata')}.${path}`)
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
