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

interface Form {
  readonly list: readonly [open: string, between: string, close: string]
  readonly map: readonly [open: string, between: string, close: string]
  readonly key: (name: string) => string
  readonly text: (value: string) => string
  readonly nil: string
}

const VALUE: Form = { list: ['[', ' ', ']'], map: ['map[', ' ', ']'], key: (name) => name, text: (value) => value, nil: '<nil>' }
const SYNTAX: Form = {
  list: ['[]interface {}{', ', ', '}'], map: ['map[string]interface {}{', ', ', '}'], key: goQuote, text: goQuote, nil: 'interface {}(nil)',
}

/** %v */
export function goValue(value: Json): string {
  return print(value, VALUE)
}

/** %#v */
export function goSyntax(value: Json): string {
  return print(value, SYNTAX)
}

/** What is still to be printed: a text as it is, or a value. */
type Pending = string | { readonly value: Json }

// Without recursion, since values may nest as deep as the parser takes them.
function print(root: Json, form: Form): string {
  let out = ''
  const pending: Pending[] = [{ value: root }]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (typeof next === 'string') out += next
    else if (Array.isArray(next.value)) pushAll(pending, form.list, next.value.map((value) => [{ value }]))
    else if (isObject(next.value)) pushAll(pending, form.map, members(next.value).map(([key, value]) => [`${form.key(key)}:`, { value }]))
    else out += typeof next.value === 'string' ? form.text(next.value) : scalar(next.value, form.nil)
  }
  return out
}

function pushAll(pending: Pending[], [open, between, close]: Form['list'], parts: readonly (readonly Pending[])[]): void {
  pending.push(close)
  for (let i = parts.length - 1; i >= 0; i--) {
    pending.push(...(parts[i] as readonly Pending[]).toReversed())
    if (i > 0) pending.push(between)
  }
  pending.push(open)
}

function scalar(value: null | boolean | number | bigint | Float, nil: string): string {
  if (value === null) return nil
  if (value instanceof Float) return formatGoFloat(value.value)
  return typeof value === 'number' && !Number.isInteger(value) ? formatGoFloat(value) : String(value)
}

function members(object: JsonObject): [string, Json][] {
  return sortKeys(Object.keys(object).filter((key) => object[key] !== undefined)).map((key) => [key, object[key] as Json])
}
