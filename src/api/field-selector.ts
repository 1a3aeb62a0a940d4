/**
 * Field selectors: `metadata.name=x,status.phase!=Failed`.
 * upstream: apimachinery/pkg/fields/selector.go
 */
import { badRequest, compareBytes } from './status.ts'

/** One term of a field selector. */
export interface FieldRequirement {
  readonly label: string
  readonly operator: '=' | '!='
  readonly value: string
}

/** Terms that must all hold; `empty` selects everything. */
export interface FieldSelector {
  readonly requirements: readonly FieldRequirement[]
  readonly empty: boolean
}

/** Parses a field selector; throws 400 BadRequest with upstream's text. upstream: fields.ParseSelector */
export function parseFieldSelector(text: string): FieldSelector {
  // upstream sorts the terms before it parses them, which decides which of several errors is reported
  const terms = splitTerms(text).sort(compareBytes)
  const requirements = terms.filter((term) => term !== '').map((term) => parseTerm(term, text))
  return { requirements, empty: requirements.length === 0 }
}

function splitTerms(text: string): string[] {
  const terms: string[] = []
  let start = 0
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '\\') i++
    else if (text[i] === ',') {
      terms.push(text.slice(start, i))
      start = i + 1
    }
  }
  terms.push(text.slice(start))
  return terms
}

const OPERATOR = /!=|==|=/

function parseTerm(term: string, whole: string): FieldRequirement {
  const match = OPERATOR.exec(term)
  if (match === null) throw badRequest(`invalid selector: '${whole}'; can't understand '${term}'`)
  return {
    label: term.slice(0, match.index),
    operator: match[0] === '!=' ? '!=' : '=',
    value: unescapeValue(term.slice(match.index + match[0].length)),
  }
}

// upstream: fields.UnescapeValue
function unescapeValue(text: string): string {
  let out = ''
  let escaped = false
  for (const char of text) {
    if (escaped) {
      if (char !== '\\' && char !== ',' && char !== '=') throw badRequest(`invalid field selector: invalid escape sequence: \\${char}`)
      out += char
      escaped = false
    } else if (char === '\\') escaped = true
    else if (char === ',' || char === '=') throw badRequest(`invalid field selector: unescaped character in value: ${char.charCodeAt(0)}`)
    else out += char
  }
  if (escaped) throw badRequest('invalid field selector: invalid escape sequence: \\')
  return out
}

/** Whether every term holds; `fields` gives the value of a label, "" when the field is absent. */
export function matchesFields(selector: FieldSelector, fields: (label: string) => string): boolean {
  return selector.requirements.every((r) => (fields(r.label) === r.value) === (r.operator === '='))
}

/** The labels a selector asks for, in its order, so that the caller can refuse one with `field label not supported: <label>`. */
export function requiredFields(selector: FieldSelector): string[] {
  return [...new Set(selector.requirements.map((r) => r.label))]
}

/** The value that the selector requires `metadata.name` or `metadata.namespace` to have, if it does. upstream: Selector.RequiresExactMatch */
export function exactName(selector: FieldSelector, label: 'metadata.name' | 'metadata.namespace' = 'metadata.name'): string | undefined {
  return selector.requirements.find((r) => r.label === label && r.operator === '=')?.value
}
