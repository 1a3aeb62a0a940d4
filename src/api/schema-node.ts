/**
 * Schemas prepared for validation: one shape for all nodes, supported formats only, types as a list; made once per schema.
 * upstream: apiextensions-apiserver/pkg/apiserver/validation/validation.go ConvertJSONSchemaPropsWithPostProcess
 */
import type { Json } from './object.ts'
import { formatCheck, supportedFormat } from './formats.ts'
import type { Schema } from './schema.ts'

/** Limits of numbers, strings, lists and objects that a schema may set; absent ones are undefined. */
export interface Limits {
  readonly multipleOf: number | undefined
  readonly minimum: number | undefined
  readonly maximum: number | undefined
  readonly exclusiveMinimum: boolean
  readonly exclusiveMaximum: boolean
  readonly minLength: number | undefined
  readonly maxLength: number | undefined
  readonly pattern: string | undefined
  readonly minItems: number | undefined
  readonly maxItems: number | undefined
  readonly uniqueItems: boolean
  readonly minProperties: number | undefined
  readonly maxProperties: number | undefined
}

/** A schema in the form that the validator walks. */
export interface SchemaNode {
  readonly schema: Schema
  readonly types: readonly string[]
  readonly typeText: string
  readonly nullable: boolean
  /** "" when absent or not supported. */
  readonly format: string
  readonly checkFormat: ((text: string) => boolean) | undefined
  readonly enum: readonly Json[] | undefined
  readonly limits: Limits
  readonly properties: ReadonlyMap<string, SchemaNode>
  readonly additional: SchemaNode | boolean | undefined
  readonly items: SchemaNode | undefined
  readonly required: readonly string[]
  readonly anyOf: readonly SchemaNode[]
  readonly oneOf: readonly SchemaNode[]
  readonly allOf: readonly SchemaNode[]
  readonly not: SchemaNode | undefined
  readonly composed: boolean
}

const nodes = new WeakMap<Schema, SchemaNode>()

/** The prepared form of a schema. */
export function schemaNode(schema: Schema): SchemaNode {
  let node = nodes.get(schema)
  if (node === undefined) {
    node = prepare(schema, supportedFormat, schemaNode)
    nodes.set(schema, node)
  }
  return node
}

/**
 * Prepares a schema that is the caller's own to be validated with every format that it names, as upstream validates defaults: there a format that is
 * not known for the type takes part in the check of the type. upstream: apiextensions-apiserver/pkg/apiserver/schema/defaulting/validation.go
 */
export function keepFormats(schema: Schema): SchemaNode {
  const node = prepare(schema, (format) => format, keepFormats)
  nodes.set(schema, node)
  return node
}

function prepare(schema: Schema, formatOf: typeof supportedFormat, child: (schema: Schema) => SchemaNode): SchemaNode {
  const types = schema['x-kubernetes-int-or-string'] ? ['integer', 'string'] : schema.type === undefined ? [] : [schema.type]
  const format = schema.format === undefined ? '' : formatOf(schema.format, schema.type)
  const { additionalProperties: additional } = schema
  return {
    schema,
    types,
    typeText: types.join(','),
    nullable: schema.nullable === true,
    format,
    checkFormat: format === '' ? undefined : formatCheck(format),
    enum: schema.enum !== undefined && schema.enum.length > 0 ? schema.enum : undefined,
    limits: limitsOf(schema),
    properties: new Map(Object.entries(schema.properties ?? {}).map(([name, property]) => [name, child(property)])),
    additional: typeof additional === 'object' ? child(additional) : additional,
    items: schema.items && child(schema.items),
    required: schema.required ?? [],
    anyOf: (schema.anyOf ?? []).map(child),
    oneOf: (schema.oneOf ?? []).map(child),
    allOf: (schema.allOf ?? []).map(child),
    not: schema.not && child(schema.not),
    composed: [schema.anyOf, schema.oneOf, schema.allOf].some((list) => list !== undefined && list.length > 0) || schema.not !== undefined,
  }
}

function limitsOf(schema: Schema): Limits {
  return {
    multipleOf: schema.multipleOf,
    minimum: schema.minimum,
    maximum: schema.maximum,
    exclusiveMinimum: schema.exclusiveMinimum === true,
    exclusiveMaximum: schema.exclusiveMaximum === true,
    minLength: schema.minLength,
    maxLength: schema.maxLength,
    pattern: schema.pattern,
    minItems: schema.minItems,
    maxItems: schema.maxItems,
    uniqueItems: schema.uniqueItems === true,
    minProperties: schema.minProperties,
    maxProperties: schema.maxProperties,
  }
}
