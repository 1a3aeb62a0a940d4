import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { silentLog } from '../src/base/log.ts'
import { openManualClock } from '../test/model/manual-clock.ts'
import { Compacted } from './backend.ts'
import type { WatchBatch } from './backend.ts'
import { readLog } from './etcd-log.ts'
import { followAll } from './etcd-watch.ts'
import type { Following } from './etcd-watch.ts'
import { compacted, created, deleteEvent, fakeWatches, fragment, keyspace, putEvent, refused, rpcError, told } from './etcd-watch.fixture.ts'
import type { FakeWatches } from './etcd-watch.fixture.ts'

const cut = rpcError(14, 'Connection dropped')

interface Followed {
  readonly told: string[]
  readonly compactions: number[]
  readonly following: Following
  advance(ms: number): Promise<void>
}

/** Follows from revision 10 until every stream but the last has been played. */
async function follow({ transport, starts }: FakeWatches, streams: number): Promise<Followed> {
  const clock = openManualClock()
  const told: string[] = []
  const compactions: number[] = []
  const publish = ({ events, revision }: WatchBatch): void => {
    told.push(`${events.map((event) => `${event.type} ${event.key}@${event.revision}`).join(' ')} | ${revision}`)
  }
  const following = followAll({ transport, keyspace, clock, log: silentLog, after: 10, stallMs: 5000, publish, onCompacted: (revision) => compactions.push(revision) })
  const advance = async (ms: number): Promise<void> => {
    await clock.advance(ms)
    for (let i = 0; i < 20; i++) await turn()
  }
  for (let i = 0; i < 50 && (i < 2 || starts.length < streams); i++) await advance(100)
  return { told, compactions, following, advance }
}

describe('following etcd', () => {
  test('goes on after the last event, whatever the header says', async () => {
    const etcd = fakeWatches([
      [created(900), told(900, putEvent('a', 11), putEvent('b', 12)), cut],
      [created(900), told(900, putEvent('c', 13)), told(900), cut],
      [created(901)],
    ])
    const { told: seen, following } = await follow(etcd, 3)
    assert.deepEqual(etcd.starts, [11, 13, 901])
    assert.deepEqual(seen, ['put a@11 put b@12 | 12', 'put c@13 | 13', ' | 900'])
    await following.stop()
  })

  test('an answer in fragments counts only when it is complete', async () => {
    const etcd = fakeWatches([
      [created(10), fragment(20, putEvent('a', 11)), fragment(20, putEvent('b', 11)), cut],
      [created(20), fragment(20, putEvent('a', 11)), told(20, putEvent('b', 11), putEvent('c', 12))],
    ])
    const { told: seen, following } = await follow(etcd, 2)
    assert.deepEqual(etcd.starts, [11, 11])
    assert.deepEqual(seen, ['put a@11 put b@11 put c@12 | 12'])
    await following.stop()
  })

  test('compaction is told with the oldest revision that is left, and the watch goes on there', async () => {
    const etcd = fakeWatches([[created(10), told(10, putEvent('a', 11)), cut], [created(90), compacted(50)], [created(90), told(90, putEvent('b', 51))]])
    const { told: seen, compactions, following } = await follow(etcd, 3)
    assert.deepEqual([compactions, etcd.starts], [[51], [11, 12, 51]])
    assert.deepEqual(seen, ['put a@11 | 11', 'put b@51 | 51'])
    await following.stop()
  })

  test('a watch from the compacted revision itself is not trusted: a deletion made there may be missing', async () => {
    const etcd = fakeWatches([[created(10), told(11, putEvent('a', 11)), cut], [created(90), told(90, putEvent('b', 13))], [created(90)]], 12)
    const { compactions, following } = await follow(etcd, 3)
    assert.deepEqual([compactions, etcd.starts], [[13], [11, 12, 13]])
    await following.stop()
  })

  test('an event without the value before, which is compacted already, is a gap too', async () => {
    for (const event of [deleteEvent('a', 12), { ...putEvent('a', 12, 11), prev_kv: undefined as never }]) {
      const etcd = fakeWatches([[created(10), told(12, putEvent('a', 11)), told(12, event)], [created(12)]])
      const { told: seen, compactions, following } = await follow(etcd, 2)
      assert.deepEqual([compactions, etcd.starts, seen], [[13], [11, 13], ['put a@11 | 11']])
      await following.stop()
    }
  })

  test('a refused watch is tried again', async () => {
    const etcd = fakeWatches([[refused('etcdserver: permission denied')], [created(10), told(11, putEvent('a', 11))]])
    const { told: seen, following } = await follow(etcd, 2)
    assert.deepEqual(seen, ['put a@11 | 11'])
    await following.stop()
  })

  test('a stream that does not show what was written is made anew', async () => {
    const etcd = fakeWatches([[created(10)], [created(11), told(11, deleteEvent('a', 11, 10))]])
    const { told: seen, following, advance } = await follow(etcd, 1)
    following.expect(11)
    await advance(4000)
    assert.equal(etcd.starts.length, 1)
    await advance(1100)
    await advance(1000)
    assert.deepEqual([etcd.starts, seen], [[11, 11], ['delete a@11 | 11']])
    await following.stop()
  })

  test("the store's own keys are progress only", async () => {
    const own = putEvent('x', 11)
    own.kv.key = keyspace.progressKey
    const { told: seen, following } = await follow(fakeWatches([[created(10), told(11, own)]]), 1)
    assert.deepEqual(seen, [' | 11'])
    await following.stop()
  })
})

