import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openManualClock } from '../test/model/manual-clock.ts'
import { SortedEntries } from './cache-state.ts'
import { RecentStates } from './recent-states.ts'

const state = SortedEntries.empty

it('forgets states that nobody used for five minutes', async () => {
  const clock = openManualClock()
  const recent = new RecentStates(clock)
  recent.keep(1, state)
  recent.keep(2, state)
  await clock.advance(200_000)
  recent.keep(1, state)
  await clock.advance(200_000)
  assert.equal(recent.find(1), state)
  assert.equal(recent.find(2), undefined)
})

it('keeps a bounded number, the most recently used', () => {
  const recent = new RecentStates(openManualClock())
  for (let revision = 1; revision <= 64; revision++) recent.keep(revision, state)
  recent.keep(1, state)
  recent.keep(65, state)
  assert.equal(recent.find(1), state)
  assert.equal(recent.find(2), undefined)
  assert.equal(recent.find(3), state)
})

it('lets go of states that hold too many replaced bytes, however often they are used', () => {
  const recent = new RecentStates(openManualClock())
  recent.keep(1, state)
  recent.replaced(40 * 2 ** 20)
  recent.keep(1, state)
  recent.keep(2, state)
  recent.replaced(30 * 2 ** 20)
  assert.equal(recent.find(1), undefined)
  assert.equal(recent.find(2), state)
})
