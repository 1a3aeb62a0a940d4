/** Durations as strings of format `duration` have them: Go's syntax, or a number with a unit in words. upstream: strfmt.ParseDuration */

const UNITS: Record<string, bigint> = {
  ns: 1n, us: 1000n, 'µs': 1000n, 'μs': 1000n, ms: 1_000_000n, s: 1_000_000_000n, m: 60_000_000_000n, h: 3_600_000_000_000n,
}
const WORDS: [RegExp, bigint][] = [
  [/^(ns|nano|nanosecond|nanoseconds)$/, 1n],
  [/^(us|µs|μs|micro|micros|microsecond|microseconds)$/, 1000n],
  [/^(ms|milli|millis|millisecond|milliseconds)$/, 1_000_000n],
  [/^(s|sec|secs|second|seconds)$/, 1_000_000_000n],
  [/^(m|min|mins|minute|minutes)$/, 60_000_000_000n],
  [/^(h|hr|hrs|hour|hours)$/, 3_600_000_000_000n],
  [/^(d|day|days)$/, 86_400_000_000_000n],
  [/^(w|wk|week|weeks)$/, 604_800_000_000_000n],
]
const MAX = 9223372036854775807n

/** Nanoseconds, undefined for what is no duration or beyond int64. */
export function parseGoDuration(text: string): bigint | undefined {
  if (text.length > 128) return undefined
  const nanos = parseUnits(text) ?? parseWords(text)
  return nanos !== undefined && nanos <= MAX && nanos >= -MAX - 1n ? nanos : undefined
}

/** Nanoseconds of a text in the syntax of Go's time.ParseDuration, of any size. */
export function parseUnits(text: string): bigint | undefined {
  const match = /^([+-]?)(0|(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)$/.exec(text)
  if (match === null) return undefined
  let nanos = 0n
  for (const [, number = '', unit = ''] of (match[2] ?? '').matchAll(/([\d.]+)([a-zµμ]+)/g)) nanos += scale(number, UNITS[unit] ?? 0n)
  return match[1] === '-' ? -nanos : nanos
}

function parseWords(text: string): bigint | undefined {
  const match = /^(\d+(?:\.\d+)?)\s*([A-Za-zµμ]+)$/.exec(text)
  const unit = match && WORDS.find(([pattern]) => pattern.test((match[2] ?? '').toLowerCase()))
  return match && unit ? scale(match[1] ?? '', unit[1]) : undefined
}

function scale(number: string, unit: bigint): bigint {
  const [whole = '', fraction = ''] = number.split('.')
  return BigInt(whole || '0') * unit + (BigInt(fraction || '0') * unit) / 10n ** BigInt(fraction.length)
}
