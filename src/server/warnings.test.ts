import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Warnings } from './warnings.ts'

function headers(...texts: string[]): string[] {
  const warnings = new Warnings()
  for (const text of texts) warnings.add(text)
  return warnings.headers()
}

test('each text once, in order, quotes and backslashes escaped', () => {
  assert.deepEqual(headers('b', 'a "x" \\', 'b'), ['299 - "b"', '299 - "a \\"x\\" \\\\"'])
})

test('empty texts and such with control characters are dropped', () => {
  assert.deepEqual(headers('', 'a\nb', 'a\u0000', 'a\u007f', 'kept'), ['299 - "kept"'])
})

test('other characters are sent as UTF-8', () => {
  const [value = ''] = headers('ключ é 日本 😀')
  assert.ok([...value].every((char) => char <= '\u00ff'))
  assert.equal(Buffer.from(value, 'latin1').toString(), '299 - "ключ é 日本 😀"')
})

test('many warnings are cut, then dropped', () => {
  const long = Array.from({ length: 20 }, (_, i) => `${String(i).padStart(2, '0')}${'é'.repeat(298)}`)
  const cut = headers(...long)
  assert.equal(cut.length, 16)
  for (const value of cut) assert.equal([...Buffer.from(value, 'latin1').toString()].length, 256 + '299 - ""'.length)
  assert.equal(headers('x'.repeat(4096)).length, 1)
  // The one that goes beyond the limit is sent too.
  assert.equal(headers(...Array.from({ length: 500 }, (_, i) => `warning ${i + 100}`)).length, Math.floor(4096 / 11) + 1)
  assert.equal(headers('x'.repeat(4097))[0]?.length, 256 + '299 - ""'.length)
})
