/**
 * What a plain YAML scalar means: YAML 1.1 without sexagesimals, timestamps being strings.
 * upstream: go.yaml.in/yaml/v2 resolve.go, decode.go (decoder.scalar)
 */
import { daysIn } from './go-time.ts'
import { DecodeError } from './go-json-error.ts'
import { Float } from './object.ts'

const WORDS = new Map<string, boolean | null | number>([
  ...['y', 'Y', 'yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON'].map((word): [string, boolean] => [word, true]),
  ...['n', 'N', 'no', 'No', 'NO', 'false', 'False', 'FALSE', 'off', 'Off', 'OFF'].map((word): [string, boolean] => [word, false]),
  ...['', '~', 'null', 'Null', 'NULL'].map((word): [string, null] => [word, null]),
  ...['.nan', '.NaN', '.NAN'].map((word): [string, number] => [word, Number.NaN]),
  ...['.inf', '.Inf', '.INF', '+.inf', '+.Inf', '+.INF'].map((word): [string, number] => [word, Number.POSITIVE_INFINITY]),
  ...['-.inf', '-.Inf', '-.INF'].map((word): [string, number] => [word, Number.NEGATIVE_INFINITY]),
])

const INTEGER = /^([-+]?)(?:0[xX]([\da-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9]\d*))$/
const FLOAT = /^[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?$/

/** The value of a plain scalar: a bigint for an integer within int64 or uint64, a number for a float (NaN and infinities too). */
export function resolvePlain(text: string): string | boolean | null | number | bigint {
  const word = WORDS.get(text)
  if (word !== undefined) return word
  const first = text.charCodeAt(0)
  if (first === 0x2e) return FLOAT.test(text) ? float(text, text) : text
  if (first !== 0x2b && first !== 0x2d && !(first >= 0x30 && first <= 0x39)) return text
  const plain = text.replaceAll('_', '')
  return integer(plain) ?? (FLOAT.test(plain) ? float(plain, text) : text)
}

// Digits beyond this cannot be a uint64, and converting very many of them would take long.
const MAX_DIGITS = 100

function integer(plain: string): bigint | undefined {
  const match = plain.length > MAX_DIGITS ? null : INTEGER.exec(plain)
  if (match === null) return undefined
  const [, sign, hex, binary, octal, decimal] = match
  const digits = hex ? `0x${hex}` : binary ? `0b${binary}` : octal ? `0o${octal}` : (decimal as string)
  const value = sign === '-' ? -BigInt(digits) : BigInt(digits)
  const fits = BigInt.asIntN(64, value) === value || (sign === '' && BigInt.asUintN(64, value) === value)
  return fits ? value : undefined
}

function float(plain: string, text: string): number | string {
  const value = Number(plain)
  return Number.isFinite(value) ? value : text
}

/**
 * The JSON value of what a scalar resolved to. Upstream goes through JSON text, where an integral float is written without a
 * fraction, so that it comes back as an int64. Throws DecodeError for NaN and infinities.
 */
export function jsonScalar(value: string | boolean | null | number | bigint): string | boolean | null | number | bigint | Float {
  if (typeof value === 'bigint') {
    if (BigInt.asIntN(64, value) !== value) return new Float(Number(value))
    return Number.isSafeInteger(Number(value)) ? Number(value) : value
  }
  if (typeof value !== 'number') return value
  if (Number.isNaN(value)) throw new DecodeError('json: unsupported value: NaN')
  if (!Number.isFinite(value)) throw new DecodeError(`json: unsupported value: ${value > 0 ? '+' : '-'}Inf`)
  if (!Number.isInteger(value)) return value
  return Math.abs(value) < 1e21 ? jsonScalar(BigInt(String(value))) : new Float(value)
}

/** Whether a string must not be printed plain, since it would be read as something else. upstream: encode.go stringv, isBase60Float, parseTimestamp */
export function resolvesToOther(text: string): boolean {
  return text === '<<' || typeof resolvePlain(text) !== 'string' || BASE_60.test(text) || isTimestamp(text)
}

const BASE_60 = /^[-+]?\d[\d_]*(?::[0-5]?\d)+(?:\.[\d_]*)?$/

const TIMESTAMP = /^(\d{4})-(\d\d?)-(\d\d?)(?:[Tt](\d\d?):(\d\d?):(\d\d?)(?:[.,]\d+)?(?:Z|[+-]\d\d:\d\d)| (\d\d?):(\d\d?):(\d\d?)(?:[.,]\d+)?)?$/

function isTimestamp(text: string): boolean {
  const parts = TIMESTAMP.exec(text)?.slice(1).filter((part) => part !== undefined).map(Number)
  if (parts === undefined) return false
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts
  return month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month) && hour < 24 && minute < 60 && second < 60
}
