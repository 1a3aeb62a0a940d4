/**
 * The rules for each node of a definition's schema, beyond its being structural.
 * upstream: apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go ValidateCustomResourceDefinitionOpenAPISchema
 */
import { additionalSchema, itemSchema, type SchemaMap, type SchemaProps } from './definition-props.ts'
import type { RefusedRule } from './definition-defaults.ts'
import { listErrors, mapTypeErrors } from './definition-lists.ts'
import { celErrors, isTypeless, ruleErrors, typelessError } from './definition-rules.ts'
import { schemaNames } from './definition-structural.ts'
import { fieldError, type FieldError } from './status.ts'

/** What the nodes above say about a node. */
interface Scope {
  /** Why defaults may not be set here; undefined: they may. */
  readonly noDefaults?: string
  /** Within apiVersion, kind or metadata of an object. */
  readonly meta: boolean
  /** The highest node below which an object and its predecessor cannot be matched. */
  readonly uncorrelated?: string
  /** CEL rules are looked at: the schema is structural, and no composition is above. */
  readonly cel: boolean
  /** Some node above has rules. */
  readonly rules: boolean
  /** A node above, at or below one with rules, has no type for them. */
  readonly typeless: boolean
}

/** Errors of a node and all below it: CEL's apart, since they are looked for only where there are no others. */
interface Found {
  readonly schema: FieldError[]
  readonly cel: FieldError[]
  readonly refused: RefusedRule[]
}

/** Checks all nodes of a schema. `cel`: whether the rules are checked too, for which the schema must be structural. */
export function openApiErrors(schema: SchemaProps, path: string, options: { readonly cel: boolean }): { errors: FieldError[]; refused: RefusedRule[] } {
  const { schema: schemaErrors, cel, refused } = visit(schema, path, { meta: false, cel: options.cel, rules: false, typeless: false }, true)
  return { errors: [...schemaErrors, ...cel], refused }
}

function visit(schema: SchemaProps, path: string, outer: Scope, root: boolean): Found {
  const own = (schema['x-kubernetes-validations'] ?? []).length > 0
  const whole = root || schema['x-kubernetes-embedded-resource'] === true
  const rules = outer.rules || own
  const scope = { ...outer, rules, typeless: outer.typeless || (rules && outer.cel && isTypeless(schema, whole)) }
  const found: Found = { schema: nodeErrors(schema, path, scope), cel: [], refused: [] }
  const below = (child: SchemaProps | undefined, at: string, inner: Scope): void => {
    if (child === undefined) return
    const { schema: errors, cel, refused } = visit(child, at, inner, false)
    found.schema.push(...errors)
    found.cel.push(...cel)
    found.refused.push(...refused)
  }
  children(schema, path, scope, root, below)
  found.schema.push(...extensionErrors(schema, path), ...ruleErrors(schema, path))
  if (found.schema.length === 0 && scope.cel && own) {
    const { errors, refused } = scope.typeless
      ? { errors: [typelessError(path)], refused: [] }
      : celErrors(schema, path, { root: whole, ...(scope.uncorrelated === undefined ? {} : { uncorrelated: scope.uncorrelated }) })
    found.cel.push(...errors)
    found.refused.push(...refused)
  }
  return found
}

type Below = (child: SchemaProps | undefined, path: string, scope: Scope) => void

const META_FIELDS = new Set(['metadata', 'kind', 'apiVersion'])

