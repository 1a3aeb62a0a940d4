/**
 * The values that CEL rules see: JSON wrapped by its schema, on access. Integers are bigints, numbers doubles, strings with a format
 * timestamps, durations or bytes; of an object only declared fields are visible, by their escaped names.
 * upstream: apiserver/pkg/cel/common/{schemas,values}.go, apiserver/pkg/cel/escaping.go
 */
import { goType } from './managed-fields/go-debug.ts'
import { celError, isCelError, type CelError, type CelList, type CelMap, type CelValue } from '@bufbuild/cel'
import type { ReflectMessage } from '@bufbuild/protobuf/reflect'
import { parseGoDuration } from './cel-duration.ts'
import { CHARACTER, ITEM, meter } from './cel-meter.ts'
import { durationOf, nanosOf, parseTimestamp } from './cel-time.ts'
import { deepEqual, getKey, isInteger, isNumber, isObject, toNumber, type Json, type JsonObject } from './object.ts'
import type { Schema } from './schema.ts'

type Scalar = 'string' | 'bytes' | 'duration' | 'timestamp' | 'date' | 'double' | 'int' | 'bool' | 'dyn'

/** The CEL type of a schema node. */
export type ValueType =
  | { readonly kind: Scalar; readonly nullable: boolean }
  | { readonly kind: 'object'; readonly nullable: boolean; readonly fields: ReadonlyMap<string, Field>; readonly names: ReadonlyMap<string, ValueType> }
  | { readonly kind: 'map'; readonly nullable: boolean; readonly element: ValueType }
  | { readonly kind: 'list'; readonly nullable: boolean; readonly element: ValueType; readonly list: 'atomic' | 'set' | 'map'; readonly keys: readonly string[] }

interface Field {
  readonly name: string
  readonly type: ValueType
}

/** The fields that every resource root has besides those of its schema. */
const ROOT_FIELDS: Record<string, Schema> = {
  apiVersion: { type: 'string' },
  kind: { type: 'string' },
  metadata: { type: 'object', properties: { name: { type: 'string' }, generateName: { type: 'string' } } },
}

/** The CEL type of a schema, undefined when rules cannot see such values. `root`: a resource root or an embedded resource. upstream: SchemaDeclType */
export function valueType(schema: Schema, root: boolean): ValueType | undefined {
  const nullable = schema.nullable === true
  if (schema['x-kubernetes-int-or-string']) return { kind: 'dyn', nullable }
  if (root && schema.type === 'object') return objectType({ ...schema.properties, ...ROOT_FIELDS }, nullable)
  switch (schema.type) {
    case 'array':
      return listType(schema, nullable)
    case 'object':
      return isSchema(schema.additionalProperties) ? mapType(schema.additionalProperties, nullable) : objectType(schema.properties ?? {}, nullable)
    case 'string':
      return { kind: stringKind(schema.format), nullable }
    case 'integer':
      return { kind: 'int', nullable }
    case 'number':
      return { kind: 'double', nullable }
    case 'boolean':
      return { kind: 'bool', nullable }
    default:
      return undefined
  }
}

const isSchema = (value: Schema | boolean | undefined): value is Schema => typeof value === 'object'
const isEmbedded = (schema: Schema): boolean => schema['x-kubernetes-embedded-resource'] === true

function listType(schema: Schema, nullable: boolean): ValueType | undefined {
  const element = schema.items && valueType(schema.items, isEmbedded(schema.items))
  if (element === undefined) return undefined
  return { kind: 'list', nullable, element, list: schema['x-kubernetes-list-type'] ?? 'atomic', keys: schema['x-kubernetes-list-map-keys'] ?? [] }
}

function mapType(values: Schema, nullable: boolean): ValueType | undefined {
  const element = valueType(values, isEmbedded(values))
  return element && { kind: 'map', nullable, element }
}

