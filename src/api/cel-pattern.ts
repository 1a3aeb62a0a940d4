/**
 * Patterns of rules: RE2, compiled once. A rule may take its pattern from the object, so that what a pattern costs is bounded: matching is
 * linear, but `x{1000}` compiles to a thousand steps.
 */
import { RE2JS } from 're2js'
import { meter } from './cel-values.ts'

/** The largest pattern, and all that are kept, in compiled steps. */
const MAX_SIZE = 10_000
const MAX_KEPT = 200_000
/** What a step costs to compile, in steps of the meter. */
const COMPILING = 5

interface Compiled {
  readonly pattern: RE2JS
  readonly size: number
}

// Least recently used first.
const compiled = new Map<string, Compiled>()
let kept = 0

/** The compiled pattern; throws Error with RE2's text for a bad one or one that is too large. */
export function compilePattern(text: string): RE2JS {
  const known = compiled.get(text)
  if (known !== undefined) {
    compiled.delete(text)
    compiled.set(text, known)
    return known.pattern
  }
  const size = patternSize(text)
  if (size > MAX_SIZE) throw new Error('error parsing regexp: expression too large')
  meter.charge(size * COMPILING)
  const pattern = RE2JS.compile(text)
  compiled.set(text, { pattern, size })
  kept += size
  for (const [oldest, { size: freed }] of compiled) {
    if (kept <= MAX_KEPT) break
    compiled.delete(oldest)
    kept -= freed
  }
  return pattern
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
