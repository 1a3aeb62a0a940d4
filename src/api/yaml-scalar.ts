/** How a string is written in YAML. upstream: go.yaml.in/yaml/v2 encode.go (stringv), emitterc.go (yaml_emitter_analyze_scalar, …select_scalar_style) */
import { resolvesToOther } from './yaml-resolve.ts'

export type ScalarStyle = 'plain' | 'single' | 'double' | 'literal'

interface Analysis {
  readonly multiline: boolean
  readonly plain: boolean
  readonly single: boolean
  readonly block: boolean
}

const INDICATORS = /^(?:[#,[\]{}&*!|>'"%@`]|[?:-](?:[ \t]|$)|---|\.\.\.)|:(?:[ \t]|$)|[ \t\r\n\u0085\u2028\u2029]#/
const SPECIAL = /[^\n\x20-\x7e\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd]/ // oxlint-disable-line no-control-regex -- the printable are listed
const BREAK = /[\r\n\u0085\u2028\u2029]/
const OUTER = /^[ \r\n\u0085\u2028\u2029]|[ \r\n\u0085\u2028\u2029]$/
const BLANK_AFTER_BREAK = /[\r\n\u0085\u2028\u2029] /
const BREAK_AFTER_BLANK = / [\r\n\u0085\u2028\u2029]/

/** Which styles can hold a text so that it reads back. */
export function analyzeScalar(text: string): Analysis {
  if (text === '') return { multiline: false, plain: true, single: true, block: false }
  const multiline = BREAK.test(text)
  const unsafe = SPECIAL.test(text) || BREAK_AFTER_BLANK.test(text)
  const single = !unsafe && !BLANK_AFTER_BREAK.test(text)
  return { multiline, plain: single && !multiline && !OUTER.test(text) && !INDICATORS.test(text), single, block: !unsafe && !text.endsWith(' ') }
}

/** The style of a text: the simplest that holds it, and never plain what would read back as another type. */
export function styleOf(text: string, { key }: { readonly key: boolean }): ScalarStyle {
  const { multiline, plain, single, block } = analyzeScalar(text)
  if (key && multiline) return 'double'
  if (text.includes('\n')) return block && !key ? 'literal' : 'double'
  if (resolvesToOther(text)) return 'double'
  if (plain && !(text === '' && key)) return 'plain'
  return single ? 'single' : 'double'
}

const SHORT: Readonly<Record<string, string>> = {
  '\0': '\\0', '\u0007': '\\a', '\b': '\\b', '\t': '\\t', '\n': '\\n', '\v': '\\v', '\f': '\\f', '\r': '\\r', '\u001b': '\\e', '"': '\\"', '\\': '\\\\',
  '\u0085': '\\N', '\u00a0': '\\_', '\u2028': '\\L', '\u2029': '\\P',
}

/** A character between double quotes. */
export function escapeCharacter(char: string): string {
  if (!SPECIAL.test(char) && !/["\\\n\u2028\u2029]/.test(char)) return char
  const known = SHORT[char]
  if (known !== undefined) return known
  const code = char.codePointAt(0) as number
  const hex = (digits: number): string => code.toString(16).toUpperCase().padStart(digits, '0')
  return code <= 0xff ? `\\x${hex(2)}` : code <= 0xffff ? `\\u${hex(4)}` : `\\U${hex(8)}`
}
