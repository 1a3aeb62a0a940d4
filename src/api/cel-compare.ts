/** Order of values, for `<` and its like, sort, min and max. upstream: cel-go common/types/*.go Compare */
import { celError, isCelUint } from '@bufbuild/cel'
import { declare, kindOf, overload, type Declaration, type Value } from './cel-function.ts'
import { CHARACTER, meter } from './cel-meter.ts'
import { DURATION, nanosOf, TIMESTAMP } from './cel-time.ts'
import type { ReflectMessage } from '@bufbuild/protobuf/reflect'

/** The types that have an order. */
export const COMPARABLE = ['int', 'uint', 'double', 'bool', 'string', 'bytes', DURATION, TIMESTAMP]

/** Negative, zero or positive; throws for values that have no common order. Numbers compare across types. */
export function compare(a: Value, b: Value): number {
  if (typeof a === 'bigint' && typeof b === 'bigint') return a < b ? -1 : a > b ? 1 : 0
  if (typeof a === 'string' && typeof b === 'string') return compareTexts(a, b)
  const [left, right] = [number(a), number(b)]
  if (left !== undefined && right !== undefined) return compareNumbers(left, right)
  if (typeof a === 'boolean' && typeof b === 'boolean') return Number(a) - Number(b)
  if (a instanceof Uint8Array && b instanceof Uint8Array) {
    meter.charge(Math.min(a.length, b.length) * CHARACTER)
    return Buffer.compare(a, b)
  }
  const kind = kindOf(a)
  if ((kind !== TIMESTAMP && kind !== DURATION) || kindOf(b) !== kind) throw celError('no such overload')
  const difference = nanosOf(a as ReflectMessage) - nanosOf(b as ReflectMessage)
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}

function number(value: Value): bigint | number | undefined {
  if (typeof value === 'bigint' || typeof value === 'number') return value
  return isCelUint(value) ? value.value : undefined
}

function compareNumbers(a: bigint | number, b: bigint | number): number {
  if (Number.isNaN(a) || Number.isNaN(b)) throw celError('NaN values cannot be ordered')
  const [left, right] = typeof a === typeof b ? [a, b] : [Number(a), Number(b)]
  return left < right ? -1 : left > right ? 1 : 0
}

// By code point, as Go's bytes have it: UTF-16 puts what lies beyond U+FFFF before U+E000.
function compareTexts(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  meter.charge(length * CHARACTER)
  if (a === b) return 0
  let i = 0
  while (i < length && a.charCodeAt(i) === b.charCodeAt(i)) i++
  if (i === length) return a.length - b.length
  return rank(a.charCodeAt(i)) - rank(b.charCodeAt(i))
}

const rank = (unit: number): number => (unit >= 0xe000 ? unit - 0x2000 : unit >= 0xd800 ? unit + 0x2000 : unit)

const order = (name: string, holds: (comparison: number) => boolean): Declaration =>
  declare(name, [
    overload(['any', 'any'], (a, b) => {
      if (typeof a === 'object' && !COMPARABLE.includes(kindOf(a))) throw celError(`no such overload: ${name}`)
      return holds(compare(a, b))
    }),
  ])

/** `<`, `<=`, `>`, `>=`. */
export const orderFunctions: Declaration[] = [
  order('_<_', (comparison) => comparison < 0),
  order('_<=_', (comparison) => comparison <= 0),
  order('_>_', (comparison) => comparison > 0),
  order('_>=_', (comparison) => comparison >= 0),
]
