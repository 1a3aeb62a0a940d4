import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { ITxnRequest, ITxnResponse } from 'etcd3'
import { silentLog } from '../src/base/log.ts'
import { openManualClock } from '../test/model/manual-clock.ts'
import { BackendError, LeaseExpired, OutOfSpace, TooLarge, Unavailable, UnknownOutcome } from './backend.ts'
import { commitToEtcd } from './etcd-commits.ts'
import { startEtcdCompactor } from './etcd-compactor.ts'
import type { CompactionKey, CompactionMark } from './etcd-compactor.ts'
import { exchange } from './etcd-exchange.ts'
import type { Ring } from './etcd-exchange.ts'
import { failureKind, toBackendError } from './etcd-failure.ts'
import type { Member } from './etcd-member.ts'
import { openProgress } from './etcd-progress.ts'
import { openEtcd } from './etcd.ts'
import { header, keyspace, putEvent, rpcError } from './etcd-watch.fixture.ts'

const cut = rpcError(14, 'read ECONNRESET')
const late = rpcError(4, 'Deadline exceeded')
const noConnection = rpcError(14, 'No connection established. Last error: connect ECONNREFUSED')
const badToken = rpcError(16, 'etcdserver: invalid auth token')

/** A ring of three members whose attempts end as the script says. */
function play(script: readonly (Error | 'ok')[], { repeatable }: { repeatable: boolean }) {
  const clock = openManualClock()
  const tried: string[] = []
  let first = 0
  let tokens = 1
  const members = ['a', 'b', 'c'].map((endpoint) => ({ endpoint, settled: async () => true }) as unknown as Member)
  const ring: Ring = {
    clock: { ...clock, sleep: (ms) => clock.advance(ms) },
    requestTimeoutMs: 3000,
    size: 3,
    streams: new Set(),
    preferred: () => members[first]!,
    demote: (member) => {
      if (members[first] === member) first = (first + 1) % 3
    },
    authenticate: async () => {
      if (tokens === 0) tokens = 2
    },
    dropToken: () => (tokens = 0),
  }
  const result = exchange(ring, async ({ endpoint }, { deadline }) => {
    tried.push(`${endpoint}${tokens} ${deadline - clock.now()}`)
    const step = script[tried.length - 1] ?? 'ok'
    if (step !== 'ok') throw step
    return 'answer'
  }, { repeatable })
  return { result, tried }
}

describe('a call', () => {
  test('that only reads goes to the next member, each with its share of the time', async () => {
    const { result, tried } = play([cut, late, 'ok'], { repeatable: true })
    assert.equal(await result, 'answer')
    assert.deepEqual(tried, ['a1 1000', 'b1 1000', 'c1 1000'])
  })

  test('that commits is sent again only when it was not sent', async () => {
    const unsent = play([noConnection, rpcError(14, 'etcdserver: no leader'), 'ok'], { repeatable: false })
    assert.equal(await unsent.result, 'answer')
    assert.deepEqual(unsent.tried, ['a1 3000', 'b1 3000', 'c1 3000'])
    for (const failure of [cut, late, rpcError(14, 'etcdserver: request timed out'), rpcError(14, 'etcdserver: server stopped'), rpcError(2, 'who knows'), rpcError(13, 'internal')]) {
      const sent = play([failure], { repeatable: false })
      await assert.rejects(sent.result, UnknownOutcome)
      assert.equal(sent.tried.length, 1)
    }
  })

  test('with a token that has ended is sent again with a new one', async () => {
    const { result, tried } = play([badToken, 'ok'], { repeatable: false })
    assert.equal(await result, 'answer')
    assert.deepEqual(tried, ['a1 3000', 'a2 3000'])
  })

  test('that is refused is not tried again', async () => {
    const { result, tried } = play([rpcError(7, 'etcdserver: permission denied')], { repeatable: true })
    await assert.rejects(result, /permission denied/)
    assert.equal(tried.length, 1)
  })

  test('ends as Unavailable, with the first reason, when the time is over', async () => {
    const { result } = play([noConnection, ...Array.from({ length: 200 }, () => cut)], { repeatable: true })
    await assert.rejects(result, (err) => err instanceof Unavailable && /ECONNREFUSED/.test(err.message))
  })
})

test('what etcd says has one meaning', () => {
  const kinds: readonly (readonly [number, string, string])[] = [
    [11, 'etcdserver: mvcc: required revision has been compacted', 'compacted'],
    [11, 'etcdserver: mvcc: required revision is a future revision', 'futureRevision'],
    [8, 'etcdserver: mvcc: database space exceeded', 'noSpace'],
    [8, 'etcdserver: too many requests', 'unsent'],
    [8, 'grpc: received message larger than max (3000000 vs. 2097152)', 'tooLarge'],
    [3, 'etcdserver: request is too large', 'tooLarge'],
    [5, 'etcdserver: requested lease not found', 'noLease'],
    [3, 'etcdserver: revision of auth store is old', 'token'],
    [14, 'etcdserver: leader changed', 'interrupted'],
    [4, 'Deadline exceeded after 3.001s,remote_addr=127.0.0.1:2379', 'interrupted'],
    [4, 'Deadline exceeded after 3.001s,Waiting for LB pick', 'unsent'],
    [1, 'Cancelled on client', 'interrupted'],
    [3, 'etcdserver: duplicate key given in txn request', 'refused'],
  ]
  for (const [code, details, kind] of kinds) assert.equal(failureKind({ code, details }), kind, details)
  assert.ok(toBackendError(rpcError(3, 'etcdserver: request is too large')) instanceof TooLarge)
  assert.ok(toBackendError(rpcError(8, 'etcdserver: mvcc: database space exceeded')) instanceof OutOfSpace)
  assert.ok(toBackendError(rpcError(5, 'etcdserver: requested lease not found')) instanceof LeaseExpired)
  assert.ok(toBackendError(rpcError(3, 'etcdserver: authentication failed, invalid user ID or password')) instanceof Unavailable)
  assert.ok(toBackendError(rpcError(3, 'etcdserver: duplicate key given in txn request')) instanceof BackendError)
})

