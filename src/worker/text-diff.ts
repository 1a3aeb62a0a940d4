/** A short unified-style diff for people, bounded in time and size whatever the texts are. */
import { lcsLengths } from './lcs.ts'
import { truncate } from './truncate.ts'

const CONTEXT_LINES = 2
const WINDOW_LINES = 60
const WINDOW_CHARACTERS = 16 * 1024
const LINE_CHARACTERS = 160

/**
 * The first difference between two texts with some lines around it: a hunk header, then lines with ` `, `-` (expected)
 * or `+` (actual) before them. At most `maxBytes`. Only a window from the first difference on is looked at.
 */
export function diffText(expected: string, actual: string, maxBytes: number): string {
  const start = windowStart(expected, commonPrefix(expected, actual))
  const line = countLines(expected, start) + 1
  const [from, to] = [windowLines(expected, start), windowLines(actual, start)]
  const lines = diffLines(from, to)
  const last = lines.findLastIndex((text) => !text.startsWith(' '))
  const shown = lines.slice(0, last + 1 + CONTEXT_LINES)
  return truncate([`@@ -${line} +${line} @@`, ...shown].join('\n'), maxBytes)
}

/** How many characters two texts have in common at their start. */
export function commonPrefix(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  let i = 0
  while (i < length && a.charCodeAt(i) === b.charCodeAt(i)) i++
  return i
}

function windowStart(text: string, offset: number): number {
  let start = text.lastIndexOf('\n', offset - 1) + 1
  if (offset === 0) start = 0
  for (let i = 0; i < CONTEXT_LINES && start > 0 && offset - start < WINDOW_CHARACTERS / 4; i++) {
    start = start > 1 ? text.lastIndexOf('\n', start - 2) + 1 : 0
  }
  // A line of megabytes: begin near the difference.
  return offset - start > WINDOW_CHARACTERS / 4 ? offset - LINE_CHARACTERS / 4 : start
}

function countLines(text: string, end: number): number {
  let count = 0
  for (let i = text.indexOf('\n'); i >= 0 && i < end; i = text.indexOf('\n', i + 1)) count++
  return count
}

function windowLines(text: string, start: number): string[] {
  if (start >= text.length) return []
  const lines = text.slice(start, start + WINDOW_CHARACTERS).toWellFormed().split('\n')
  return lines.slice(0, WINDOW_LINES)
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
