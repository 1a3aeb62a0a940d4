import assert from 'node:assert/strict'
import { test } from 'node:test'
import { corruptBase64 } from './go-base64.ts'

test('the byte at which Go stops', () => {
  for (const [text, at] of [
    ['', undefined], ['YWI=', undefined], ['YQ==', undefined], ['YW\nJj', undefined], ['!!!', 0], ['YW!i', 2], ['not base64', 3], ['YWJ', 0], ['YWJjYQ', 4],
    ['Y===', 1], ['=', 0], ['YQ=', 3], ['YQ=a', 2], ['YQ==a', 4], ['YWI=a', 4], ['YQ==\n', undefined], ['é', 0], ['YWJjé', 4],
  ] as const) assert.equal(corruptBase64(text), at, JSON.stringify(text))
})
