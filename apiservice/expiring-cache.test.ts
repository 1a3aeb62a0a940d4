import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openManualClock } from '../test/model/manual-clock.ts'
import { openExpiringCache } from './expiring-cache.ts'

test('a cache holds no more than it may, and forgets the oldest', async () => {
  const cache = openExpiringCache<number>({ maxEntries: 3, clock: openManualClock() })
  let loads = 0
  const get = (key: string) => cache.get(key, async () => ({ value: ++loads, ttlMs: 1000 }))
  for (const key of ['a', 'b', 'c', 'd']) await get(key)
  assert.deepEqual([await get('b'), await get('c'), await get('d'), loads], [2, 3, 4, 4])
  assert.equal(await get('a'), 5)
})

test('a failure is told to all who wait, and to nobody after', async () => {
  const cache = openExpiringCache<number>({ maxEntries: 3, clock: openManualClock() })
  const failing = Array.from({ length: 3 }, () => cache.get('a', async () => {
    throw new Error('no')
  }))
  for (const result of await Promise.allSettled(failing)) assert.equal(result.status, 'rejected')
  assert.equal(await cache.get('a', async () => ({ value: 1, ttlMs: 0 })), 1)
  assert.equal(await cache.get('a', async () => ({ value: 2, ttlMs: 1 })), 2)
})