function objectType(properties: { readonly [name: string]: Schema }, nullable: boolean): ValueType {
  const fields = new Map<string, Field>()
  const names = new Map<string, ValueType>()
  for (const [name, schema] of Object.entries(properties)) {
    const type = valueType(schema, isEmbedded(schema))
    if (type === undefined) continue
    names.set(name, type)
    const escaped = escapeName(name)
    if (escaped !== undefined) fields.set(escaped, { name, type })
  }
  return { kind: 'object', nullable, fields, names }
}

function stringKind(format: string | undefined): Scalar {
  if (format === 'byte') return 'bytes'
  if (format === 'duration' || format === 'date') return format
  return format === 'date-time' ? 'timestamp' : 'string'
}

const RESERVED = new Set(
  ('true false null in as break const continue else for function if import let loop package namespace return var void while').split(' '),
)
const ESCAPES: Record<string, string> = { __: '__underscores__', '.': '__dot__', '-': '__dash__', '/': '__slash__' }

/** The name by which rules see a property, undefined when it has none. upstream: cel.Escape */
export function escapeName(name: string): string | undefined {
  if (RESERVED.has(name)) return `__${name}__`
  if (!/^[A-Za-z_][A-Za-z0-9_./-]*$/.test(name)) return undefined
  return name.replace(/__|[./-]/g, (part) => ESCAPES[part] ?? part)
}

// The marks by which the library knows its lists and maps. Its own implementations convert everything at once and take null for absent.
const LIST = Symbol.for('@bufbuild/cel/list')
const MAP = Symbol.for('@bufbuild/cel/map')

type Wrapped = CelValue | CelError

/** A list of JSON values whose items are wrapped on access. */
export class ListValue {
  readonly raw: readonly Json[]
  readonly type: ValueType & { kind: 'list' }
  #items: Wrapped[] | undefined

  constructor(raw: readonly Json[], type: ValueType & { kind: 'list' }) {
    this.raw = raw
    this.type = type
  }
  get [LIST](): true {
    return true
  }
  get size(): number {
    return this.raw.length
  }
  get(index: number): Wrapped | undefined {
    const item = Number.isInteger(index) ? this.raw[index] : undefined
    return item === undefined ? undefined : wrap(item, this.type.element)
  }
  values(): IterableIterator<Wrapped> {
    meter.charge(this.raw.length * ITEM)
    this.#items ??= this.raw.map((item) => wrap(item, this.type.element))
    return this.#items.values()
  }
  [Symbol.iterator](): IterableIterator<Wrapped> {
    return this.values()
  }
}

/** A list made by concatenation: a view of the first `size` items of an array that longer lists may share. */
export class JoinedList {
  readonly size: number
  readonly #items: Wrapped[]

