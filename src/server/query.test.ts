import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseQuery, queryOf } from './query.ts'

test('a query has the parameters that Go finds in it', () => {
  const cases: [string, [string, string][]][] = [
    ['labelSelector=none;x&limit=1', [['limit', '1']]],
    ['a=b;c&labelSelector=x', [['labelSelector', 'x']]],
    ['labelSelector=%zz&a=%4', []],
    ['labelSelector=a%3Bb', [['labelSelector', 'a;b']]],
    ['&&a&b=&=c&a=x+y', [['a', ''], ['b', ''], ['', 'c'], ['a', 'x y']]],
    ['?a=1', [['?a', '1']]],
    ['a=é', [['a', 'é']]],
    ['', []],
  ]
  for (const [query, expected] of cases) {
    assert.deepEqual([...parseQuery(query)], expected, query)
    assert.deepEqual([...queryOf(`/path?${query}`)], expected, query)
  }
  assert.deepEqual([...queryOf('/path')], [])
})
