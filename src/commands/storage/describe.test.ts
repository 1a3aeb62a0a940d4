import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeDone, formatBytes } from './describe.ts'

test('no more is done than there is, in numbers with separators', () => {
  assert.equal(describeDone({ done: 1378, total: 3000 }), '1,378 of 3,000')
  assert.equal(describeDone({ done: 3003, total: 3000 }), '3,003 of 3,003')
})

test('bytes in the unit that suits them', () => {
  assert.deepEqual([0, 999, 1000, 7_249_999, 3e9].map(formatBytes), ['0 bytes', '999 bytes', '1.0 kB', '7.2 MB', '3.0 GB'])
})
