/** Suite: ranges, also of the past, and compaction. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Compacted, FutureRevision } from './backend.ts'
import type { Backend, RangeRequest } from './backend.ts'
import { bytes, freshRange, openReader, put, remove, shown, shownEvent, text } from './backend.suite-fixture.ts'
import type { SuiteStore } from './backend.suite-fixture.ts'

export function rangeTests(store: () => SuiteStore): void {
  test('start, end, limit and count', async () => {
    const { backend } = store()
    const { prefix, start, end } = freshRange()
    for (const name of ['c', 'a', 'e', 'b', 'd']) await put(backend, prefix + name, name)
    await remove(backend, `${prefix}d`)
    const names = async (request: Partial<RangeRequest>): Promise<string> => {
      const { kvs, more, count } = await backend.range({ start, end, ...request })
      return `${kvs.map((kv) => text(kv.value)).join('')} of ${count}${more ? ', more' : ''}`
    }
    assert.equal(await names({}), 'abce of 4')
    assert.equal(await names({ limit: 2 }), 'ab of 4, more')
    assert.equal(await names({ limit: 4 }), 'abce of 4')
    assert.equal(await names({ start: `${prefix}b`, limit: 2 }), 'bc of 3, more')
    assert.equal(await names({ start: `${prefix}b\0` }), 'ce of 2')
    assert.equal(await names({ end: `${prefix}c` }), 'ab of 2')
    assert.equal(await names({ start: `${prefix}f` }), ' of 0')
    assert.equal(await names({ countOnly: true }), ' of 4')
    assert.match(await names({ limit: 2, uncounted: true }), /^ab of [234], more$/)
    assert.equal(await names({ limit: 4, uncounted: true }), 'abce of 4')
    assert.equal(await names({ uncounted: true }), 'abce of 4')
    assert.equal(await names({ countOnly: true, limit: 2 }), ' of 4')
  })

  test('keys are in the order of their UTF-8 bytes', async () => {
    const { backend } = store()
    const { prefix, start, end } = freshRange()
    const sorted = ['A', 'a', 'a/', 'a0', 'z', 'é', '\u4e2d', '\uffee', '\u{1f600}'].map((name) => prefix + name)
    for (const key of sorted.toReversed()) await put(backend, key, 'x')
    assert.deepEqual((await backend.range({ start, end })).kvs.map((kv) => kv.key), sorted)
    assert.deepEqual((await backend.range({ start: `${prefix}\uffee`, end })).count, 2)
    const revision = await backend.currentRevision()
    const events = await openReader(backend, { start: `${prefix}\uffee`, end, after: revision - sorted.length }).until(revision)
    assert.deepEqual(events.map((event) => event.key), [sorted[8], sorted[7]])
  })

  test('as of a revision', async () => {
    const { backend } = store()
    const { prefix, start, end } = freshRange()
    const [a, b] = [`${prefix}a`, `${prefix}b`]
    const r1 = await put(backend, a, '1')
    const r2 = await put(backend, b, '2')
    const r3 = await put(backend, a, '3')
    const r4 = await remove(backend, b)
    const at = async (revision: number): Promise<unknown> => (await backend.range({ start, end, revision })).kvs.map(shown)
    assert.deepEqual(await at(r1), [{ key: a, value: '1', mod: r1, created: r1 }])
    assert.deepEqual(await at(r2), [{ key: a, value: '1', mod: r1, created: r1 }, { key: b, value: '2', mod: r2, created: r2 }])
    assert.deepEqual(await at(r3), [{ key: a, value: '3', mod: r3, created: r1 }, { key: b, value: '2', mod: r2, created: r2 }])
    assert.deepEqual(await at(r4), [{ key: a, value: '3', mod: r3, created: r1 }])
    assert.deepEqual(await backend.range({ start, end, revision: r3, countOnly: true }), { kvs: [], more: false, count: 2, revision: r3 })
    await assert.rejects(backend.range({ start, end, revision: r4 + 1000 }), FutureRevision)
  })

  test('a long range is complete and of one revision, whatever is written meanwhile', async () => {
    const { backend } = store()
    const { prefix, start, end } = freshRange()
    const keys = Array.from({ length: 5000 }, (_, i) => `${prefix}${String(i).padStart(5, '0')}`)
    await putMany(backend, keys, 'old')
    const revision = await backend.currentRevision()
    const reading = backend.range({ start, end, revision })
    const writing = putMany(backend, keys.slice(0, 1000), 'new')
    const { kvs, count } = await reading
    await writing
    assert.equal(count, 5000)
    assert.deepEqual(kvs.map((kv) => kv.key), keys)
    assert.ok(kvs.every((kv) => text(kv.value) === 'old'))
    const page = await backend.range({ start, end, revision, limit: 10 })
    assert.deepEqual([page.kvs.length, page.more, page.count], [10, true, 5000])
    assert.equal((await backend.range({ start, end, countOnly: true })).count, 5000)
  })
}

/** Many small commits of a hundred keys: stores have a limit for one. */
async function putMany(backend: Backend, keys: readonly string[], value: string): Promise<void> {
  for (let i = 0; i < keys.length; i += 100) await backend.commit({ compare: [], put: keys.slice(i, i + 100).map((key) => ({ key, value: bytes(value) })) })
}

