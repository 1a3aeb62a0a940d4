/**
 * Values as ownership sees them: an integer and a float of the same size are one value, unlike in Go's reflect.DeepEqual.
 * upstream: structured-merge-diff/value/value.go EqualsUsing, CompareUsing
 */
import { compareBytes } from '../go-text.ts'
import { encodeJson } from '../json-encode.ts'
import { Float, isNumber, isObject, toNumber, type Json, type JsonObject } from '../object.ts'

/** Equality of two values: numbers by size, the rest as JSON. Without recursion, since atomic values nest as deep as the parser takes them. */
export function valuesEqual(a: Json, b: Json): boolean {
  // Containers still to compare, in pairs.
  const pending: Json[] = []
  if (!sameScalar(a, b, pending)) return false
  while (pending.length > 0) {
    const right = pending.pop() as Json
    const left = pending.pop() as Json
    if (Array.isArray(left) ? !sameItems(left, right, pending) : !sameMembers(left as JsonObject, right, pending)) return false
  }
  return true
}

// Containers are put off; everything else is compared.
function sameScalar(a: Json, b: Json, pending: Json[]): boolean {
  if (a === b) return true
  if (isNumber(a)) return isNumber(b) && compareNumbers(a, b) === 0
  if (typeof a !== 'object' || a === null || typeof b !== 'object' || b === null || b instanceof Float) return false
  pending.push(a, b)
  return true
}

function sameItems(a: Json[], b: Json, pending: Json[]): boolean {
  if (!Array.isArray(b) || a.length !== b.length) return false
  return a.every((item, i) => sameScalar(item, b[i] as Json, pending))
}

function sameMembers(a: JsonObject, b: Json, pending: Json[]): boolean {
  if (!isObject(b)) return false
  let count = 0
  for (const key of Object.keys(a)) {
    const member = a[key]
    if (member === undefined) continue
    count++
    const other = Object.hasOwn(b, key) ? b[key] : undefined
    if (other === undefined || !sameScalar(member, other, pending)) return false
  }
  for (const key of Object.keys(b)) if (b[key] !== undefined) count--
  return count === 0
}

/** A total order of values: numbers, strings, booleans, lists, maps, null. Containers, which no valid key holds, follow their JSON text. */
export function compareValues(a: Json, b: Json): number {
  if (isNumber(a) && isNumber(b)) return compareNumbers(a, b)
  if (typeof a === 'string' && typeof b === 'string') return compareBytes(a, b)
  const byRank = rank(a) - rank(b)
  if (byRank !== 0) return byRank
  return typeof a === 'boolean' ? Number(a) - Number(b) : compareBytes(encodeJson(a), encodeJson(b))
}

function rank(value: Json): number {
  if (isNumber(value)) return 0
  if (typeof value === 'string') return 1
  if (typeof value === 'boolean') return 2
  if (Array.isArray(value)) return 3
  return value === null ? 5 : 4
}

type JsonNumber = number | bigint | Float

// Two integers exactly, else as floats.
function compareNumbers(a: JsonNumber, b: JsonNumber): number {
  const exact = isExact(a) && isExact(b)
  const left = exact ? a : toNumber(a)
  const right = exact ? b : toNumber(b)
  return left < right ? -1 : left > right ? 1 : 0
}

function isExact(value: JsonNumber): value is number | bigint {
  return typeof value === 'bigint' || Number.isSafeInteger(value)
}
