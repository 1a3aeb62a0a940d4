/**
 * Functions of strings, which count in code points. All are charged before they begin, by what they read and what they will make.
 * upstream: cel-go ext/strings.go (version 2), common/stdlib/standard.go
 */
import { celError, type CelList } from '@bufbuild/cel'
import { items } from './cel-equality.ts'
import { format } from './cel-format.ts'
import { declare, member, overload, type Declaration } from './cel-function.ts'
import { formatValue } from './cel-go-text.ts'
import { CHARACTER, ITEM, meter } from './cel-meter.ts'
import { JoinedList } from './cel-values.ts'

const SURROGATE = /[\ud800-\udfff]/

/** The code points of a text: how many, where the one with a number begins, and the number of the one that begins somewhere. */
interface Places {
  readonly length: number
  unit(index: number): number
  index(unit: number): number
}

// Texts of the first plane need no table.
function places(text: string): Places {
  meter.charge(1 + text.length * CHARACTER)
  if (!SURROGATE.test(text)) return { length: text.length, unit: (index) => index, index: (unit) => unit }
  meter.charge(text.length)
  const starts: number[] = []
  for (let unit = 0; unit < text.length; unit += (text.codePointAt(unit) ?? 0) > 0xffff ? 2 : 1) starts.push(unit)
  return { length: starts.length, unit: (index) => starts[index] ?? text.length, index: (unit) => codePoints(text.slice(0, unit)) }
}

/** The number of code points. */
export function codePoints(text: string): number {
  meter.charge(1 + text.length * CHARACTER)
  if (!SURROGATE.test(text)) return text.length
  meter.charge(text.length * CHARACTER)
  let pairs = 0
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit >= 0xd800 && unit < 0xdc00) pairs++
  }
  return text.length - pairs
}

const outOfRange = (index: bigint): never => {
  throw celError(`index out of range: ${index}`)
}

/** `index` as a number, when it lies within 0 and `length`. */
const within = (index: bigint, length: number): number => (index < 0n || index > BigInt(length) ? outOfRange(index) : Number(index))

function charAt(text: string, index: bigint): string {
  const table = places(text)
  const i = within(index, table.length)
  return text.slice(table.unit(i), table.unit(i + 1))
}

/** What a search may take at most. upstream: contains in the cost model */
function chargeSearch(text: string, part: string): void {
  meter.charge(1 + text.length * CHARACTER * (1 + part.length * CHARACTER))
}

function indexOf(text: string, part: string, from: bigint): bigint {
  if (part === '') return from
  chargeSearch(text, part)
  if (from < 0n) outOfRange(from)
  const table = places(text)
  if (from >= BigInt(table.length)) return -1n
  const unit = text.indexOf(part, table.unit(Number(from)))
  return unit < 0 ? -1n : BigInt(table.index(unit))
}

function lastIndexOf(text: string, part: string, from?: bigint): bigint {
  if (part === '') return from ?? BigInt(codePoints(text))
  chargeSearch(text, part)
  if (from !== undefined && from < 0n) outOfRange(from)
  const table = places(text)
  if (from !== undefined && from >= BigInt(table.length)) return -1n
  const unit = text.lastIndexOf(part, from === undefined ? text.length : table.unit(Number(from)))
  return unit < 0 ? -1n : BigInt(table.index(unit))
}

function substring(text: string, start: bigint, end?: bigint): string {
  if (end !== undefined && start > end) throw celError(`invalid substring range. start: ${start}, end: ${end}`)
  const table = places(text)
  const first = within(start, table.length)
  const last = end === undefined ? table.length : within(end, table.length)
  return text.slice(table.unit(first), table.unit(last))
}

// upstream: strings.Replace
function replace(text: string, part: string, by: string, limit: bigint): string {
  if (limit === 0n) return text
  chargeSearch(text, part)
  if (part === '') return replaceBetween(text, by, limit)
  const pieces = split(text, part, limit < 0n ? -1n : limit + 1n)
  meter.charge((text.length + (pieces.length - 1) * by.length) * CHARACTER)
  return pieces.join(by)
}

// An empty part stands before each code point and at the end.
function replaceBetween(text: string, by: string, limit: bigint): string {
  const points = [...text]
  const times = limit < 0n || limit > BigInt(points.length + 1) ? points.length + 1 : Number(limit)
  meter.charge((text.length + times * by.length) * CHARACTER + points.length * ITEM)
  return points.map((point, i) => (i < times ? by + point : point)).join('') + (times > points.length ? by : '')
}

