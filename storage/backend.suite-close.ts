/** Suite: the end of a store, and what is there afterwards. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Unavailable } from './backend.ts'
import type { Backend } from './backend.ts'
import { bytes, freshRange, openReader, put, remove, text } from './backend.suite-fixture.ts'
import type { OpenStore } from './backend.suite-fixture.ts'

export function closeTests(open: OpenStore): void {
  test('commits made before are finished, watches end, calls made after are refused', async () => {
    const { backend, dispose } = await open()
    const { prefix, start, end } = freshRange()
    const after = await backend.currentRevision()
    const reader = openReader(backend, { start, end, after })
    await reader.next()
    const waiting = (async () => {
      for (;;) if ((await reader.next()).done) return 'ended'
    })()
    const commits = Array.from({ length: 20 }, (_, i) => put(backend, `${prefix}${i}`, 'x'))
    const closing = backend.close()
    assert.equal((await Promise.all(commits)).length, 20)
    await closing
    assert.equal(await waiting, 'ended')
    await backend.close()
    for (const call of refusedCalls(backend)) await assert.rejects(call, Unavailable)
    await dispose?.()
  })
}

function refusedCalls(backend: Backend): Promise<unknown>[] {
  const range = { start: 'a', end: 'b' }
  return [
    backend.get('a'), backend.range(range), backend.commit({ compare: [], put: [{ key: 'a', value: bytes('x') }] }), backend.currentRevision(),
    backend.lease(60), backend.compact(1), backend.status(), openReader(backend, { ...range, after: 1 }).next(),
  ]
}

export function reopenTests(open: OpenStore): void {
  test('everything is as it was, history too, but for the leases', async () => {
    const store = await open()
    const { prefix, start, end } = freshRange()
    const r1 = await put(store.backend, `${prefix}a`, '1')
    await put(store.backend, `${prefix}b`, '2')
    await put(store.backend, `${prefix}a`, '3')
    await remove(store.backend, `${prefix}b`)
    const lease = await store.backend.lease(600)
    const r5 = await put(store.backend, `${prefix}c`, '5', lease.id)

    const backend = await store.reopen!()
    const at = async (revision?: number): Promise<unknown> =>
      (await backend.range({ start, end, ...(revision !== undefined && { revision }) })).kvs.map((kv) => `${kv.key} ${text(kv.value)}`)
    assert.deepEqual(await at(r1 + 1), [`${prefix}a 1`, `${prefix}b 2`])
    assert.deepEqual(await at(r5), [`${prefix}a 3`, `${prefix}c 5`])
    assert.deepEqual(await at(), [`${prefix}a 3`])
    assert.ok((await backend.currentRevision()) >= r5)
    const reader = openReader(backend, { start, end, after: r1 })
    const events = await reader.until(await backend.currentRevision())
    assert.deepEqual(events.map((event) => event.type), ['put', 'put', 'delete', 'put', 'delete'])
    assert.ok((await put(backend, `${prefix}a`, '6')) > r5)
    await reader.leave()
    await backend.close()
    await store.dispose?.()
  })

  test('the revision and the compaction stay, even with nothing left', async () => {
    const store = await open()
    const { prefix } = freshRange()
    await put(store.backend, `${prefix}a`, '1')
    const revision = await remove(store.backend, `${prefix}a`)
    await store.backend.compact(revision)
    const backend = await store.reopen!()
    const status = await backend.status()
    assert.deepEqual([status.revision, status.compactedRevision], [revision, revision])
    assert.ok(status.bytes > 0)
    await backend.close()
    await store.dispose?.()
  })
}
