import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parsePythonJson } from './parse-python-json.ts'

test('any JSON document reads as JSON.parse reads it, integers beyond 2^53 as bigints', () => {
  const withoutBigints = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? Number(value) : value)
  fc.assert(
    fc.property(fc.json({ noUnicodeString: false }), fc.constantFrom(undefined, 2), (text, indent) => {
      const formatted = JSON.stringify(JSON.parse(text), null, indent)
      assert.equal(JSON.stringify(parsePythonJson(formatted), withoutBigints, indent), formatted)
    }),
  )
})

test('what Python writes beyond JSON is understood', () => {
  assert.deepEqual(parsePythonJson('[NaN, Infinity, -Infinity, 12345678901234567890, -9007199254740993, 1e3]'), [
    NaN, Infinity, -Infinity, 12345678901234567890n, -9007199254740993n, 1000,
  ])
})

test('__proto__ is a key like any other', () => {
  const value = parsePythonJson('{"__proto__": {"polluted": true}, "a": 1, "a": 2}') as Record<string, unknown>
  assert.deepEqual(Object.keys(value), ['__proto__', 'a'])
  assert.equal(value.a, 2)
  assert.equal((value as { polluted?: boolean }).polluted, undefined)
})

test('what is no JSON is refused with a place', () => {
  for (const text of ['', '{', '[1,]', '{"a" 1}', '{a: 1}', '"\\x"', '"a\nb"', '"open', 'nul', '01', '1 2', '[1 2]', '-', "'a'", '\\"']) {
    assert.throws(() => parsePythonJson(text), /SyntaxError: .* at offset \d+/, text)
  }
  assert.throws(() => parsePythonJson('['.repeat(100_000)), /nesting deeper than 200/)
})
