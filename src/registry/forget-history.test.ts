import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openMemoryBackend } from '../../test/model/memory-backend.ts'
import { openManualClock } from '../../test/model/manual-clock.ts'
import { replicaPrefix } from '../../storage/fence-change.ts'
import type { Backend } from '../../storage/backend.ts'
import { silentLog } from '../base/log.ts'
import { forgetHistory, isServed } from './forget-history.ts'

const write = async (backend: Backend, key: string): Promise<number> => (await backend.commit({ compare: [], put: [{ key, value: Buffer.from('') }] })).revision

test('history goes at once, and goes on to, until it is closed', async () => {
  await using backend = openMemoryBackend()
  const clock = openManualClock()
  const compacted = async (): Promise<number> => (await backend.status()).compactedRevision
  const first = await write(backend, 'a')
  const forgetting = await forgetHistory({ backend, clock, log: silentLog })
  assert.equal(await compacted(), first)
  const second = await write(backend, 'a')
  assert.equal(await compacted(), first)
  await clock.advance(5000)
  assert.equal(await compacted(), second)
  forgetting.close()
  await write(backend, 'a')
  await clock.advance(60_000)
  assert.equal(await compacted(), second)
})

test('a store is served when a replica of any resource has announced itself, and not because one has been there', async () => {
  await using backend = openMemoryBackend()
  await write(backend, 'meta/replicas-seen/twins.example/r')
  await write(backend, 'meta/quarantine/twins.example/r')
  assert.equal(await isServed(backend), false)
  await write(backend, `${replicaPrefix('twins.example')}r`)
  assert.equal(await isServed(backend), true)
})