  constructor(items: Wrapped[], size = items.length) {
    this.#items = items
    this.size = size
  }
  get [LIST](): true {
    return true
  }
  /** This list with more items. The array is shared unless another list went on from the same place. */
  append(more: readonly Wrapped[]): JoinedList {
    meter.charge(more.length * ITEM)
    if (this.#items.length > this.size) return new JoinedList([...this.values(), ...more])
    for (const item of more) this.#items.push(item)
    return new JoinedList(this.#items)
  }
  get(index: number): Wrapped | undefined {
    return index < this.size ? this.#items[index] : undefined
  }
  values(): IterableIterator<Wrapped> {
    meter.charge(this.size * ITEM)
    return this.#items.slice(0, this.size).values()
  }
  [Symbol.iterator](): IterableIterator<Wrapped> {
    return this.values()
  }
}

/** A JSON object, as a map of all its keys or as an object of its declared fields. */
export class MapValue {
  readonly raw: JsonObject
  readonly type: ValueType & { kind: 'object' | 'map' }
  #members: Map<string, Wrapped> | undefined
  #size: number | undefined

  constructor(raw: JsonObject, type: ValueType & { kind: 'object' | 'map' }) {
    this.raw = raw
    this.type = type
  }
  get [MAP](): true {
    return true
  }
  get size(): number {
    if (this.#size === undefined) {
      this.#size = Object.keys(this.raw).length
      meter.charge(this.#size * ITEM)
    }
    return this.#size
  }
  get(key: unknown): Wrapped | undefined {
    if (typeof key !== 'string') return undefined
    const known = this.#members?.get(key)
    if (known !== undefined) return known
    const { type } = this
    const field = type.kind === 'map' ? { name: key, type: type.element } : type.fields.get(key)
    const value = field && getKey(this.raw, field.name)
    // a field of an object that is null counts as absent
    if (field === undefined || value === undefined || (value === null && type.kind === 'object')) return undefined
    const wrapped = wrap(value, field.type)
    if (typeof wrapped === 'object' && wrapped !== null) (this.#members ??= new Map()).set(key, wrapped)
    return wrapped
  }
  has(key: unknown): boolean {
    if (typeof key !== 'string') return false
    const name = this.type.kind === 'map' ? key : this.type.fields.get(key)?.name
    const value = name === undefined ? undefined : getKey(this.raw, name)
    return value !== undefined && (value !== null || this.type.kind === 'map')
  }
  keys(): IterableIterator<string> {
    const keys = this.type.kind === 'map' ? Object.keys(this.raw) : [...this.type.fields.keys()].filter((key) => this.has(key))
    meter.charge(keys.length * ITEM)
    return keys.values()
  }
  *values(): IterableIterator<Wrapped> {
    for (const [, value] of this) yield value
  }
  *entries(): IterableIterator<[string, Wrapped]> {
    for (const key of this.keys()) {
      const value = this.get(key)
      if (value !== undefined) yield [key, value]
    }
  }
  [Symbol.iterator](): IterableIterator<[string, Wrapped]> {
    return this.entries()
  }
  forEach(callback: (value: Wrapped, key: string) => void): void {
    for (const [key, value] of this) callback(value, key)
  }
}

/** A JSON value as CEL sees it; an error for data that does not fit its schema. upstream: UnstructuredToVal */
export function wrap(value: Json, type: ValueType): Wrapped {
  if (value === null) return type.nullable ? null : celError('invalid data, got null for schema with nullable=false')
  switch (type.kind) {
    case 'object':
    case 'map':
      return isObject(value) ? (new MapValue(value, type) as unknown as CelMap) : celError('invalid data, expected a map for the provided schema with type=object')
    case 'list':
      return Array.isArray(value) ? (new ListValue(value, type) as unknown as CelList) : celError('invalid data, expected an array for the provided schema with type=array')
    case 'double':
      return isNumber(value) ? toNumber(value) : celError(`invalid data, expected float, got ${goType(value)}`)
    case 'int':
      return isInteger(value) ? BigInt(value) : isNumber(value) && Number.isInteger(toNumber(value)) ? BigInt(toNumber(value)) : celError(`invalid data, expected int, got ${goType(value)}`)
    case 'bool':
      return typeof value === 'boolean' ? value : celError(`invalid data, expected bool, got ${goType(value)}`)
    case 'dyn':
      if (typeof value === 'string') return value
      return isInteger(value) ? BigInt(value) : celError('invalid data, expected XIntOrString value to be either a string or integer')
    default:
      return typeof value === 'string' ? wrapString(value, type.kind) : celError(`invalid data, expected string, got ${goType(value)}`)
  }
}

function wrapString(text: string, kind: Scalar): Wrapped {
  switch (kind) {
    case 'timestamp':
    case 'date':
      return (parseTimestamp(kind === 'date' ? `${text}T00:00:00Z` : text) as CelValue | undefined) ?? celError(`Invalid ${kind === 'date' ? 'date' : 'date-time'} formatted string ${text}`)
    case 'duration': {
      const nanos = parseGoDuration(text)
      return nanos === undefined ? celError(`Invalid duration ${text}`) : (durationOf(nanos) as CelValue)
    }
    case 'bytes':
      return /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text)
        ? new Uint8Array(Buffer.from(text, 'base64'))
        : celError(`Invalid byte formatted string ${text}`)
    default:
      return text
  }
}

/** What it costs to compare a pair of values, besides their characters. */
const COMPARISON = 0.5

/** Equality of two JSON values of one type as CEL has it: sets and maps by key ignore order, 1 equals 1.0, instants compare as instants. */
export function equalJson(a: Json, b: Json, type: ValueType | undefined): boolean {
  meter.charge(COMPARISON)
  if (typeof a === 'string' && typeof b === 'string' && a.length === b.length) meter.charge(a.length * CHARACTER)
  if (a === b) return true
  if (a === null || b === null) return false
  if (type === undefined) return equalUndeclared(a, b)
  if (type.kind === 'list') return Array.isArray(a) && Array.isArray(b) && equalLists(a, b, type)
  if (type.kind === 'object' || type.kind === 'map') return isObject(a) && isObject(b) && equalMaps(a, b, type)
  if (isNumber(a) && isNumber(b)) return isInteger(a) && isInteger(b) ? a === b : toNumber(a) === toNumber(b)
  if (typeof a !== 'string' || typeof b !== 'string' || type.kind === 'string' || type.kind === 'dyn') return false
  return equalScalars(wrapString(a, type.kind), wrapString(b, type.kind))
}

// What the schema does not tell is compared as it is.
function equalUndeclared(a: Json, b: Json): boolean {
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((item, i) => equalJson(item, b[i] as Json, undefined))
  if (!isObject(a) || !isObject(b)) return deepEqual(a, b)
  const keys = Object.keys(a)
  if (keys.length !== Object.keys(b).length) return false
  return keys.every((key) => {
    const other = getKey(b, key)
    return other !== undefined && equalJson(a[key] as Json, other, undefined)
  })
}

function equalScalars(a: Wrapped, b: Wrapped): boolean {
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b) === 0
  return !isCelError(a) && !isCelError(b) && nanosOf(a as ReflectMessage) === nanosOf(b as ReflectMessage)
}

// As upstream: a field that is null is as good as absent, and one that is not declared counts only when both have it.
function equalMaps(a: JsonObject, b: JsonObject, type: ValueType & { kind: 'object' | 'map' }): boolean {
  const keys = Object.keys(a)
  if (keys.length !== Object.keys(b).length) return false
  return keys.every((key) => {
    const value = a[key] ?? null
    const other = getKey(b, key)
    if (type.kind === 'map') return other !== undefined && equalJson(value, other, type.element)
    const field = type.names.get(key)
    if (field === undefined) return other === undefined || equalJson(value, other, undefined)
    return value === null ? (other ?? null) === null : (other ?? null) !== null && equalJson(value, other as Json, field)
  })
}

function equalLists(a: readonly Json[], b: readonly Json[], type: ValueType & { kind: 'list' }): boolean {
  if (a.length !== b.length) return false
  if (a.every((item, i) => equalJson(item, b[i] ?? null, type.element))) return true
  if (type.list === 'atomic') return false
  // of a list by key the key fields decide which items belong together, of a set the item itself does
  const known = new Map(a.map((item) => [identityOf(item, type), item]))
  meter.charge(a.length * ITEM)
  return b.every((item) => {
    const other = known.get(identityOf(item, type))
    return other !== undefined && (type.list === 'set' || equalJson(other, item, type.element))
  })
}

/** What tells the items of a set or of a list by key apart, as a text. */
export function identityOf(item: Json, { list, keys }: ValueType & { kind: 'list' }): string {
  if (list === 'set') return itemKey(item)
  return JSON.stringify(keys.map((key) => itemKey(isObject(item) ? (getKey(item, key) ?? null) : null)))
}

/** A text that two scalars share exactly when they are equal. */
export function itemKey(item: Json): string {
  return isNumber(item) ? `n${isInteger(item) ? item : toNumber(item)}` : `${typeof item}${String(item)}`
}
