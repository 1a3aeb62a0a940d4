/** Expressions with what a kube-apiserver's own code gives for them: values and the texts of errors. Recorded with k8s.io/apiserver 0.36.3. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { isCelError } from '@bufbuild/cel'
import { kindOf, type Value } from './cel-function.ts'
import { compileExpression } from './cel-program.ts'
import { quantityType } from './cel-quantity.ts'
import { show } from './cel-show.fixture.ts'
import { valueType, wrap } from './cel-values.ts'
import { decodeJson } from './json-parse.ts'
import { compareAmounts, parseQuantity } from './quantity.ts'
import type { Json } from './object.ts'
import type { Schema } from './schema.ts'

type Answer = readonly [expression: string, value: string | null, error?: string]

interface Recorded {
  readonly groups: readonly { readonly schema: Schema | null; readonly self: Json; readonly answers: readonly Answer[] }[]
  readonly refused: readonly string[]
}

const recorded = decodeJson(readFileSync(new URL('../../test/cel/expressions.json', import.meta.url), 'utf8')).value as unknown as Recorded

// Upstream writes a quantity in the form it was read in, which rules cannot see.
function sameQuantity(value: Value, expected: string): boolean {
  const amount = parseQuantity(/^quantity\((.*)\)$/.exec(expected)?.[1] ?? '')
  return kindOf(value) === 'kubernetes.Quantity' && typeof amount !== 'string' && compareAmounts(quantityType.unwrap(value), amount) === 0
}

test('expressions give what they give upstream', () => {
  const wrong: string[] = []
  let count = 0
  for (const { schema, self, answers } of recorded.groups) {
    const type = schema === null ? undefined : valueType(schema, false)
    for (const [expression, value, error] of answers) {
      count++
      const actual = evaluate(expression, type === undefined ? {} : { self: wrap(self, type) }, new Map(type === undefined ? [] : [['self', type]]), value)
      const expected = value ?? `error: ${error}`
      if (actual !== expected) wrong.push(`${expression}\n  expected ${expected}\n  actual   ${actual}`)
    }
  }
  assert.ok(count > 3000, String(count))
  assert.deepEqual(wrong, [])
})

function evaluate(expression: string, bindings: object, scope: Parameters<typeof compileExpression>[1], expected: string | null): string {
  let program
  try {
    program = compileExpression(expression, scope)
  } catch (error) {
    return `refused: ${(error as Error).message}`
  }
  const { outcome } = program.evaluate(bindings as Record<string, unknown>, 1_000_000)
  if (outcome === 'limit') return 'limit'
  if ('error' in outcome) return `error: ${outcome.error}`
  if (expected !== null && sameQuantity(outcome.value, expected)) return expected
  return isCelError(outcome.value) ? `error: ${outcome.value.message}` : show(outcome.value)
}

test('what upstream refuses, and what is not supported, is refused when it is compiled', () => {
  const accepted = recorded.refused.filter((expression) => {
    try {
      compileExpression(expression, new Map())
      return true
    } catch {
      return false
    }
  })
  assert.deepEqual(accepted, [])
})
