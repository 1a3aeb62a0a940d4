import assert from 'node:assert/strict'
import { test } from 'node:test'
import { plural } from './plural.ts'

test('one is singular, all else is not', () => {
  assert.deepEqual([0, 1, 2, 3000].map((count) => plural(count, 'object')), ['0 objects', '1 object', '2 objects', '3,000 objects'])
})
