/**
 * JSON as Python's json module writes it: notebooks may hold NaN, Infinity and integers of any size, which JSON.parse
 * refuses or rounds. Everything else follows RFC 8259.
 */
import { setKey } from '../api/object.ts'
import type { Json, JsonObject } from '../api/object.ts'

const MAX_DEPTH = 200
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y
const SPACE = /[ \t\n\r]*/y
const MAX_INTEGER_DIGITS = 400
const LITERALS: readonly (readonly [string, Json])[] = [
  ['true', true],
  ['false', false],
  ['null', null],
  ['NaN', Number.NaN],
  ['Infinity', Infinity],
  ['-Infinity', -Infinity],
]

type Cursor = { readonly text: string; at: number }

/**
 * Parses a document. Integers beyond 2^53 are bigints. Of a duplicate key the last value counts. Throws a SyntaxError
 * with the offset in its message, also for nesting deeper than 200.
 */
export function parsePythonJson(text: string): Json {
  const cursor: Cursor = { text, at: 0 }
  const value = parseValue(cursor, 0)
  skipSpace(cursor)
  if (cursor.at < text.length) fail(cursor, 'unexpected text after the document')
  return value
}

function parseValue(cursor: Cursor, depth: number): Json {
  if (depth > MAX_DEPTH) fail(cursor, `nesting deeper than ${MAX_DEPTH}`)
  skipSpace(cursor)
  switch (cursor.text[cursor.at]) {
    case '{':
      return parseObject(cursor, depth)
    case '[':
      return parseArray(cursor, depth)
    case '"':
      return parseString(cursor)
    default:
      return parseScalar(cursor)
  }
}

function parseObject(cursor: Cursor, depth: number): JsonObject {
  const object: JsonObject = {}
  cursor.at++
  if (takes(cursor, '}')) return object
  for (;;) {
    skipSpace(cursor)
    if (cursor.text[cursor.at] !== '"') fail(cursor, 'expected a key')
    const key = parseString(cursor)
    if (!takes(cursor, ':')) fail(cursor, 'expected ":"')
    setKey(object, key, parseValue(cursor, depth + 1))
    if (takes(cursor, '}')) return object
    if (!takes(cursor, ',')) fail(cursor, 'expected "," or "}"')
  }
}

function parseArray(cursor: Cursor, depth: number): Json[] {
  const array: Json[] = []
  cursor.at++
  if (takes(cursor, ']')) return array
  for (;;) {
    array.push(parseValue(cursor, depth + 1))
    if (takes(cursor, ']')) return array
    if (!takes(cursor, ',')) fail(cursor, 'expected "," or "]"')
  }
}

function parseString(cursor: Cursor): string {
  const start = cursor.at
  let end = start + 1
  for (;;) {
    end = cursor.text.indexOf('"', end)
    if (end < 0) fail(cursor, 'unterminated string')
    let slashes = 0
    while (cursor.text[end - 1 - slashes] === '\\') slashes++
    end++
    if (slashes % 2 === 0) break
  }
  cursor.at = end
  try {
    return JSON.parse(cursor.text.slice(start, end)) as string
  } catch {
    return fail({ ...cursor, at: start }, 'malformed string')
  }
}

function parseScalar(cursor: Cursor): Json {
  for (const [literal, value] of LITERALS) {
    if (cursor.text.startsWith(literal, cursor.at)) {
      cursor.at += literal.length
      return value
    }
  }
  NUMBER.lastIndex = cursor.at
  const match = NUMBER.exec(cursor.text)?.[0]
  if (match === undefined) return fail(cursor, 'expected a value')
  cursor.at += match.length
  const value = Number(match)
  const exact = !Number.isInteger(value) || Number.isSafeInteger(value) || match.length > MAX_INTEGER_DIGITS || /[.eE]/.test(match)
  return exact ? value : BigInt(match)
}

function takes(cursor: Cursor, character: string): boolean {
  skipSpace(cursor)
  if (cursor.text[cursor.at] !== character) return false
  cursor.at++
  return true
}

function skipSpace(cursor: Cursor): void {
  SPACE.lastIndex = cursor.at
  cursor.at += SPACE.exec(cursor.text)![0].length
}

function fail(cursor: Cursor, problem: string): never {
  throw new SyntaxError(`${problem} at offset ${cursor.at}`)
}
