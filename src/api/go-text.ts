/**
 * Text as Go makes it: order of strings, numbers and quotes.
 * upstream: strconv/{quote,ftoa}.go, encoding/json/encode.go, fmt
 */

/** Sorts strings by their UTF-8 bytes, as Go does (UTF-16 order differs only beyond the basic plane). Sorts in place and returns its argument. */
export function sortKeys(keys: string[]): string[] {
  return keys.sort(compareBytes)
}

const SURROGATE = /[\ud800-\udfff]/

/** Compares two strings by their UTF-8 bytes. */
export function compareBytes(a: string, b: string): number {
  if (SURROGATE.test(a) || SURROGATE.test(b)) return Buffer.compare(Buffer.from(a), Buffer.from(b))
  return a < b ? -1 : a > b ? 1 : 0
}

const ESCAPED = /[<>&\u2028\u2029]/g
const escapes: Record<string, string> = { '<': '\\u003c', '>': '\\u003e', '&': '\\u0026', '\u2028': '\\u2028', '\u2029': '\\u2029' }

/** A JSON string as Go's encoding/json writes it, with HTML escaping. */
export function goJsonString(value: string): string {
  return JSON.stringify(value).replace(ESCAPED, (c) => escapes[c] ?? c)
}

/** A float as Go's encoding/json writes it: exponent form only below 1e-6 and from 1e21. */
export function formatJsonNumber(value: number): string {
  // JS uses the same thresholds and the same exponent form (1e-7, 1e+21).
  return Object.is(value, -0) ? '-0' : String(value)
}

/** A float as Go's %v as field errors show it: shortest digits, exponent form below 1e-4 and from 1e6. */
export function formatGoFloat(value: number): string {
  if (Number.isNaN(value)) return 'NaN'
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf'
  if (value === 0) return Object.is(value, -0) ? '-0' : '0'
  const [digits = '0', exponentText = '0'] = value.toExponential().split('e')
  const exponent = Number(exponentText)
  if (exponent >= -4 && exponent < 6) return plainDecimal(value)
  const magnitude = Math.abs(exponent)
  return `${digits}e${exponent < 0 ? '-' : '+'}${magnitude < 10 ? '0' : ''}${magnitude}`
}

function plainDecimal(value: number): string {
  const text = String(value)
  return text.includes('e') ? value.toFixed(20).replace(/0+$/, '').replace(/\.$/, '') : text
}

const QUOTED: Record<string, string> = { '\x07': '\\a', '\b': '\\b', '\f': '\\f', '\n': '\\n', '\r': '\\r', '\t': '\\t', '\v': '\\v', '\\': '\\\\', '"': '\\"' }

const PLAIN_ASCII = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/

/** A string as Go's %q. */
export function goQuote(value: string): string {
  if (PLAIN_ASCII.test(value)) return `"${value}"`
  let out = '"'
  for (const char of value) {
    const code = char.codePointAt(0) ?? 0
    const quoted = QUOTED[char]
    if (quoted !== undefined) out += quoted
    else if (code < 0x20 || code === 0x7f) out += `\\x${code.toString(16).padStart(2, '0')}`
    else if (isPrintable(char)) out += char
    else if (code < 0x10000) out += `\\u${code.toString(16).padStart(4, '0')}`
    else out += `\\U${code.toString(16).padStart(8, '0')}`
  }
  return `${out}"`
}

const PRINTABLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u

/** Whether Go's strconv.IsPrint holds for a character: letters, marks, numbers, punctuation, symbols and the space. */
export function isPrintable(char: string): boolean {
  return PRINTABLE.test(char)
}
