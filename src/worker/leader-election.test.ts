import assert from 'node:assert/strict'
import { test } from 'node:test'
import { silentLog } from '../base/log.ts'
import { FakeCluster } from './cluster.fixture.ts'
import { type FakeClock, fakeClock, settle } from './fake-clock.fixture.ts'
import { runLeaderElection } from './leader-election.ts'
import type { LeaseClient } from './lease-client.ts'

type Candidate = { readonly leads: () => boolean; readonly stop: () => Promise<void>; readonly done: Promise<void>; readonly setAway: (away: boolean) => void }

/** A candidate; while it is away its requests are not answered. */
function stand(cluster: FakeCluster, clock: FakeClock, identity: string, more: { lead?: (signal: AbortSignal) => Promise<void> } = {}): Candidate {
  const abort = new AbortController()
  const { leases } = cluster.clients()
  let leading = false
  const lead = async (signal: AbortSignal): Promise<void> => {
    leading = true
    await (more.lead?.(signal) ?? new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve())))
    leading = false
  }
  const state = { away: false }
  const answered = async <T>(signal: AbortSignal, ask: () => Promise<T>): Promise<T> => {
    if (state.away) await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    return await ask()
  }
  const client: LeaseClient = {
    read: (signal) => answered(signal, () => leases.read(signal)),
    write: (spec, version, signal) => answered(signal, () => leases.write(spec, version, signal)),
  }
  const done = runLeaderElection({ leases: client, identity, lead, clock, log: silentLog, signal: abort.signal })
  done.catch(() => {})
  return {
    setAway: (away) => (state.away = away),
    leads: () => leading,
    done,
    stop: async () => {
      abort.abort()
      await settle()
      await done
    },
  }
}

test('one leads, as long as it is there; a stop lets the next one in at once', async () => {
  const cluster = new FakeCluster()
  const clock = fakeClock()
  const a = stand(cluster, clock, 'a')
  await clock.advance(1)
  const b = stand(cluster, clock, 'b')
  for (let i = 0; i < 100; i++) {
    await clock.advance(1_000)
    assert.deepEqual([a.leads(), b.leads()], [true, false])
  }
  assert.equal(cluster.lease?.spec.holderIdentity, 'a')
  assert.equal(cluster.lease?.spec.leaseTransitions, 0)
  await a.stop()
  assert.equal(cluster.lease?.spec.holderIdentity, '')
  await clock.advance(5_000)
  assert.equal(b.leads(), true)
  assert.equal(cluster.lease?.spec.leaseTransitions, 1)
  await b.stop()
})

test('a leader that hears nothing stops before another one begins, and stands again', async () => {
  const cluster = new FakeCluster()
  const clock = fakeClock()
  const a = stand(cluster, clock, 'a')
  await clock.advance(1)
  const b = stand(cluster, clock, 'b')
  await clock.advance(10_000)
  a.setAway(true)
  let gap = 0
  for (let i = 0; i < 300 && !b.leads(); i++) {
    await clock.advance(100)
    assert.ok(!(a.leads() && b.leads()))
    if (!a.leads()) gap++
  }
  assert.equal(b.leads(), true)
  assert.ok(gap >= 30, `${gap}`)
  a.setAway(false)
  await clock.advance(30_000)
  assert.deepEqual([a.leads(), b.leads()], [false, true])
  b.setAway(true)
  await clock.advance(30_000)
  assert.deepEqual([a.leads(), b.leads()], [true, false])
  b.setAway(false)
  await a.stop()
  await b.stop()
})

test('of many that come at once one leads', async () => {
  const cluster = new FakeCluster()
  const clock = fakeClock()
  const all = ['a', 'b', 'c', 'd'].map((identity) => stand(cluster, clock, identity))
  await clock.advance(10_000)
  assert.equal(all.filter(({ leads }) => leads()).length, 1)
  for (const candidate of all) await candidate.stop()
})

test('a Lease that somebody takes ends the term, and work that fails ends the election', async () => {
  const cluster = new FakeCluster()
  const clock = fakeClock()
  const a = stand(cluster, clock, 'a')
  await clock.advance(5_000)
  cluster.lease = { resourceVersion: '999', spec: { holderIdentity: 'other', leaseDurationSeconds: 15 } }
  await clock.advance(3_000)
  assert.equal(a.leads(), false)
  await clock.advance(20_000)
  assert.equal(a.leads(), true)
  await a.stop()
  const broken = stand(cluster, clock, 'b', { lead: () => Promise.reject(new Error('no')) })
  await clock.advance(5_000)
  await assert.rejects(broken.done, /^Error: no$/)
  assert.equal(cluster.lease?.spec.holderIdentity, '')
})
