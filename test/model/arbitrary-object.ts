/**
 * Objects generated from a structural schema: types, enums, bounds, required fields, list types and free-form parts are
 * respected; what a pattern or a CEL rule demands comes from `special`. For property tests.
 */
import fc from 'fast-check'
import { applyDefaults } from '../../src/api/default.ts'
import { deepEqual, Float, formatApiVersion, getKey, isObject, setKey, type Json, type JsonObject, type KubeObject } from '../../src/api/object.ts'
import { dropNulls, prune } from '../../src/api/prune.ts'
import { findVersion, type ResourceDefinition } from '../../src/api/resource.ts'
import type { Schema } from '../../src/api/schema.ts'

/** Gives the values of a node that the schema's keywords do not describe; `path` is dotted, with `[]` for items and `*` for keys of maps. */
export type Special = (schema: Schema, path: string) => fc.Arbitrary<Json> | undefined

export interface ArbitraryOptions {
  readonly special?: Special
  /** Makes an object keep rules over several fields; may change its argument, which is fresh. */
  readonly repair?: (object: KubeObject) => void
}

/** Whole objects of a version, pruned and defaulted. */
export function arbitraryObject(definition: ResourceDefinition, version: string, options: ArbitraryOptions = {}): fc.Arbitrary<KubeObject> {
  const found = findVersion(definition, version)
  if (found === undefined) throw new Error(`no version ${version}`)
  const { apiVersion: _, kind: __, metadata: ___, ...properties } = found.schema.properties ?? {}
  const body = arbitraryValue({ ...found.schema, properties }, options.special)
  return fc.tuple(body, arbitraryMetadata).map(([fields, metadata]) => {
    const object: KubeObject = {
      ...(fields as JsonObject),
      apiVersion: formatApiVersion(definition.group, version),
      kind: definition.names.kind,
      metadata: metadata as KubeObject['metadata'],
    }
    options.repair?.(object)
    return complete(object, found.schema)
  })
}

/** An object as it is after it was received: unknown fields and nulls dropped, defaults filled. */
export function complete(object: KubeObject, schema: Schema): KubeObject {
  return applyDefaults(dropNulls(prune(object, schema, { root: true }).value, schema), schema)
}

const arbitraryMetadata = fc.record({
  name: fc.constantFrom('train', 'a.b'),
  namespace: fc.constant('default'),
  uid: fc.uuid(),
  generation: fc.integer({ min: 1, max: 9 }),
  labels: fc.dictionary(fc.constantFrom('app', '__proto__', 'x/y'), fc.constantFrom('', 'a'), { noNullPrototype: true }),
  managedFields: fc.constantFrom<JsonObject[]>([], [{ manager: 'kubectl', operation: 'Update', apiVersion: 'mlops.dev/v1alpha1', fieldsV1: { 'f:spec': {} } }]),
})

/** Values of a schema, which are not defaulted. */
export function arbitraryValue(schema: Schema, special: Special = () => undefined, path = ''): fc.Arbitrary<Json> {
  const value = special(schema, path) ?? byType(schema, special, path)
  return schema.nullable ? fc.oneof({ weight: 4, arbitrary: value }, { weight: 1, arbitrary: fc.constant(null) }) : value
}

function byType(schema: Schema, special: Special, path: string): fc.Arbitrary<Json> {
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum)
  if (schema['x-kubernetes-int-or-string']) return fc.oneof(fc.nat(), arbitraryString(schema))
  switch (schema.type) {
    case 'string':
      return arbitraryString(schema)
    case 'integer':
      return arbitraryInteger(schema)
    case 'number':
      return fc.oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => (Number.isInteger(n) ? new Float(n) : n)))
    case 'boolean':
      return fc.boolean()
    case 'array':
      return arbitraryList(schema, special, path)
    case 'object':
      return arbitraryFields(schema, special, path)
    case undefined:
      return arbitraryJson
  }
}

const texts = ['', 'x', 'ä€𝄞', 'true', '0', ' two words\n', '__proto__']

function arbitraryString(schema: Schema): fc.Arbitrary<string> {
  if (schema.format === 'date-time') return fc.constantFrom('2026-01-02T03:04:05Z', '2026-01-02T03:04:05.123456+01:00')
  if (schema.pattern !== undefined) return fc.stringMatching(new RegExp(schema.pattern), { maxLength: 12 })
  return fc.constantFrom(...texts).filter((text) => text.length >= (schema.minLength ?? 0))
}

