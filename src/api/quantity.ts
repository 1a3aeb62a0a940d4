/**
 * Quantities such as `500m`, `2Gi` and `1e3`. As upstream, a quantity is a small amount of at most 64 bits as long as it can be, since only
 * such a one is ever an integer.
 * upstream: apimachinery/pkg/api/resource/{quantity,amount,suffix}.go
 */

/** An amount: value times ten to the scale. `small`: upstream keeps it as an int64. */
export interface Quantity {
  readonly value: bigint
  readonly scale: number
  readonly small: boolean
}

const DECIMAL: Record<string, number> = { n: -9, u: -6, m: -3, '': 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 }
const BINARY: Record<string, number> = { Ki: 10, Mi: 20, Gi: 30, Ti: 40, Pi: 50, Ei: 60 }
const SYNTAX = /^([+-]?)(\d*)(?:\.(\d*))?([eEinumkKMGTP]*[-+]?\d*)$/
/** Keeps the work small; no amount that anybody writes needs more. */
const MAX_LENGTH = 1000
const NANO = -9
const MAX_INT64 = 9223372036854775807n

/** Why a text is no quantity. */
export const FORMAT_WRONG = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
const NUMBER_WRONG = 'unable to parse numeric part of quantity'
const SUFFIX_WRONG = "unable to parse quantity's suffix"

interface Suffix {
  readonly base: 2 | 10
  readonly exponent: number
}

/** Parses a quantity; the reason for a text that is none. */
export function parseQuantity(text: string): Quantity | string {
  const match = text === '' || text.length > MAX_LENGTH ? null : SYNTAX.exec(text)
  if (match === null) return FORMAT_WRONG
  const [, sign, digits = '', denominator = '', ending = ''] = match
  const suffix = parseSuffix(ending)
  if (suffix === undefined) return SUFFIX_WRONG
  const numerator = digits.replace(/^0+/, '') || '0'
  const negative = sign === '-'
  const small = smallAmount(numerator, denominator, suffix, negative)
  if (small !== undefined) return small
  // a small amount may do without any digit
  return digits + denominator === '' ? NUMBER_WRONG : largeAmount(numerator, denominator, suffix, negative)
}

function parseSuffix(text: string): Suffix | undefined {
  if (Object.hasOwn(DECIMAL, text)) return { base: 10, exponent: DECIMAL[text] as number }
  if (Object.hasOwn(BINARY, text)) return { base: 2, exponent: BINARY[text] as number }
  const exponent = /^[eE]([+-]?\d+)$/.exec(text)?.[1]
  if (exponent === undefined) return undefined
  const value = BigInt(exponent.replace('+', ''))
  // upstream keeps 32 bits of an exponent of 64
  return BigInt.asIntN(64, value) === value ? { base: 10, exponent: Number(BigInt.asIntN(32, value)) } : undefined
}

function smallAmount(numerator: string, denominator: string, { base, exponent }: Suffix, negative: boolean): Quantity | undefined {
  if (base === 2 && denominator !== '') return undefined
  const precision = base === 2 ? 14 - numerator.length - Math.trunc((exponent * 3) / 10) : 18 - numerator.length - denominator.length
  const scale = (base === 2 ? 0 : exponent) - denominator.length
  if (precision < 0 || scale < NANO) return undefined
  const value = BigInt(numerator + denominator) * (base === 2 ? 1n << BigInt(exponent) : 1n)
  return value > MAX_INT64 ? undefined : { value: negative ? -value : value, scale, small: true }
}

function largeAmount(numerator: string, denominator: string, { base, exponent }: Suffix, negative: boolean): Quantity {
  const amount = BigInt(numerator + denominator) * (base === 2 ? 1n << BigInt(exponent) : 1n)
  const rounded = roundToNano(amount, (base === 10 ? exponent : 0) - denominator.length)
  const capped = base === 2 && compareAmounts(rounded, { value: MAX_INT64, scale: 0 }) > 0 ? { value: MAX_INT64, scale: 0 } : rounded
  return { value: negative ? -capped.value : capped.value, scale: capped.scale, small: false }
}

interface Amount {
  readonly value: bigint
  readonly scale: number
}

/** What is finer than a billionth is rounded up; what is not is written in billionths, too, unless that takes too many digits. */
function roundToNano(value: bigint, scale: number): Amount {
  if (scale > MAX_LENGTH || value === 0n) return { value, scale }
  if (scale >= NANO) return { value: value * 10n ** BigInt(scale - NANO), scale: NANO }
  const places = Math.min(NANO - scale, value.toString().length + 1)
  const divisor = 10n ** BigInt(places)
  return { value: (value + divisor - 1n) / divisor, scale: NANO }
}

/** -1, 0 or 1. */
export function compareAmounts(a: Amount, b: Amount): number {
  const [left, right] = [sign(a.value), sign(b.value)]
  if (left !== right || left === 0) return Math.sign(left - right)
  // whose first digit stands higher is the greater one; only then the digits count, which are few
  const [high, low] = [magnitude(a), magnitude(b)]
  if (high !== low) return (high > low ? 1 : -1) * left
  const scale = Math.min(a.scale, b.scale)
  return sign(rescale(a, scale) - rescale(b, scale))
}

const sign = (value: bigint): number => (value > 0n ? 1 : value < 0n ? -1 : 0)
const magnitude = ({ value, scale }: Amount): number => value.toString().replace('-', '').length + scale
const rescale = ({ value, scale }: Amount, to: number): bigint => value * 10n ** BigInt(scale - to)

/** The sum. Takes as long as the scales are apart. */
export function addQuantities(a: Quantity, b: Quantity): Quantity {
  if (a.small && b.small) {
    if (b.value === 0n) return a
    if (a.value === 0n) return b
  }
  const scale = Math.min(a.scale, b.scale)
  const value = rescale(a, scale) + rescale(b, scale)
  return { value, scale, small: a.small && b.small && isInt64(rescale(a, scale)) && isInt64(rescale(b, scale)) && isInt64(value) }
}

/** The quantity with the other sign. */
export const negateQuantity = ({ value, scale, small }: Quantity): Quantity => ({ value: -value, scale, small })

const isInt64 = (value: bigint): boolean => BigInt.asIntN(64, value) === value

/** The quantity as an int64, undefined when it is none or upstream does not see it. */
export function toInteger({ value, scale, small }: Quantity): bigint | undefined {
  if (!small || scale < 0 || (scale > 18 && value !== 0n)) return undefined
  const whole = value === 0n ? 0n : value * 10n ** BigInt(scale)
  return isInt64(whole) ? whole : undefined
}

/** The quantity as a double, computed as upstream does. */
export function toFloat({ value, scale }: Quantity): number {
  return scale === 0 ? Number(value) : Number(value) * powerOfTen(scale)
}

// upstream: math.Pow10
function powerOfTen(exponent: number): number {
  if (exponent < -323) return 0
  if (exponent > 308) return Infinity
  const rest = Math.abs(exponent) % 32
  const high = Math.abs(exponent) - rest
  return exponent < 0 ? Number(`1e-${high}`) / Number(`1e${rest}`) : Number(`1e${high}`) * Number(`1e${rest}`)
}
