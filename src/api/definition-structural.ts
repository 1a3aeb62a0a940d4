/**
 * Whether a schema is structural: what upstream lists in the condition NonStructuralSchema, and refuses when a definition is created.
 * upstream: apiextensions-apiserver/pkg/apiserver/schema/{convert,validation,complete}.go
 */
import { additionalSchema, itemSchema, type SchemaMap, type SchemaProps } from './definition-props.ts'
import { sortedKeys } from './json-encode.ts'
import type { Json, JsonObject } from './object.ts'
import { matchesPattern } from './pattern.ts'
import { compareBytes, fieldError, type FieldError } from './status.ts'

/** Where a node stands. */
type Level = 'root' | 'item' | 'field'

const UNSUPPORTED = ['id', '$schema', '$ref', 'patternProperties', 'dependencies', 'additionalItems', 'definitions'] as const

/** Why no structural schema can be made of this one, or undefined. upstream: schema.NewStructural */
export function structuralFault(schema: SchemaProps): string | undefined {
  for (const key of UNSUPPORTED) {
    const value = schema[key]
    const set = key === 'additionalItems' ? value !== undefined : typeof value === 'object' ? Object.keys(value).length > 0 : Boolean(value)
    if (set) return `OpenAPIV3Schema '${key === '$schema' ? 'schema' : key}' is not supported`
  }
  for (const branch of [schema.not, ...(schema.allOf ?? []), ...(schema.anyOf ?? []), ...(schema.oneOf ?? [])]) {
    const fault = branch && structuralFault(branch)
    if (fault !== undefined) return fault
  }
  if (schema['x-kubernetes-preserve-unknown-fields'] === false) return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined"
  if (Array.isArray(schema.items) && schema.items.length > 0) return "OpenAPIV3Schema 'items' must be a schema, but is an array"
  for (const child of [itemSchema(schema), ...Object.values(schema.properties ?? {}), additionalSchema(schema)]) {
    const fault = child && structuralFault(child)
    if (fault !== undefined) return fault
  }
  return undefined
}

/** The errors of a schema of which a structural one can be made, sorted as upstream does. upstream: schema.ValidateStructural */
export function structuralErrors(schema: SchemaProps, path: string): FieldError[] {
  const errors = new Structural()
  errors.invariants(schema, 'root', path)
  errors.completeness(schema, schema, path, path)
  return errors.found.sort((a, b) => compareBytes(`${a.field}: ${a.body}`, `${b.field}: ${b.body}`))
}

/** The names of a schema map in upstream's order of nothing, made stable. */
export function schemaNames(schemas: SchemaMap | undefined): string[] {
  return schemas === undefined ? [] : sortedKeys(schemas as unknown as JsonObject)
}

const INT_OR_STRING = ['integer', 'string']

function isIntOrString(branches: readonly SchemaProps[] | undefined): boolean {
  return branches?.length === 2 && branches.every((branch, i) => branch.type === INT_OR_STRING[i] && Object.entries(branch).every(([key, value]) => key === 'type' || isNothing(key, value as Json)))
}

// Of a branch, the structural form keeps nothing of these. upstream: newNestedValueValidation, newForbiddenGenerics
function isNothing(key: string, value: Json): boolean {
  if (key === 'additionalProperties') return value === false
  if (key === '$ref') return value === ''
  if (key === 'items') return Array.isArray(value)
  return EMPTY_IS_NOTHING.has(key) && Object.keys(value as object).length === 0
}

class Structural {
  readonly found: FieldError[] = []

  private required(field: string, detail: string): void {
    this.found.push(fieldError('FieldValueRequired', field, '', detail))
  }
  private forbidden(field: string, detail: string): void {
    this.found.push(fieldError('FieldValueForbidden', field, '', detail))
  }
  private invalid(field: string, value: unknown, detail: string): void {
    this.found.push(fieldError('FieldValueInvalid', field, value, detail))
  }

