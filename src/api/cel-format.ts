/**
 * `format()` of strings, in the English form that upstream's version of the library gives numbers: `%f` groups digits, `%e` writes ×10⁶.
 * upstream: cel-go ext/formatting.go, golang.org/x/text/message
 */
import { celError, isCelList, isCelMap, isCelUint, type CelList, type CelMap } from '@bufbuild/cel'
import { compare } from './cel-compare.ts'
import { textOf } from './cel-conversions.ts'
import { items } from './cel-equality.ts'
import { kindOf, type Value } from './cel-function.ts'
import { formatFixed } from './cel-go-text.ts'
import { CHARACTER, meter, OBJECT, PARTS } from './cel-meter.ts'
import { DURATION, TIMESTAMP } from './cel-time.ts'
import { goQuote } from './status.ts'

/** The text with its clauses replaced by the values. Throws with cel-go's text. */
export function format(text: string, values: readonly Value[]): string {
  meter.charge(text.length * CHARACTER)
  let built = ''
  let next = 0
  let i = 0
  while (i < text.length) {
    const percent = text.indexOf('%', i)
    if (percent < 0) break
    built += text.slice(i, percent)
    i = percent + 1
    if (text[i] === '%') {
      built += '%'
      i++
      continue
    }
    const value = values[next]
    if (value === undefined) throw celError(`index ${next} out of range`)
    next++
    const clause = parseClause(text.slice(i, i + MAX_CLAUSE))
    i += clause.length
    const part = formatClause(clause, value)
    meter.charge(1 + part.length * CHARACTER)
    built += part
  }
  return built + text.slice(i)
}

interface Clause {
  readonly verb: string
  readonly precision: number | undefined
  readonly length: number
}

const MAX_CLAUSE = 1000

function parseClause(rest: string): Clause {
  if (rest === '') throw celError('unexpected end of string')
  const precision = /^\.(\d*)/.exec(rest)
  if (precision === null) return { verb: rest[0] as string, precision: undefined, length: 1 }
  const digits = precision[1] as string
  const at = precision[0].length
  if (at >= rest.length) return badPrecision('could not find end of precision specifier')
  if (digits === '') return badPrecision('error while converting precision to integer: strconv.Atoi: parsing "": invalid syntax')
  if (BigInt(digits) > 9223372036854775807n) return badPrecision(`error while converting precision to integer: strconv.Atoi: parsing "${digits}": value out of range`)
  return { verb: rest[at] as string, precision: Number(digits), length: at + 1 }
}

function badPrecision(reason: string): never {
  throw celError(`could not parse formatting clause: error while parsing precision: ${reason}`)
}

const FORMATS: Record<string, (value: Value, precision: number | undefined) => string> = {
  s: formatString,
  d: formatDecimal,
  f: (value, precision = 6) => formatNumber(doubleOf(value, 'fixed-point'), precision, fixed),
  e: (value, precision = 6) => formatNumber(doubleOf(value, 'scientific'), precision, scientific),
  b: formatBinary,
  x: formatHex,
  X: (value) => formatHex(value).toUpperCase(),
  o: (value) => inBase(value, 8) ?? wrong('octal clause can only be used on integers', value),
}

function formatClause({ verb, precision }: Clause, value: Value): string {
  const of = Object.hasOwn(FORMATS, verb) ? FORMATS[verb] : undefined
  // upstream reads a byte, not a character
  if (of === undefined) throw celError(`could not parse formatting clause: unrecognized formatting clause "${String.fromCharCode(Buffer.from(verb)[0] ?? 0)}"`)
  return of(value, precision)
}

function wrong(rule: string, value: Value): never {
  throw celError(`error during formatting: ${rule}, was given ${kindOf(value)}`)
}

const STRING_RULE = 'string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps'

function formatString(value: Value): string {
  if (value === null) return 'null'
  if (isCelList(value)) return formatList(value)
  if (isCelMap(value)) return formatMap(value)
  if (kindOf(value) === 'type') return (value as { name: string }).name
  if (value instanceof Uint8Array && !Buffer.from(value).equals(Buffer.from(Buffer.from(value).toString()))) {
    throw celError('error during formatting: could not convert argument "invalid UTF-8 in bytes, cannot convert to string" to string')
  }
  return textOf(value) ?? wrong(STRING_RULE, value)
}

