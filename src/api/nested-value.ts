/**
 * Values at the simple paths of the scale subresource.
 * upstream: apimachinery/pkg/apis/meta/v1/unstructured/helpers.go: NestedInt64, NestedString
 */
import { sortedKeys } from './json-encode.ts'
import { getKey, isInteger, isNumber, isObject, toNumber, type Json, type KubeObject } from './object.ts'
import { formatGoFloat } from './status.ts'

/** A value of another type than a path promises. */
export class WrongType extends Error {}

/** The fields of a path such as `.spec.replicas`. */
export function fieldsOf(path: string): string[] {
  return path.replace(/^\./, '').split('.')
}

/** The value at a path; undefined when it is not there. Throws WrongType for another Go type than `wanted`. */
export function nestedValue(object: KubeObject, path: string, wanted: string, accepts: (value: Json) => boolean): Json | undefined {
  const fields = fieldsOf(path)
  let value: Json = object
  for (const [i, field] of fields.entries()) {
    if (value === null) return undefined
    if (!isObject(value)) throw new WrongType(accessorError(fields.slice(0, i + 1), value, 'map[string]interface{}'))
    const member = getKey(value, field)
    if (member === undefined) return undefined
    value = member
  }
  if (!accepts(value)) throw new WrongType(accessorError(fields, value, wanted))
  return value
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