export function compactionTests(store: () => SuiteStore): void {
  test('forgets what is older, keeps what each key had at that revision', async () => {
    const { backend } = store()
    const { prefix, start, end } = freshRange()
    const [a, b, c] = ['a', 'b', 'c'].map((name) => prefix + name) as [string, string, string]
    const r1 = await put(backend, a, '1')
    await put(backend, b, '2')
    await put(backend, a, '3')
    const r4 = await remove(backend, b)
    const r5 = await put(backend, c, '5')
    const r6 = await put(backend, a, '6')
    const r7 = await remove(backend, c)
    await backend.compact(r5)
    assert.equal((await backend.status()).compactedRevision, r5)

    const at = async (revision: number): Promise<unknown> => (await backend.range({ start, end, revision })).kvs.map((kv) => text(kv.value))
    for (const revision of [r1, r4]) {
      await assert.rejects(at(revision), (err) => err instanceof Compacted && err.compactedRevision === r5)
    }
    assert.deepEqual(await at(r5), ['3', '5'])
    assert.deepEqual(await at(r6), ['6', '5'])
    assert.deepEqual(await at(r7), ['6'])
    assert.equal((await backend.get(a))?.createRevision, r1)

    const watched = (after: number) => openReader(backend, { start, end, after })
    await assert.rejects(watched(r4 - 1).next(), (err) => err instanceof Compacted && err.compactedRevision === r5)
    assert.deepEqual((await watched(r5).until(r7)).map(shownEvent), [
      { type: 'put', key: a, revision: r6, created: r1, value: '6', previous: { key: a, value: '3', mod: r6 - 3, created: r1 } },
      { type: 'delete', key: c, revision: r7, created: r5, value: undefined, previous: { key: c, value: '5', mod: r5, created: r5 } },
    ])
    assert.deepEqual((await watched(r4).until(r7)).map((event) => event.revision), [r5, r6, r7])
  })

  test('a second time, an earlier revision and a future one', async () => {
    const { backend } = store()
    const { prefix } = freshRange()
    const earlier = await put(backend, `${prefix}a`, '1')
    const revision = await put(backend, `${prefix}a`, '2')
    await backend.compact(revision)
    await backend.compact(revision)
    await backend.compact(earlier)
    assert.equal((await backend.status()).compactedRevision, revision)
    await assert.rejects(backend.compact(revision + 1000), FutureRevision)
    assert.equal(text((await backend.get(`${prefix}a`))?.value), '2')
    assert.deepEqual(await backend.commit({ compare: [{ key: `${prefix}a`, modRevision: revision }] }), { succeeded: true, revision })
  })

  test('of many revisions, with conditions on ranges before and after', async () => {
    const { backend } = store()
    const { prefix, start, end } = freshRange()
    for (let round = 0; round < 4; round++) {
      await Promise.all(Array.from({ length: 200 }, (_, i) => put(backend, `${prefix}${i}`, `${round}`)))
      for (let i = 0; i < 20; i++) await remove(backend, `${prefix}${i}`)
    }
    const revision = await backend.currentRevision()
    await backend.compact(revision)
    const { kvs } = await backend.range({ start, end, revision })
    assert.equal(kvs.length, 180)
    assert.ok(kvs.every((kv) => text(kv.value) === '3'))
    const below = async (modRevisionBelow: number): Promise<boolean> => (await backend.commit({ compare: [{ start, end, modRevisionBelow }] })).succeeded
    assert.deepEqual([await below(1), await below(revision - 40), await below(revision + 1)], [false, false, true])
  })

  test('an open watch that has seen everything goes on', async () => {
    const { backend } = store()
    const { prefix, start, end } = freshRange()
    const reader = openReader(backend, { start, end, after: await backend.currentRevision() })
    const first = await put(backend, `${prefix}a`, '1')
    await reader.until(first)
    await backend.compact(first)
    const second = await put(backend, `${prefix}a`, '2')
    assert.deepEqual((await reader.until(second)).map((event) => text(event.value)), ['1', '2'])
    await reader.leave()
  })
}
