import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { matchCells } from './cell-matching.ts'

/** `id:source`, with an empty id for none. */
function cells(...texts: string[]): { id: string; source: string }[] {
  return texts.map((text) => ({ id: text.split(':')[0]!, source: text.split(':')[1]! }))
}

const CASES: [name: string, expected: string[], actual: string[], method: 'Auto' | 'Index' | 'ID', pairs: [number, number][]][] = [
  ['by place', [':a', ':b'], [':x', ':y', ':z'], 'Index', [[0, 0], [1, 1]]],
  ['by id, in any order', ['1:a', '2:b'], ['2:x', '1:y'], 'ID', [[0, 1], [1, 0]]],
  ['an id that occurs twice is none', ['1:a', '1:b'], ['1:a'], 'ID', []],
  ['without ids ID matches nothing', [':a'], [':a'], 'ID', []],
  ['an inserted cell shifts nothing', [':a', ':b'], [':new', ':a', ':b'], 'Auto', [[0, 1], [1, 2]]],
  ['a removed cell shifts nothing', [':a', ':b', ':c'], [':a', ':c'], 'Auto', [[0, 0], [2, 1]]],
  ['an edited cell keeps its place between its neighbours', [':a', ':b', ':c'], [':a', ':B', ':c'], 'Auto', [[0, 0], [1, 1], [2, 2]]],
  ['also behind an inserted one', [':a', ':b', ':c'], [':new', ':a', ':B', ':c'], 'Auto', [[0, 1], [1, 2], [2, 3]]],
  ['ids first, then sources', ['1:a', ':b'], [':b', '1:z'], 'Auto', [[0, 1], [1, 0]]],
  ['new ids, same sources', ['1:a', '2:b'], ['3:a', '4:b'], 'Auto', [[0, 0], [1, 1]]],
  ['everything edited', [':a', ':b'], [':x', ':y'], 'Auto', [[0, 0], [1, 1]]],
]

for (const [name, expected, actual, method, pairs] of CASES) {
  test(`${method}: ${name}`, () => {
    const found = matchCells(cells(...expected), cells(...actual), method)
    assert.deepEqual(found.toSorted((a, b) => a[0] - b[0]), pairs)
  })
}

test('a cell has at most one partner, and equal notebooks match cell by cell', () => {
  const cell = fc.record({ id: fc.constantFrom('', 'a', 'b', 'c'), source: fc.constantFrom('', 'x', 'y', 'z') })
  fc.assert(
    fc.property(fc.array(cell), fc.array(cell), fc.constantFrom('Auto', 'Index', 'ID'), (a, b, method) => {
      const pairs = matchCells(a, b, method)
      for (const side of [0, 1] as const) assert.equal(new Set(pairs.map((pair) => pair[side])).size, pairs.length)
      if (method !== 'ID') assert.equal(matchCells(a, a, method).filter(([i, j]) => a[i]!.source === a[j]!.source).length, a.length)
      // Of several longest common subsequences the two directions may take different ones.
      if (method !== 'Auto') assert.equal(matchCells(b, a, method).length, pairs.length)
    }),
  )
})

test('notebooks of ten thousand cells match in bounded time', () => {
  const started = performance.now()
  const many = Array.from({ length: 10_000 }, (_, i) => ({ id: '', source: `${i % 5000}` }))
  assert.equal(matchCells(many, many.slice(1), 'Auto').length, 9999)
  const [odd, even] = [1, 0].map((rest) => many.filter((_, i) => i % 3 !== rest))
  assert.ok(matchCells(odd!, even!, 'Auto').length > 3000)
  assert.ok(performance.now() - started < 3000)
})
