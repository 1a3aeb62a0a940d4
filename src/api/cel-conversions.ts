/**
 * Conversions between types, `type` and `dyn`.
 * upstream: cel-go common/types/*.go ConvertToType, common/stdlib/standard.go
 */
import { celError, celType, celUint } from '@bufbuild/cel'
import { int, uint } from './cel-arithmetic.ts'
import { declare, kindOf, overload, type Declaration, type Value } from './cel-function.ts'
import { formatDouble } from './cel-go-text.ts'
import { CHARACTER, meter } from './cel-meter.ts'
import { DURATION, formatDuration, formatTimestamp, nanosOf, parseDuration, parseTimestamp, TIMESTAMP, timestampOf } from './cel-time.ts'

const failed = (from: string, to: string): never => {
  throw celError(`type conversion error from '${from}' to '${to}'`)
}

const INTEGER = /^[+-]?\d+$/
// Go's float syntax: decimal or hexadecimal, with underscores between digits.
const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/
const SPECIAL = /^([+-]?)(inf|infinity|nan)$/i

function toInt(text: string): bigint {
  meter.charge(text.length * CHARACTER)
  const value = INTEGER.test(text) ? BigInt(short(text)) : undefined
  return value === undefined || BigInt.asIntN(64, value) !== value ? failed('string', 'int') : value
}

// What is longer than any int without its zeros is none, and not worth a conversion.
function short(text: string): string {
  const [, sign = '', digits = ''] = /^([+-]?)0*(\d*)$/.exec(text) ?? []
  return `${sign === '-' ? '-' : ''}${digits === '' ? '0' : digits.slice(0, 21)}`
}

function toUint(text: string): Value {
  meter.charge(text.length * CHARACTER)
  const value = /^\d+$/.test(text) ? BigInt(short(text)) : undefined
  return value === undefined || BigInt.asUintN(64, value) !== value ? failed('string', 'uint') : celUint(value)
}

function toDouble(text: string): number {
  meter.charge(text.length * CHARACTER)
  const special = SPECIAL.exec(text)
  if (special !== null) return /nan/i.test(text) ? (special[1] === '' ? Number.NaN : failed('string', 'double')) : special[1] === '-' ? -Infinity : Infinity
  const digits = text.replace(/(?<=\d)_(?=\d)/g, '')
  const value = DECIMAL.test(digits) ? Number(digits) : parseHexadecimal(digits)
  // Go has no infinity for what is too large
  return value === undefined || !Number.isFinite(value) ? failed('string', 'double') : value
}

function parseHexadecimal(text: string): number | undefined {
  const match = /^([+-]?)0[xX](?:([\da-fA-F]{1,12})\.?|([\da-fA-F]{0,6})\.([\da-fA-F]{1,6}))[pP]([+-]?\d{1,4})$/.exec(text)
  if (match === null) return undefined
  const [, sign, whole = match[3] ?? '', , fraction = '', exponent] = match
  return (sign === '-' ? -1 : 1) * Number.parseInt(`0${whole}${fraction}`, 16) * 2 ** (Number(exponent) - 4 * fraction.length)
}

const TRUE = ['1', 't', 'T', 'TRUE', 'true', 'True']
const FALSE = ['0', 'f', 'F', 'FALSE', 'false', 'False']

const toBool = (text: string): boolean => (TRUE.includes(text) ? true : FALSE.includes(text) ? false : failed('string', 'bool'))

// Beyond these a double is no int any more; the limits themselves are not taken, for they may have been rounded.
function doubleToInt(value: number): bigint {
  if (!(value > -(2 ** 63) && value < 2 ** 63)) throw celError('integer overflow')
  return BigInt(Math.trunc(value))
}

function doubleToUint(value: number): Value {
  if (!(value >= 0 && value < 2 ** 64)) throw celError('unsigned integer overflow')
  return celUint(BigInt(Math.trunc(value)))
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Bytes as text; throws for what is no UTF-8. */
export function decode(bytes: Uint8Array): string {
  meter.charge(bytes.length * CHARACTER)
  try {
    return decoder.decode(bytes)
  } catch {
    throw celError('invalid UTF-8 in bytes, cannot convert to string')
  }
}

function encode(text: string): Uint8Array {
  meter.charge(text.length * CHARACTER)
  return new TextEncoder().encode(text)
}

/** A value of a type that has a text, as `string()` gives it; undefined for any other. */
export function textOf(value: Value): string | undefined {
  switch (typeof value) {
    case 'string':
      return value
    case 'boolean':
    case 'bigint':
      return String(value)
    case 'number':
      return formatDouble(value)
    default:
      if (value instanceof Uint8Array) return decode(value)
      if (kindOf(value) === 'uint') return String((value as { value: bigint }).value)
      if (kindOf(value) === TIMESTAMP) return formatTimestamp(value as never)
      return kindOf(value) === DURATION ? formatDuration(value as never) : undefined
  }
}

const texts = (['string', 'bool', 'int', 'uint', 'double', 'bytes', TIMESTAMP, DURATION] as const).map((kind) => overload([kind], (value) => textOf(value as Value)))

/** The conversions; further types with a text are added by `string`. */
export const conversionFunctions = (string: Declaration['overloads']): Declaration[] => [
  declare('int', [
    overload(['int'], (value) => value),
    overload(['uint'], (value) => int(value.value)),
    overload(['double'], doubleToInt),
    overload(['string'], toInt),
    overload([TIMESTAMP], (value) => floor(nanosOf(value))),
    overload([DURATION], (value) => nanosOf(value)),
  ]),
  declare('uint', [overload(['uint'], (value) => value), overload(['int'], (value) => uint(value)), overload(['double'], doubleToUint), overload(['string'], toUint)]),
  declare('double', [
    overload(['double'], (value) => value),
    overload(['int'], (value) => Number(value)),
    overload(['uint'], (value) => Number(value.value)),
    overload(['string'], toDouble),
  ]),
  declare('bool', [overload(['bool'], (value) => value), overload(['string'], toBool)]),
  declare('bytes', [overload(['bytes'], (value) => value), overload(['string'], encode)]),
  declare('string', [...texts, ...string]),
  declare('timestamp', [
    overload([TIMESTAMP], (value) => value),
    overload(['string'], (text) => parseTimestamp(text) ?? failed('string', TIMESTAMP)),
    overload(['int'], (seconds) => timestampOf(seconds * 1_000_000_000n)),
  ]),
  declare('duration', [
    overload([DURATION], (value) => value),
    overload(['string'], (text) => parseDuration(text) ?? failed('string', DURATION)),
    overload(['int'], () => failed('int', DURATION)),
  ]),
  declare('type', [overload(['any'], (value) => celType(value))]),
  declare('dyn', [overload(['any'], (value) => value)]),
]

const SECOND = 1_000_000_000n
const floor = (nanos: bigint): bigint => (nanos - (((nanos % SECOND) + SECOND) % SECOND)) / SECOND
