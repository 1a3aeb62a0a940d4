/**
 * x-kubernetes-list-type, x-kubernetes-list-map-keys and x-kubernetes-map-type of a node.
 * upstream: apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go ValidateCustomResourceDefinitionOpenAPISchema, validateMapListKeysMapSet
 */
import { itemSchema, propertySchema, type SchemaProps } from './definition-props.ts'
import { renderItems } from './definition-rendering.ts'
import { fieldError, type FieldError } from './status.ts'

const LIST_TYPES = ['atomic', 'set', 'map']
const MAP_TYPES = ['atomic', 'granular']

const required = (field: string, detail: string): FieldError => fieldError('FieldValueRequired', field, '', detail)
const invalid = (field: string, value: unknown, detail: string): FieldError => fieldError('FieldValueInvalid', field, value, detail)
const forbidden = (field: string, detail: string): FieldError => fieldError('FieldValueForbidden', field, '', detail)
const unsupported = (field: string, value: string, supported: readonly string[]): FieldError =>
  fieldError('FieldValueNotSupported', field, value, `supported values: ${supported.map((one) => `"${one}"`).join(', ')}`)

function typeError(schema: SchemaProps, path: string, type: string, extension: string): FieldError {
  const detail = `must be ${type} if ${extension} is specified`
  return schema.type === undefined ? required(`${path}.type`, detail) : invalid(`${path}.type`, schema.type, detail)
}

/** Errors of x-kubernetes-map-type. */
export function mapTypeErrors(schema: SchemaProps, path: string): FieldError[] {
  const mapType = schema['x-kubernetes-map-type']
  if (mapType === undefined) return []
  const errors: FieldError[] = []
  if (schema.type !== 'object') errors.push(typeError(schema, path, 'object', 'x-kubernetes-map-type'))
  if (!MAP_TYPES.includes(mapType)) errors.push(unsupported(`${path}.x-kubernetes-map-type`, mapType, MAP_TYPES))
  return errors
}

/** Errors of x-kubernetes-list-type and x-kubernetes-list-map-keys. */
export function listErrors(schema: SchemaProps, path: string): FieldError[] {
  const listType = schema['x-kubernetes-list-type']
  const keys = schema['x-kubernetes-list-map-keys'] ?? []
  const errors: FieldError[] = []
  if (listType !== undefined && schema.type !== 'array') errors.push(typeError(schema, path, 'array', 'x-kubernetes-list-type'))
  else if (listType === 'set') errors.push(...setErrors(itemSchema(schema), path))
  if (listType !== undefined && !LIST_TYPES.includes(listType)) errors.push(unsupported(`${path}.x-kubernetes-list-type`, listType, LIST_TYPES))
  if (keys.length > 0 && listType !== 'map') {
    const detail = 'must be map if x-kubernetes-list-map-keys is non-empty'
    errors.push(listType === undefined ? required(`${path}.x-kubernetes-list-type`, detail) : invalid(`${path}.x-kubernetes-list-type`, listType, detail))
  }
  if (listType === 'map') errors.push(...mapErrors(schema, keys, path))
  return [...errors, ...itemErrors(schema, keys, path)]
}

// Items of a set are compared as a whole. The value shown is the list type of the items, whatever is wrong with them.
function setErrors(items: SchemaProps | undefined, path: string): FieldError[] {
  const listType = items?.['x-kubernetes-list-type']
  const mapType = items?.['x-kubernetes-map-type']
  const detail = 'must be atomic as item of a list with x-kubernetes-list-type=set'
  if (items?.type === 'array' && listType !== undefined && listType !== 'atomic') return [invalid(`${path}.items.x-kubernetes-list-type`, listType, detail)]
  if (items?.type === 'object' && mapType !== 'atomic') return [invalid(`${path}.items.x-kubernetes-map-type`, listType ?? null, detail)]
  return []
}

function mapErrors(schema: SchemaProps, keys: readonly string[], path: string): FieldError[] {
  const errors: FieldError[] = []
  const items = itemSchema(schema)
  if (keys.length === 0) errors.push(required(`${path}.x-kubernetes-list-map-keys`, 'must not be empty if x-kubernetes-list-type is map'))
  if (schema.items === undefined) return [...errors, required(`${path}.items`, 'must have a schema if x-kubernetes-list-type is map')]
  if (items === undefined) {
    const body = `Invalid value: ${renderItems(schema.items)}: must only have a single schema if x-kubernetes-list-type is map`
    return [...errors, { type: 'FieldValueInvalid', field: `${path}.items`, body }]
  }
  if (items.type !== 'object') {
    return [...errors, invalid(`${path}.items.type`, items.type ?? '', "must be object if parent array's x-kubernetes-list-type is map")]
  }
  const seen = new Set<string>()
  for (const key of keys) {
    const property = propertySchema(items, key)
    if (property === undefined) errors.push(invalid(`${path}.x-kubernetes-list-map-keys`, keys, 'entries must all be names of item properties'))
    else if (property.type === 'array' || property.type === 'object') {
      // The value shown is the type of the items, as upstream does.
      errors.push(invalid(`${path}.items.properties[${key}].type`, items.type, "must be a scalar type if parent array's x-kubernetes-list-type is map"))
    }
    if (seen.has(key)) errors.push(invalid(`${path}.x-kubernetes-list-map-keys`, keys, 'must not contain duplicate entries'))
    seen.add(key)
  }
  return errors
}

function itemErrors(schema: SchemaProps, keys: readonly string[], path: string): FieldError[] {
  const listType = schema['x-kubernetes-list-type']
  const items = itemSchema(schema)
  if (items === undefined || (listType !== 'set' && listType !== 'map')) return []
  const errors: FieldError[] = []
  if (items.nullable) errors.push(forbidden(`${path}.items.nullable`, `cannot be nullable when x-kubernetes-list-type is ${listType}`))
  if (listType === 'set') return errors
  for (const key of keys) {
    const property = propertySchema(items, key)
    if (property === undefined) continue
    const at = `${path}.items.properties[${key}]`
    if (!items.required?.includes(key) && property.default === undefined) {
      errors.push(required(`${at}.default`, 'this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property'))
    }
    if (property.nullable) errors.push(forbidden(`${at}.nullable`, 'this property is in x-kubernetes-list-map-keys, so it cannot be nullable'))
  }
  return errors
}
