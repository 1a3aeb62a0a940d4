/** What networks and members do to a store, on real etcd: nothing is lost, doubled or out of order. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../../src/base/clock.ts'
import { silentLog } from '../../src/base/log.ts'
import { OutOfSpace, Unavailable, UnknownOutcome } from '../../storage/backend.ts'
import type { Backend } from '../../storage/backend.ts'
import { openEtcd } from '../../storage/etcd.ts'
import type { EtcdOptions } from '../../storage/etcd.ts'
import { startTcpProxy } from '../fault/tcp-proxy.ts'
import type { TcpProxy } from '../fault/tcp-proxy.ts'
import { ETCD_VERSIONS } from './etcd-binaries.ts'
import { startCluster } from './etcd-cluster.ts'
import type { EtcdCluster } from './etcd-cluster.ts'
import { assertSameHistory, collect, startWriters } from './revision-log.ts'

const RANGE = { start: 'a/', end: 'a0' }
let stores = 0

/** A store with a prefix of its own unless one is given. */
const open = (endpoints: readonly string[], options: Partial<EtcdOptions> = {}): Promise<Backend> =>
  openEtcd({ endpoints, prefix: `/faults${++stores}/`, requestTimeoutMs: 3000, clock: systemClock, log: silentLog, ...options })

/** The same "random" numbers at each run: a linear congruential generator. */
function seeded(seed: number): () => number {
  let state = seed
  return () => (state = (state * 1664525 + 1013904223) % 2 ** 32) / 2 ** 32
}

const proxied = (proxy: TcpProxy): string => `http://127.0.0.1:${proxy.port}`