function formatList(list: CelList): string {
  const parts = items(list).map(formatLiteral)
  return charged(`[${parts.join(', ')}]`)
}

function formatMap(map: CelMap): string {
  meter.charge(map.size * OBJECT)
  const pairs = [...(map.entries() as Iterable<[Value, Value]>)].map(([key, value]) => [formatKey(key), formatLiteral(value)] as const)
  pairs.sort(([a], [b]) => compare(a, b))
  return charged(`{${pairs.map(([key, value]) => `${key}:${value}`).join(', ')}}`)
}

function charged(text: string): string {
  meter.charge(text.length * CHARACTER)
  return text
}

function formatKey(key: Value): string {
  if (!['string', 'bool', 'int', 'uint'].includes(kindOf(key))) throw celError(`error during formatting: no formatting function for map key of type ${kindOf(key)}`)
  return formatLiteral(key)
}

/** A value inside of a list or map: as a literal of the language. */
function formatLiteral(value: Value): string {
  const kind = kindOf(value)
  switch (kind) {
    case 'string':
      return goQuote(value as string)
    case 'bytes':
      return `b${goQuote(formatString(value))}`
    case 'double':
      return Number.isFinite(value) ? formatFixed(value as number, 6) : `"${textOf(value)}"`
    case TIMESTAMP:
      return `timestamp("${textOf(value)}")`
    case DURATION:
      return `duration("${textOf(value)}")`
    case 'list':
    case 'map':
    case 'int':
    case 'uint':
    case 'bool':
    case 'null_type':
    case 'type':
      return formatString(value)
    default:
      throw celError(`error during formatting: no formatting function for ${kind}`)
  }
}

const integerOf = (value: Value): bigint | undefined => (typeof value === 'bigint' ? value : isCelUint(value) ? value.value : undefined)
const inBase = (value: Value, base: number): string | undefined => integerOf(value)?.toString(base)

function formatDecimal(value: Value): string {
  return inBase(value, 10) ?? wrong('decimal clause can only be used on integers', value)
}

function formatBinary(value: Value): string {
  if (typeof value === 'boolean') return value ? '1' : '0'
  return inBase(value, 2) ?? wrong('only integers and bools can be formatted as binary', value)
}

function formatHex(value: Value): string {
  if (typeof value === 'string' || value instanceof Uint8Array) {
    meter.charge(value.length * CHARACTER)
    return Buffer.from(value as string).toString('hex')
  }
  return inBase(value, 16) ?? wrong('only integers, byte buffers, and strings can be formatted as hex', value)
}

function doubleOf(value: Value, clause: string): number {
  if (typeof value === 'number') return value
  if (value === 'NaN') return Number.NaN
  if (value === 'Infinity' || value === '-Infinity') return value === 'Infinity' ? Infinity : -Infinity
  return wrong(`${clause} clause can only be used on doubles`, value)
}

function formatNumber(value: number, precision: number, of: (value: number, precision: number) => string): string {
  // the library keeps a precision in eight bits
  const bits = precision % 256
  meter.charge(5 * PARTS + 2 * bits)
  return of(value, bits)
}

const special = (value: number): string => (Number.isNaN(value) ? 'NaN' : value > 0 ? '∞' : '-∞')

function fixed(value: number, precision: number): string {
  if (!Number.isFinite(value)) return special(value)
  const [whole = '', fraction] = formatFixed(value, precision).split('.')
  const grouped = whole.replace(/\B(?=(?:\d{3})+$)/g, ',')
  return fraction === undefined ? grouped : `${grouped}.${fraction}`
}

const SUPERSCRIPTS = '⁰¹²³⁴⁵⁶⁷⁸⁹'

// The precision is the width here: there are always six decimals.
function scientific(value: number, width: number): string {
  if (!Number.isFinite(value)) return special(value).padStart(width)
  const [, digits = '', sign = '', power = ''] = /^(.*)e([+-])(\d+)$/.exec((value === 0 ? 0 : value).toExponential(6)) ?? []
  const exponent = power.padStart(2, '0').replace(/\d/g, (digit) => SUPERSCRIPTS[Number(digit)] ?? '')
  return `${digits}×10${sign === '-' ? '⁻' : ''}${exponent}`.padStart(width)
}