describe('reading the log', () => {
  const read = (etcd: FakeWatches, { revision, after, clock = openManualClock(), stir = () => {} }: { revision: number; after: number; clock?: ReturnType<typeof openManualClock>; stir?: () => void }) =>
    readLog({ transport: etcd.transport, keyspace, clock, revision: () => revision, compactedRevision: () => 5, stir, signal: new AbortController().signal }, { after, start: 'a', end: 'c' })

  test('everything up to the present, of the range only', async () => {
    const etcd = fakeWatches([[created(30), told(30, putEvent('a', 11), putEvent('x', 12)), told(30, putEvent('b', 13))]])
    const { events, revision } = await read(etcd, { revision: 13, after: 10 })
    assert.deepEqual([events.map((event) => event.key), revision], [['a', 'b'], 13])
  })

  test('what is compacted is refused without asking, or as etcd tells', async () => {
    await assert.rejects(read(fakeWatches([]), { revision: 13, after: 3 }), (err) => err instanceof Compacted && err.compactedRevision === 5)
    await assert.rejects(read(fakeWatches([[created(30), compacted(20)]]), { revision: 30, after: 10 }), (err) => err instanceof Compacted && err.compactedRevision === 21)
  })

  test('what came before a break is delivered', async () => {
    const { events, revision } = await read(fakeWatches([[created(30), told(30, putEvent('a', 11)), cut]]), { revision: 13, after: 10 })
    assert.deepEqual([events.length, revision], [1, 11])
    await assert.rejects(read(fakeWatches([[created(30), cut]]), { revision: 13, after: 10 }), /Connection dropped/)
  })

  test('silence is stirred, and ends with the event that makes', async () => {
    const clock = openManualClock()
    let stirred = false
    const own = putEvent('x', 31)
    own.kv.key = keyspace.progressKey
    const quiet = fakeWatches([])
    const etcd: FakeWatches = {
      ...quiet,
      transport: {
        ...quiet.transport,
        async *watch() {
          yield created(30)
          while (!stirred) await turn()
          yield told(31, own)
        },
      },
    }
    const reading = read(etcd, { revision: 30, after: 10, clock, stir: () => (stirred = true) })
    await turn()
    await clock.advance(300)
    assert.deepEqual(await reading, { events: [], revision: 31 })
  })
})