for (const version of ETCD_VERSIONS) {
  describe(`etcd ${version} behind a bad network`, () => {
    let cluster: EtcdCluster
    before(async () => {
      cluster = await startCluster({ version })
    })
    after(() => cluster[Symbol.asyncDispose]())

    test('watches under cuts, silence and delay at random moments, with four writers', async (t) => {
      await using proxy = await startTcpProxy(cluster.members[0]!.port)
      const prefix = `/faults${++stores}/`
      await using watched = await open([proxied(proxy)], { prefix })
      await using direct = await open(cluster.endpoints, { prefix })
      const revision = await watched.currentRevision()
      await using collector = collect(watched, { ...RANGE, after: revision })
      await using writers = startWriters([direct, watched], { prefix: 'a/', count: 4, pauseMs: 1 })
      const random = seeded(25)
      for (let round = 0; round < 25; round++) {
        proxy.delayMs = round % 3 === 0 ? 5 : 0
        await sleep(random() * 150)
        // In the middle of an answer, not only between two.
        if (round % 2 === 0) await new Promise<void>((resolve) => (proxy.onAnswer = resolve))
        proxy.onAnswer = undefined
        proxy.mode = round % 5 === 4 ? 'silent' : 'up'
        if (proxy.mode === 'silent') await sleep(100)
        proxy.cut()
        proxy.mode = 'up'
      }
      proxy.delayMs = 0
      await writers.stop()
      await collector.until(await direct.currentRevision())
      assertSameHistory(collector.events, writers)
      assert.deepEqual(collector.gaps, [])
      t.diagnostic(`${collector.events.length} events, ${writers.unknown.length} unknown outcomes`)
    })

    test('a replay of 6,000 events, cut while it is under way', async () => {
      await using proxy = await startTcpProxy(cluster.members[0]!.port)
      const prefix = `/faults${++stores}/`
      await using direct = await open(cluster.endpoints, { prefix })
      const from = await direct.currentRevision()
      await using watched = await open([proxied(proxy)], { prefix })
      // Nothing gets through while all of it is written, so that it is all replayed.
      proxy.mode = 'refusing'
      proxy.cut()
      const value = Buffer.alloc(500)
      const revisions: number[] = []
      await Promise.all(Array.from({ length: 30 }, async (_, writer) => {
        for (let i = 0; i < 200; i++) revisions.push((await direct.commit({ compare: [], put: [{ key: `a/${writer}/${i}`, value }] })).revision)
      }))
      await using collector = collect(watched, { ...RANGE, after: from })
      let cuts = 0
      let next = 200_000
      proxy.onAnswer = () => {
        if (proxy.answeredBytes < next || cuts === 4) return
        next += 700_000
        cuts++
        proxy.cut()
      }
      proxy.mode = 'up'
      await collector.until(await direct.currentRevision())
      assert.equal(cuts, 4)
      assert.deepEqual(collector.events.map((event) => event.revision), revisions.toSorted((a, b) => a - b))
    })

    test('a commit whose answer is lost has an unknown outcome, and was carried out once', async () => {
      await using proxy = await startTcpProxy(cluster.members[0]!.port)
      await using store = await open([proxied(proxy)], { requestTimeoutMs: 1500 })
      const first = await store.commit({ compare: [], put: [{ key: 'a/1', value: Buffer.from('1') }] })
      proxy.mode = 'mute'
      const lost = store.commit({ compare: [{ key: 'a/1', modRevision: first.revision }], put: [{ key: 'a/1', value: Buffer.from('2') }] })
      await sleep(300)
      proxy.mode = 'up'
      proxy.cut()
      await assert.rejects(lost, UnknownOutcome)
      const kv = await store.get('a/1')
      assert.deepEqual([Buffer.from(kv!.value).toString(), kv!.modRevision], ['2', first.revision + 1])
      // Muted until the time is over: the same.
      proxy.mode = 'mute'
      await assert.rejects(store.commit({ compare: [], put: [{ key: 'a/2', value: Buffer.from('1') }] }), UnknownOutcome)
      proxy.mode = 'up'
      proxy.cut()
      assert.equal((await store.get('a/2'))?.modRevision, first.revision + 2)
      assert.equal(await store.currentRevision(), first.revision + 2)
    })

    test('a commit that never leaves is Unavailable, not unknown', async () => {
      await using proxy = await startTcpProxy(cluster.members[0]!.port)
      await using store = await open([proxied(proxy)], { requestTimeoutMs: 2000 })
      await store.currentRevision()
      proxy.mode = 'refusing'
      proxy.cut()
      await sleep(100)
      await assert.rejects(store.commit({ compare: [], put: [{ key: 'a/1', value: Buffer.from('1') }] }), Unavailable)
      await assert.rejects(store.get('a/1'), Unavailable)
      proxy.mode = 'up'
      assert.equal(await store.get('a/1'), undefined)
    })

    test('compaction while a watch is cut off is told as such, with the revision, and the watch goes on', async () => {
      await using proxy = await startTcpProxy(cluster.members[0]!.port)
      const prefix = `/faults${++stores}/`
      await using watched = await open([proxied(proxy)], { prefix })
      await using direct = await open(cluster.endpoints, { prefix })
      const from = await watched.currentRevision()
      await using collector = collect(watched, { ...RANGE, after: from })
      const write = async (name: string) => (await direct.commit({ compare: [], put: [{ key: `a/${name}`, value: Buffer.from(name) }] })).revision
      await collector.until(await write('seen'))
      proxy.mode = 'refusing'
      proxy.cut()
      await write('missed')
      const compacted = await write('kept')
      await direct.compact(compacted)
      const later = await write('later')
      proxy.mode = 'up'
      await collector.until(later)
      assert.deepEqual(collector.gaps, [{ after: from + 1, compacted }])
      assert.deepEqual(collector.events.map((event) => event.key), ['a/seen', 'a/kept', 'a/later'])
      assert.equal((await watched.status()).compactedRevision, compacted)
    })

    test('compactions up to the present while four write: every gap is told, nothing else is missing', async (t) => {
      const prefix = `/faults${++stores}/`
      await using watched = await open(cluster.endpoints, { prefix })
      await using direct = await open(cluster.endpoints, { prefix })
      await using collector = collect(watched, { ...RANGE, after: await watched.currentRevision() })
      await using writers = startWriters([direct], { prefix: 'a/', count: 4, pauseMs: 0 })
      for (let i = 0; i < 40; i++) {
        await sleep(25)
        // Nothing may have been written since the last one.
        await cluster.client.kv.compact({ revision: await direct.currentRevision() }).catch((err: Error) => assert.match(err.message, /has been compacted/))
      }
      await writers.stop()
      await collector.until(await direct.currentRevision())
      const inGap = (revision: number): boolean => collector.gaps.some(({ after: last, compacted }) => revision > last && revision < compacted)
      for (const revision of writers.log.keys()) if (inGap(revision)) writers.log.delete(revision)
      assertSameHistory(collector.events, writers)
      t.diagnostic(`${collector.events.length} events, ${collector.gaps.length} gaps`)
    })

    test('two stores on one etcd: a write through one is seen by a watcher of the other; others under etcd do not hold up consistent reads', async () => {
      const prefix = `/faults${++stores}`
      await using one = await open(cluster.endpoints, { prefix })
      await using other = await open(cluster.endpoints, { prefix: `${prefix}/` })
      await using collector = collect(other, { ...RANGE, after: await other.currentRevision() })
      const { revision } = await one.commit({ compare: [], put: [{ key: 'a/1', value: Buffer.from('1') }] })
      await collector.until(revision)
      assert.deepEqual(collector.events.map((event) => `${event.type} ${event.key}`), ['put a/1'])
      assert.equal((await other.get('a/1'))?.modRevision, revision)
      for (let i = 0; i < 5; i++) {
        await cluster.client.put(`/somebody-else/${i}`).value('x')
        await collector.until(await other.currentRevision())
      }
      assert.equal(collector.events.length, 1)
      assert.equal((await one.range({ start: '\u0000', end: '\u{10ffff}' })).count, 1, 'the keys of the store itself do not show')
    })

    test('a watch from before the store was opened, with nothing to tell, still comes to the present', async () => {
      const prefix = `/faults${++stores}/`
      const first = await open(cluster.endpoints, { prefix })
      const { revision } = await first.commit({ compare: [], put: [{ key: 'a/1', value: Buffer.from('1') }] })
      await first.close()
      for (let i = 0; i < 3; i++) await cluster.client.put('/somebody-else').value('x')
      await using store = await open(cluster.endpoints, { prefix })
      await using collector = collect(store, { ...RANGE, after: revision })
      await using earlier = collect(store, { ...RANGE, after: revision - 1 })
      const now = await store.currentRevision()
      assert.ok(now >= revision + 3)
      await Promise.all([collector.until(now), earlier.until(now)])
      assert.deepEqual([collector.events.length, earlier.events.map((event) => event.revision)], [0, [revision]])
    })

    test('a list of 11,000 values of 2 kB', async () => {
      await using store = await open(cluster.endpoints)
      const value = Buffer.alloc(2048, 1)
      for (let i = 0; i < 110; i++) await store.commit({ compare: [], put: Array.from({ length: 100 }, (_, j) => ({ key: `a/${String(i * 100 + j).padStart(6, '0')}`, value })) })
      const { kvs, count, more } = await store.range(RANGE)
      assert.deepEqual([kvs.length, count, more], [11_000, 11_000, false])
      assert.ok(kvs.every((kv, i) => i === 0 || kv.key > kvs[i - 1]!.key))
      const page = await store.range({ ...RANGE, limit: 1200 })
      assert.deepEqual([page.kvs.length, page.count, page.more], [1200, 11_000, true])
    })
  })
}

