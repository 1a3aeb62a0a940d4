/** Objects that rules look at, with the errors and warnings of a kube-apiserver's own code. Recorded with k8s.io/apiextensions-apiserver 0.36.3. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { compileRules } from './cel.ts'
import { decodeJson } from './json-parse.ts'
import type { Json, KubeObject } from './object.ts'
import type { Schema } from './schema.ts'

interface Recorded {
  readonly schemas: readonly Schema[]
  readonly scenarios: readonly { readonly name: string; readonly schema: number; readonly spec: Json; readonly old?: Json; readonly errors: string[]; readonly warnings?: string[] }[]
}

const { schemas, scenarios } = decodeJson(readFileSync(new URL('../../test/cel/rules.json', import.meta.url), 'utf8')).value as unknown as Recorded

const object = (spec: Json): KubeObject => ({ apiVersion: 'example/v1', kind: 'X', metadata: { name: 'n' }, spec }) as KubeObject

test('rules judge objects as they do upstream', () => {
  const compiled = schemas.map((schema) => {
    try {
      return compileRules(schema)
    } catch (error) {
      return (error as Error).message
    }
  })
  assert.ok(scenarios.length > 400, String(scenarios.length))
  const wrong: object[] = []
  for (const { name, schema, spec, old, errors, warnings = [] } of scenarios) {
    const rules = compiled[schema]
    if (typeof rules !== 'object') {
      wrong.push({ name, refused: rules })
      continue
    }
    const found = rules.evaluate(object(spec), old === undefined ? undefined : object(old))
    const actual = { errors: found.errors.map(({ field, body }) => `${field}: ${body}`).sort(), warnings: found.warnings.sort() }
    const expected = { errors: [...errors].sort(), warnings: [...warnings].sort() }
    if (JSON.stringify(actual) !== JSON.stringify(expected)) wrong.push({ name, actual, expected })
  }
  assert.deepEqual(wrong, [])
})
