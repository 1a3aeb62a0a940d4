/** RE2 patterns of schemas, compiled once: matching takes linear time, whatever the pattern and the value. */
import { RE2JS } from 're2js'

const compiled = new Map<string, RE2JS>()

/** Whether a pattern matches anywhere in the value. Throws Error with RE2's text for a bad pattern; patterns come from definitions, never from requests. */
export function matchesPattern(pattern: string, value: string): boolean {
  let expression = compiled.get(pattern)
  if (expression === undefined) {
    expression = compile(pattern)
    compiled.set(pattern, expression)
  }
  return expression.matcher(value).find()
}

// Go takes a name of a group twice, which RE2JS refuses; nobody asks for the groups.
function compile(pattern: string): RE2JS {
  try {
    return RE2JS.compile(pattern)
  } catch (error) {
    if (!(error as Error).message.includes('duplicate capture group name')) throw error
    return RE2JS.compile(pattern.replace(/\(\?P?<\w+>/g, '('))
  }
}
