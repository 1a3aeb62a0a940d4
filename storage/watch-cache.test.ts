import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openManualClock } from '../test/model/manual-clock.ts'
import { Compacted, FutureRevision, Unavailable } from './backend.ts'
import { isRed, open, put, read, remove, settle, valueOf } from './watch-cache.fixture.ts'
import { TooOld, Undecodable } from './watch-cache.ts'

describe('list', () => {
  it('answers in key byte order, where / sorts after - and .', async () => {
    await using opened = await open(async (backend) => {
      for (const key of ['a/x', 'a-b/x', 'a.b/x', 'b/x', 'a/\u{1f600}', 'a/\ufffd']) await put(backend, key)
    })
    assert.deepEqual(opened.cache.list({}).entries.map((entry) => entry.key), ['a-b/x', 'a.b/x', 'a/x', 'a/\ufffd', 'a/\u{1f600}', 'b/x'])
    assert.equal(opened.cache.size, 6)
    assert.equal(opened.cache.list({}).revision, await opened.backend.currentRevision())
    assert.deepEqual(opened.cache.list({ prefix: 'a/' }).entries.map((entry) => entry.key), ['a/x', 'a/\ufffd', 'a/\u{1f600}'])
    assert.deepEqual(opened.cache.list({ key: 'b/x' }).entries.map((entry) => entry.key), ['b/x'])
    assert.deepEqual(opened.cache.list({ key: 'b/x', prefix: 'a/' }).entries, [])
  })

  it('goes on with the same state page after page, whatever is written between', async () => {
    await using opened = await open(async (backend) => {
      for (let i = 0; i < 7; i++) await put(backend, `n/${i}`)
    })
    const { backend, cache } = opened
    const first = cache.list({ limit: 3 })
    assert.deepEqual([first.nextKey, first.remaining], ['n/2\u0000', 4])
    await remove(backend, 'n/4')
    await settle(cache, await put(backend, 'n/55'))
    const second = await cache.listAt(first.revision, { limit: 3, startKey: first.nextKey! })
    assert.deepEqual(second.entries.map((entry) => entry.key), ['n/3', 'n/4', 'n/5'])
    assert.deepEqual([second.nextKey, second.remaining, second.revision], ['n/5\u0000', 1, first.revision])
    const third = await cache.listAt(first.revision, { limit: 3, startKey: second.nextKey! })
    assert.deepEqual([third.entries.map((entry) => entry.key), third.nextKey, third.remaining], [['n/6'], undefined, undefined])
  })

  it('fills a page with matches and continues while any key follows', async () => {
    await using opened = await open(async (backend) => {
      for (let i = 0; i < 6; i++) await put(backend, `n/${i}`, valueOf(i % 2 === 0 ? { color: 'red' } : {}))
    })
    const first = opened.cache.list({ limit: 3, matches: isRed })
    assert.deepEqual([first.entries.map((entry) => entry.key), first.nextKey, first.remaining], [['n/0', 'n/2', 'n/4'], 'n/4\u0000', undefined])
    const last = await opened.cache.listAt(first.revision, { limit: 3, matches: isRed, startKey: first.nextKey! })
    assert.deepEqual([last.entries, last.nextKey], [[], undefined])
  })

  it('reads the store for a state that memory no longer has, and says when that is gone', async () => {
    await using opened = await open(undefined, { windowEvents: 2 })
    const { backend, cache } = opened
    const revision = await put(backend, 'n/1')
    for (let i = 2; i < 9; i++) await put(backend, `n/${i}`)
    await settle(cache, await backend.currentRevision())
    const page = await cache.listAt(revision + 2, { limit: 2 })
    assert.deepEqual([page.entries.map((entry) => entry.key), page.nextKey, page.remaining], [['n/1', 'n/2'], 'n/2\u0000', 1])
    await assert.rejects(cache.listAt(cache.revision + 5, {}), FutureRevision)
    await backend.compact(revision + 3)
    await assert.rejects(cache.listAt(revision + 2, {}), Compacted)
  })

  it('never leaves out what it cannot decode', async () => {
    await using opened = await open(async (backend) => {
      await put(backend, 'a/1')
      await put(backend, 'b/1', Buffer.from('broken'))
    })
    const { cache } = opened
    assert.throws(() => cache.list({}), Undecodable)
    assert.throws(() => cache.list({ prefix: 'b/', matches: isRed }), Undecodable)
    assert.throws(() => cache.get('b/1'), (err) => err instanceof Undecodable && err.key === 'b/1' && /broken value/.test(err.message))
    assert.equal(cache.list({ prefix: 'a/' }).entries.length, 1)
    assert.equal(cache.list({ limit: 1 }).nextKey, 'a/1\u0000')
    assert.equal(cache.size, 2)
    await settle(cache, await put(opened.backend, 'b/1'))
    assert.equal(cache.list({}).entries.length, 2)
  })
})

