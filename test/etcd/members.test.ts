/** Clusters of three that lose members, certificates, and users, on real etcd. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../../src/base/clock.ts'
import { silentLog } from '../../src/base/log.ts'
import { Range } from 'etcd3'
import { ensurePki } from '../../src/commands/pki.ts'
import type { Pki } from '../../src/commands/pki.ts'
import { Unavailable, UnknownOutcome } from '../../storage/backend.ts'
import type { Backend } from '../../storage/backend.ts'
import { openEtcd } from '../../storage/etcd.ts'
import type { EtcdOptions } from '../../storage/etcd.ts'
import { startTcpProxy } from '../fault/tcp-proxy.ts'
import { ETCD_VERSIONS } from './etcd-binaries.ts'
import { startCluster } from './etcd-cluster.ts'
import type { EtcdCluster } from './etcd-cluster.ts'
import { assertSameHistory, collect, startWriters } from './revision-log.ts'

const RANGE = { start: 'a/', end: 'a0' }
let stores = 0

const open = (endpoints: readonly string[], options: Partial<EtcdOptions> = {}): Promise<Backend> =>
  openEtcd({ endpoints, prefix: `/members${++stores}/`, requestTimeoutMs: 3000, clock: systemClock, log: silentLog, ...options })

const writeOne = (store: Backend, key: string) => store.commit({ compare: [], put: [{ key, value: Buffer.from(key) }] })

/** The revision at which a key was made, whatever number of attempts have an unknown outcome: a stopped leader swallows what others pass on to it. */
async function createOnce(store: Backend, key: string): Promise<number> {
  for (;;) {
    try {
      const result = await store.commit({ compare: [{ key, modRevision: 0 }], put: [{ key, value: Buffer.from(key) }] })
      return result.succeeded ? result.revision : result.current.get(key)!.modRevision
    } catch (err) {
      if (!(err instanceof UnknownOutcome)) throw err
    }
  }
}

for (const version of ETCD_VERSIONS) {
  describe(`three members of etcd ${version}`, () => {
    let cluster: EtcdCluster
    before(async () => {
      cluster = await startCluster({ version, members: 3 })
    })
    after(() => cluster[Symbol.asyncDispose]())

    test('the leader is killed, started again, and so is the next one, under four writers and two watchers', async (t) => {
      const prefix = `/members${++stores}/`
      await using one = await open(cluster.endpoints, { prefix })
      await using other = await open(cluster.endpoints, { prefix })
      const from = await one.currentRevision()
      await using first = collect(one, { ...RANGE, after: from })
      await using second = collect(other, { ...RANGE, after: from })
      await using writers = startWriters([one, other], { prefix: 'a/', count: 4, pauseMs: 2 })
      for (let round = 0; round < 2; round++) {
        await sleep(500)
        const leader = await cluster.leader()
        await leader.kill()
        await sleep(2500)
        leader.start()
        await cluster.ready()
      }
      await sleep(500)
      await writers.stop()
      const last = await one.currentRevision()
      await Promise.all([first.until(last), second.until(last)])
      assertSameHistory(first.events, writers)
      assertSameHistory(second.events, writers)
      assert.deepEqual([...first.gaps, ...second.gaps], [])
      t.diagnostic(`${first.events.length} events, ${writers.unknown.length} unknown outcomes`)
    })

    test('each member in turn stops answering: reads go elsewhere within the request timeout, the watch follows', async () => {
      // One of them is the leader: the others need a second or two for an election.
      const requestTimeoutMs = 6000
      await using store = await open(cluster.endpoints, { requestTimeoutMs })
      await using collector = collect(store, { ...RANGE, after: await store.currentRevision() })
      for (const [i, member] of cluster.members.entries()) {
        member.stop()
        try {
          const start = performance.now()
          await store.get('a/x')
          assert.ok(performance.now() - start < requestTimeoutMs)
          await collector.until(await createOnce(store, `a/${i}`))
        } finally {
          member.continue()
        }
        await cluster.ready()
      }
      assert.deepEqual(collector.events.map((event) => event.key), ['a/0', 'a/1', 'a/2'])
    })

    test('a watch whose connection has gone silent is found out by what was written, and goes on elsewhere', async () => {
      const proxies = await Promise.all(cluster.members.map((member) => startTcpProxy(member.port)))
      try {
        const prefix = `/members${++stores}/`
        await using direct = await open(cluster.endpoints, { prefix })
        await using store = await open(proxies.map((proxy) => `http://127.0.0.1:${proxy.port}`), { prefix, requestTimeoutMs: 1500 })
        await using collector = collect(store, { ...RANGE, after: await store.currentRevision() })
        await sleep(200)
        const used = proxies.toSorted((a, b) => b.answeredBytes - a.answeredBytes)[0]!
        used.mode = 'silent'
        const { revision } = await writeOne(direct, 'a/1')
        const start = performance.now()
        assert.equal((await store.get('a/1'))?.modRevision, revision)
        assert.ok(performance.now() - start < 1500)
        await store.currentRevision()
        await collector.until(revision)
        assert.deepEqual(collector.events.map((event) => event.key), ['a/1'])
      } finally {
        for (const proxy of proxies) await proxy[Symbol.asyncDispose]()
      }
    })

    test('two members are gone: nothing is written and nothing read, until they are back', async () => {
      await using store = await open(cluster.endpoints)
      const [, second, third] = cluster.members
      const { revision } = await writeOne(store, 'a/1')
      await Promise.all([second!.kill(), third!.kill()])
      await sleep(2500)
      await assert.rejects(store.get('a/1'), Unavailable)
      await assert.rejects(writeOne(store, 'a/2'))
      second!.start()
      third!.start()
      await cluster.ready()
      assert.equal((await store.get('a/1'))?.modRevision, revision)
      assert.ok((await writeOne(store, 'a/3')).succeeded)
    })

    test('one replica compacts for all, and another when that one is gone', async () => {
      const prefix = `/members${++stores}/`
      const compactAfterMs = 400
      const one = await open(cluster.endpoints, { prefix, compactAfterMs })
      await using other = await open(cluster.endpoints, { prefix, compactAfterMs })
      const compactsPast = async (revision: number): Promise<void> => {
        for (let i = 0; (await other.status()).compactedRevision < revision; i++) {
          assert.ok(i < 100, `${revision} is not compacted`)
          await sleep(100)
        }
      }
      await compactsPast((await writeOne(one, 'a/1')).revision)
      await one.close()
      const { revision } = await writeOne(other, 'a/1')
      await compactsPast(revision)
      assert.ok((await other.get('a/1'))!.modRevision === revision)
    })
  })
}

