/**
 * Label selectors: `app=web,tier in (a,b),!canary`.
 * upstream: apimachinery/pkg/labels/selector.go
 */
import { labelKeyErrors, labelValueErrors } from './qualified-name.ts'
import { badRequest, compareBytes, fieldError, sortKeys, type FieldError } from './status.ts'

type Operator = 'in' | 'notin' | '=' | '==' | '!=' | 'gt' | 'lt' | 'exists' | '!'

/** One requirement of a label selector. `values` is sorted. */
export interface LabelRequirement {
  readonly key: string
  readonly operator: Operator
  readonly values: readonly string[]
}

/** Requirements that must all hold, sorted by key; `empty` selects everything. */
export interface LabelSelector {
  readonly requirements: readonly LabelRequirement[]
  readonly empty: boolean
}

type Kind = 'identifier' | 'in' | 'notin' | 'end' | 'error' | '(' | ')' | ',' | '!' | '==' | '=' | '>' | '<' | '!='
interface Token {
  readonly kind: Kind
  readonly text: string
}

const SYMBOLS = new Set<string>(['(', ')', ',', '!', '==', '=', '>', '<', '!='])
const isSymbol = (char: string | undefined): boolean => char !== undefined && '=!(),><'.includes(char)
const isBlank = (char: string | undefined): boolean => char === ' ' || char === '\t' || char === '\r' || char === '\n'
const isPlain = (char: string | undefined): boolean => char !== undefined && char !== '\0' && !isSymbol(char) && !isBlank(char)

// upstream: Lexer. A NUL byte ends the text, as it does there.
function scan(text: string): Token[] {
  const tokens: Token[] = []
  let at = 0
  for (;;) {
    while (isBlank(text[at])) at++
    const start = at
    if (at >= text.length || text[at] === '\0') return [...tokens, { kind: 'end', text: '' }]
    if (isSymbol(text[at])) {
      const token = scanSymbol(text, start)
      at += token.length
      tokens.push(token.token)
    } else {
      while (isPlain(text[at])) at++
      const word = text.slice(start, at)
      if (text[at] === '\0') at++
      tokens.push({ kind: word === 'in' || word === 'notin' ? word : 'identifier', text: word })
    }
  }
}

// The longest symbol that can be read; every symbol character is a symbol of its own, so there is always one.
function scanSymbol(text: string, start: number): { token: Token; length: number } {
  const two = text.slice(start, start + 2)
  const symbol = SYMBOLS.has(two) ? two : text.slice(start, start + 1)
  return { token: { kind: symbol as Kind, text: symbol }, length: symbol.length }
}

/** Thrown inside the parser; becomes a 400 at its door. */
class SyntaxProblem extends Error {}

class Tokens {
  #at = 0
  readonly #tokens: readonly Token[]
  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens
  }
  /** The next token. Outside an operator position `in` and `notin` are identifiers. */
  peek(): Token {
    const token = this.peekOperator()
    return token.kind === 'in' || token.kind === 'notin' ? { kind: 'identifier', text: token.text } : token
  }
  peekOperator(): Token {
    return this.#tokens[this.#at] ?? { kind: 'end', text: '' }
  }
  take(): Token {
    const token = this.peek()
    this.#at++
    return token
  }
  takeOperator(): Token {
    const token = this.peekOperator()
    this.#at++
    return token
  }
}

/** Parses a label selector; throws 400 BadRequest with upstream's text. upstream: labels.Parse */
export function parseLabelSelector(text: string): LabelSelector {
  try {
    const requirements = parse(new Tokens(scan(text)))
    return { requirements: requirements.sort((a, b) => compareBytes(a.key, b.key)), empty: requirements.length === 0 }
  } catch (error) {
    if (error instanceof SyntaxProblem) throw badRequest(error.message)
    throw error
  }
}

function parse(tokens: Tokens): LabelRequirement[] {
  const requirements: LabelRequirement[] = []
  for (;;) {
    const { kind, text } = tokens.peek()
    if (kind === 'end') return requirements
    if (kind !== 'identifier' && kind !== '!') throw new SyntaxProblem(`found '${text}', expected: !, identifier, or 'end of string'`)
    requirements.push(parseRequirement(tokens))
    const separator = tokens.take()
    if (separator.kind === 'end') return requirements
    if (separator.kind !== ',') throw new SyntaxProblem(`found '${separator.text}', expected: ',' or 'end of string'`)
    const after = tokens.peek()
    if (after.kind !== 'identifier' && after.kind !== '!') throw new SyntaxProblem(`found '${after.text}', expected: identifier after ','`)
  }
}

const fail = (message: string): never => {
  throw new SyntaxProblem(`unable to parse requirement: ${message}`)
}