describe('waitFor', () => {
  it('resolves when the revision arrives, also through writes elsewhere', async () => {
    await using opened = await open()
    const { backend, cache } = opened
    const waiting = cache.waitFor(cache.revision + 1, { timeoutMs: 2000 })
    await backend.commit({ compare: [], put: [{ key: 'other/x', value: new Uint8Array(1) }] })
    await waiting
    assert.equal(cache.revision, await backend.currentRevision())
  })

  it('gives up at its deadline, on a signal and when the cache closes', async () => {
    const clock = openManualClock()
    await using opened = await open(undefined, { clock })
    const { cache } = opened
    const stop = new AbortController()
    const waits = [cache.waitFor(99, { timeoutMs: 3000 }), cache.waitFor(99, { signal: stop.signal }), cache.waitFor(99)]
    const outcomes = Promise.allSettled(waits)
    await clock.advance(3000)
    stop.abort(new Error('left'))
    await cache.close()
    const [late, left, closed] = (await outcomes) as PromiseRejectedResult[]
    assert.equal(late?.reason.name, 'TimeoutError')
    assert.equal(left?.reason.message, 'left')
    assert.ok(closed?.reason instanceof Unavailable)
    await assert.rejects(cache.waitFor(1), Unavailable)
  })
})

describe('watch', () => {
  it('tells creates, updates and deletes from a revision on, then what comes', async () => {
    await using opened = await open()
    const { backend, cache } = opened
    const start = cache.revision
    await put(backend, 'n/1')
    await settle(cache, await put(backend, 'n/1', valueOf({}, 'new')))
    const watch = read(cache, { after: start })
    await settle(cache, await remove(backend, 'n/1'))
    assert.deepEqual(watch.told(), [`ADDED n/1 ${start + 1}`, `MODIFIED n/1 ${start + 2}`, `DELETED n/1 ${start + 3}`])
    const last = watch.items[2]!
    assert.ok(last.type === 'DELETED' && last.entry.revision === start + 2)
    watch.stop()
    assert.equal(await watch.done, 'ended')
    assert.equal(cache.watchers, 0)
  })

  it('begins with the state and a mark when asked', async () => {
    await using opened = await open(async (backend) => {
      for (let i = 0; i < 1001; i++) await put(backend, `n/${String(i).padStart(4, '0')}`)
      await put(backend, 'o/1')
    })
    const { backend, cache } = opened
    const watch = read(cache, { initialEvents: true, prefix: 'n/' })
    const nothing = read(cache, { initialEvents: true, prefix: 'zzz/' })
    await settle(cache, await put(backend, 'n/0000'))
    assert.equal(watch.items.length, 1003)
    const revision = cache.revision
    assert.deepEqual(watch.told().slice(999), [`ADDED n/0999 1001`, `ADDED n/1000 1002`, `BOOKMARK ${revision - 1} end`, `MODIFIED n/0000 ${revision}`])
    assert.deepEqual(nothing.told(), [`BOOKMARK ${revision - 1} end`])
  })

  it('shows an object that begins or stops to match as ADDED and DELETED, the latter as it was', async () => {
    await using opened = await open()
    const { backend, cache } = opened
    const watch = read(cache, { after: cache.revision, matches: isRed })
    const at = await put(backend, 'n/1', valueOf({ color: 'blue' }))
    for (const color of ['red', 'red', 'green', 'blue']) await put(backend, 'n/1', valueOf({ color }))
    await settle(cache, await remove(backend, 'n/1'))
    assert.deepEqual(watch.told(), [`ADDED n/1 ${at + 1}`, `MODIFIED n/1 ${at + 2}`, `DELETED n/1 ${at + 3}`])
    const last = watch.items[2]!
    assert.ok(last.type === 'DELETED' && isRed(last.entry.index))
  })

  it('reads the store for what is older than its window, without a gap or a repetition', async () => {
    await using opened = await open(undefined, { windowEvents: 3 })
    const { backend, cache } = opened
    const start = cache.revision
    for (let i = 0; i < 20; i++) await put(backend, `n/${i % 4}`, valueOf({ color: i % 3 === 0 ? 'red' : 'blue' }))
    await settle(cache, await backend.currentRevision())
    const all = read(cache, { after: start })
    const one = read(cache, { after: start, key: 'n/2' })
    const red = read(cache, { after: start, key: 'n/2', matches: isRed })
    await settle()
    await settle(cache, await put(backend, 'n/2'))
    await settle()
    assert.deepEqual(all.items.map((item) => item.revision), Array.from({ length: 21 }, (_, i) => start + 1 + i))
    assert.deepEqual(one.told(), [`ADDED n/2 ${start + 3}`, ...[7, 11, 15, 19, 21].map((i) => `MODIFIED n/2 ${start + i}`)])
    assert.deepEqual(red.told(), [`ADDED n/2 ${start + 7}`, `DELETED n/2 ${start + 11}`, `ADDED n/2 ${start + 19}`, `DELETED n/2 ${start + 21}`])
  })

  it('is too old when the history is compacted', async () => {
    await using opened = await open(undefined, { windowEvents: 1 })
    const { backend, cache } = opened
    const start = cache.revision
    for (let i = 0; i < 9; i++) await put(backend, 'n/1')
    await settle(cache, await backend.currentRevision())
    await backend.compact(start + 5)
    const error = await read(cache, { after: start }).done
    assert.ok(error instanceof TooOld)
    assert.equal(error.message, `too old resource version: ${start} (${start + 5})`)
    assert.equal(cache.watchers, 0)
  })

  it('is silent up to a revision in the future', async () => {
    await using opened = await open()
    const { backend, cache } = opened
    const watch = read(cache, { after: cache.revision + 2 })
    for (let i = 0; i < 3; i++) await put(backend, `n/${i}`)
    await settle(cache, await backend.currentRevision())
    assert.deepEqual(watch.told(), [`ADDED n/2 ${cache.revision}`])
  })

  it('cuts a slow reader off', async () => {
    await using opened = await open()
    const { backend, cache } = opened
    const items = cache.watch({ after: cache.revision, buffer: 2, signal: new AbortController().signal })[Symbol.asyncIterator]()
    const first = items.next()
    await settle(cache, await put(backend, 'n/0'))
    assert.equal((await first).value?.length, 1)
    for (let i = 0; i < 3; i++) await put(backend, `n/${i}`)
    await settle(cache, await backend.currentRevision())
    assert.equal((await items.next()).done, true)
    assert.equal(cache.watchers, 0)
  })

  it('cuts a reader off for which too many bytes wait, and says so', async () => {
    await using opened = await open()
    const { backend, cache } = opened
    let cuts = 0
    const items = cache.watch({ after: cache.revision, bufferBytes: 1, onSlow: () => cuts++, signal: new AbortController().signal })[Symbol.asyncIterator]()
    const first = items.next()
    await settle(cache, await put(backend, 'n/0'))
    assert.equal((await first).value?.length, 1)
    await settle(cache, await put(backend, 'n/1'))
    assert.deepEqual({ cuts, watchers: cache.watchers }, { cuts: 0, watchers: 1 })
    await settle(cache, await put(backend, 'n/2'))
    assert.equal(cuts, 1)
    assert.equal((await items.next()).done, true)
  })

  it('leaves while it waits', async () => {
    await using opened = await open()
    const items = opened.cache.watch({ after: 1, signal: new AbortController().signal })[Symbol.asyncIterator]()
    const waiting = items.next()
    await items.return!()
    assert.equal((await waiting).done, true)
    assert.equal(opened.cache.watchers, 0)
    assert.equal(await read(opened.cache, { after: 1, signal: AbortSignal.abort() }).done, 'ended')
  })

  it('sends bookmarks with the progress, and one before the end', async () => {
    const clock = openManualClock()
    await using opened = await open(undefined, { clock })
    const { backend, cache } = opened
    const watch = read(cache, { after: cache.revision, bookmarkEveryMs: 60_000, endsAfterMs: 100_000 })
    await backend.commit({ compare: [], put: [{ key: 'other/x', value: new Uint8Array(1) }] })
    await settle()
    await clock.advance(60_000)
    assert.deepEqual(watch.told(), ['BOOKMARK 2'])
    await clock.advance(37_999)
    assert.equal(watch.items.length, 1)
    await clock.advance(1)
    assert.deepEqual(watch.told(), ['BOOKMARK 2', 'BOOKMARK 2'])
  })

  it('fails for a change that it would have to show and cannot', async () => {
    await using opened = await open()
    const { backend, cache } = opened
    const all = read(cache, { after: cache.revision })
    const other = read(cache, { after: cache.revision, prefix: 'b/' })
    const start = cache.revision
    await put(backend, 'a/1')
    await settle(cache, await put(backend, 'a/2', Buffer.from('broken')))
    assert.ok((await all.done) instanceof Undecodable)
    assert.deepEqual(all.told(), [`ADDED a/1 ${start + 1}`])
    const replayed = read(cache, { after: start })
    assert.ok((await replayed.done) instanceof Undecodable)
    assert.deepEqual(replayed.told(), [`ADDED a/1 ${start + 1}`])
    assert.ok((await read(cache, { initialEvents: true }).done) instanceof Undecodable)
    other.stop()
    assert.equal(await other.done, 'ended')
  })

  it('gives all watchers of a change the same event', async () => {
    await using opened = await open()
    const { backend, cache } = opened
    const watches = [read(cache, { after: 1 }), read(cache, { after: 1, prefix: 'n/' }), read(cache, { after: 1, key: 'n/1' })]
    await settle()
    await settle(cache, await put(backend, 'n/1'))
    assert.equal(watches[0]!.items[0], watches[1]!.items[0])
    assert.equal(watches[0]!.items[0], watches[2]!.items[0])
    await cache.close()
    assert.deepEqual(await Promise.all(watches.map((watch) => watch.done)), ['ended', 'ended', 'ended'])
  })
})