  invariants(schema: SchemaProps, level: Level, path: string): void {
    const items = itemSchema(schema)
    const additional = additionalSchema(schema)
    if (schema.type === 'array' && items === undefined) this.required(`${path}.items`, 'must be specified')
    if (items !== undefined) this.invariants(items, 'item', `${path}.items`)
    for (const name of schemaNames(schema.properties)) this.invariants(schema.properties?.[name] as SchemaProps, 'field', `${path}.properties[${name}]`)
    if (schema.additionalProperties !== undefined && level === 'root') this.forbidden(`${path}.additionalProperties`, 'must not be used at the root')
    if (additional !== undefined) this.invariants(additional, 'field', `${path}.additionalProperties`)
    this.extensions(schema, path)
    this.valueValidation(schema, isIntOrString(schema.anyOf), isIntOrString(schema.allOf?.[0]?.anyOf), path)
    this.typeRules(schema, level, path)
    this.metaRules(schema, level, path)
  }

  private extensions(schema: SchemaProps, path: string): void {
    if (!schema['x-kubernetes-int-or-string']) return
    for (const key of ['x-kubernetes-preserve-unknown-fields', 'x-kubernetes-embedded-resource'] as const) {
      if (schema[key]) this.invalid(`${path}.${key}`, true, 'must be false if x-kubernetes-int-or-string is true')
    }
  }

  private typeRules(schema: SchemaProps, level: Level, path: string): void {
    const { type = '' } = schema
    const embedded = schema['x-kubernetes-embedded-resource'] === true
    if (embedded && type !== 'object') {
      const detail = 'must be object if x-kubernetes-embedded-resource is true'
      if (type === '') this.required(`${path}.type`, detail)
      else this.invalid(`${path}.type`, type, detail)
    } else if (type === '' && !schema['x-kubernetes-int-or-string'] && !schema['x-kubernetes-preserve-unknown-fields']) {
      const places = { root: 'at the root', item: 'for specified array items', field: 'for specified object fields' }
      this.required(`${path}.type`, `must not be empty ${places[level]}`)
    }
    if (embedded && schema.additionalProperties !== undefined) {
      this.forbidden(`${path}.additionalProperties`, 'must not be used if x-kubernetes-embedded-resource is set')
    }
    if (level === 'root' && type !== '' && type !== 'object') this.invalid(`${path}.type`, type, 'must be object at the root')
  }

  private metaRules(schema: SchemaProps, level: Level, path: string): void {
    const embedded = schema['x-kubernetes-embedded-resource'] === true
    const checked = level === 'root' || embedded
    const property = (name: string): SchemaProps | undefined =>
      schema.properties !== undefined && Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined
    for (const name of ['kind', 'apiVersion']) {
      const found = property(name)
      if (checked && found !== undefined && found.type !== 'string') this.invalid(`${path}.properties[${name}].type`, found.type ?? '', 'must be string')
    }
    const metadata = property('metadata')
    if (metadata !== undefined) {
      const at = `${path}.properties[metadata]`
      if (checked && metadata.type !== 'object') this.invalid(`${at}.type`, metadata.type ?? '', 'must be object')
      if (level === 'root' && restrictsMetadata(metadata)) {
        this.forbidden(at, 'must not specify anything other than name and generateName, but metadata is implicitly specified')
      }
    }
    if (embedded && !schema['x-kubernetes-preserve-unknown-fields'] && Object.keys(schema.properties ?? {}).length === 0) {
      this.required(`${path}.properties`, 'must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields')
    }
  }

  private valueValidation(schema: SchemaProps, skipAnyOf: boolean, skipFirstAllOf: boolean, path: string): void {
    if (!skipAnyOf) for (const [i, branch] of (schema.anyOf ?? []).entries()) this.nested(branch, false, `${path}.anyOf[${i}]`)
    for (const [i, branch] of (schema.allOf ?? []).entries()) this.nested(branch, skipFirstAllOf && i === 0, `${path}.allOf[${i}]`)
    for (const [i, branch] of (schema.oneOf ?? []).entries()) this.nested(branch, false, `${path}.oneOf[${i}]`)
    if (schema.not !== undefined) this.nested(schema.not, false, `${path}.not`)
    const fault = schema.pattern === undefined ? undefined : patternFault(schema.pattern)
    if (fault !== undefined) this.invalid(`${path}.pattern`, schema.pattern, `must be a valid regular expression, but isn't: ${fault}`)
  }

  private nested(schema: SchemaProps, skipAnyOf: boolean, path: string): void {
    this.valueValidation(schema, skipAnyOf, false, path)
    const items = itemSchema(schema)
    if (items !== undefined) this.nested(items, false, `${path}.items`)
    for (const name of schemaNames(schema.properties)) this.nested(schema.properties?.[name] as SchemaProps, false, `${path}.properties[${name}]`)
    for (const [key, set, state] of FORBIDDEN) if (set(schema)) this.forbidden(`${path}.${key}`, `must be ${state} to be structural`)
    if (schema.properties !== undefined && Object.hasOwn(schema.properties, 'metadata')) {
      this.forbidden(`${path}.properties[metadata]`, 'must not be specified in a nested context')
    }
  }

