/**
 * A CustomResourceDefinition manifest → ResourceDefinition.
 * upstream: apiextensions-apiserver/pkg/apis/apiextensions/v1/{types,defaults}.go
 */
import { Float, getKey, isObject, type Json, type JsonObject } from './object.ts'
import type { PrinterColumn, ResourceDefinition, VersionDefinition } from './resource.ts'
import type { Schema } from './schema.ts'

/** Reads a definition from a decoded manifest. Throws an Error that names the field where something needed is missing or of another type. */
export function readDefinition(manifest: JsonObject): ResourceDefinition {
  if (manifest.kind !== 'CustomResourceDefinition') throw new Error('kind: must be CustomResourceDefinition')
  const spec = object(manifest, 'spec', '')
  const scope = text(spec, 'scope', 'spec.')
  if (scope !== 'Namespaced' && scope !== 'Cluster') throw new Error('spec.scope: must be Namespaced or Cluster')
  return {
    group: text(spec, 'group', 'spec.'),
    scope,
    names: readNames(object(spec, 'names', 'spec.')),
    versions: list(spec, 'versions', 'spec.').map((version, i) => readVersion(version, `spec.versions[${i}]`)),
  }
}

function readNames(names: JsonObject): ResourceDefinition['names'] {
  const kind = text(names, 'kind', 'spec.names.')
  return {
    plural: text(names, 'plural', 'spec.names.'),
    singular: optional(names, 'singular') ?? kind.toLowerCase(),
    kind,
    listKind: optional(names, 'listKind') ?? `${kind}List`,
    ...(names.shortNames === undefined ? {} : { shortNames: list(names, 'shortNames', 'spec.names.').map(String) }),
    ...(names.categories === undefined ? {} : { categories: list(names, 'categories', 'spec.names.').map(String) }),
  }
}

function readVersion(version: Json, path: string): VersionDefinition {
  if (!isObject(version)) throw new Error(`${path}: must be an object`)
  const schema = object(object(version, 'schema', `${path}.`), 'openAPIV3Schema', `${path}.schema.`)
  const warning = optional(version, 'deprecationWarning')
  return {
    name: text(version, 'name', `${path}.`),
    served: version.served === true,
    storage: version.storage === true,
    ...(version.deprecated === true ? { deprecated: true } : {}),
    ...(warning === undefined ? {} : { deprecationWarning: warning }),
    schema: readSchema(schema) as Schema,
    ...(isObject(version.subresources) ? { subresources: version.subresources as NonNullable<VersionDefinition['subresources']> } : {}),
    ...(version.additionalPrinterColumns === undefined
      ? {}
      : { additionalPrinterColumns: list(version, 'additionalPrinterColumns', `${path}.`) as unknown as PrinterColumn[] }),
    ...(version.selectableFields === undefined ? {} : { selectableFields: list(version, 'selectableFields', `${path}.`) as unknown as { jsonPath: string }[] }),
  }
}

const LIMITS = ['minimum', 'maximum', 'multipleOf'] as const
const NODES = ['items', 'additionalProperties', 'not'] as const
const NODE_LISTS = ['allOf', 'anyOf', 'oneOf'] as const

// Limits are float64 in Go, so that `1.0` is the number 1; defaults and enums keep what they are.
function readSchema(node: JsonObject): JsonObject {
  const schema: JsonObject = { ...node }
  for (const key of LIMITS) {
    const limit = schema[key]
    if (limit instanceof Float || typeof limit === 'bigint') schema[key] = limit instanceof Float ? limit.value : Number(limit)
  }
  for (const key of NODES) if (isObject(schema[key])) schema[key] = readSchema(schema[key])
  // A list without schemas, or nothing at all, is taken where no items are needed.
  if (!isObject(schema.items)) delete schema.items
  for (const key of NODE_LISTS) if (Array.isArray(schema[key])) schema[key] = schema[key].map((item) => (isObject(item) ? readSchema(item) : item))
  if (isObject(schema.properties)) {
    schema.properties = Object.fromEntries(Object.entries(schema.properties).map(([name, property]) => [name, isObject(property) ? readSchema(property) : property]))
  }
  return schema
}

function object(parent: JsonObject, key: string, path: string): JsonObject {
  const value = getKey(parent, key)
  if (!isObject(value)) throw new Error(`${path}${key}: must be an object`)
  return value
}

function list(parent: JsonObject, key: string, path: string): Json[] {
  const value = getKey(parent, key)
  if (!Array.isArray(value)) throw new Error(`${path}${key}: must be a list`)
  return value
}

function text(parent: JsonObject, key: string, path: string): string {
  const value = getKey(parent, key)
  if (typeof value !== 'string' || value === '') throw new Error(`${path}${key}: must be a text that is not empty`)
  return value
}

function optional(parent: JsonObject, key: string): string | undefined {
  const value = getKey(parent, key)
  return typeof value === 'string' && value !== '' ? value : undefined
}
