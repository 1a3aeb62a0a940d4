/**
 * Kubernetes' dialect of JSONPath, as printer columns use it: fields, `\.` escapes, `['x']`, indices and slices (negative ones count
 * from the end), unions, wildcards, recursive descent and filters.
 * upstream: client-go/util/jsonpath/{parser,jsonpath}.go
 */
import { Float, getKey, isInteger, isNumber, isObject, toNumber, type Json } from './object.ts'
import { compareBytes } from './status.ts'

/** A compiled path: the values it leads to, in order; missing keys give none. Throws EvaluationError, e.g. for an index out of range. */
export type JsonPath = (root: Json) => readonly Json[]

/** A path that does not fit the value, such as an index that is out of range. */
export class EvaluationError extends Error {}

type Step = (input: readonly Json[]) => readonly Json[]

const fail = (message: string): never => {
  throw new EvaluationError(message)
}

/** Compiles a path such as `.spec.tags[0]`; throws Error for one that does not parse. */
export function compileJsonPath(text: string): JsonPath {
  const steps = parse(text)
  return (root) => run(steps, [root])
}

function run(steps: readonly Step[], input: readonly Json[]): readonly Json[] {
  let values = input
  for (const step of steps) values = step(values)
  return values
}

const FIELD = /^\.((?:\\[^]|[^\\\s.,[\]$@{}])*)/
const BARE_FIELD = /^((?:\\[^]|[^\\\s.,[\]$@{}])+)/
const QUOTED = /^(?:"(?:\\[^]|[^"\\\n])*"|'(?:\\[^]|[^'\\\n])*')/
const NUMBER = /^[+-]?[\d.]+/
const BOOL = /^(true|false)(?=[\s.,[\]$@{}]|$)/

function parse(text: string): Step[] {
  const steps: Step[] = []
  let rest = text
  const take = (length: number): void => {
    rest = rest.slice(length)
  }
  while (rest !== '') {
    const char = rest[0]
    if (char === ' ' || char === '@' || char === '$') take(1)
    else if (rest.startsWith('[?(')) take(parseFilter(rest, steps))
    else if (char === '[') take(parseArray(rest, steps))
    else if (rest.startsWith('..')) {
      steps.push(recursive)
      const name = BARE_FIELD.exec(rest.slice(2))
      if (name !== null) steps.push(fieldStep(name[0]))
      take(2 + (name?.[0].length ?? 0))
    } else take(parseTerm(rest, steps))
  }
  return steps
}

/** Parses a field or a literal; returns its length. */
function parseTerm(rest: string, steps: Step[]): number {
  const name = FIELD.exec(rest)
  if (name !== null) {
    steps.push(fieldStep(name[1] ?? ''))
    return name[0].length
  }
  const quoted = QUOTED.exec(rest)
  if (quoted !== null) {
    const value = quoted[0].slice(1, -1).replace(/\\([^])/g, '$1')
    steps.push(() => [value])
    return quoted[0].length
  }
  const literal = BOOL.exec(rest) ?? NUMBER.exec(rest)
  if (literal === null) throw new Error(`unrecognized character in action: ${rest[0]}`)
  const value = parseLiteral(literal[0])
  steps.push((input) => input.map(() => value))
  return literal[0].length
}

function parseLiteral(text: string): Json {
  if (text === 'true' || text === 'false') return text === 'true'
  const number = Number(text)
  if (Number.isNaN(number)) throw new Error(`cannot parse number ${text}`)
  return text.includes('.') && Number.isInteger(number) ? new Float(number) : number
}

function fieldStep(escaped: string): Step {
  return escaped === '*' ? wildcard : field(escaped.replaceAll('\\', ''))
}

const SLICE = /^(-?\d*)(:-?\d*)?(:-?\d*)?$/

/** Parses `[…]` that is no filter; returns its length. */
function parseArray(rest: string, steps: Step[]): number {
  const end = rest.indexOf(']')
  if (end < 0) throw new Error('unterminated array')
  const text = rest.slice(1, end)
  if (text.includes(',')) {
    const branches = text.split(',').map((part) => parse(`[${part.trim()}]`))
    steps.push((input) => branches.flatMap((branch) => run(branch, input)))
  } else if (/^'[^']*'$/.test(text)) steps.push(...parse(`.${text.slice(1, -1)}`))
  else steps.push(parseSlice(text === '*' ? ':' : text))
  return end + 1
}

function parseSlice(text: string): Step {
  const match = SLICE.exec(text)
  if (match === null) throw new Error(`invalid array index ${text}`)
  const [from, to, step] = match.slice(1, 4).map((part) => part?.replace(/^:/, ''))
  const number = (part: string | undefined): number | undefined => (part === undefined || part === '' ? undefined : Number(part))
  if (from === '-' || to === '-' || step === '-') throw new Error(`array index ${text} is not a number`)
  const single = match[2] === undefined
  const start = number(from)
  return slice({ start: start ?? 0, end: single ? (start ?? 0) + 1 : number(to), single, step: number(step) })
}