function parseRequirement(tokens: Tokens): LabelRequirement {
  let token = tokens.take()
  const negated = token.kind === '!'
  if (negated) token = tokens.take()
  if (token.kind !== 'identifier') return fail(`found '${token.text}', expected: identifier`)
  const key = token.text
  const problems = labelKeyErrors(key)
  if (problems.length > 0) return fail(render([fieldError('FieldValueInvalid', '<nil>', key, problems.join('; '))]))
  if (negated) return requirement(key, '!', [])
  const next = tokens.peek().kind
  if (next === 'end' || next === ',') return requirement(key, 'exists', [])
  const operator = parseOperator(tokens)
  return requirement(key, operator, operator === 'in' || operator === 'notin' ? parseValues(tokens) : parseExactValue(tokens))
}

function parseOperator(tokens: Tokens): Operator {
  const { kind, text } = tokens.takeOperator()
  if (kind === '>') return 'gt'
  if (kind === '<') return 'lt'
  if (kind === 'in' || kind === 'notin' || kind === '=' || kind === '==' || kind === '!=') return kind
  return fail(`found '${text}', expected: in, notin, =, ==, !=, gt, lt`)
}

function parseValues(tokens: Tokens): string[] {
  const open = tokens.take()
  if (open.kind !== '(') return fail(`found '${open.text}' expected: '('`)
  const { kind, text } = tokens.peek()
  if (kind === ')') {
    tokens.take()
    return ['']
  }
  if (kind !== 'identifier' && kind !== ',') return fail(`found '${text}', expected: ',', ')' or identifier`)
  const values = parseList(tokens)
  tokens.take() // the closing parenthesis, which parseList has seen
  return values
}

function parseList(tokens: Tokens): string[] {
  const values: string[] = []
  for (;;) {
    const { kind, text } = tokens.take()
    if (kind === 'identifier') {
      values.push(text)
      const next = tokens.peek()
      if (next.kind === ')') return values
      if (next.kind !== ',') return fail(`found '${next.text}', expected: ',' or ')'`)
    } else if (kind === ',') {
      if (values.length === 0) values.push('')
      const next = tokens.peek().kind
      if (next === ')') return [...values, '']
      if (next === ',') {
        tokens.take()
        values.push('')
      }
    } else return fail(`found '${text}', expected: ',', or identifier`)
  }
}

function parseExactValue(tokens: Tokens): string[] {
  const next = tokens.peek().kind
  if (next === 'end' || next === ',') return ['']
  const { kind, text } = tokens.take()
  return kind === 'identifier' ? [text] : fail(`found '${text}', expected: identifier`)
}

// upstream: labels.NewRequirement
function requirement(key: string, operator: Operator, list: readonly string[]): LabelRequirement {
  const values = sortKeys([...new Set(list)])
  const errors: FieldError[] = []
  if ((operator === 'gt' || operator === 'lt') && parseInt64(values[0] ?? '') === undefined) {
    errors.push(fieldError('FieldValueInvalid', 'values[0]', values[0], "for 'Gt', 'Lt' operators, the value must be an integer"))
  }
  values.forEach((value, i) => {
    const problems = labelValueErrors(value)
    if (problems.length > 0) errors.push(fieldError('FieldValueInvalid', `values[${i}][${key}]`, value, problems.join('; ')))
  })
  return errors.length > 0 ? fail(render(errors)) : { key, operator, values }
}

function render(errors: readonly FieldError[]): string {
  const lines = [...new Set(errors.map((e) => `${e.field}: ${e.body}`))]
  return lines.length === 1 ? (lines[0] ?? '') : `[${lines.join(', ')}]`
}

// upstream: strconv.ParseInt(value, 10, 64)
function parseInt64(text: string): bigint | undefined {
  if (!/^[+-]?[0-9]{1,64}$/.test(text)) return undefined
  const value = BigInt(text.replace(/^\+/, ''))
  return BigInt.asIntN(64, value) === value ? value : undefined
}

/** Whether every requirement holds for the labels of an object. upstream: Requirement.Matches */
export function matchesLabels(selector: LabelSelector, labels: Readonly<Record<string, string>> | undefined): boolean {
  return selector.requirements.every((r) => matchesLabel(r, labels && Object.hasOwn(labels, r.key) ? labels[r.key] : undefined))
}

function matchesLabel({ operator, values }: LabelRequirement, value: string | undefined): boolean {
  switch (operator) {
    case 'exists':
      return value !== undefined
    case '!':
      return value === undefined
    case 'notin':
    case '!=':
      return value === undefined || !values.includes(value)
    case 'gt':
    case 'lt':
      return value !== undefined && compares(operator, value, values[0] ?? '')
    default:
      return value !== undefined && values.includes(value)
  }
}

function compares(operator: 'gt' | 'lt', value: string, bound: string): boolean {
  const left = parseInt64(value)
  const right = parseInt64(bound)
  if (left === undefined || right === undefined) return false
  return operator === 'gt' ? left > right : left < right
}
