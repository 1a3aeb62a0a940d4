/**
 * YAML as sigs.k8s.io/yaml prints it: keys in natural order, lists not indented, plain scalars where they read back as the same
 * string, long lines folded at 80 columns.
 * upstream: sigs.k8s.io/yaml JSONToYAML, go.yaml.in/yaml/v2 encode.go (stringv), sorter.go (keyList)
 */
import { Scalar, stringify } from 'yaml'
import { Float, isObject, type Json } from './object.ts'
import { sortedKeys } from './json-encode.ts'
import { formatJsonNumber } from './status.ts'

/** Prints a value as YAML, with a newline at its end. */
export function encodeYaml(value: Json): string {
  return stringify(toNode(value), { version: '1.1', indentSeq: false, lineWidth: 80, aliasDuplicateObjects: false, sortMapEntries: false })
}

function toNode(value: Json | undefined): unknown {
  if (typeof value === 'string') return stringNode(value)
  if (value instanceof Float) return floatNode(value.value)
  if (typeof value === 'number' && !Number.isInteger(value)) return floatNode(value)
  if (Array.isArray(value)) return value.map(toNode)
  if (!isObject(value)) return value
  return new Map(sortedKeys(value).sort(compareNatural).map((key) => [stringNode(key), toNode(value[key])]))
}

function floatNode(value: number): Scalar {
  const node = new Scalar(value)
  node.source = formatJsonNumber(value)
  return node
}

// What YAML 1.1 would read as something else than a string is quoted twice, what has a meaning in YAML's syntax once.
const RESOLVES =
  /^(?:~|null|Null|NULL|true|True|TRUE|false|False|FALSE|y|Y|yes|Yes|YES|n|N|no|No|NO|on|On|ON|off|Off|OFF|<<|=|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)|[-+]?(?:0b[01_]+|0o?[0-7_]+|0x[\da-fA-F_]+|\d[\d_]*(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)|[-+]?\d[\d_]*(?::[0-5]?\d)+(?:\.[\d_]*)?|\d{4}-\d\d?-\d\d?(?:[Tt ].*)?)$/

function stringNode(text: string): Scalar {
  const node = new Scalar(text)
  if (text === '' || RESOLVES.test(text)) node.type = Scalar.QUOTE_DOUBLE
  else if (text.includes('\n') && !/[^\x20-\uffff\n]/u.test(text)) node.type = Scalar.BLOCK_LITERAL
  else if (/^[\s\-?:,[\]{}#&*!|>'"%@`]|: |:$| #|\s$/.test(text)) node.type = Scalar.QUOTE_SINGLE
  if (/^-[^\s]/.test(text) && node.type === Scalar.QUOTE_SINGLE && !/: |:$| #|\s$/.test(text)) delete node.type
  return node
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