// upstream: strings.SplitN: the last piece is the rest
function split(text: string, separator: string, limit: bigint): string[] {
  if (limit === 0n) return []
  chargeSearch(text, separator)
  if (separator === '') return explode(text, limit)
  const pieces: string[] = []
  let start = 0
  for (let end = text.indexOf(separator); end >= 0 && (limit < 0n || BigInt(pieces.length + 1) < limit); end = text.indexOf(separator, start)) {
    meter.charge(ITEM)
    pieces.push(text.slice(start, end))
    start = end + separator.length
  }
  pieces.push(text.slice(start))
  return pieces
}

function explode(text: string, limit: bigint): string[] {
  const points = [...text]
  meter.charge(points.length * ITEM)
  if (limit < 0n || BigInt(points.length) <= limit) return points
  const last = Number(limit) - 1
  return [...points.slice(0, last), points.slice(last).join('')]
}

function join(list: CelList, separator: string): string {
  const texts = items(list)
  const length = texts.reduce((sum: number, text) => sum + (typeof text === 'string' ? text.length : invalid(text)), separator.length * Math.max(texts.length - 1, 0))
  meter.charge(length * CHARACTER)
  return texts.join(separator)
}

const invalid = (value: Parameters<typeof formatValue>[0]): never => {
  throw celError(`join: invalid input: ${formatValue(value)}`)
}

/** unicode.IsSpace, which differs from JavaScript's white space in U+0085 and U+FEFF. */
const SPACE = '[\\t\\n\\v\\f\\r \\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]'
const LEADING = new RegExp(`^${SPACE}+`)
const SPACES = new RegExp(SPACE)

/** upstream: strings.TrimSpace */
export function trimSpace(text: string): string {
  let end = text.length
  while (end > 0 && SPACES.test(text[end - 1] as string)) end--
  return text.slice(0, end).replace(LEADING, '')
}

const ESCAPES: Record<string, string> = { '\x07': '\\a', '\b': '\\b', '\f': '\\f', '\n': '\\n', '\r': '\\r', '\t': '\\t', '\v': '\\v', '\\': '\\\\', '"': '\\"' }

// oxlint-disable-next-line no-control-regex -- control characters are what is escaped
const quote = (text: string): string => `"${text.replace(/[\x07\b\f\n\r\t\v\\"]/g, (char) => ESCAPES[char] ?? char)}"`

/** A function of one text whose result is about as long. */
const mapping = (name: string, of: (text: string) => string): Declaration =>
  declare(name, [
    member(['string'], (text) => {
      meter.charge(1 + text.length * CHARACTER)
      return of(text)
    }),
  ])

const searching = (name: string, of: (text: string, part: string) => boolean): Declaration =>
  declare(
    name,
    [
      member(['string', 'string'], (text, part) => {
        meter.charge(1 + part.length * CHARACTER)
        return of(text, part)
      }),
    ],
    'plain',
  )

const STRINGS = { items: ['string'] } as const

/** The functions of strings. */
export const stringFunctions: Declaration[] = [
  searching('startsWith', (text, prefix) => text.startsWith(prefix)),
  searching('endsWith', (text, suffix) => text.endsWith(suffix)),
  searching('contains', (text, part) => {
    chargeSearch(text, part)
    return text.includes(part)
  }),
  declare('charAt', [member(['string', 'int'], charAt)]),
  declare('substring', [member(['string', 'int'], (text, start) => substring(text, start)), member(['string', 'int', 'int'], substring)]),
  declare('split', [
    member(['string', 'string'], (text, separator) => new JoinedList(split(text, separator, -1n))),
    member(['string', 'string', 'int'], (text, separator, limit) => new JoinedList(split(text, separator, limit))),
  ]),
  declare('replace', [
    member(['string', 'string', 'string'], (text, part, by) => replace(text, part, by, -1n)),
    member(['string', 'string', 'string', 'int'], replace),
  ]),
  declare('join', [member([STRINGS], (list) => join(list, '')), member([STRINGS, 'string'], join)]),
  declare('format', [member(['string', 'list'], (text, values) => format(text, items(values)))]),
  declare('strings.quote', [overload(['string'], (text) => (meter.charge(text.length * CHARACTER), quote(text)))]),
  mapping('lowerAscii', (text) => text.replace(/[A-Z]+/g, (part) => part.toLowerCase())),
  mapping('upperAscii', (text) => text.replace(/[a-z]+/g, (part) => part.toUpperCase())),
  mapping('trim', trimSpace),
]

/** indexOf and lastIndexOf of strings; lists have them, too. */
export const stringIndexes = {
  indexOf: [member(['string', 'string'], (text, part) => indexOf(text, part, 0n)), member(['string', 'string', 'int'], indexOf)],
  lastIndexOf: [member(['string', 'string'], (text, part) => lastIndexOf(text, part)), member(['string', 'string', 'int'], lastIndexOf)],
}
