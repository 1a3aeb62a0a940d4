/** A definition as a CustomResourceDefinition manifest. */
import { Float, type Json, type JsonObject } from './object.ts'
import { qualifiedName, type ResourceDefinition, type VersionDefinition } from './resource.ts'
import type { Schema } from './schema.ts'

/** The manifest of a definition, without a conversion: that depends on where it is installed. readDefinition gives the definition back. */
export function printDefinition(definition: ResourceDefinition): JsonObject {
  const { group, scope, names, versions } = definition
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: qualifiedName(definition) },
    spec: { group, names: names as unknown as Json, scope, versions: versions.map(printVersion) },
  }
}

function printVersion({ schema, ...version }: VersionDefinition): JsonObject {
  return { ...(version as unknown as JsonObject), schema: { openAPIV3Schema: printSchema(schema) } }
}

// The limits of a schema are plain numbers, which the JSON model has only for integers.
function printSchema(schema: Schema): JsonObject {
  const { items, properties, additionalProperties, not, ...rest } = schema
  const printed: JsonObject = { ...(rest as unknown as JsonObject) }
  for (const key of ['minimum', 'maximum', 'multipleOf'] as const) {
    const limit = schema[key]
    if (limit !== undefined && !Number.isSafeInteger(limit)) printed[key] = new Float(limit)
  }
  for (const key of ['allOf', 'anyOf', 'oneOf'] as const) {
    const branches = schema[key]
    if (branches !== undefined) printed[key] = branches.map(printSchema)
  }
  if (properties !== undefined) printed.properties = Object.fromEntries(Object.entries(properties).map(([name, property]) => [name, printSchema(property)]))
  if (typeof additionalProperties === 'object') printed.additionalProperties = printSchema(additionalProperties)
  else if (additionalProperties !== undefined) printed.additionalProperties = additionalProperties
  if (items !== undefined) printed.items = printSchema(items)
  if (not !== undefined) printed.not = printSchema(not)
  return printed
}
