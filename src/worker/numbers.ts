/** Numbers in notebook outputs: finding them in text and comparing them with a tolerance. */

import type { Offsets } from './text-diff.ts'

/** How far an actual number may be from the expected one. Both finite and ≥ 0. */
export type Tolerance = { readonly absolute: number; readonly relative: number }

/** Only equal numbers are equal. */
export const NO_TOLERANCE: Tolerance = { absolute: 0, relative: 0 }

const DECIMAL = /^[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,2})?$/

/** A decimal string of the API (`"1e-8"`) as a number; undefined when it is none. */
export function parseDecimal(text: string): number | undefined {
  return text.length <= 1024 && DECIMAL.test(text) && Number.isFinite(Number(text)) ? Number(text) : undefined
}

/** |actual − expected| ≤ absolute + relative·|expected|; NaN equals NaN and an infinity itself. */
export function isWithin(expected: number | bigint, actual: number | bigint, tolerance: Tolerance): boolean {
  if (typeof expected === 'bigint' && typeof actual === 'bigint') {
    const distance = expected < actual ? actual - expected : expected - actual
    return distance === 0n || Number(distance) <= tolerance.absolute + tolerance.relative * Math.abs(Number(expected))
  }
  const [e, a] = [Number(expected), Number(actual)]
  if (Object.is(e, a) || e === a) return true
  if (!Number.isFinite(e) || !Number.isFinite(a)) return false
  return Math.abs(a - e) <= tolerance.absolute + tolerance.relative * Math.abs(e)
}

// Runs of characters that may belong to one number. What is not a number as a whole (v1.2, 2024-01-31, 3fa9c) is text.
const RUN = /[0-9A-Za-z_.+-]+/g
const NUMBER = /^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/
const WITH_UNIT = /^([+-]?[0-9]*\.[0-9]+(?:[eE][+-]?[0-9]+)?)([A-Za-z]{1,3})$/
const COMPLEX = /^([+-]?[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?)([+-][0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?)j$/
const SPECIAL = /^[+-]?(?:nan|inf|infinity)$/i
const MAX_TOKEN = 400

type Token = { readonly numbers: readonly (number | bigint)[]; readonly suffix: string }

function parseToken(run: string): Token | undefined {
  if (run.length > MAX_TOKEN) return undefined
  if (NUMBER.test(run)) return { numbers: [parseNumber(run)], suffix: '' }
  if (SPECIAL.test(run)) return { numbers: [parseSpecial(run)], suffix: '' }
  const unit = WITH_UNIT.exec(run)
  if (unit) return { numbers: [Number(unit[1])], suffix: unit[2]! }
  const complex = COMPLEX.exec(run)
  if (complex) return { numbers: [Number(complex[1]), Number(complex[2])], suffix: 'j' }
  // The full stop of a sentence.
  return run.endsWith('.') && NUMBER.test(run.slice(0, -1)) ? { numbers: [parseNumber(run.slice(0, -1))], suffix: '.' } : undefined
}

function parseNumber(text: string): number | bigint {
  const value = Number(text)
  return Number.isInteger(value) && !Number.isSafeInteger(value) && /^[+-]?[0-9]+$/.test(text) ? BigInt(text.replace('+', '')) : value
}

function parseSpecial(text: string): number {
  if (/nan/i.test(text)) return Number.NaN
  return text.startsWith('-') ? -Infinity : Infinity
}

/** How two texts compare when numbers may differ within the tolerance; `at` is the first difference. */
export type NumericComparison = { readonly equal: true } | { readonly equal: false; readonly kind: 'Text' | 'Number'; readonly at: Offsets }

/**
 * Compares token by token: between the numbers everything must be equal, numbers must be within the tolerance. `Number`
 * means that numbers are all that differs. Linear in the length of the texts.
 */
export function compareNumerically(expected: string, actual: string, tolerance: Tolerance): NumericComparison {
  const [expectedRuns, actualRuns] = [new RegExp(RUN), new RegExp(RUN)]
  let end: Offsets = { expected: 0, actual: 0 }
  let first: Offsets | undefined
  for (;;) {
    const [e, a] = [expectedRuns.exec(expected), actualRuns.exec(actual)]
    const start = { expected: e?.index ?? expected.length, actual: a?.index ?? actual.length }
    const between = expected.slice(end.expected, start.expected)
    if (between !== actual.slice(end.actual, start.actual)) return { equal: false, kind: 'Text', at: first ?? end }
    if (!e && !a) return first ? { equal: false, kind: 'Number', at: first } : { equal: true }
    const outcome = e && a ? compareTokens(e[0], a[0], tolerance) : 'Text'
    if (outcome === 'Text') return { equal: false, kind: 'Text', at: first ?? start }
    if (outcome === 'Number') first ??= start
    end = { expected: start.expected + e![0].length, actual: start.actual + a![0].length }
  }
}

function compareTokens(expected: string, actual: string, tolerance: Tolerance): 'Equal' | 'Number' | 'Text' {
  if (expected === actual) return 'Equal'
  const [e, a] = [parseToken(expected), parseToken(actual)]
  if (!e || !a || e.suffix !== a.suffix || e.numbers.length !== a.numbers.length) return 'Text'
  return e.numbers.every((number, i) => isWithin(number, a.numbers[i]!, tolerance)) ? 'Equal' : 'Number'
}
