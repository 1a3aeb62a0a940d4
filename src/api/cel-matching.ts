/** Functions that take a pattern. upstream: apiserver/pkg/cel/library/regex.go, cel-go common/types/string.go Match */
import { celError } from '@bufbuild/cel'
import { declare, member, overload, type Declaration } from './cel-function.ts'
import { ITEM, meter } from './cel-meter.ts'
import { compilePattern, type Pattern } from './cel-pattern.ts'
import { JoinedList } from './cel-values.ts'

/** A pattern for find and findAll, whose errors say more. */
function compile(text: string): Pattern {
  try {
    return compilePattern(text)
  } catch (error) {
    const { message } = error as Error
    throw message.startsWith('error parsing regexp') ? celError(`Illegal regex: ${message}`) : error
  }
}

/**
 * What it costs to look for a pattern in a text: each character may try each step of the pattern.
 * upstream: ceil(0.1 × (size + 1)) × ceil(0.25 × size of the pattern); here a step is dearer
 */
function charge(text: string, { size }: Pattern): void {
  meter.charge(20 + (text.length + 1) * (0.5 + size * PER_STEP))
}

const PER_STEP = 0.15

function matches(text: string, pattern: string): boolean {
  const compiled = compilePattern(pattern)
  charge(text, compiled)
  return compiled.expression.test(text)
}

function find(text: string, pattern: string): string {
  const compiled = compile(pattern)
  charge(text, compiled)
  const matcher = compiled.expression.matcher(text)
  return matcher.find() ? (matcher.group() ?? '') : ''
}

function findAll(text: string, pattern: string, limit: bigint): JoinedList {
  const compiled = compile(pattern)
  charge(text, compiled)
  const found: string[] = []
  const matcher = compiled.expression.matcher(text)
  let end = -1
  while ((limit < 0n || BigInt(found.length) < limit) && matcher.find()) {
    meter.charge(10 * ITEM)
    const group = matcher.group() ?? ''
    // as in Go, an empty match next to the one before is none
    if (group !== '' || matcher.start() !== end) found.push(group)
    end = matcher.end()
  }
  return new JoinedList(found)
}

/** `matches`, `find` and `findAll`. */
export const patternFunctions: Declaration[] = [
  declare('matches', [member(['string', 'string'], matches), overload(['string', 'string'], matches)], 'plain'),
  declare('find', [member(['string', 'string'], find)], (first) => (first === 'string' ? 'named' : 'plain')),
  declare('findAll', [
    member(['string', 'string'], (text, pattern) => findAll(text, pattern, -1n)),
    member(['string', 'string', 'int'], findAll),
  ]),
]
