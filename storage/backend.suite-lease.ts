/** Suite: leases. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LeaseExpired } from './backend.ts'
import { freshRange, openReader, put, text } from './backend.suite-fixture.ts'
import type { SuiteStore } from './backend.suite-fixture.ts'

export function leaseTests(store: () => SuiteStore): void {
  test('when a lease ends its keys vanish, as deletions that are watched', async () => {
    const { backend, advance } = store()
    const { prefix, start, end } = freshRange()
    const lease = await backend.lease(2)
    await put(backend, `${prefix}a`, '1', lease.id)
    await put(backend, `${prefix}b`, '2', lease.id)
    const after = await put(backend, `${prefix}c`, '3')
    const reader = openReader(backend, { start, end, after })
    await reader.next()
    await advance(2500)
    while ((await backend.range({ start, end, countOnly: true })).count > 1) await advance(100)
    const events = await reader.until(await backend.currentRevision())
    assert.deepEqual(events.map((event) => `${event.type} ${event.key} ${text(event.previous?.value)}`).toSorted(), [`delete ${prefix}a 1`, `delete ${prefix}b 2`])
    assert.deepEqual((await backend.range({ start, end })).kvs.map((kv) => kv.key), [`${prefix}c`])
    await assert.rejects(lease.keepAlive(), LeaseExpired)
    await assert.rejects(put(backend, `${prefix}d`, '4', lease.id), LeaseExpired)
    await reader.leave()
  })

  test('a lease that is kept alive stays', async () => {
    const { backend, advance } = store()
    const key = `${freshRange().prefix}a`
    const lease = await backend.lease(3)
    await put(backend, key, '1', lease.id)
    for (let i = 0; i < 3; i++) {
      await advance(1500)
      await lease.keepAlive()
    }
    assert.equal(text((await backend.get(key))?.value), '1')
    await lease.revoke()
    assert.equal(await backend.get(key), undefined)
    await lease.revoke()
    await assert.rejects(lease.keepAlive(), LeaseExpired)
  })

  test('the last write decides which lease a key has', async () => {
    const { backend } = store()
    const { prefix } = freshRange()
    const [first, second] = [await backend.lease(60), await backend.lease(60)]
    for (const name of ['kept', 'moved', 'stays']) await put(backend, prefix + name, '1', first.id)
    await put(backend, `${prefix}kept`, '2')
    await put(backend, `${prefix}moved`, '2', second.id)
    const before = await backend.currentRevision()
    await first.revoke()
    assert.equal(await backend.currentRevision(), before + 1)
    assert.equal(await backend.get(`${prefix}stays`), undefined)
    assert.equal(text((await backend.get(`${prefix}moved`))?.value), '2')
    await second.revoke()
    assert.equal(await backend.get(`${prefix}moved`), undefined)
    assert.equal(text((await backend.get(`${prefix}kept`))?.value), '2')
  })

  test('the end of a lease without keys is no revision', async () => {
    const { backend } = store()
    const lease = await backend.lease(60)
    const before = await backend.currentRevision()
    await lease.revoke()
    assert.equal(await backend.currentRevision(), before)
  })
}
