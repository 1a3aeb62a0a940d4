/**
 * What ownership knows of a schema: which nodes are structs, granular maps, atoms, sets or lists of items with keys.
 * upstream: kube-openapi/pkg/schemaconv/{smd,openapi}.go, structured-merge-diff/schema/elements.go
 */
import { Float, type Json } from '../object.ts'
import type { VersionDefinition } from '../resource.ts'
import type { Schema } from '../schema.ts'

/** The type of a node: each kind of value that it takes. A node without a declared type takes all three. */
export interface Atom {
  readonly scalar?: Scalar
  readonly list?: ListType
  readonly map?: MapType
  /** The type once the kind of a value is known; the type itself where there is nothing to choose. */
  readonly narrow: { readonly scalar: Atom; readonly list: Atom; readonly map: Atom }
}

export type Scalar = 'numeric' | 'string' | 'boolean' | 'untyped'

/** Lists are atomic, sets (associative without keys) or lists of items that their keys tell apart. */
export interface ListType {
  readonly atomic: boolean
  readonly keys: readonly string[]
  /** Defaults of key fields that an item leaves out. */
  readonly keyDefaults: ReadonlyMap<string, Json>
  readonly element: Atom
}

export interface MapType {
  readonly atomic: boolean
  readonly fields: ReadonlyMap<string, Atom>
  /** The type of members that are no declared fields; absent: there may be none. */
  readonly element?: Atom
}

type Kinds = Omit<Atom, 'narrow'>

function atom(kinds: Kinds): Atom {
  const made = { ...kinds } as { -readonly [K in keyof Atom]: Atom[K] }
  const single = Object.keys(kinds).length === 1
  const choose = (chosen: Kinds | undefined): Atom => (single || chosen === undefined ? made : atom(chosen))
  made.narrow = {
    scalar: choose(kinds.scalar && { scalar: kinds.scalar }),
    list: choose(kinds.list && { list: kinds.list }),
    map: choose(kinds.map && { map: kinds.map }),
  }
  return made
}

// A type that is its own element.
function selfTyped(listElement: (self: Atom) => Atom, atomicMap: boolean): Atom {
  const list = { atomic: true, keys: [], keyDefaults: new Map(), element: undefined as unknown as Atom }
  const map = { atomic: atomicMap, fields: new Map(), element: undefined as unknown as Atom }
  const self = atom({ scalar: 'untyped', list, map })
  list.element = listElement(self)
  map.element = self
  return self
}

/** Anything, owned as a whole. upstream: schemaconv untypedDef */
const UNTYPED = selfTyped((self) => self, true)

/** Anything, by what it looks like: maps member by member, lists as a whole. upstream: schemaconv deducedDef */
const DEDUCED = selfTyped(() => UNTYPED, false)

const scalarAtoms: Record<Scalar, Atom> = {
  numeric: atom({ scalar: 'numeric' }),
  string: atom({ scalar: 'string' }),
  boolean: atom({ scalar: 'boolean' }),
  untyped: atom({ scalar: 'untyped' }),
}
const { numeric, string, boolean, untyped } = scalarAtoms

const struct = (fields: Record<string, Atom>, atomic = false): Atom => atom({ map: { atomic, fields: new Map(Object.entries(fields)) } })
const mapOf = (element: Atom): Atom => atom({ map: { atomic: false, fields: new Map(), element } })
const listOf = (element: Atom, keys?: readonly string[], keyDefaults: ReadonlyMap<string, Json> = new Map()): Atom =>
  atom({ list: { atomic: keys === undefined, keys: keys ?? [], keyDefaults, element } })

const OWNER_REFERENCE = struct({ apiVersion: string, blockOwnerDeletion: boolean, controller: boolean, kind: string, name: string, uid: string }, true)
const MANAGED_FIELDS_ENTRY = struct({
  apiVersion: string, fieldsType: string, fieldsV1: mapOf(DEDUCED), manager: string, operation: string, subresource: string, time: untyped,
})