function children(schema: SchemaProps, path: string, scope: Scope, root: boolean, below: Below): void {
  below(additionalSchema(schema), `${path}.additionalProperties`, scope.meta ? { ...scope, noDefaults: 'inside additionalProperties applying to object metadata' } : scope)
  const mapType = schema['x-kubernetes-map-type']
  const properties = mapType === undefined || mapType === 'granular' || mapType === 'atomic' ? scope : uncorrelated(scope, path)
  for (const name of schemaNames(schema.properties)) {
    const meta = (root || schema['x-kubernetes-embedded-resource'] === true) && META_FIELDS.has(name)
    const inner = meta ? { ...properties, meta: true, ...(root ? { noDefaults: `in top-level ${name}` } : {}) } : properties
    below(schema.properties?.[name], `${path}.properties[${name}]`, inner)
  }
  const composed = { ...scope, cel: false }
  below(schema.not, `${path}.not`, composed)
  for (const key of ['allOf', 'oneOf', 'anyOf'] as const) for (const [i, branch] of (schema[key] ?? []).entries()) below(branch, `${path}.${key}[${i}]`, composed)
  each(schema.definitions, (name, child) => below(child, `${path}.definitions[${name}]`, composed))
  const items = schema['x-kubernetes-list-type'] === 'map' ? scope : uncorrelated(scope, path)
  below(itemSchema(schema), `${path}.items`, items)
  if (Array.isArray(schema.items)) for (const [i, item] of schema.items.entries()) below(item, `${path}.items[${i}]`, items)
  each(schema.dependencies, (name, child) => below(Array.isArray(child) ? undefined : (child as SchemaProps), `${path}.dependencies[${name}]`, composed))
}

function each<T>(entries: { readonly [name: string]: T } | undefined, visitEntry: (name: string, entry: T) => void): void {
  for (const name of schemaNames(entries as SchemaMap | undefined)) visitEntry(name, entries?.[name] as T)
}

function uncorrelated(scope: Scope, path: string): Scope {
  return scope.uncorrelated === undefined ? { ...scope, uncorrelated: path } : scope
}

const TYPES = ['array', 'boolean', 'integer', 'number', 'object', 'string']
const UNSUPPORTED = ['id', 'additionalItems', 'patternProperties', 'definitions', 'dependencies', '$ref'] as const

/** upstream: specStandardValidatorV3.validate, and the checks before the children */
function nodeErrors(schema: SchemaProps, path: string, scope: Scope): FieldError[] {
  const errors: FieldError[] = []
  const forbidden = (key: string, detail: string): void => void errors.push(fieldError('FieldValueForbidden', `${path}.${key}`, '', detail))
  const { type = '' } = schema
  if (type !== '' && !TYPES.includes(type)) {
    errors.push(fieldError('FieldValueNotSupported', `${path}.type`, type, `supported values: ${TYPES.map((name) => `"${name}"`).join(', ')}`))
  }
  if (schema.default !== undefined && scope.noDefaults !== undefined) forbidden('default', `must not be set ${scope.noDefaults}`)
  for (const key of UNSUPPORTED) if (isSet(schema, key)) forbidden(key, `${key} is not supported`)
  if (type === 'null') forbidden('type', 'type cannot be set to null, use nullable as an alternative')
  if (Array.isArray(schema.items) && schema.items.length > 0) forbidden('items', 'items must be a schema object and not an array')
  if (scope.meta && schema['x-kubernetes-embedded-resource']) forbidden('x-kubernetes-embedded-resource', 'must not be used inside of resource meta')
  if (schema.uniqueItems) forbidden('uniqueItems', 'uniqueItems cannot be set to true since the runtime complexity becomes quadratic')
  if (schema.additionalProperties !== undefined && schema.additionalProperties !== true && Object.keys(schema.properties ?? {}).length > 0) {
    forbidden('additionalProperties', 'additionalProperties and properties are mutual exclusive')
  }
  return errors
}

function isSet(schema: SchemaProps, key: (typeof UNSUPPORTED)[number]): boolean {
  const value = schema[key]
  return key === 'patternProperties' || key === 'definitions' ? Object.keys(value ?? {}).length > 0 : value !== undefined
}

function extensionErrors(schema: SchemaProps, path: string): FieldError[] {
  const errors: FieldError[] = []
  if (schema['x-kubernetes-preserve-unknown-fields'] === false) {
    errors.push(fieldError('FieldValueInvalid', `${path}.x-kubernetes-preserve-unknown-fields`, false, 'must be true or undefined'))
  }
  return [...errors, ...mapTypeErrors(schema, path), ...listErrors(schema, path)]
}