function arbitraryInteger(schema: Schema): fc.Arbitrary<Json> {
  const long = schema.format !== 'int32' && schema.maximum === undefined
  const small = fc.integer({ min: schema.minimum ?? -9, max: schema.maximum ?? 99 })
  return long ? fc.oneof({ weight: 3, arbitrary: small }, { weight: 1, arbitrary: fc.constantFrom(9007199254740993n, 9223372036854775807n) }) : small
}

function arbitraryList(schema: Schema, special: Special, path: string): fc.Arbitrary<Json[]> {
  const items = arbitraryValue(schema.items ?? {}, special, `${path}[]`)
  const size = { minLength: schema.minItems ?? 0, maxLength: Math.min(schema.maxItems ?? 3, 3) }
  const keys = schema['x-kubernetes-list-map-keys']
  switch (schema['x-kubernetes-list-type']) {
    case 'set':
      return fc.uniqueArray(items, { ...size, comparator: deepEqual })
    case 'map':
      return fc.uniqueArray(items, {
        ...size,
        comparator: (a, b) => (keys ?? []).every((key) => deepEqual(getKey(a as JsonObject, key), getKey(b as JsonObject, key))),
      })
    default:
      return fc.array(items, size)
  }
}

function arbitraryFields(schema: Schema, special: Special, path: string): fc.Arbitrary<Json> {
  if (typeof schema.additionalProperties === 'object') {
    const value = arbitraryValue(schema.additionalProperties, special, `${path}.*`)
    return fc.dictionary(fc.constantFrom('cpu', 'memory', 'example.com/gpu', 'absent', '__proto__'), value, { maxKeys: 4, noNullPrototype: true })
  }
  if (schema.properties === undefined) return schema['x-kubernetes-preserve-unknown-fields'] ? arbitraryJsonObject : fc.constant({})
  const fields: Record<string, fc.Arbitrary<Json>> = {}
  for (const [name, property] of Object.entries(schema.properties)) {
    fields[name] = arbitraryValue(property, special, path === '' ? name : `${path}.${name}`)
  }
  return fc.record(fields, { requiredKeys: (schema.required ?? []).filter((name) => Object.hasOwn(fields, name)), noNullPrototype: true }) as fc.Arbitrary<JsonObject>
}

const { json: arbitraryJson, object: arbitraryJsonObject } = fc.letrec<{ json: Json; object: JsonObject }>((tie) => ({
  json: fc.oneof(
    { depthSize: 'small', maxDepth: 3 },
    fc.constantFrom<Json>(null, true, false, 0, -1, 1.5, new Float(1), new Float(1e300), 9007199254740993n, '', 'text'),
    fc.array(tie('json'), { maxLength: 3 }),
    tie('object'),
  ),
  object: fc.dictionary(fc.constantFrom('a', 'b', '', '__proto__', 'constructor'), tie('json'), { maxKeys: 3, noNullPrototype: true }),
}))

/** Any JSON value. */
export { arbitraryJson, arbitraryJsonObject }

/** A copy that shares nothing, so that it may be changed. */
export function clone<T extends Json>(value: T): T {
  if (Array.isArray(value)) return value.map(clone) as T
  if (!isObject(value)) return value
  const copy: JsonObject = {}
  for (const [key, member] of Object.entries(value)) if (member !== undefined) setKey(copy, key, clone(member))
  return copy as T
}

/** Fields of `a` and fields of `b`, field by field and item by item as `choose` says; both are of one schema. */
export function blend(a: Json, b: Json, choose: () => boolean): Json {
  if (Array.isArray(a) && Array.isArray(b)) {
    const longer = choose() ? a : b
    return longer.map((item, i) => (a[i] === undefined || b[i] === undefined ? item : blend(a[i] as Json, b[i] as Json, choose)))
  }
  if (!isObject(a) || !isObject(b)) return choose() ? a : b
  const made: JsonObject = {}
  for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
    const [left, right] = [getKey(a, key), getKey(b, key)]
    if (left !== undefined && right !== undefined) setKey(made, key, blend(left, right, choose))
    else if (choose()) setKey(made, key, (left ?? right) as Json)
  }
  return made
}
