/** Comparing JSON outputs: structure must be equal, numbers within the tolerance, strings as text. */
import { getKey, isNumber, isObject, toNumber } from '../api/object.ts'
import type { Json, JsonObject } from '../api/object.ts'
import type { OutputOptions } from './comparison-options.ts'
import { compareText } from './compare-text.ts'
import type { TextDifference } from './compare-text.ts'
import { isWithin } from './numbers.ts'

const MAX_DEPTH = 250
const MAX_PATH = 80

/** The first difference, with its path (`$.data[2].y`) before the values; undefined when they match. */
export function compareJson(expected: Json | undefined, actual: Json | undefined, options: OutputOptions): TextDifference | undefined {
  return compareAt('$', expected, actual, options, 0)
}

function compareAt(path: string, expected: Json | undefined, actual: Json | undefined, options: OutputOptions, depth: number): TextDifference | undefined {
  if (expected === actual) return undefined
  if (depth > MAX_DEPTH) return { kind: 'Text', expected: at(path, 'nested too deeply to compare') }
  if (isNumber(expected) && isNumber(actual)) {
    const [e, a] = [exact(expected), exact(actual)]
    return isWithin(e, a, options.tolerance) ? undefined : differ('Number', path, expected, actual)
  }
  if (typeof expected === 'string' && typeof actual === 'string') {
    const difference = compareText(expected, actual, options)
    return difference && { ...difference, expected: at(path, difference.expected), actual: at(path, difference.actual) }
  }
  if (Array.isArray(expected) && Array.isArray(actual)) return compareArrays(path, expected, actual, options, depth)
  if (isObject(expected) && isObject(actual)) return compareObjects(path, expected, actual, options, depth)
  return differ('Text', path, expected, actual)
}

function compareArrays(path: string, expected: readonly Json[], actual: readonly Json[], options: OutputOptions, depth: number): TextDifference | undefined {
  for (let i = 0; i < Math.max(expected.length, actual.length); i++) {
    const difference = compareAt(`${path}[${i}]`, expected[i], actual[i], options, depth + 1)
    if (difference) return difference
  }
  return undefined
}

function compareObjects(path: string, expected: JsonObject, actual: JsonObject, options: OutputOptions, depth: number): TextDifference | undefined {
  for (const key of new Set([...Object.keys(expected), ...Object.keys(actual)])) {
    const difference = compareAt(`${path}.${key.slice(0, 80)}`, getKey(expected, key), getKey(actual, key), options, depth + 1)
    if (difference) return difference
  }
  return undefined
}

function exact(value: Parameters<typeof toNumber>[0]): number | bigint {
  return typeof value === 'bigint' ? value : toNumber(value)
}

function differ(kind: 'Text' | 'Number', path: string, expected: Json | undefined, actual: Json | undefined): TextDifference {
  return { kind, expected: at(path, show(expected)), actual: at(path, show(actual)) }
}

function at(path: string, value: string | undefined): string {
  return `${path.length > MAX_PATH ? `…${path.slice(-MAX_PATH)}` : path}: ${value}`
}

function show(value: Json | undefined): string {
  if (value === undefined) return '(absent)'
  if (Array.isArray(value)) return `(list of ${value.length})`
  if (isObject(value)) return '(object)'
  return typeof value === 'string' ? JSON.stringify(value.slice(0, 200)) : String(isNumber(value) ? exact(value) : value)
}