const COMPARISON = /^([^!<>=]+)([!<>=]+)([^]+)$/

/** Parses `[?(…)]`; returns its length. */
function parseFilter(rest: string, steps: Step[]): number {
  const end = filterEnd(rest)
  const text = rest.slice(3, end)
  const match = COMPARISON.exec(text)
  if (match === null) steps.push(filter(exists(parse(text))))
  else steps.push(filter(comparison(parse(match[1] ?? ''), match[2] ?? '', parse(match[3] ?? ''))))
  return end + 2
}

function filterEnd(rest: string): number {
  let quote = ''
  for (let i = 3; i < rest.length; i++) {
    const char = rest[i] ?? ''
    if (quote === '' && (char === '"' || char === "'")) quote = char
    else if (quote === char && rest[i - 1] !== '\\') quote = ''
    else if (quote === '' && char === ')') {
      if (rest[i + 1] !== ']') throw new Error('unclosed array expect ]')
      return i
    }
  }
  throw new Error('unterminated filter')
}

function field(name: string): Step {
  return (input) => {
    const results: Json[] = []
    for (const value of input) {
      const member = isObject(value) ? getKey(value, name) : undefined
      if (member !== undefined) results.push(member)
    }
    return results
  }
}

const children = (value: Json): Json[] => {
  if (Array.isArray(value)) return value
  return isObject(value) ? Object.keys(value).map((key) => value[key] ?? null) : []
}

const wildcard: Step = (input) => input.flatMap(children)

// Without recursion, since objects nest as deep as the parser takes them; a second descent looks at each value once for each one above it.
const recursive: Step = (input) => {
  const out: Json[] = []
  const pending = input.toReversed()
  for (let visited = 0; pending.length > 0; visited++) {
    if (visited > MAX_VISITED) fail(`more than ${MAX_VISITED} values to descend into`)
    const value = pending.pop() as Json
    const below = children(value)
    if (below.length > 0) out.push(value)
    for (let i = below.length - 1; i >= 0; i--) pending.push(below[i] as Json)
  }
  return out
}

const MAX_VISITED = 1_000_000

/** `single`: an index, not a range. Absent `end`: up to the end. */
function slice({ start, end, single, step }: { start: number; end: number | undefined; single: boolean; step: number | undefined }): Step {
  return (input) =>
    input.flatMap((value) => {
      if (value === null) return []
      if (!Array.isArray(value)) return fail('is not array or slice')
      const length = value.length
      const from = start < 0 ? start + length : start
      // the end of the index -1 is 0, which means the end of the list
      const to = end === undefined ? length : end < 0 || (end === 0 && single) ? end + length : end
      if (to === from) return []
      if (from < 0 || from >= length || to < 0 || to > length) return fail(`array index out of bounds: index ${from}, length ${length}`)
      if (from > to) return fail(`starting index ${from} is greater than ending index ${to}`)
      if (step !== undefined && step <= 0) return fail('step must be > 0')
      return value.slice(from, to).filter((_, i) => i % (step ?? 1) === 0)
    })
}

function filter(passes: (item: Json) => boolean): Step {
  return (input) => input.flatMap((value) => (Array.isArray(value) ? value.filter(passes) : fail('is not array or slice and cannot be filtered')))
}

function exists(steps: readonly Step[]): (item: Json) => boolean {
  return (item) => {
    try {
      return run(steps, [item]).length > 0
    } catch (error) {
      if (error instanceof EvaluationError) return false
      throw error
    }
  }
}

function comparison(left: readonly Step[], operator: string, right: readonly Step[]): (item: Json) => boolean {
  return (item) => {
    const lefts = run(left, [item])
    const rights = run(right, [item])
    if (lefts.length !== 1 || rights.length !== 1) return fail('can only compare one element at a time')
    const [a, b] = [lefts[0] ?? null, rights[0] ?? null]
    switch (operator) {
      case '==':
        return order(a, b, true) === 0
      case '!=':
        return order(a, b, true) !== 0
      case '<':
        return order(a, b, false) < 0
      case '<=':
        return order(a, b, false) <= 0
      case '>':
        return order(a, b, false) > 0
      case '>=':
        return order(a, b, false) >= 0
      default:
        return fail(`unrecognized filter operator ${operator}`)
    }
  }
}

// upstream: third_party/forked/golang/template/funcs.go, which compares values of one kind only
function order(a: Json, b: Json, equality: boolean): number {
  if (typeof a === 'string' && typeof b === 'string') return compareBytes(a, b)
  if (typeof a === 'boolean' && typeof b === 'boolean') return equality ? Number(a) - Number(b) : fail('invalid type for comparison')
  if (isInteger(a) && isInteger(b)) return a < b ? -1 : a > b ? 1 : 0
  if (isNumber(a) && isNumber(b) && !isInteger(a) && !isInteger(b)) return toNumber(a) - toNumber(b)
  return fail('incompatible types for comparison')
}
