/**
 * YAML as sigs.k8s.io/yaml prints it: keys in natural order, lists not indented, plain scalars where they read back as the same
 * string, lines broken at the first blank behind column 80.
 * upstream: sigs.k8s.io/yaml JSONToYAML, go.yaml.in/yaml/v2 encode.go, emitterc.go
 */
import { encodeJson, sortedKeys } from './json-encode.ts'
import { Float, isObject, type Json, type JsonObject } from './object.ts'
import { formatGoFloat } from './status.ts'
import { compareNatural } from './yaml-key-order.ts'
import { analyzeScalar, escapeCharacter, styleOf, type ScalarStyle } from './yaml-scalar.ts'

/** Deeper values are printed in one line as JSON, which is YAML too: neither the stack nor the blanks before each line then grow without end. */
const MAX_BLOCK_DEPTH = 200
const BEST_INDENT = 2
const BEST_WIDTH = 80
/** A longer key, in bytes, is printed behind a question mark. */
const MAX_SIMPLE_KEY = 128

/** Prints a value as YAML, with a newline at its end. */
export function encodeYaml(value: Json): string {
  const emitter = new Emitter()
  emitter.node(value, { indent: -1, inMapping: false, depth: 0 })
  return emitter.finish()
}

interface Place {
  /** Of the collection around; -1 at the root. */
  readonly indent: number
  readonly inMapping: boolean
  readonly depth: number
}

/** upstream: emitterc.go, the part of it that block style needs */
class Emitter {
  #out = ''
  #column = 0
  // Whether the last that was written is a blank, and whether only blanks and indicators stand in the line.
  #whitespace = true
  #indention = true

  node(value: Json, place: Place): void {
    if (Array.isArray(value)) this.#list(value, place)
    else if (isObject(value)) this.#map(value, place)
    else if (typeof value === 'string') this.#scalar(value, styleOf(value, { key: false }), place.indent, true)
    else this.#scalar(scalarText(value), 'plain', place.indent, true)
  }

  finish(): string {
    // The end of the document begins a line, unless one has begun.
    return this.#indention && this.#column === 0 ? this.#out : `${this.#out}\n`
  }

