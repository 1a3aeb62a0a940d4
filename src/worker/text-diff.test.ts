import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { diffText } from './text-diff.ts'

test('a hunk has the lines around the first difference', () => {
  assert.equal(diffText('a\nb\nc\nd\ne\nf\ng', 'a\nb\nc\nX\ne\nf\ng', 1024), '@@ -2 +2 @@\n b\n c\n-d\n+X\n e\n f')
  assert.equal(diffText('a', 'a\nb', 1024), '@@ -1 +1 @@\n a\n+b')
  assert.equal(diffText('a\nb', '', 1024), '@@ -1 +1 @@\n-a\n-b')
})

test('a diff never exceeds its size', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), fc.integer({ min: 0, max: 100 }), (a, b, size) => {
      assert.ok(Buffer.byteLength(diffText(a, b, size)) <= size)
    }),
  )
})

test('megabytes are no trouble', () => {
  const started = performance.now()
  const lines = 'line\n'.repeat(400_000)
  assert.match(diffText(`${lines}a`, `${lines}b`, 1024), /-a\n\+b/)
  diffText('x'.repeat(2_000_000), `${'x'.repeat(1_999_999)}y`, 1024)
  diffText('\n'.repeat(2_000_000), 'y', 1024)
  assert.ok(performance.now() - started < 2000)
})
