/** Suite: watches. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { WatchBatch } from './backend.ts'
import { bytes, freshRange, openReader, put, remove, shownEvent, text } from './backend.suite-fixture.ts'
import type { SuiteStore } from './backend.suite-fixture.ts'

export function watchTests(store: () => SuiteStore): void {
  test('the first batch comes at once, and empty when there is nothing to replay', async () => {
    const { backend } = store()
    const { start, end } = freshRange()
    const after = await backend.currentRevision()
    const reader = openReader(backend, { start, end, after })
    assert.deepEqual(await reader.next(), { done: false, value: { events: [], revision: after } })
    await reader.leave()
  })

  test('replays the past, goes on with what comes, and tells the value before', async () => {
    const { backend } = store()
    const { prefix, start, end } = freshRange()
    const [a, b] = [`${prefix}a`, `${prefix}b`]
    const r1 = await put(backend, a, '1')
    const r2 = await put(backend, a, '2')
    const reader = openReader(backend, { start, end, after: r1 })
    const first = { key: a, value: '1', mod: r1, created: r1 }
    const second = { key: a, value: '2', mod: r2, created: r1 }
    const replayed = [{ type: 'put', key: a, revision: r2, created: r1, value: '2', previous: first }]
    assert.deepEqual((await reader.until(r2)).map(shownEvent), replayed)

    const r3 = await put(backend, b, '3')
    const r4 = await remove(backend, a)
    const live = [
      { type: 'put', key: b, revision: r3, created: r3, value: '3', previous: undefined },
      { type: 'delete', key: a, revision: r4, created: r1, value: undefined, previous: second },
    ]
    assert.deepEqual((await reader.until(r4)).map(shownEvent), [...replayed, ...live])
    await reader.leave()
  })

  test('the events of one commit come in one batch', async () => {
    const { backend } = store()
    const { prefix, start, end } = freshRange()
    const after = await put(backend, `${prefix}c`, 'old')
    const readers = [openReader(backend, { start, end, after })]
    await readers[0]!.next()
    await backend.commit({ compare: [], put: ['a', 'b'].map((name) => ({ key: prefix + name, value: bytes(name) })), delete: [`${prefix}c`] })
    readers.push(openReader(backend, { start, end, after }))
    for (const reader of readers) {
      const { value } = await reader.next()
      assert.deepEqual((value as WatchBatch).events.map((event) => `${event.type} ${event.key}`).toSorted(), [`delete ${prefix}c`, `put ${prefix}a`, `put ${prefix}b`])
      await reader.leave()
    }
  })

  test('keys outside of the range show only as progress', async () => {
    const { backend } = store()
    const { prefix, start, end } = freshRange()
    const reader = openReader(backend, { start, end, after: await backend.currentRevision() })
    await reader.next()
    await put(backend, prefix.slice(0, -1), 'below')
    const revision = await put(backend, end, 'above')
    assert.deepEqual(await reader.until(revision), [])
    await reader.leave()
  })

  test('no gap and nothing twice, from any revision, while others write', async () => {
    const { backend } = store()
    const { prefix, start, end } = freshRange()
    const before = await backend.currentRevision()
    const written = new Map<number, string>()
    const readers: { after: number; reader: ReturnType<typeof openReader> }[] = []
    const write = async (writer: number): Promise<void> => {
      for (let i = 0; i < 40; i++) {
        const revision = await put(backend, `${prefix}${writer}`, `${writer}-${i}`)
        written.set(revision, `${writer}-${i}`)
        if (i % 10 === 5) readers.push({ after: revision - 1 - ((writer * 7 + i) % 30), reader: openReader(backend, { start, end, after: Math.max(before, revision - 1 - ((writer * 7 + i) % 30)) }) })
      }
    }
    await Promise.all([0, 1, 2, 3].map(write))
    const last = await backend.currentRevision()
    const expected = [...written].sort(([a], [b]) => a - b)
    for (const { after, reader } of readers) {
      const seen = (await reader.until(last)).map((event) => [event.revision, text(event.value)])
      assert.deepEqual(seen, expected.filter(([revision]) => revision > Math.max(before, after)))
      await reader.leave()
    }
  })

  test('a reader that was away for long still gets everything', async () => {
    const { backend } = store()
    const { prefix, start, end } = freshRange()
    const reader = openReader(backend, { start, end, after: await backend.currentRevision() })
    await reader.next()
    const value = new Uint8Array(500_000)
    for (let i = 0; i < 24; i++) await put(backend, `${prefix}${i}`, value.fill(i).slice())
    const events = await reader.until(await backend.currentRevision())
    assert.deepEqual(events.map((event) => event.value![499_999]), Array.from({ length: 24 }, (_, i) => i))
    await reader.leave()
  })

  test('from a future revision on', async () => {
    const { backend } = store()
    const { prefix, start, end } = freshRange()
    const reader = openReader(backend, { start, end, after: (await backend.currentRevision()) + 1 })
    assert.deepEqual((await reader.next()).value?.events, [])
    await put(backend, `${prefix}a`, '1')
    const second = await put(backend, `${prefix}a`, '2')
    assert.deepEqual((await reader.until(second)).map((event) => text(event.value)), ['2'])
    await reader.leave()
  })

  test('ends when the signal aborts, before or while it waits', async () => {
    const { backend } = store()
    const { start, end } = freshRange()
    const after = await backend.currentRevision()
    const abort = new AbortController()
    const reader = openReader(backend, { start, end, after, signal: abort.signal })
    await reader.next()
    const waiting = reader.next()
    abort.abort()
    assert.equal((await waiting).done, true)
    assert.equal((await reader.next()).done, true)
    assert.equal((await openReader(backend, { start, end, after, signal: abort.signal }).next()).done, true)
  })

  test('ends when it is left, also while it waits', async () => {
    const { backend } = store()
    const { start, end } = freshRange()
    const after = await backend.currentRevision()
    for await (const batch of backend.watch({ start, end, after })) {
      assert.equal(batch.revision, after)
      break
    }
    const reader = openReader(backend, { start, end, after })
    await reader.next()
    const waiting = reader.next()
    await reader.leave()
    assert.equal((await waiting).done, true)
  })
}
