import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openManualClock } from '../test/model/manual-clock.ts'
import { LeaseExpired, OutOfSpace } from './backend.ts'
import { openLeaseTable } from './lease-table.ts'

test('keys that cannot be deleted are tried again; the lease is over all the same', async () => {
  const clock = openManualClock()
  const ended: string[] = []
  let failures = 3
  const leases = openLeaseTable(clock, async (id) => {
    if (failures-- > 0) throw new OutOfSpace('full')
    ended.push(id)
  })
  const lease = leases.grant(10)
  await clock.advance(9999)
  leases.check(lease.id)
  await clock.advance(1)
  assert.throws(() => leases.check(lease.id), LeaseExpired)
  assert.deepEqual(ended, [])
  await clock.advance(3000)
  assert.deepEqual(ended, [lease.id])
  await clock.advance(60_000)
  assert.deepEqual(ended, [lease.id])
})

test('a revocation that fails says so and is tried again', async () => {
  const clock = openManualClock()
  const ended: string[] = []
  let failures = 1
  const leases = openLeaseTable(clock, async (id) => {
    if (failures-- > 0) throw new OutOfSpace('full')
    ended.push(id)
  })
  const lease = leases.grant(10)
  await assert.rejects(lease.revoke(), OutOfSpace)
  await assert.rejects(lease.keepAlive(), LeaseExpired)
  await clock.advance(1000)
  assert.deepEqual(ended, [lease.id])
})

test('once closed nothing ends any more', async () => {
  const clock = openManualClock()
  const ended: string[] = []
  const leases = openLeaseTable(clock, async (id) => void ended.push(id))
  leases.grant(10)
  leases.close()
  await clock.advance(20_000)
  assert.deepEqual(ended, [])
})
