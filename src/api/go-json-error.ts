/**
 * The texts of Go's encoding/json for input that is no JSON.
 * upstream: encoding/json/scanner.go (SyntaxError, quoteChar, scanner.eof)
 */
import { goQuote } from './status.ts'

/** A body that cannot be decoded; `message` is the inner text that upstream wraps into its 400. */
export class DecodeError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'DecodeError'
  }
}

/** Where in a document a character was refused: the end of `invalid character 'x' <context>`. */
export type SyntaxContext =
  | 'looking for beginning of value'
  | 'looking for beginning of object key string'
  | 'after object key'
  | 'after object key:value pair'
  | 'after array element'
  | 'after top-level value'
  | 'in string literal'
  | 'in string escape code'
  | 'in \\u hexadecimal character escape'
  | 'in numeric literal'
  | 'after decimal point in numeric literal'
  | 'in exponent of numeric literal'
  | 'exceeded max depth'
  | `in literal ${string}`

// The contexts in which the blank that Go feeds at the end of the input is no error of its own.
const BLANK_ALLOWED = new Set<SyntaxContext>([
  'looking for beginning of value',
  'looking for beginning of object key string',
  'after object key',
  'after object key:value pair',
  'after array element',
  'in string literal',
])

/** The error for the character at `at` (an index of UTF-16 units), or for the end of the input there. */
export function syntaxError(text: string, at: number, context: SyntaxContext): DecodeError {
  if (at < text.length) return new DecodeError(`invalid character ${quoteChar(firstByte(text, at))} ${context}`)
  if (BLANK_ALLOWED.has(context)) return new DecodeError('unexpected end of JSON input')
  return new DecodeError(`invalid character ' ' ${context}`)
}

// Go looks at bytes: of a character beyond ASCII it names the first byte of its UTF-8 form, as if that were a character.
function firstByte(text: string, at: number): string {
  const code = text.codePointAt(at) ?? 0
  if (code < 0x80) return String.fromCharCode(code)
  if (code < 0x800) return String.fromCharCode(0xc0 | (code >> 6))
  return String.fromCharCode(code < 0x10000 ? 0xe0 | (code >> 12) : 0xf0 | (code >> 18))
}

function quoteChar(char: string): string {
  if (char === "'") return "'\\''"
  if (char === '"') return `'"'`
  return `'${goQuote(char).slice(1, -1)}'`
}

/** The JSON kind of a value as Go's UnmarshalTypeError names it. */
export function jsonKind(value: unknown): 'string' | 'number' | 'bool' | 'array' | 'object' | 'null' {
  if (value === null || value === undefined) return 'null'
  if (typeof value === 'string') return 'string'
  if (typeof value === 'boolean') return 'bool'
  if (Array.isArray(value)) return 'array'
  return typeof value === 'object' && Object.getPrototypeOf(value) === Object.prototype ? 'object' : 'number'
}
