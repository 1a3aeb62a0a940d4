/** Patterns of rules: RE2, compiled once. Patterns may come from the objects, so only so many are kept. */
import { RE2JS } from 're2js'

const MAX_PATTERNS = 500
const MAX_LENGTH = 10_000
const compiled = new Map<string, RE2JS>()

/** The compiled pattern; throws Error with RE2's text for a bad one. */
export function compilePattern(pattern: string): RE2JS {
  const known = compiled.get(pattern)
  if (known !== undefined) return known
  if (pattern.length > MAX_LENGTH) throw new Error('error parsing regexp: expression too large')
  const fresh = RE2JS.compile(pattern)
  const oldest = compiled.keys().next()
  if (compiled.size >= MAX_PATTERNS && !oldest.done) compiled.delete(oldest.value)
  compiled.set(pattern, fresh)
  return fresh
}
