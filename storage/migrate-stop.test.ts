import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openManualClock } from '../test/model/manual-clock.ts'
import type { BackendStatus } from './backend.ts'
import { lackOfRoom, openStopConditions } from './migrate-stop.ts'

const MB = 1e6
const status = (freeMb: number, more: Partial<BackendStatus> = {}): BackendStatus => ({
  engine: 'etcd 3.6.16', revision: 1, compactedRevision: 1, bytes: 1, space: { limitBytes: 100 * MB, freeBytes: freeMb * MB, reserveBytes: 20 * MB }, ...more,
})

test('without room it holds still, goes on when there is room again, and gives up when waiting does not help', async () => {
  const clock = openManualClock()
  const look = openStopConditions(clock)
  assert.deepEqual(look(status(20)), {})
  assert.deepEqual(look(status(19)), { hold: 'LowSpace' })
  await clock.advance(14 * 60_000)
  assert.deepEqual(look(status(10)), { hold: 'LowSpace' })
  assert.deepEqual(look(status(30)), {})
  assert.deepEqual(look(status(10)), { hold: 'LowSpace' })
  await clock.advance(15 * 60_000)
  assert.match(look(status(10)).giveUp ?? '', /^the store \(etcd 3\.6\.16\) has 10\.0 MB left of 100\.0 MB, and a migration leaves the last 20\.0 MB to others: .*defrag.*alarm disarm.*--quota-backend-bytes/)
})

test('having held still, it goes on with room enough to get on', async () => {
  const look = openStopConditions(openManualClock())
  assert.deepEqual([19, 20, 29, 30, 20].map((free) => look(status(free)).hold), ['LowSpace', 'LowSpace', 'LowSpace', undefined, undefined])
})

test('a store that refuses writes has no room, whatever it says of it; it is tried again, and given up when that does not help', async () => {
  const clock = openManualClock()
  const look = openStopConditions(clock)
  const { space: _, ...silent } = status(0)
  for (let minute = 0; minute < 14; minute += 2) {
    assert.deepEqual([look(silent, true), look(silent, false)], [{ hold: 'LowSpace' }, {}])
    await clock.advance(120_000)
  }
  await clock.advance(60_000)
  assert.match(look(silent, true).giveUp ?? '', /^the store \(etcd 3\.6\.16\) has no room: /)
  // What gets on has room again.
  assert.deepEqual([look(silent), look(silent), look(silent, true)], [{}, {}, { hold: 'LowSpace' }])
})

test('after a change of the leader it holds still for half a minute', async () => {
  const clock = openManualClock()
  const look = openStopConditions(clock)
  assert.deepEqual([look(status(50, { term: 3 })), look(status(50, { term: 3 }))], [{}, {}])
  assert.deepEqual(look(status(50, { term: 4 })), { hold: 'LeaderChange' })
  await clock.advance(29_000)
  assert.deepEqual(look(status(50, { term: 4 })), { hold: 'LeaderChange' })
  await clock.advance(1000)
  assert.deepEqual(look(status(50, { term: 4 })), {})
})

test('a store that cannot tell has room; one on a disk is told so', () => {
  const { space: _, ...silent } = status(0)
  assert.equal(lackOfRoom(silent), undefined)
  assert.match(lackOfRoom(status(1, { engine: 'sqlite' })) ?? '', /make room on its disk\. Then the same command continues$/)
})
