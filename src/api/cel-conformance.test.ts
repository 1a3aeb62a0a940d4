/**
 * The conformance tests of the language. Each case that does not come out as its specification has it stands in test/cel/conformance.json under
 * the reason; most are about protocol buffers and libraries that rules of a CustomResourceDefinition do not have.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { celUint, isCelError } from '@bufbuild/cel'
import { tests as conformance } from '@bufbuild/cel-spec/testdata/conformance.js'
import type { Scope } from './cel-check.ts'
import type { Value } from './cel-function.ts'
import { LiteralMap } from './cel-map.ts'
import { compileExpression } from './cel-program.ts'
import { show } from './cel-show.fixture.ts'
import { JoinedList } from './cel-values.ts'

/** A value as JSON writes cel.expr.Value. */
interface Written {
  readonly int64Value?: string
  readonly uint64Value?: string
  readonly doubleValue?: number | string
  readonly stringValue?: string
  readonly bytesValue?: string
  readonly boolValue?: boolean
  readonly nullValue?: null
  readonly typeValue?: string
  readonly listValue?: { readonly values?: readonly Written[] }
  readonly mapValue?: { readonly entries?: readonly { readonly key: Written; readonly value: Written }[] }
}
interface Case {
  readonly name?: string
  readonly expr: string
  readonly bindings?: Readonly<Record<string, { readonly value?: Written }>>
  readonly value?: Written
  readonly evalError?: unknown
  readonly typedResult?: unknown
}
interface Suite {
  readonly name: string
  readonly suites?: readonly Suite[]
  readonly tests?: readonly { readonly original: Case }[]
}

function cases(suite: Suite, path: string): { path: string; original: Case }[] {
  const own = (suite.tests ?? []).map(({ original }) => ({ path: `${path}/${original.name ?? ''}: ${original.expr}`, original }))
  return [...own, ...(suite.suites ?? []).flatMap((inner) => cases(inner, `${path}/${inner.name}`))]
}

/** The value, undefined for a message. */
function read(written: Written): Value | undefined {
  if (written.int64Value !== undefined) return BigInt(written.int64Value)
  if (written.uint64Value !== undefined) return celUint(BigInt(written.uint64Value))
  if (written.doubleValue !== undefined) return Number(written.doubleValue)
  if (written.bytesValue !== undefined) return new Uint8Array(Buffer.from(written.bytesValue, 'base64'))
  if ('nullValue' in written) return null
  if (written.listValue !== undefined) return new JoinedList((written.listValue.values ?? []).map((item) => read(item) as Value)) as unknown as Value
  if (written.mapValue !== undefined) {
    return new LiteralMap((written.mapValue.entries ?? []).map(({ key, value }) => [read(key) as Value, read(value) as Value])) as unknown as Value
  }
  return written.stringValue ?? written.boolValue
}

/** How a case comes out when it conforms; a case without a result gives true. */
function expected({ value, evalError }: Case): string {
  if (evalError !== undefined) return 'error'
  if (value?.typeValue !== undefined) return `type(${value.typeValue})`
  const found = value === undefined ? true : read(value)
  return found === undefined ? 'a message' : show(found)
}

function actual({ expr, bindings = {}, evalError }: Case): string {
  const values = Object.fromEntries(Object.entries(bindings).map(([name, { value }]) => [name, value && read(value)]))
  const scope: Scope = new Map(Object.keys(values).map((name) => [name, undefined]))
  let program
  try {
    program = compileExpression(expr, scope)
  } catch (error) {
    // what an evaluator without a check finds late is found early here
    return evalError === undefined ? `refused: ${(error as Error).message}` : 'error'
  }
  const { outcome } = program.evaluate(values, 1_000_000)
  if (outcome === 'limit' || 'error' in outcome || isCelError(outcome.value)) return 'error'
  return show(outcome.value)
}

test('the language conforms to its specification, but for what is named', () => {
  const differences = JSON.parse(readFileSync(new URL('../../test/cel/conformance.json', import.meta.url), 'utf8')) as Record<string, string[]>
  const named = Object.values(differences).flat()
  const all = (conformance as Suite).suites?.flatMap((suite) => cases(suite, suite.name)) ?? []
  const failing = all.filter(({ original }) => {
    // the type of a result is not found out
    if (original.typedResult !== undefined) return true
    return actual(original) !== expected(original)
  })
  assert.ok(all.length > 2200, String(all.length))
  assert.deepEqual(failing.map(({ path }) => path).sort(), named.sort())
})