  #list(items: readonly Json[], { indent, inMapping, depth }: Place): void {
    if (items.length === 0) return this.#indicator('[]', { needsBlank: true })
    if (depth >= MAX_BLOCK_DEPTH) return this.#indicator(encodeJson([...items]), { needsBlank: true })
    const own = indent < 0 ? 0 : inMapping && !this.#indention ? indent : indent + BEST_INDENT
    for (const item of items) {
      this.#startLine(own)
      this.#indicator('-', { needsBlank: true, indention: true })
      this.node(item, { indent: own, inMapping: false, depth: depth + 1 })
    }
  }

  #map(object: JsonObject, { indent, depth }: Place): void {
    const keys = sortedKeys(object).sort(compareNatural)
    if (keys.length === 0) return this.#indicator('{}', { needsBlank: true })
    if (depth >= MAX_BLOCK_DEPTH) return this.#indicator(encodeJson(object), { needsBlank: true })
    const own = indent < 0 ? 0 : indent + BEST_INDENT
    for (const key of keys) {
      this.#startLine(own)
      if (!analyzeScalar(key).multiline && Buffer.byteLength(key) <= MAX_SIMPLE_KEY) {
        this.#scalar(key, styleOf(key, { key: true }), own, false)
        this.#indicator(':', {})
      } else {
        this.#indicator('?', { needsBlank: true, indention: true })
        this.#scalar(key, styleOf(key, { key: false }), own, true)
        this.#startLine(own)
        this.#indicator(':', { needsBlank: true, indention: true })
      }
      this.node(object[key] as Json, { indent: own, inMapping: true, depth: depth + 1 })
    }
  }

  #scalar(text: string, style: ScalarStyle, around: number, foldable: boolean): void {
    const indent = around < 0 ? BEST_INDENT : around + BEST_INDENT
    if (style === 'literal') return this.#literal(text, indent)
    const quote = style === 'plain' ? '' : style === 'single' ? "'" : '"'
    if (quote !== '') this.#indicator(quote, { needsBlank: true })
    else if (!this.#whitespace) this.#put(' ')
    this.#folded([...text], style, indent, foldable)
    if (quote !== '') this.#indicator(quote, {})
    this.#whitespace = false
    this.#indention = false
  }

  // What of a scalar stands between its quotes, on one line or several.
  #folded(chars: readonly string[], style: ScalarStyle, indent: number, foldable: boolean): void {
    let afterBlank = false
    let afterBreak = false
    for (const [i, char] of chars.entries()) {
      if (char === ' ') {
        if (foldable && !afterBlank && this.#column > BEST_WIDTH && mayFold(chars, i, style)) {
          this.#startLine(indent)
          if (style === 'double' && chars[i + 1] === ' ') this.#put('\\')
        } else this.#put(char)
        afterBlank = true
        continue
      }
      if (style !== 'double' && isBreak(char)) {
        if (!afterBreak && char === '\n') this.#newLine()
        this.#newLine(char)
        this.#indention = true
        afterBreak = true
        continue
      }
      if (afterBreak) this.#startLine(indent)
      this.#put(style === 'double' ? escapeCharacter(char) : style === 'single' && char === "'" ? "''" : char)
      this.#indention = false
      afterBlank = false
      afterBreak = false
    }
  }

  #literal(text: string, indent: number): void {
    const hint = `${/^[ \n\u2028\u2029]/.test(text) ? BEST_INDENT : ''}${chomping(text)}`
    this.#indicator(`|${hint}`, { needsBlank: true })
    this.#newLine()
    this.#indention = true
    this.#whitespace = true
    let afterBreak = true
    for (const char of text) {
      if (isBreak(char)) {
        this.#newLine(char)
        this.#indention = true
        afterBreak = true
        continue
      }
      if (afterBreak) this.#startLine(indent)
      this.#put(char)
      this.#indention = false
      afterBreak = false
    }
  }

  #startLine(indent: number): void {
    if (!this.#indention || this.#column > indent || (this.#column === indent && !this.#whitespace)) this.#newLine()
    if (this.#column < indent) this.#put(' '.repeat(indent - this.#column))
    this.#whitespace = true
    this.#indention = true
  }

  #indicator(text: string, { needsBlank = false, indention = false }: { readonly needsBlank?: boolean; readonly indention?: boolean }): void {
    if (needsBlank && !this.#whitespace) this.#put(' ')
    this.#put(text)
    this.#whitespace = false
    this.#indention = this.#indention && indention
  }

  #put(text: string): void {
    this.#out += text
    this.#column += [...text].length
  }

  #newLine(char = '\n'): void {
    this.#out += char
    this.#column = 0
  }
}

const isBreak = (char: string): boolean => char === '\n' || char === '\r' || char === '\u0085' || char === '\u2028' || char === '\u2029'

function mayFold(chars: readonly string[], i: number, style: ScalarStyle): boolean {
  if (style === 'double') return i > 0 && i < chars.length - 1
  return chars[i + 1] !== ' ' && (style === 'plain' || (i > 0 && i < chars.length - 1))
}

function chomping(text: string): string {
  const chars = [...text]
  if (!isBreak(chars.at(-1) ?? '')) return '-'
  return chars.length === 1 || isBreak(chars.at(-2) as string) ? '+' : ''
}

function scalarText(value: null | boolean | number | bigint | Float): string {
  if (value instanceof Float) return floatText(value.value)
  return typeof value === 'number' && !Number.isInteger(value) ? floatText(value) : String(value)
}

const INTEGER = /^-?\d+$/

// Upstream reads its own JSON as YAML first: what stands there as an integer of 64 bits is one.
function floatText(value: number): string {
  const text = encodeJson(new Float(value))
  const integer = INTEGER.test(text) ? BigInt(text) : undefined
  const fits = integer !== undefined && (BigInt.asIntN(64, integer) === integer || BigInt.asUintN(64, integer) === integer)
  return fits ? text : formatGoFloat(value)
}
