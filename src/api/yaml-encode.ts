/**
 * YAML as sigs.k8s.io/yaml prints it: keys in natural order, lists not indented, plain scalars where they read back as the same
 * string, long lines folded at 80 columns.
 * upstream: sigs.k8s.io/yaml JSONToYAML, go.yaml.in/yaml/v2 encode.go (stringv), sorter.go (keyList)
 */
import { Document, Pair, Scalar, YAMLMap, YAMLSeq, type ScalarTag } from 'yaml'
import { encodeJson, sortedKeys } from './json-encode.ts'
import { Float, isObject, type Json } from './object.ts'
import { formatJsonNumber } from './status.ts'
import { resolvesToOther } from './yaml-resolve.ts'

/** Deeper values are printed in one line as JSON, which is YAML too: neither the stack nor the blanks before each line then grow without end. */
const MAX_BLOCK_DEPTH = 200

/** Prints a value as YAML, with a newline at its end. */
export function encodeYaml(value: Json): string {
  const document = new Document(null, { version: '1.2', customTags: (tags) => [FLOW_TAG, ...tags] })
  document.contents = toNode(value, 0) as never
  return document.toString({ indentSeq: false, lineWidth: 80 })
}

class Flow {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

const FLOW_TAG: ScalarTag = {
  tag: 'tag:yaml.org,2002:json',
  default: true,
  identify: (value) => value instanceof Flow,
  resolve: (text) => text,
  stringify: ({ value }) => (value as Flow).text,
}

function toNode(value: Json | undefined, depth: number): Scalar | YAMLMap | YAMLSeq {
  if (depth >= MAX_BLOCK_DEPTH && (Array.isArray(value) || isObject(value))) return new Scalar(new Flow(encodeJson(value)))
  if (typeof value === 'string') return stringNode(value)
  if (value instanceof Float) return floatNode(value.value)
  if (typeof value === 'number' && !Number.isInteger(value)) return floatNode(value)
  if (Array.isArray(value)) {
    const list = new YAMLSeq()
    list.items = value.map((item) => toNode(item, depth + 1))
    return list
  }
  if (!isObject(value)) return new Scalar(value)
  const map = new YAMLMap()
  for (const key of sortedKeys(value).sort(compareNatural)) map.items.push(new Pair(stringNode(key, true), toNode(value[key], depth + 1)))
  return map
}

function floatNode(value: number): Scalar {
  const node = new Scalar(value)
  node.source = formatJsonNumber(value)
  return node
}

// upstream: go.yaml.in/yaml/v2 emitterc.go yaml_emitter_analyze_scalar
const INDICATORS = /^(?:[#,[\]{}&*!|>'"%@`]|[?:-](?:\s|$)|---|\.\.\.)|:(?:\s|$)|\s#/
const SPECIAL = /[^\n\x20-\x7e\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd]/ // oxlint-disable-line no-control-regex -- the printable are listed
const OUTER_SPACE = /^[\s]|[\s]$/

function stringNode(text: string, key = false): Scalar {
  const node = new Scalar(text)
  node.type = styleOf(text, key)
  return node
}

// Twice quoted is what would resolve, and what no other style can hold; once quoted what has a meaning in YAML's syntax.
function styleOf(text: string, key: boolean): Scalar.Type {
  if (SPECIAL.test(text) || / \n/.test(text)) return Scalar.QUOTE_DOUBLE
  if (text.includes('\n')) return key || text.endsWith(' ') || text.trim() === '' ? Scalar.QUOTE_DOUBLE : Scalar.BLOCK_LITERAL
  if (resolvesToOther(text)) return Scalar.QUOTE_DOUBLE
  return INDICATORS.test(text) || OUTER_SPACE.test(text) ? Scalar.QUOTE_SINGLE : Scalar.PLAIN
}

/** The order in which yaml/v2 prints keys: letters after everything else, digits by their number. upstream: sorter.go keyList.Less */
function compareNatural(a: string, b: string): number {
  const left = [...a]
  const right = [...b]
  for (let i = 0; i < left.length && i < right.length; i++) {
    const l = left[i] as string
    const r = right[i] as string
    if (l === r) continue
    const letters = [LETTER.test(l), LETTER.test(r)]
    if (letters[0] && letters[1]) return l < r ? -1 : 1
    if (letters[0] || letters[1]) return letters[1] ? -1 : 1
    return compareDigits(left, right, i)
  }
  return left.length - right.length
}

const LETTER = /^\p{L}$/u
const DIGIT = /^\p{Nd}$/u

function compareDigits(left: string[], right: string[], from: number): number {
  // Digits before the difference, unless all are zero, make leading zeros of the rest count.
  let lead = ''
  if (left[from] === '0' || right[from] === '0') {
    for (let j = from - 1; j >= 0 && DIGIT.test(left[j] as string); j--) if (left[j] !== '0') lead = '1'
  }
  const a = digitsFrom(left, from)
  const b = digitsFrom(right, from)
  const byValue = Number(lead + a || '0') - Number(lead + b || '0')
  if (byValue !== 0) return byValue
  if (a.length !== b.length) return a.length - b.length
  return (left[from] as string) < (right[from] as string) ? -1 : 1
}

function digitsFrom(chars: string[], from: number): string {
  let end = from
  while (end < chars.length && DIGIT.test(chars[end] as string)) end++
  return chars.slice(from, end).join('')
}
