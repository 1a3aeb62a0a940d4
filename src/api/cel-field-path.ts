/** The fieldPath of a rule: `.a.b`, `['x']`. upstream: apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go: ValidFieldPath */
import type { Schema } from './schema.ts'

const STEP = /^(?:\.([^.[\]]+)|\['((?:[^'\\]|\\.)*)'\])/

/** The path as field errors write it, e.g. `a.b[x]`. Throws Error for one that does not fit the schema. */
export function fixedPath(text: string, schema: Schema): string {
  let path = ''
  let rest = text
  let node: Schema | undefined = schema
  while (rest !== '') {
    const step = STEP.exec(rest)
    if (step === null) throw new Error(`fieldPath ${text} does not parse`)
    const name = step[1] ?? unescape(step[2] ?? '')
    if (node?.properties && Object.hasOwn(node.properties, name)) {
      path += path === '' ? name : `.${name}`
      node = node.properties[name]
    } else if (!node?.properties && typeof node?.additionalProperties === 'object') {
      path += `[${name}]`
      node = node.additionalProperties
    } else throw new Error(`fieldPath ${text} does not refer to a valid field`)
    rest = rest.slice(step[0].length)
  }
  return path
}

const ESCAPES: Record<string, string> = { a: '\x07', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v', "'": "'", '\\': '\\' }

const unescape = (text: string): string =>
  text.replace(/\\(.)/gs, (escape, char: string) => {
    const value = ESCAPES[char]
    if (value === undefined) throw new Error(`invalid escape char ${escape}`)
    return value
  })
