import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LensFileError, readLenses } from './lens-read.ts'
import { decodeYaml } from './yaml.ts'

const read = (text: string) => readLenses(decodeYaml(text).value)

function faults(text: string): readonly string[] {
  try {
    read(text)
  } catch (error) {
    if (error instanceof LensFileError) return error.faults
    throw error
  }
  return []
}

const one = (operation: string): string => `resource: widgets.example.com\nlenses:\n- {older: v1, newer: v2, operations: [${operation}]}\n`

test('every operation is read as it is', () => {
  const operations = [
    '{op: same, fields: [a, b.c]}',
    '{op: rename, older: a, newer: b.c, operations: [{op: same, fields: [d]}]}',
    '{op: wrap, older: a, newer: b, key: name}',
    '{op: group, newer: b, fields: {a: x, c: z}}',
    '{op: regroup, newer: b, objects: {a: {x: z}}}',
    '{op: pick, field: limits, keys: [cpu, nvidia.com/gpu]}',
    '{op: each, older: a, newer: b, key: {older: k, newer: l}, operations: [{op: newer, fields: [d]}]}',
    '{op: verdict, older: a, newer: b, beside: c, good: {value: x, outcomes: [u], beside: [z], create: u}, bad: {value: w, create: m}}',
    '{op: inherit, older: a, newer: b, from: c, operations: [{op: same, fields: [d]}]}',
    '{op: newer, fields: [a]}',
  ]
  for (const operation of operations) {
    const { resource, lenses } = read(one(operation))
    assert.equal(resource, 'widgets.example.com')
    assert.deepEqual(lenses, [{ older: 'v1', newer: 'v2', operations: [decodeYaml(operation).value] }])
  }
})

test('all that is wrong is named at once, with its place', () => {
  assert.deepEqual(faults('[]'), ['the document: must be an object'])
  assert.deepEqual(faults('{}'), ['resource: is missing', 'lenses: is missing'])
  assert.deepEqual(faults('{resource: "", lenses: [], more: 1, __proto__: {}}'), [
    'more: is not known here',
    '__proto__: is not known here',
    'resource: must be a text that is not empty',
    'lenses: must be a list that is not empty',
  ])
  const at = 'lenses[0].operations[0]'
  const cases: [string, string[]][] = [
    ['text', [`${at}: must be an object`]],
    ['{op: move}', [`${at}.op: must be one of same, rename, wrap, group, regroup, pick, each, verdict, inherit, newer`]],
    ['{op: __proto__}', [`${at}.op: must be one of same, rename, wrap, group, regroup, pick, each, verdict, inherit, newer`]],
    ['{op: same, fields: [a, ".b", 5]}', [`${at}.fields[1]: must be field names joined by dots`, `${at}.fields[2]: must be field names joined by dots`]],
    ['{op: rename, older: a, operations: [{op: same}]}', [`${at}.newer: is missing`, `${at}.operations[0].fields: is missing`]],
    ['{op: group, newer: a, fields: {}}', [`${at}.fields: must be an object that is not empty`]],
    ['{op: each, older: a, newer: b, key: k, operations: []}', [`${at}.key: must be an object`, `${at}.operations: must be a list that is not empty`]],
  ]
  for (const [operation, expected] of cases) assert.deepEqual(faults(one(operation)), expected)
})
