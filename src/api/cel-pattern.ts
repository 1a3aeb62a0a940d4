/**
 * Patterns of rules: RE2, compiled once. A rule may take its pattern from the object, so that what a pattern costs is bounded: matching is
 * linear, but `x{1000}` compiles to a thousand steps.
 */
import { RE2JS } from 're2js'
import { meter } from './cel-meter.ts'

/** The largest pattern, and all that are kept, in compiled steps. */
const MAX_SIZE = 10_000
const MAX_KEPT = 200_000
/** What a step costs to compile, in units of the meter. */
const COMPILING = 50

/** A compiled pattern; `size` is about how many steps it has. */
export interface Pattern {
  readonly expression: RE2JS
  readonly size: number
}

// Least recently used first.
const compiled = new Map<string, Pattern>()
let kept = 0

/** The compiled pattern; throws Error with RE2's text for a bad one or one that is too large. */
export function compilePattern(text: string): Pattern {
  const known = compiled.get(text)
  if (known !== undefined) {
    compiled.delete(text)
    compiled.set(text, known)
    return known
  }
  const size = patternSize(text)
  if (size > MAX_SIZE) throw new Error(`error parsing regexp: ${tooLarge(text)}`)
  meter.charge(size * COMPILING)
  const pattern = { expression: compile(text), size }
  compiled.set(text, pattern)
  kept += size
  for (const [oldest, { size: freed }] of compiled) {
    if (kept <= MAX_KEPT) break
    compiled.delete(oldest)
    kept -= freed
  }
  return pattern
}

function tooLarge(text: string): string {
  const nested = /(?:\{\d+(?:,\d*)?\}){2}/.exec(text)
  return nested === null ? 'expression too large' : `invalid nested repetition operator: \`${nested[0]}\``
}

// Go takes a name of a group twice, which RE2JS refuses; nobody asks for the groups.
function compile(text: string): RE2JS {
  try {
    return RE2JS.compile(text)
  } catch (error) {
    const { message } = error as Error
    if (message.endsWith('trailing backslash at end of expression')) throw new Error(`${message}: \`\``, { cause: error })
    if (!message.includes('duplicate capture group name')) throw error
    return RE2JS.compile(text.replace(/\(\?P?<\w+>/g, '('))
  }
}

// One token: an escape (a Unicode class, whose table is large), a class, a repetition, a bracket, or another character.
const TOKEN = /\\[pP](?:\{[^}]*\}|.)|\\Q[^]*?(?:\\E|$)|\\[^]|\[\^?\]?(?:\\[^]|\[:\w+:\]|[^\]\\])*\]|\{(\d+)(,\d*)?\}|[^]/gu
const UNICODE_CLASS = /\\[pP]/g
const CLASS_SIZE = 20

/** About how many steps a pattern compiles to; only valid patterns are measured right. */
export function patternSize(text: string): number {
  const groups: { size: number; last: number }[] = [{ size: 0, last: 0 }]
  for (const [token, low, high] of text.matchAll(TOKEN)) {
    const group = groups.at(-1) as { size: number; last: number }
    if (token === '(') groups.push({ size: 0, last: 0 })
    else if (token === ')' && groups.length > 1) {
      groups.pop()
      add(groups.at(-1) as { size: number; last: number }, group.size + 2)
    } else if (low !== undefined) {
      const times = Math.max(Number(low), Number(high?.slice(1) || 0), 1)
      group.size += group.last * (times - 1)
      group.last *= times
    } else add(group, token.length > 2 && token.startsWith('\\Q') ? token.length : 1 + CLASS_SIZE * (token.match(UNICODE_CLASS)?.length ?? 0))
  }
  return groups.reduce((size, group) => size + group.size, 0)
}

function add(group: { size: number; last: number }, size: number): void {
  group.size += size
  group.last = size
}