for (const version of ETCD_VERSIONS) {
  test(`etcd ${version} without space: refused with what to do, readable all the while, and recovered from`, async () => {
    await using cluster = await startCluster({ version, args: ['--quota-backend-bytes', `${16 * 1024 * 1024}`] })
    await using store = await open(cluster.endpoints)
    const value = Buffer.alloc(500_000, 1)
    const committed: string[] = []
    let unknown = 0
    let refusal: unknown
    for (let i = 0; refusal === undefined && i < 200; i++) {
      const key = `a/${i}`
      try {
        await store.commit({ compare: [{ key, modRevision: 0 }], put: [{ key, value }] })
        committed.push(key)
      } catch (err) {
        // The commit that fills it is carried out and refused at the same time.
        if (err instanceof UnknownOutcome && ++unknown === 1) committed.push(key)
        else refusal = err
      }
    }
    assert.ok(refusal instanceof OutOfSpace, String(refusal))
    assert.match(refusal.message, /defrag.*alarm disarm.*--quota-backend-bytes/)
    assert.deepEqual((await store.range(RANGE)).kvs.map((kv) => kv.key), committed.toSorted())
    await assert.rejects(store.commit({ compare: [], put: [{ key: 'a/small', value: Buffer.from('1') }] }), OutOfSpace)
    // Deleting is still possible; the rest is what the message tells to do.
    const { revision } = await store.commit({ compare: [], delete: committed })
    await cluster.client.kv.compact({ revision, physical: true })
    await cluster.client.maintenance.defragment()
    const { alarms } = await cluster.client.maintenance.alarm({ action: 'Get' })
    for (const { memberID, alarm } of alarms) await cluster.client.maintenance.alarm({ action: 'Deactivate', alarm, memberID })
    assert.ok((await store.commit({ compare: [], put: [{ key: 'a/small', value: Buffer.from('1') }] })).succeeded)
  })
}
