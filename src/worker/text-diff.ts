/** A short unified-style diff for people, bounded in time and size whatever the texts are. */
import { lcsLengths } from './lcs.ts'
import { truncate } from './truncate.ts'

const CONTEXT_LINES = 2
const WINDOW_LINES = 60
const WINDOW_CHARACTERS = 16 * 1024
const LINE_CHARACTERS = 160

/** A place in each of two texts, in UTF-16 units. */
export type Offsets = { readonly expected: number; readonly actual: number }

/**
 * The difference between two texts from `at` on (their first difference, when not given) with some lines around it: a
 * hunk header, then lines with ` `, `-` (expected) or `+` (actual) before them. At most `maxBytes`. Only a window is
 * looked at.
 */
export function diffText(expected: string, actual: string, maxBytes: number, at = firstDifference(expected, actual)): string {
  const [from, to] = [windowStart(expected, at.expected), windowStart(actual, at.actual)]
  const before = linesBefore(expected, from)
  const lines = diffLines(windowLines(expected, from), windowLines(actual, to))
  const shown = lines.slice(0, lines.findLastIndex((line) => !line.startsWith(' ')) + 1 + CONTEXT_LINES)
  const header = `@@ -${lineNumber(expected, from) - before.length} +${lineNumber(actual, to) - before.length} @@`
  return truncate([header, ...before.map((line) => ` ${clip(line)}`), ...shown].join('\n'), maxBytes)
}

function firstDifference(expected: string, actual: string): Offsets {
  const offset = commonPrefix(expected, actual)
  return { expected: offset, actual: offset }
}

/** How many characters two texts have in common at their start. */
export function commonPrefix(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  let i = 0
  while (i < length && a.charCodeAt(i) === b.charCodeAt(i)) i++
  return i
}

/** Where the line begins that holds the offset. */
export function lineStart(text: string, offset: number): number {
  return offset === 0 ? 0 : text.lastIndexOf('\n', offset - 1) + 1
}

/** The start of the line; of a very long one a place near the offset. */
function windowStart(text: string, offset: number): number {
  const start = lineStart(text, offset)
  return offset - start > LINE_CHARACTERS ? offset - LINE_CHARACTERS / 4 : start
}

function linesBefore(text: string, start: number): string[] {
  const lines: string[] = []
  let end = start
  while (lines.length < CONTEXT_LINES && end > 0 && text[end - 1] === '\n') {
    const begin = lineStart(text, end - 1)
    lines.unshift(text.slice(begin, end - 1))
    end = begin
  }
  return lines
}

function lineNumber(text: string, offset: number): number {
  let number = 1
  for (let i = text.indexOf('\n'); i >= 0 && i < offset; i = text.indexOf('\n', i + 1)) number++
  return number
}

function windowLines(text: string, start: number): string[] {
  if (start >= text.length) return []
  return text.slice(start, start + WINDOW_CHARACTERS).toWellFormed().split('\n', WINDOW_LINES)
}

/** Longest common subsequence of the two windows, as prefixed lines. */
function diffLines(from: readonly string[], to: readonly string[]): string[] {
  const lengths = lcsLengths(from, to)
  const width = to.length + 1
  const lines: string[] = []
  let [i, j] = [0, 0]
  while (i < from.length || j < to.length) {
    if (i < from.length && j < to.length && from[i] === to[j]) {
      lines.push(` ${clip(from[i]!)}`)
      i++
      j++
    } else if (j >= to.length || (i < from.length && lengths[(i + 1) * width + j]! >= lengths[i * width + j + 1]!)) {
      lines.push(`-${clip(from[i++]!)}`)
    } else {
      lines.push(`+${clip(to[j++]!)}`)
    }
  }
  return lines
}

function clip(line: string): string {
  return line.length <= LINE_CHARACTERS ? line : `${line.slice(0, LINE_CHARACTERS).toWellFormed()}…`
}
