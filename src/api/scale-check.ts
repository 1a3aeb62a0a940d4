/**
 * Checks of the fields that the scale subresource reads.
 * upstream: apiextensions-apiserver/pkg/registry/customresource/validator.go ValidateScaleSpec, ValidateScaleStatus; unstructured.NestedInt64, NestedString
 */
import { sortedKeys } from './json-encode.ts'
import { getKey, isInteger, isNumber, isObject, toNumber, type Json, type KubeObject } from './object.ts'
import type { ScaleDefinition } from './resource.ts'
import { fieldError, formatGoFloat, type FieldError } from './status.ts'

const MAX_INT32 = 2147483647

/** Errors of spec.replicas, as the scale subresource sees it. */
export function scaleSpecErrors(object: KubeObject, scale: ScaleDefinition): FieldError[] {
  return replicasErrors(object, scale.specReplicasPath)
}

/** Errors of status.replicas and of the label selector. */
export function scaleStatusErrors(object: KubeObject, scale: ScaleDefinition): FieldError[] {
  const errors = replicasErrors(object, scale.statusReplicasPath)
  const path = scale.labelSelectorPath
  if (path === undefined || path === '') return errors
  const found = nested(object, path, 'string', (value) => typeof value === 'string')
  if (found.error !== undefined) errors.push(fieldError('FieldValueInvalid', path, '', found.error))
  return errors
}

function replicasErrors(object: KubeObject, path: string): FieldError[] {
  const { value, error } = nested(object, path, 'int64', isInteger)
  if (error !== undefined) return [fieldError('FieldValueInvalid', path, 0, error)]
  if (value === undefined || !isInteger(value)) return []
  if (value < 0) return [fieldError('FieldValueInvalid', path, value, 'should be a non-negative integer')]
  return value > MAX_INT32 ? [fieldError('FieldValueInvalid', path, value, `should be less than or equal to ${MAX_INT32}`)] : []
}

function nested(object: KubeObject, path: string, wanted: string, accepts: (value: Json) => boolean): { value?: Json; error?: string } {
  const fields = path.replace(/^\./, '').split('.')
  let value: Json = object
  for (const [i, field] of fields.entries()) {
    if (value === null) return {}
    if (!isObject(value)) return { error: accessorError(fields.slice(0, i + 1), value, 'map[string]interface{}') }
    const member = getKey(value, field)
    if (member === undefined) return {}
    value = member
  }
  return accepts(value) ? { value } : { error: accessorError(fields, value, wanted) }
}

function accessorError(fields: readonly string[], value: Json, wanted: string): string {
  return `.${fields.join('.')} accessor error: ${goValue(value)} is of the type ${goType(value)}, expected ${wanted}`
}

function goType(value: Json): string {
  if (value === null) return '<nil>'
  if (typeof value === 'string') return 'string'
  if (typeof value === 'boolean') return 'bool'
  if (isNumber(value)) return isInteger(value) ? 'int64' : 'float64'
  return Array.isArray(value) ? '[]interface {}' : 'map[string]interface {}'
}

// Go's %v.
function goValue(value: Json | undefined): string {
  if (value === null || value === undefined) return '<nil>'
  if (isNumber(value)) return isInteger(value) ? String(value) : formatGoFloat(toNumber(value))
  if (Array.isArray(value)) return `[${value.map(goValue).join(' ')}]`
  if (!isObject(value)) return String(value)
  const object = value
  return `map[${sortedKeys(object)
    .map((key) => `${key}:${goValue(object[key])}`)
    .join(' ')}]`
}
