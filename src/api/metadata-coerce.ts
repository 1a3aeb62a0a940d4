/**
 * Metadata passed through Go's ObjectMeta struct: unknown keys and empty values go, times are normalized, wrong types are errors.
 * upstream: apiextensions-apiserver/pkg/apiserver/schema/objectmeta/coerce.go GetObjectMetaWithOptions, SetObjectMeta
 */
import { DecodeError, jsonKind } from './go-json-error.ts'
import { normalizeTime } from './go-time.ts'
import { sortedKeys } from './json-encode.ts'
import { Float, isInteger, isNumber, isObject, setKey, type Json, type JsonObject, type KubeObject, type ObjectMeta } from './object.ts'
import { formatJsonNumber } from './status.ts'
import { DROP, replaceItems, replaceMembers } from './schema-walk.ts'

/** `lenient`: malformed fields are dropped one by one, as for stored objects; else the first one is a DecodeError. */
export interface CoerceOptions {
  readonly lenient: boolean
  /** What is reported follows the order of the document: upstream decodes it at once, not by way of a map. */
  readonly inOrder?: boolean
}

/** The object with coerced metadata (the same object when nothing changes), and the paths of unknown fields in upstream's order. */
export function coerceMetadata(object: KubeObject, options: CoerceOptions): { object: KubeObject; unknown: string[] } {
  const { metadata, unknown } = coerceObjectMeta(object.metadata, options)
  return { object: metadata === object.metadata ? object : { ...object, metadata }, unknown: unknown.map((path) => `metadata.${path}`) }
}

/** Coerces the value of a `metadata` field. Paths of unknown fields are relative to it. Throws DecodeError unless lenient. */
export function coerceObjectMeta(value: Json | undefined, options: CoerceOptions): { metadata: ObjectMeta & JsonObject; unknown: string[] } {
  if (value === null || value === undefined) return { metadata: {}, unknown: [] }
  if (!isObject(value)) {
    if (options.lenient) return { metadata: {}, unknown: [] }
    throw new DecodeError(`json: cannot unmarshal ${jsonKind(value)} into Go value of type v1.ObjectMeta`)
  }
  const quick = new Decoder(options.lenient)
  const metadata = quick.struct(value, OBJECT_META, 'ObjectMeta', '')
  if (quick.clean) return { metadata, unknown: [] }
  // What is reported follows the order of Go's re-encoded map, so look again in that order.
  const decoder = new Decoder(options.lenient)
  const ordered = options.inOrder ? value : (sortMembers(value, OBJECT_META_DEPTH) as JsonObject)
  const coerced = decoder.struct(ordered, OBJECT_META, 'ObjectMeta', '')
  if (decoder.error !== undefined) throw decoder.error
  return { metadata: coerced, unknown: decoder.unknown }
}

/** Below that, no struct of ObjectMeta has members. */
const OBJECT_META_DEPTH = 4

function sortMembers(value: Json, depth: number): Json {
  if (depth === 0) return value
  if (Array.isArray(value)) return value.map((item) => sortMembers(item, depth - 1))
  if (!isObject(value)) return value
  const sorted: JsonObject = {}
  for (const key of sortedKeys(value)) setKey(sorted, key, sortMembers(value[key] as Json, depth - 1))
  return sorted
}

type Field = (decoder: Decoder, value: Json, at: Place) => Json | typeof DROP

/** Where Go's decoder stands: the innermost struct, and the fields from ObjectMeta down; `path` has indexes too. */
interface Place {
  readonly struct: string
  readonly field: string
  readonly path: string
}

/** Raised inside lenient decoding to give up one field of ObjectMeta. */
class Malformed extends Error {}

class Decoder {
  readonly unknown: string[] = []
  error: DecodeError | undefined
  private readonly lenient: boolean

  constructor(lenient: boolean) {
    this.lenient = lenient
  }

  get clean(): boolean {
    return this.error === undefined && this.unknown.length === 0
  }

  struct(value: JsonObject, fields: ReadonlyMap<string, Field>, struct: string, fieldLead: string, pathLead = ''): JsonObject {
    return replaceMembers(value, (key, member) => {
      const field = fields.get(key)
      if (field === undefined) {
        this.unknown.push(pathLead + key)
        return DROP
      }
      if (!this.lenient || struct !== 'ObjectMeta') return this.field(field, member, struct, fieldLead + key, pathLead + key)
      try {
        return this.field(field, member, struct, key, key)
      } catch (error) {
        if (error instanceof Malformed || error instanceof DecodeError) return DROP
        throw error
      }
    })
  }

  private field(field: Field, value: Json, struct: string, name: string, path: string): Json | typeof DROP {
    return field(this, value, { struct, field: name, path })
  }

