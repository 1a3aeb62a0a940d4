/**
 * JSON paths of fields and map keys, as fieldPath of a rule and as a selectable field: `.spec.size`, `.labels['a.b']`.
 * upstream: apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go ValidFieldPath
 */
import { additionalSchema, propertySchema, type SchemaProps } from './definition-props.ts'

/** A path that fits a schema: its text as field errors write it, its first step, and the schema at its end where that is known. */
export interface FieldPath {
  readonly text: string
  readonly root: string
  readonly schema: SchemaProps | undefined
}

/** Resolves a path. Throws Error with upstream's text for one that does not parse or does not fit. `arrays`: whether `['key']` may be used. */
export function resolveFieldPath(path: string, schema: SchemaProps, { arrays }: { readonly arrays: boolean }): FieldPath {
  const tokens = tokenize(path)
  let text = ''
  let root = ''
  let node: SchemaProps | undefined = schema
  let next = 0
  const take = (): string => {
    const token = tokens[next++]
    if (token === undefined) throw new Error('unexpected end of JSON path')
    return token
  }
  const step = (name: string, check: SchemaProps | undefined): void => {
    const named = check?.properties !== undefined && Object.keys(check.properties).length > 0
    if (!named && check?.additionalProperties === undefined) throw new Error('does not refer to a valid field')
    node = named ? propertySchema(check, name) : additionalSchema(check as SchemaProps)
    if (named && node === undefined) throw new Error('does not refer to a valid field')
    text += named ? (text === '' ? name : `.${name}`) : `[${name}]`
    root ||= text
  }
  while (next < tokens.length) {
    const token = take()
    if (token === '[') {
      if (!arrays) throw new Error('array notation is not allowed')
      step(unquote(take()), node)
      const end = take()
      if (end !== ']') throw new Error(`expected ] but got ${end}`)
    } else if (token === '.') step(take(), node)
    else throw new Error(`expected [ or . but got: ${token}`)
  }
  return { text, root, schema: node }
}

// Delimiters are tokens of their own, and so are single-quoted texts; an unfinished quote gives nothing.
function tokenize(path: string): string[] {
  const tokens: string[] = []
  let rest = path
  while (rest !== '') {
    const quoted = /^'(?:[^'\\]|\\[^])*?'/.exec(rest)
    const token = rest.startsWith("'") ? (quoted?.[0] ?? rest) : /^(?:[.[\]]|[^.[\]]+)/.exec(rest)?.[0]
    if (token === undefined) break
    tokens.push(token)
    rest = rest.slice(token.length)
  }
  return tokens
}

const ESCAPES: Record<string, string> = { a: '\x07', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v', "'": "'", '\\': '\\' }

function unquote(token: string): string {
  if (token.length < 2 || !token.startsWith("'") || !token.endsWith("'")) throw new Error(`expected single quoted string but got ${token}`)
  return token.slice(1, -1).replace(/\\(.)/gs, (escape, char: string) => {
    const value = ESCAPES[char]
    if (value === undefined) throw new Error(`invalid string literal: invalid escape char ${escape}`)
    return value
  })
}
