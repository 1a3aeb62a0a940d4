import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { cleanText, resolveCarriageReturns } from './clean-text.ts'
import { ellipsize, truncate, truncateStart } from './truncate.ts'

test('text is cut at code-point boundaries', () => {
  assert.equal(truncate('aé😀', 3), 'aé')
  assert.equal(truncate('aé😀', 6), 'aé')
  assert.equal(truncate('aé😀', 7), 'aé😀')
  assert.equal(truncate('😀', 0), '')
  assert.equal(truncateStart('😀éa', 4), 'éa')
  assert.equal(truncateStart('😀éa', 1), 'a')
  assert.equal(ellipsize('abcdef', 5), 'ab…')
})

test('whatever the text and the size, the cut fits, is well formed and is a part of the text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 60 }), fc.nat(200), (text, size) => {
      const [start, end] = [truncate(text, size), truncateStart(text, size)]
      assert.ok(Buffer.byteLength(start) <= size && Buffer.byteLength(end) <= size)
      assert.ok(text.startsWith(start) && text.endsWith(end))
      assert.ok(Buffer.byteLength(text) > size || (start === text && end === text))
      assert.ok(size - Buffer.byteLength(start) < 4 || start === text)
    }),
  )
})

test('escapes, control characters and lone surrogates do not reach a status', () => {
  assert.equal(cleanText('\u001b[1;31mbold\u001b[0m\u0000\u0007\u007f\u009b tab\t\nend\ud800'), 'bold tab\t\nend\ufffd')
  assert.equal(cleanText('\u001b]0;title\u001b\\text'), 'text')
  assert.equal(resolveCarriageReturns('a\rb\r\n\r\nx\r'), 'b\n\nx')
})

test('clean text is clean whatever comes in', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.oneof(fc.constantFrom('\u001b', '[', ']', 'm', '\\', '\ud800', '\udc00'), fc.string({ unit: 'binary', maxLength: 1 })) }), (text) => {
      const cleaned = cleanText(text)
      assert.ok(cleaned.isWellFormed())
      // oxlint-disable-next-line no-control-regex -- control characters are what it is about
      assert.doesNotMatch(cleaned, /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/)
    }),
  )
})
