import assert from 'node:assert/strict'
import { test } from 'node:test'
import { splitDocuments } from './yaml-documents.ts'

test('documents stand between separators, with the lines at which they begin; empty ones are left out', () => {
  assert.deepEqual(splitDocuments('---\na: 1\n--- # next\n# only a comment\n---\r\nb: |\n  ---\n  c\n---   \n'), [
    { text: 'a: 1', line: 2 },
    { text: 'b: |\n  ---\n  c', line: 6 },
  ])
  assert.deepEqual(splitDocuments(''), [])
  assert.deepEqual(splitDocuments('{"a": "---"}'), [{ text: '{"a": "---"}', line: 1 }])
})