/** metav1.ObjectMeta. */
const OBJECT_META = struct({
  annotations: mapOf(string), creationTimestamp: untyped, deletionGracePeriodSeconds: numeric, deletionTimestamp: untyped, finalizers: listOf(string, []),
  generateName: string, generation: numeric, labels: mapOf(string), managedFields: listOf(MANAGED_FIELDS_ENTRY), name: string, namespace: string,
  ownerReferences: listOf(OWNER_REFERENCE, ['uid'], new Map([['uid', '']])), resourceVersion: string, selfLink: string, uid: string,
})

/** autoscaling/v1 Scale, what the scale subresource tracks. */
export const SCALE_ATOM = struct({
  apiVersion: string, kind: string, metadata: OBJECT_META, spec: struct({ replicas: numeric }), status: struct({ replicas: numeric, selector: string }),
})

const compiled = new WeakMap<VersionDefinition, Atom>()

/** The type of a version's objects, compiled once. upstream: managedfields.NewTypeConverter */
export function atomOf(version: VersionDefinition): Atom {
  let root = compiled.get(version)
  if (root === undefined) {
    root = compile({ type: 'object', ...version.schema, 'x-kubernetes-embedded-resource': true }, false)
    compiled.set(version, root)
  }
  return root
}

// `preserving`: a node above preserves unknown fields, which holds for everything below it.
function compile(schema: Schema, preserving: boolean): Atom {
  const preserve = preserving || schema['x-kubernetes-preserve-unknown-fields'] === true
  switch (schema.type) {
    case 'object':
      return atom({ map: compileMap(schema, preserve) })
    case 'array':
      return atom({ list: compileList(schema, preserve) })
    case 'integer':
    case 'number':
      return numeric
    case 'boolean':
      return boolean
    case 'string':
      return schema.format === undefined || schema.format === '' || schema.format === 'byte' ? string : untyped
    case undefined:
      return atom({ scalar: 'untyped', list: compileList(schema, preserve), map: compileMap(schema, preserve) })
  }
}

function compileMap(schema: Schema, preserve: boolean): MapType {
  const fields = new Map(Object.entries(schema.properties ?? {}).map(([name, property]) => [name, compile(property, preserve)]))
  // upstream: apiextensions-apiserver/pkg/controller/openapi/builder: addEmbeddedProperties
  if (schema['x-kubernetes-embedded-resource']) fields.set('apiVersion', string).set('kind', string).set('metadata', OBJECT_META)
  const element = elementOf(schema, fields.size === 0 || preserve, preserve)
  return { atomic: schema['x-kubernetes-map-type'] === 'atomic', fields, ...(element && { element }) }
}

function elementOf({ additionalProperties }: Schema, open: boolean, preserve: boolean): Atom | undefined {
  if (typeof additionalProperties === 'object') return compile(additionalProperties, preserve)
  return (additionalProperties ?? open) ? DEDUCED : undefined
}

function compileList(schema: Schema, preserve: boolean): ListType {
  const listType = schema['x-kubernetes-list-type'] ?? 'atomic'
  const keys = listType === 'map' ? (schema['x-kubernetes-list-map-keys'] ?? []) : []
  const keyDefaults = new Map<string, Json>()
  for (const key of keys) {
    const value = schema.items?.properties?.[key]?.default ?? null
    if (value !== null) keyDefaults.set(key, value)
  }
  return { atomic: listType === 'atomic', keys, keyDefaults, element: schema.items ? compile(schema.items, preserve) : UNTYPED }
}

/** The type narrowed to the kind of the value; null and what the type does not take leave it as it is. upstream: deduceAtom */
export function narrow(type: Atom, value: Json | undefined): Atom {
  if (value === undefined || value === null) return type
  if (Array.isArray(value)) return type.narrow.list
  return typeof value === 'object' && !(value instanceof Float) ? type.narrow.map : type.narrow.scalar
}

/** Whether a map is a free-form one, which changes of a schema do not reconcile. upstream: isUntypedDeducedMap */
export function isDeducedMap(map: MapType): boolean {
  return map.fields.size === 0 && map.element?.scalar === 'untyped'
}