  /** Go goes on after an error of type and reports the first; an error of a custom unmarshaler (time) ends it. */
  wrongType(value: Json, at: Place, type: string, kind: string = jsonKind(value)): typeof DROP {
    if (this.lenient) throw new Malformed()
    this.error ??= new DecodeError(`json: cannot unmarshal ${kind} into Go struct field ${at.struct}.${at.field} of type ${type}`)
    return DROP
  }
}

function text(type = 'string', keepEmpty = false): Field {
  return (decoder, value, at) => {
    if (value === null) return keepEmpty ? '' : DROP
    if (typeof value !== 'string') return decoder.wrongType(value, at, type)
    return value === '' && !keepEmpty ? DROP : value
  }
}

function int64(keepZero: boolean): Field {
  return (decoder, value, at) => {
    if (value === null) return DROP
    if (!isNumber(value)) return decoder.wrongType(value, at, 'int64')
    const integer = value instanceof Float && Math.abs(value.value) < 2 ** 63 ? BigInt(String(value.value)) : value
    if (!isInteger(integer)) {
      return decoder.wrongType(value, at, 'int64', `number ${formatJsonNumber(value instanceof Float ? value.value : Number(value))}`)
    }
    if (Number(integer) === 0 && !keepZero) return DROP
    return Number.isSafeInteger(Number(integer)) ? Number(integer) : integer
  }
}

const bool: Field = (decoder, value, at) => {
  if (value === null) return DROP
  return typeof value === 'boolean' ? value : decoder.wrongType(value, at, 'bool')
}

const time: Field = (_, value, at) => {
  if (value === null) return DROP
  if (typeof value !== 'string') throw new DecodeError(`json: cannot unmarshal ${jsonKind(value)} into Go struct field ${at.struct}.${at.field} of type string`)
  const normalized = normalizeTime(value)
  return normalized === '0001-01-01T00:00:00Z' ? DROP : normalized
}

const stringMap: Field = (decoder, value, at) => {
  if (value === null) return DROP
  if (!isObject(value)) return decoder.wrongType(value, at, 'map[string]string')
  const map = replaceMembers(value, (_, member) => {
    if (typeof member === 'string') return member
    return member === null ? '' : decoder.wrongType(member, at, 'string')
  })
  return Object.keys(map).length === 0 ? DROP : map
}

const strings: Field = (decoder, value, at) => {
  if (value === null) return DROP
  if (!Array.isArray(value)) return decoder.wrongType(value, at, '[]string')
  if (value.length === 0) return DROP
  return replaceItems(value, (item) => {
    if (typeof item === 'string') return item
    if (item !== null) decoder.wrongType(item, at, 'string')
    return ''
  })
}

function structs(name: string, fields: ReadonlyMap<string, Field>, required: readonly string[]): Field {
  return (decoder, value, at) => {
    if (value === null) return DROP
    if (!Array.isArray(value)) return decoder.wrongType(value, at, `[]v1.${name}`)
    if (value.length === 0) return DROP
    return replaceItems(value, (item, i) => {
      if (item !== null && !isObject(item)) decoder.wrongType(item, at, `v1.${name}`)
      const struct = isObject(item) ? decoder.struct(item, fields, name, `${at.field}.`, `${at.path}[${i}].`) : {}
      const missing = required.filter((key) => !Object.hasOwn(struct, key))
      return missing.length === 0 ? struct : { ...struct, ...Object.fromEntries(missing.map((key) => [key, ''])) }
    })
  }
}

const REFERENCE_KEYS = ['apiVersion', 'kind', 'name', 'uid'] as const

const OWNER_REFERENCE = new Map<string, Field>([
  ['apiVersion', text('string', true)],
  ['kind', text('string', true)],
  ['name', text('string', true)],
  ['uid', text('types.UID', true)],
  ['controller', bool],
  ['blockOwnerDeletion', bool],
])

const MANAGED_FIELDS_ENTRY = new Map<string, Field>([
  ['manager', text()],
  ['operation', text('v1.ManagedFieldsOperationType')],
  ['apiVersion', text()],
  ['time', time],
  ['fieldsType', text()],
  // Kept as raw JSON by upstream, whatever it is.
  ['fieldsV1', (_, value) => (value === null ? DROP : value)],
  ['subresource', text()],
])

const OBJECT_META = new Map<string, Field>([
  ['name', text()],
  ['generateName', text()],
  ['namespace', text()],
  ['selfLink', text()],
  ['uid', text('types.UID')],
  ['resourceVersion', text()],
  ['generation', int64(false)],
  ['creationTimestamp', time],
  ['deletionTimestamp', time],
  ['deletionGracePeriodSeconds', int64(true)],
  ['labels', stringMap],
  ['annotations', stringMap],
  ['ownerReferences', structs('OwnerReference', OWNER_REFERENCE, REFERENCE_KEYS)],
  ['finalizers', strings],
  ['managedFields', structs('ManagedFieldsEntry', MANAGED_FIELDS_ENTRY, [])],
])
