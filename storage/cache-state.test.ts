import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { compareKeys } from './backend.ts'
import { HeldEntry } from './cache-entry.ts'
import { SortedEntries } from './cache-state.ts'
import type { Codec } from './watch-cache.ts'

const codec: Codec = {
  index: (_key, value) => {
    if (value.byteLength === 0) throw new Error('empty')
    return { labels: {}, fields: {}, uid: '' }
  },
  encode: (_key, value) => ({ bytes: value, place: 0 }),
}

const keyOf = (n: number): string => `n/${String(n).padStart(4, '0')}`
const entryOf = (n: number, revision: number): HeldEntry => new HeldEntry(keyOf(n), new Uint8Array(revision % 7), revision, 1, codec)

/** Through splits, joins and emptied chunks a state is what a sorted map is, and earlier states stay as they were. */
function check(state: SortedEntries, model: ReadonlyMap<string, HeldEntry>): void {
  const all = [...model.values()].sort((a, b) => compareKeys(a.key, b.key))
  assert.deepEqual([...state], all)
  assert.deepEqual(state.slice(0, state.size), all)
  assert.equal(state.size, all.length)
  assert.equal(state.undecodable, all.filter((entry) => entry.problem).length)
  for (const at of [0, 100, 255, 256, 700]) {
    const bound = keyOf(at)
    const rank = all.findIndex((entry) => compareKeys(entry.key, bound) >= 0)
    assert.equal(state.rank((key) => compareKeys(key, bound) < 0), rank < 0 ? all.length : rank)
    assert.deepEqual(state.slice(at, at + 300), all.slice(at, at + 300))
    assert.equal(state.get(bound), model.get(bound))
  }
}

it('is a sorted map whose earlier states stay', () => {
  /** Runs of neighbouring keys, so that chunks grow, split, shrink and vanish. */
  const run = fc.record({ isPut: fc.boolean(), from: fc.nat(1000), length: fc.nat(400), stride: fc.constantFrom(1, 2, 7) })
  fc.assert(
    fc.property(fc.nat(900), fc.array(run, { maxLength: 12 }), (initial, runs) => {
      let revision = 1
      const first = Array.from({ length: initial }, (_, n) => entryOf(n, revision++))
      const model = new Map(first.map((entry) => [entry.key, entry]))
      let state = SortedEntries.from(first)
      const kept: [SortedEntries, Map<string, HeldEntry>][] = []
      for (const { isPut, from, length, stride } of runs) {
        kept.push([state, new Map(model)])
        for (let n = from; n < from + length; n += stride) {
          const entry = entryOf(n, revision++)
          state = isPut ? state.with(entry) : state.without(entry.key)
          if (isPut) model.set(entry.key, entry)
          else model.delete(entry.key)
        }
      }
      for (const [then, contents] of [...kept, [state, model] as const]) check(then, contents)
    }),
    { numRuns: 60, seed: 20260101 },
  )
})

it('is the same when nothing is removed', () => {
  const state = SortedEntries.from([entryOf(1, 1)])
  assert.equal(state.without(keyOf(2)), state)
  assert.equal(SortedEntries.empty.without(keyOf(2)).size, 0)
  assert.equal(SortedEntries.empty.get(keyOf(2)), undefined)
})
