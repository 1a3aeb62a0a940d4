import assert from 'node:assert/strict'
import { test } from 'node:test'
import { indentJson } from './indent-json.ts'

test('compact JSON is indented, its texts and numbers untouched', () => {
  const text = '{"a":[1,2.50,{"b":"{\\"x\\": [1,2]}"}],"c":{},"d":[],"e":"\\\\"}'
  assert.equal(indentJson(text), [
    '{', '  "a": [', '    1,', '    2.50,', '    {', '      "b": "{\\"x\\": [1,2]}"', '    }', '  ],', '  "c": {},', '  "d": [],', '  "e": "\\\\"', '}',
  ].join('\n'))
})

test('blanks do not grow with the square of the depth', () => {
  const deep = '['.repeat(10_000) + ']'.repeat(10_000)
  const indented = indentJson(deep)
  assert.ok(indented.length < 10_000_000)
  assert.equal(indented.replace(/\s/g, ''), deep)
})
