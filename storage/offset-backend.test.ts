import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { silentLog } from '../src/base/log.ts'
import { openManualClock } from '../test/model/manual-clock.ts'
import { openMemoryBackend } from '../test/model/memory-backend.ts'
import { Compacted, FutureRevision } from './backend.ts'
import { put } from './backend.suite-fixture.ts'
import { describeBackend } from './backend.suite.ts'
import { withOffset } from './offset-backend.ts'
import { openSqlite } from './sqlite.ts'

const OFFSET = 22_000_000_000_000

describeBackend(
  'in-memory backend with an offset',
  async () => {
    const clock = openManualClock()
    return { backend: withOffset(openMemoryBackend({ clock }), OFFSET), advance: clock.advance }
  },
  { durable: false },
)

describeBackend(
  'sqlite with an offset',
  async () => {
    const directory = await mkdtemp(join(tmpdir(), 'offset-'))
    const clock = openManualClock()
    const open = async () => withOffset(await openSqlite({ directory, clock, log: silentLog }), 17)
    const backend = await open()
    return {
      backend,
      advance: clock.advance,
      async reopen() {
        await backend.close()
        return open()
      },
      dispose: () => rm(directory, { recursive: true }),
    }
  },
  { durable: true },
)

test('every revision of before is a compacted one, and none of them is that of a key', async () => {
  await using backend = withOffset(openMemoryBackend(), 1000)
  const range = { start: 'a', end: 'b' }
  const revision = await put(backend, 'a', 'x')
  assert.ok(revision > 1000)
  for (const old of [1, 999, 1000]) {
    await assert.rejects(backend.range({ ...range, revision: old }), (error) => error instanceof Compacted && error.compactedRevision === 1001, `${old}`)
    assert.equal((await backend.commit({ compare: [{ key: 'a', modRevision: old }], put: [] })).succeeded, false, `${old}`)
    assert.equal((await backend.commit({ compare: [{ ...range, modRevisionBelow: old }] })).succeeded, false)
    assert.equal((await backend.commit({ compare: [{ start: 'x', end: 'y', modRevisionBelow: old }] })).succeeded, true, 'an empty range')
    await backend.compact(old)
  }
  for (const after of [0, 999]) await assert.rejects(async () => void (await backend.watch({ ...range, after })[Symbol.asyncIterator]().next()), Compacted)
  await assert.rejects(backend.range({ ...range, revision: revision + 5 }), (error) => error instanceof FutureRevision && error.currentRevision === revision)
  assert.equal((await backend.status()).compactedRevision, 1001)
  assert.equal((await backend.commit({ compare: [{ key: 'absent', modRevision: 0 }] })).succeeded, true)
})
