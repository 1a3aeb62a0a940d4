import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '../src/base/clock.ts'
import { silentLog } from '../src/base/log.ts'
import { openSqlite } from './sqlite.ts'

test('commits in the background come after those that came at the same time, and each is seen at its revision', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'store-'))
  const backend = await openSqlite({ directory, clock: systemClock, log: silentLog })
  try {
    const start = await backend.currentRevision()
    const put = (key: string, background: boolean) => backend.commit({ compare: [{ key, modRevision: 0 }], put: [{ key, value: Buffer.from(key) }], background })
    const results = await Promise.all([put('slow/1', true), put('a', false), put('slow/2', true), put('b', false), put('slow/1', false)])
    assert.deepEqual(results.map(({ succeeded, revision }) => succeeded && revision - start), [false, 1, 4, 2, 3])
    for await (const { events } of backend.watch({ start: 'a', end: 'z', after: start })) {
      assert.deepEqual(events.map(({ key, revision }) => [key, revision - start]), [['a', 1], ['b', 2], ['slow/1', 3], ['slow/2', 4]])
      break
    }
  } finally {
    await backend.close()
    await rm(directory, { recursive: true })
  }
})
