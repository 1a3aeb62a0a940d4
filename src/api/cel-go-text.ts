/** Go's texts of values, as they stand in messages and conversions. upstream: strconv/ftoa.go, fmt %v */

/** strconv.FormatFloat(value, 'g', -1, 64); from `maxExponent` on with an exponent: 21 as in `%v`, else 6. */
export function formatDouble(value: number, maxExponent = 6): string {
  if (Number.isNaN(value)) return 'NaN'
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf'
  if (value === 0) return Object.is(value, -0) ? '-0' : '0'
  const [digits = '', power = ''] = Math.abs(value).toExponential().split('e')
  const exponent = Number(power)
  const sign = value < 0 ? '-' : ''
  const figures = digits.replace('.', '')
  if (exponent < -4 || exponent >= maxExponent) return `${sign}${digits}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`
  return sign + plain(figures, exponent)
}

/** strconv.FormatFloat(value, 'f', -1, 64) of a finite value. */
export function formatPlain(value: number): string {
  if (value === 0) return '0'
  const [digits = '', power = ''] = Math.abs(value).toExponential().split('e')
  return (value < 0 ? '-' : '') + plain(digits.replace('.', ''), Number(power))
}

function plain(figures: string, exponent: number): string {
  if (exponent < 0) return `0.${'0'.repeat(-exponent - 1)}${figures}`
  if (figures.length <= exponent + 1) return figures.padEnd(exponent + 1, '0')
  return `${figures.slice(0, exponent + 1)}.${figures.slice(exponent + 1)}`
}

/** A finite double with `places` decimals, as its exact value rounds (half to even): fmt `%.*f`, without the sign of zero. */
export function formatFixed(value: number, places: number): string {
  const [mantissa, exponent] = split(Math.abs(value))
  const scaled = mantissa * 10n ** BigInt(places)
  const digits = (exponent >= 0 ? scaled << BigInt(exponent) : divideEven(scaled, 1n << BigInt(-exponent))).toString().padStart(places + 1, '0')
  const whole = digits.slice(0, digits.length - places)
  return `${value < 0 ? '-' : ''}${whole}${places > 0 ? `.${digits.slice(-places)}` : ''}`
}

/** A double as whole mantissa and power of two. */
function split(value: number): [bigint, number] {
  const view = new DataView(new ArrayBuffer(8))
  view.setFloat64(0, value)
  const bits = view.getBigUint64(0)
  const power = Number((bits >> 52n) & 0x7ffn)
  const fraction = bits & 0xfffffffffffffn
  return power === 0 ? [fraction, -1074] : [fraction | 0x10000000000000n, power - 1075]
}

function divideEven(dividend: bigint, divisor: bigint): bigint {
  const quotient = dividend / divisor
  const twice = (dividend % divisor) * 2n
  return twice > divisor || (twice === divisor && quotient % 2n === 1n) ? quotient + 1n : quotient
}

/** A value as fmt's `%v` shows it; of what has no plain text, its kind. */
export function formatValue(value: unknown): string {
  if (typeof value === 'number') return formatDouble(value, 21)
  if (typeof value === 'object' && value !== null && 'value' in value && typeof value.value === 'bigint') return String(value.value)
  return String(value)
}
