import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tests as conformance } from '@bufbuild/cel-spec/testdata/conformance.js'
import { compileRules } from './cel.ts'
import type { KubeObject } from './object.ts'

interface Case {
  readonly name?: string
  readonly expr: string
  readonly bindings?: unknown
  readonly container?: string
  readonly disableCheck?: boolean
  readonly value?: { readonly boolValue?: boolean; readonly int64Value?: string; readonly stringValue?: string }
  readonly evalError?: unknown
}
interface Suite {
  readonly name: string
  readonly suites?: readonly Suite[]
  readonly tests?: readonly { readonly original: Case }[]
}

/** The parts of the language that rules can use; the rest is about protocol buffers or extensions that rules do not have. */
const SUITES = ['basic', 'comparisons', 'conversions', 'fp_math', 'integer_math', 'lists', 'logic', 'macros', 'parse', 'plumbing', 'string', 'string_ext', 'timestamps']

const OBJECT = { apiVersion: 'v1', kind: 'X', metadata: {} } as KubeObject

function cases(suite: Suite, path: string): { path: string; original: Case }[] {
  const own = (suite.tests ?? []).map(({ original }) => ({ path: `${path}/${original.name ?? original.expr}`, original }))
  return [...own, ...(suite.suites ?? []).flatMap((inner) => cases(inner, `${path}/${inner.name}`))]
}

/** What is only found when it runs elsewhere; rules that name something unknown are refused when the schema is compiled. */
const REFUSED_EARLIER = /unbound_is_runtime_error$|^parse\/receiver_function_names\//

/** The case as a rule that must hold, undefined when it has no such form. */
function asRule({ expr, bindings, container, value, evalError }: Case): string | undefined {
  if (bindings !== undefined || container !== undefined || /\bgoogle\.protobuf\b|TestAllTypes/.test(expr)) return undefined
  if (evalError !== undefined) return `(${expr}) == 0`
  if (value?.boolValue !== undefined) return `(${expr}) == ${value.boolValue}`
  if (value?.int64Value !== undefined) return `(${expr}) == ${value.int64Value}`
  return value?.stringValue === undefined ? undefined : `(${expr}) == ${JSON.stringify(value.stringValue)}`
}

function outcome(rule: string): 'holds' | 'fails' | 'error' {
  let rules
  try {
    rules = compileRules({ type: 'object', 'x-kubernetes-validations': [{ rule, message: 'M' }] })
  } catch {
    return 'error'
  }
  const [error] = rules.evaluate(OBJECT, undefined).errors
  return error === undefined ? 'holds' : error.body === 'Invalid value: M' ? 'fails' : 'error'
}

test('the language conforms to its specification', () => {
  const wrong: string[] = []
  let count = 0
  for (const suite of (conformance as Suite).suites ?? []) {
    if (!SUITES.includes(suite.name)) continue
    for (const { path, original } of cases(suite, suite.name)) {
      const rule = asRule(original)
      if (rule === undefined) continue
      count++
      const expected = original.evalError === undefined && !REFUSED_EARLIER.test(path) ? 'holds' : 'error'
      const actual = outcome(rule)
      if (actual !== expected) wrong.push(`${path}: ${actual}: ${rule}`)
    }
  }
  assert.ok(count > 500, String(count))
  assert.deepEqual(wrong, [])
})
