/**
 * Quantities such as `500m`, `2Gi` and `1e3`.
 * upstream: apimachinery/pkg/api/resource/quantity.go: ParseQuantity
 */

/** An amount in billionths: as upstream, what is finer is rounded away from zero. */
export interface Quantity {
  readonly nanos: bigint
}

const SYNTAX = /^([+-]?)(\d+(?:\.\d*)?|\.\d+)(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E|[eE][+-]?\d+)?$/
const BINARY = ['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']
const DECIMAL: Record<string, number> = { n: -9, u: -6, m: -3, '': 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 }
// Keeps the work small; no amount that upstream can hold needs more.
const MAX_LENGTH = 128
const MAX_EXPONENT = 400

/** Parses a quantity, undefined for what is none. */
export function parseQuantity(text: string): Quantity | undefined {
  const match = text.length > MAX_LENGTH ? null : SYNTAX.exec(text)
  if (match === null) return undefined
  const [, sign, number = '', suffix = ''] = match
  const [whole = '', fraction = ''] = number.split('.')
  const binary = BINARY.indexOf(suffix)
  const exponent = binary >= 0 ? 0 : (DECIMAL[suffix] ?? Number(suffix.slice(1)))
  if (Math.abs(exponent) > MAX_EXPONENT) return undefined
  const digits = BigInt(whole + fraction) * (binary >= 0 ? 1024n ** BigInt(binary + 1) : 1n)
  const nanos = shift(digits, exponent - fraction.length + 9)
  return { nanos: sign === '-' ? -nanos : nanos }
}

function shift(digits: bigint, power: number): bigint {
  if (power >= 0) return digits * 10n ** BigInt(power)
  const divisor = 10n ** BigInt(-power)
  return (digits + divisor - 1n) / divisor
}