describe('a full database', () => {
  const commit = (revisionNow: number | undefined) => {
    const calls: ITxnRequest[] = []
    const transport = {
      async txn(request: ITxnRequest) {
        calls.push(request)
        if (calls.length === 1) throw rpcError(8, 'etcdserver: mvcc: database space exceeded')
        const kvs = revisionNow === undefined ? [] : [putEvent('a', revisionNow).kv]
        return { header: header(30), succeeded: true, responses: [{ response_range: { header: header(30), kvs, more: false, count: '1' } }] } as unknown as ITxnResponse
      },
    }
    return commitToEtcd({ transport, keyspace, revision: () => 20, onWritten: () => {} }, { compare: [], put: [{ key: 'a', value: Buffer.from('1') }] })
  }
  test('has taken nothing when the keys are as old as before, or not there', async () => {
    await assert.rejects(commit(20), (err) => err instanceof OutOfSpace && /defrag/.test(err.message))
    await assert.rejects(commit(undefined), OutOfSpace)
  })
  test('may have taken the commit that filled it', () => assert.rejects(commit(21), (err) => err instanceof UnknownOutcome && /full/.test(err.message)))
})

test('one of two replicas compacts at each interval, and the other goes on when it stops', async () => {
  const clock = openManualClock()
  let mark: CompactionMark = { modRevision: 0, revision: 0 }
  let revision = 100
  const compactions: string[] = []
  const key: CompactionKey = {
    read: async () => mark,
    async replace(seen, next) {
      if (seen.modRevision !== mark.modRevision) return { won: false, mark }
      mark = { modRevision: ++revision, revision: next }
      return { won: true, mark }
    },
  }
  const start = (name: string) => startEtcdCompactor({ clock, log: silentLog, intervalMs: 1000, key, revision: async () => revision, compact: async (at) => void compactions.push(`${name} ${at}`) })
  const one = start('one')
  await clock.advance(500)
  const other = start('other')
  await clock.advance(2600)
  assert.deepEqual(compactions, ['one 100', 'one 101'])
  one.stop()
  await clock.advance(2000)
  other.stop()
  assert.deepEqual(compactions.slice(2), ['other 102'])
})

describe('progress on demand', () => {
  const open = () => {
    const state = { clock: openManualClock(), revision: 10, writes: 0, fails: false }
    const write = async (): Promise<void> => {
      state.writes++
      if (state.fails) throw new OutOfSpace('full')
      state.revision = 20
    }
    return { state, progress: openProgress({ clock: state.clock, log: silentLog, revision: () => state.revision, write }) }
  }

  test('nothing is written for a revision that the watch comes to by itself', async () => {
    const { state, progress } = open()
    progress.want(11)
    state.revision = 11
    await state.clock.advance(5000)
    assert.equal(state.writes, 0)
  })

  test('one write serves all who wait', async () => {
    const { state, progress } = open()
    for (let i = 0; i < 5; i++) progress.want(15)
    await state.clock.advance(5000)
    assert.equal(state.writes, 1)
    progress.stop()
    progress.want(90)
    progress.stir()
    await state.clock.advance(5000)
    assert.equal(state.writes, 1)
  })

  test('a write that fails is tried again after a second', async () => {
    const { state, progress } = open()
    state.fails = true
    progress.stir()
    await turn()
    await state.clock.advance(3500)
    assert.equal(state.writes, 4)
    state.fails = false
    await state.clock.advance(3500)
    assert.equal(state.writes, 5)
  })
})

test('options that make no sense are refused', async () => {
  const base = { prefix: '/x', requestTimeoutMs: 100, clock: openManualClock(), log: silentLog }
  const refused = (options: Partial<Parameters<typeof openEtcd>[0]>) => assert.rejects(openEtcd({ ...base, endpoints: ['http://127.0.0.1:1'], ...options }), TypeError)
  await refused({ endpoints: [] })
  await refused({ endpoints: ['127.0.0.1:2379'] })
  await refused({ endpoints: ['http://127.0.0.1:1', 'https://127.0.0.1:1'] })
  await refused({ tls: { ca: '' } })
  await refused({ endpoints: ['https://127.0.0.1:1'], tls: { ca: '', cert: '' } })
  await refused({ prefix: '' })
})
