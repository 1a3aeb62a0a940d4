/** Values as Go's fmt prints them with %v, %#v and %T, which shows in the texts of type errors. */
import { formatGoFloat, goQuote, sortKeys } from '../go-text.ts'
import { Float, isObject, type Json, type JsonObject } from '../object.ts'

/** %T */
export function goType(value: Json): string {
  if (Array.isArray(value)) return '[]interface {}'
  if (isObject(value)) return 'map[string]interface {}'
  if (typeof value === 'string') return 'string'
  if (typeof value === 'boolean') return 'bool'
  if (value === null) return '<nil>'
  return value instanceof Float || (typeof value === 'number' && !Number.isInteger(value)) ? 'float64' : 'int64'
}

/** %v */
export function goValue(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(goValue).join(' ')}]`
  if (isObject(value)) return `map[${members(value).map(([key, member]) => `${key}:${goValue(member)}`).join(' ')}]`
  return typeof value === 'string' ? value : scalar(value, '<nil>')
}

/** %#v */
export function goSyntax(value: Json): string {
  if (Array.isArray(value)) return `[]interface {}{${value.map(goSyntax).join(', ')}}`
  if (isObject(value)) return `map[string]interface {}{${members(value).map(([key, member]) => `${goQuote(key)}:${goSyntax(member)}`).join(', ')}}`
  return typeof value === 'string' ? goQuote(value) : scalar(value, 'interface {}(nil)')
}

function scalar(value: null | boolean | number | bigint | Float, nil: string): string {
  if (value === null) return nil
  if (value instanceof Float) return formatGoFloat(value.value)
  return typeof value === 'number' && !Number.isInteger(value) ? formatGoFloat(value) : String(value)
}

function members(object: JsonObject): [string, Json][] {
  return sortKeys(Object.keys(object).filter((key) => object[key] !== undefined)).map((key) => [key, object[key] as Json])
}
