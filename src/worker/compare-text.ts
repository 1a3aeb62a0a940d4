/** Comparing two texts of notebook outputs under the options of a job. */
import { cleanText } from './clean-text.ts'
import type { OutputOptions } from './comparison-options.ts'
import { normalize } from './normalize.ts'
import { compareNumerically } from './numbers.ts'
import type { Difference } from './report-types.ts'
import { commonPrefix, diffText, lineStart } from './text-diff.ts'
import type { Offsets } from './text-diff.ts'
import { ellipsize, jsonBytes, truncate } from './truncate.ts'

const MAX_NORMALIZED = 8 * 1024 * 1024
const MAX_DIFFERENCE_BYTES = 1024
const MAX_VALUE_BYTES = 160
const MAX_DIFF_BYTES = 512

/** The part of a difference that a pair of texts decides. */
export type TextDifference = Pick<Difference, 'kind' | 'expected' | 'actual' | 'diff'>

/** A text with the normalizers of the job applied; one of more than 8 MiB is compared as it is. */
export function normalizeText(text: string, options: OutputOptions): string {
  return text.length > MAX_NORMALIZED ? text : normalize(text, options.normalizers)
}

/** The difference between two texts, or undefined when they match. */
export function compareText(expected: string, actual: string, options: OutputOptions): TextDifference | undefined {
  return expected === actual ? undefined : compareNormalized(normalizeText(expected, options), normalizeText(actual, options), options)
}

/** The difference between two texts that are normalized already. */
export function compareNormalized(e: string, a: string, options: OutputOptions): TextDifference | undefined {
  if (e === a) return undefined
  const { tolerance } = options
  if ((tolerance.absolute === 0 && tolerance.relative === 0) || e.length > MAX_NORMALIZED || a.length > MAX_NORMALIZED) {
    const offset = commonPrefix(e, a)
    return describe('Text', e, a, { expected: offset, actual: offset })
  }
  const result = compareNumerically(e, a, tolerance)
  return result.equal ? undefined : describe(result.kind, e, a, result.at)
}

function describe(kind: 'Text' | 'Number', expected: string, actual: string, at: Offsets): TextDifference {
  const severalLines = expected.includes('\n') || actual.includes('\n')
  const diff = severalLines ? { diff: diffText(expected, actual, MAX_DIFF_BYTES, at) } : {}
  return { kind, expected: excerpt(expected, at.expected), actual: excerpt(actual, at.actual), ...diff }
}

/** The line of the first difference, a part of it around the offset when it is long. */
function excerpt(text: string, offset: number): string {
  const start = Math.max(lineStart(text, offset), offset - 60)
  const end = text.indexOf('\n', offset)
  const line = text.slice(start, Math.min(end < 0 ? text.length : end, start + 4 * MAX_VALUE_BYTES))
  return shorten(line)
}

/** A text as it may stand in `expected` or `actual`. */
export function shorten(text: string): string {
  return ellipsize(cleanText(text.slice(0, 8 * MAX_VALUE_BYTES)), MAX_VALUE_BYTES)
}

/** The difference, cleaned, with at most 1 KiB as JSON: the diff gives way first. */
export function fitDifference(difference: Difference): Difference {
  const { diff, ...rest } = difference
  const short: Difference = { ...rest }
  for (const key of ['expected', 'actual', 'mimeType'] as const) {
    if (short[key] !== undefined) short[key] = shorten(short[key])
  }
  if (diff === undefined) return short
  const cleaned = cleanText(diff)
  for (let size = MAX_DIFF_BYTES; size >= 64; size /= 2) {
    const whole = { ...short, diff: truncate(cleaned, size) }
    if (jsonBytes(whole) <= MAX_DIFFERENCE_BYTES) return whole
  }
  return short
}
