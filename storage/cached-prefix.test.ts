import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { systemClock } from '../src/base/clock.ts'
import { silentLog } from '../src/base/log.ts'
import { openManualClock } from '../test/model/manual-clock.ts'
import { openMemoryBackend } from '../test/model/memory-backend.ts'
import { Unavailable } from './backend.ts'
import type { Backend } from './backend.ts'
import { codec, open, PREFIX, put, read, remove, settle } from './watch-cache.fixture.ts'
import { ByteBudget, openWatchCache, Undecodable } from './watch-cache.ts'
import type { Codec } from './watch-cache.ts'

describe('encode', () => {
  it('makes a form once, keeps it for deletes, and drops the least recently used over budget', async () => {
    let made = 0
    const counting: Codec = { ...codec, encode: (...args) => (made++, codec.encode(...args)) }
    const budget = new ByteBudget(1500)
    await using opened = await open(async (backend) => {
      for (let i = 0; i < 3; i++) await put(backend, `n/${i}`)
    }, { codec: counting, budget })
    const { cache } = opened
    const [a, b, c] = cache.list({}).entries as [never, never, never]
    const first = cache.encode(a, 'v1')
    assert.equal(cache.encode(a, 'v1'), first)
    cache.encode(b, 'v1')
    cache.encode(a, 'v1')
    assert.equal(made, 2)
    cache.encode(c, 'v1')
    cache.encode(a, 'v1')
    assert.equal(made, 3)
    cache.encode(b, 'v1')
    assert.equal(made, 4)
    assert.ok(budget.used > 0 && budget.used <= 1500)
    await cache.close()
    assert.equal(budget.used, 0)
  })

  it('counts no view of the stored bytes, and tells what it cannot encode', async () => {
    const budget = new ByteBudget()
    await using opened = await open((backend) => put(backend, 'n/1'), { budget })
    const entry = opened.cache.get('n/1')!
    const ready = opened.cache.encode(entry, 'stored')
    assert.equal(ready.bytes.buffer, entry.value.buffer)
    assert.equal(opened.cache.encode(entry, 'stored'), ready)
    assert.equal(budget.used, 0)
    assert.throws(() => opened.cache.encode({ ...entry, value: Buffer.from('broken') }, 'v1'), Undecodable)
  })
})

describe('the feed', () => {
  it('goes on after the watch broke, and reads all again after a compaction', async () => {
    const backend = openMemoryBackend()
    const broken = Promise.withResolvers<void>()
    let calls = 0
    const flaky: Backend = {
      ...backend,
      async *watch(request) {
        if (calls++ > 0) await broken.promise
        for await (const batch of backend.watch(request)) {
          yield batch
          if (calls === 1 && batch.events.length > 0) throw new Unavailable('gone')
        }
      },
    }
    await put(backend, 'n/same')
    const clock = openManualClock()
    await using opened = await open(undefined, { backend: flaky, clock })
    const { cache } = opened
    assert.equal(cache.ready, true)
    await settle()
    const all = read(cache, { after: cache.revision })
    const same = read(cache, { after: cache.revision, key: 'n/same' })
    await settle(cache, await put(backend, 'n/1'))
    await settle()
    assert.equal(cache.ready, false)
    assert.equal(cache.list({}).entries.length, 2)
    await put(backend, 'n/2')
    await remove(backend, 'n/1')
    await backend.compact(await put(backend, 'n/3'))
    await clock.advance(100)
    broken.resolve()
    await settle(cache, await backend.currentRevision())
    assert.equal(cache.ready, true)
    assert.deepEqual(cache.list({}).entries.map((entry) => entry.key), ['n/2', 'n/3', 'n/same'])
    assert.equal(await all.done, 'ended')
    assert.deepEqual(all.told(), ['ADDED n/1 3'])
    await settle(cache, await put(backend, 'n/same'))
    assert.deepEqual(same.told(), ['MODIFIED n/same 7'])
  })

  it('waits for a store that is away at the start, and can be called off', async () => {
    const backend = openMemoryBackend()
    await backend.close()
    const opening = openWatchCache({ backend, prefix: PREFIX, codec, budget: new ByteBudget(), clock: systemClock, log: silentLog }, AbortSignal.timeout(20))
    await assert.rejects(opening, { name: 'TimeoutError' })
  })
})