  /** Every field that a branch of a composition speaks of must be specified outside of it. */
  completeness(values: SchemaProps, schema: SchemaProps, path: string, valuePath: string): void {
    if (values.not !== undefined) this.nestedCompleteness(values.not, schema, path, `${valuePath}.not`)
    for (const key of ['allOf', 'anyOf', 'oneOf'] as const) {
      for (const [i, branch] of (values[key] ?? []).entries()) this.nestedCompleteness(branch, schema, path, `${valuePath}.${key}[${i}]`)
    }
  }

  private nestedCompleteness(values: SchemaProps, schema: SchemaProps | undefined, path: string, valuePath: string): void {
    if (schema === undefined) return this.required(path, `because it is defined in ${valuePath}`)
    this.completeness(values, schema, path, valuePath)
    const items = itemSchema(values)
    if (items !== undefined) this.nestedCompleteness(items, itemSchema(schema), `${path}.items`, `${valuePath}.items`)
    for (const name of schemaNames(values.properties)) {
      const step = `.properties[${name}]`
      const known = schema.properties !== undefined && Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined
      if (known === undefined) this.required(`${path}${step}`, `because it is defined in ${valuePath}${step}`)
      else this.nestedCompleteness(values.properties?.[name] as SchemaProps, known, `${path}${step}`, `${valuePath}${step}`)
    }
  }
}

type Forbidden = readonly [key: string, set: (schema: SchemaProps) => boolean, state: 'empty' | 'undefined' | 'false']

const FORBIDDEN: readonly Forbidden[] = [
  ['type', (schema) => Boolean(schema.type), 'empty'],
  ['additionalProperties', (schema) => schema.additionalProperties !== undefined && schema.additionalProperties !== false, 'undefined'],
  ['default', (schema) => schema.default !== undefined, 'undefined'],
  ['title', (schema) => Boolean(schema.title), 'empty'],
  ['description', (schema) => Boolean(schema.description), 'empty'],
  ['nullable', (schema) => schema.nullable === true, 'false'],
  ['x-kubernetes-preserve-unknown-fields', (schema) => schema['x-kubernetes-preserve-unknown-fields'] === true, 'false'],
  ['x-kubernetes-embedded-resource', (schema) => schema['x-kubernetes-embedded-resource'] === true, 'false'],
  ['x-kubernetes-int-or-string', (schema) => schema['x-kubernetes-int-or-string'] === true, 'false'],
  ['x-kubernetes-list-map-keys', (schema) => (schema['x-kubernetes-list-map-keys'] ?? []).length > 0, 'empty'],
  ['x-kubernetes-list-type', (schema) => schema['x-kubernetes-list-type'] !== undefined, 'undefined'],
  ['x-kubernetes-map-type', (schema) => schema['x-kubernetes-map-type'] !== undefined, 'undefined'],
  ['x-kubernetes-validations', (schema) => (schema['x-kubernetes-validations'] ?? []).length > 0, 'empty'],
]

const EMPTY_IS_NOTHING = new Set(['enum', 'allOf', 'anyOf', 'oneOf', 'patternProperties', 'definitions', 'dependencies'])

function restrictsMetadata(metadata: SchemaProps): boolean {
  return Object.entries(metadata).some(([key, value]) => {
    if (key === 'type' || key === 'default' || key === '$ref') return false
    if (key === 'properties' && Object.keys(value as object).every((name) => name === 'name' || name === 'generateName')) return false
    if (key === 'items') return !Array.isArray(value)
    return !EMPTY_IS_NOTHING.has(key) || Object.keys(value as object).length > 0
  })
}

function patternFault(pattern: string): string | undefined {
  try {
    matchesPattern(pattern, '')
    return undefined
  } catch (error) {
    const { message } = error as Error
    if (message.includes('expression nests too deeply')) return `error parsing regexp: expression nests too deeply: \`${pattern}\``
    // Go shows the expression after every reason, RE2JS only where there is one.
    return /^error parsing regexp: [^:`]*$/.test(message) ? `${message}: \`\`` : message
  }
}