describe('certificates and users', () => {
  let directory: string
  let pki: Pki
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'etcd-pki-'))
    pki = await ensurePki(directory, { hosts: ['localhost', '127.0.0.1'], clock: systemClock })
  })
  after(() => rm(directory, { recursive: true, force: true }))

  for (const version of ETCD_VERSIONS) {
    test(`etcd ${version} that wants a client certificate`, async () => {
      await using cluster = await startCluster({ version, tls: { ca: pki.ca, server: pki.server, client: pki.admin } })
      const { endpoints } = cluster
      await using store = await open(endpoints, { tls: { ca: pki.ca, ...pki.worker } })
      const { revision } = await writeOne(store, 'a/1')
      assert.equal((await store.get('a/1'))?.modRevision, revision)
      const refused = (options: Partial<EtcdOptions>) => assert.rejects(open(endpoints, { ...options, requestTimeoutMs: 3000 }), (err) => err instanceof Unavailable && /certificate/.test(err.message))
      await refused({ tls: { ca: pki.ca } })
      await refused({})
    })

    test(`etcd ${version} with users: a role for the prefix is enough, a wrong password and another prefix are refused, a token that has ended is renewed`, async () => {
      await using cluster = await startCluster({ version, args: ['--auth-token-ttl', '2'] })
      await enableUsers(cluster, '/mine/')
      const auth = { user: 'store', password: 'secret' }
      await using store = await open(cluster.endpoints, { prefix: '/mine/', auth })
      await using collector = collect(store, { ...RANGE, after: await store.currentRevision() })
      const lease = await store.lease(60)
      await writeOne(store, 'a/1')
      await lease.keepAlive()
      await sleep(4000)
      const { revision } = await writeOne(store, 'a/2')
      await collector.until(revision)
      assert.equal((await store.range(RANGE)).count, 2)
      assert.equal((await store.status()).engine, `etcd ${version}`)
      // Newer ones let only root compact: then it is etcd itself that has to (--auto-compaction-retention).
      if (version.startsWith('3.4')) await store.compact(revision)
      else await assert.rejects(store.compact(revision), Unavailable)
      await assert.rejects(open(cluster.endpoints, { prefix: '/mine/', auth: { ...auth, password: 'wrong' } }), Unavailable)
      await assert.rejects(open(cluster.endpoints, { prefix: '/mine/' }), Unavailable)
      await assert.rejects(open(cluster.endpoints, { prefix: '/theirs/', auth }), Unavailable)
    })
  }
})

/** User "store" may read and write one prefix and nothing else. */
async function enableUsers({ client }: EtcdCluster, prefix: string): Promise<void> {
  const root = await client.user('root').create('root')
  await client.role('root').create()
  await root.addRole('root')
  const role = await client.role('store').create()
  await role.grant({ permission: 'Readwrite', range: Range.prefix(prefix) })
  const user = await client.user('store').create('secret')
  await user.addRole('store')
  await client.auth.authEnable()
}
