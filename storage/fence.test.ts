import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { openMemoryBackend } from '../test/model/memory-backend.ts'
import type { Backend } from './backend.ts'
import { commitFenced, FenceUnreadable, openFence, UndecodableStoredVersions } from './fence.ts'
import type { FenceRecord, StoredVersion } from './fence.ts'

const options = { encodingVersion: 'v1beta1', decodable: ['v1alpha1', 'v1beta1', 'v1'] }
const value = Buffer.from('x')

const entry = (version: string): StoredVersion => ({ version, firstEpoch: 1, firstRevision: 0, reason: 'test' })

async function change(backend: Backend, key: string, fields: Partial<FenceRecord>): Promise<void> {
  const kv = await backend.get(key)
  const record = { ...(JSON.parse(Buffer.from(kv!.value).toString()) as FenceRecord), ...fields }
  await backend.commit({ compare: [], put: [{ key, value: Buffer.from(JSON.stringify(record)) }] })
}

test('a new resource gets a record before its first object', async () => {
  await using backend = openMemoryBackend()
  const fence = await openFence(backend, 'jobs.mlops.dev', options)
  assert.deepEqual(fence.current(), {
    epoch: 1, mode: 'ReadWrite', encodingVersion: 'v1beta1', rollbackFloor: 'v1beta1', retiredVersions: [], modRevision: 2,
    storedVersions: [{ version: 'v1beta1', firstEpoch: 1, firstRevision: 0, reason: 'first start' }],
  })
  assert.equal(fence.key, 'meta/fence/jobs.mlops.dev')
  const again = await openFence(backend, 'jobs.mlops.dev', { ...options, encodingVersion: 'v1' })
  assert.deepEqual(again.current(), fence.current())
})

test('two that make the record at once agree on one', async () => {
  await using backend = openMemoryBackend()
  const [a, b] = await Promise.all([openFence(backend, 'r', options), openFence(backend, 'r', { ...options, encodingVersion: 'v1' })])
  assert.deepEqual(a.current(), b.current())
})

test('a commit is lost, fenced or done, and a fenced one has the new record', async () => {
  await using backend = openMemoryBackend()
  const fence = await openFence(backend, 'r', options)
  const create = { compare: [{ key: 'data/r/a', modRevision: 0 }], put: [{ key: 'data/r/a', value }] }
  assert.deepEqual(await commitFenced(backend, fence, create), { kind: 'committed', revision: 3 })
  const lost = await commitFenced(backend, fence, create)
  assert.ok(lost.kind === 'lost')
  assert.equal(lost.current.get('data/r/a')?.modRevision, 3)

  await change(backend, fence.key, { epoch: 2, encodingVersion: 'v1', storedVersions: [entry('v1beta1'), entry('v1')] })
  assert.equal(fence.current().encodingVersion, 'v1beta1')
  assert.deepEqual(await commitFenced(backend, fence, create), { kind: 'fenced' })
  assert.equal((await backend.get('data/r/a'))?.modRevision, 3)
  assert.equal(fence.current().encodingVersion, 'v1')
  assert.equal((await commitFenced(backend, fence, { compare: [], put: [{ key: 'data/r/a', value }] })).kind, 'committed')
})

test('versions that cannot be decoded are refused by name, at start and later', async () => {
  await using backend = openMemoryBackend()
  const fence = await openFence(backend, 'jobs.mlops.dev', options)
  await change(backend, fence.key, { storedVersions: [entry('v1beta1'), entry('v2'), entry('v3')] })
  const refused = (err: unknown): boolean => {
    assert.ok(err instanceof UndecodableStoredVersions)
    assert.deepEqual(err.versions, ['v2', 'v3'])
    assert.match(err.message, /^jobs\.mlops\.dev has objects stored at v2, v3, and this program decodes only v1alpha1, v1beta1, v1: /)
    return true
  }
  await assert.rejects(openFence(backend, 'jobs.mlops.dev', options), refused)
  await assert.rejects(commitFenced(backend, fence, { compare: [], put: [{ key: 'data/r/a', value }] }), refused)
  assert.equal(await backend.get('data/r/a'), undefined)
})

test('a record that is gone or damaged stops everything', async () => {
  await using backend = openMemoryBackend()
  const fence = await openFence(backend, 'r', options)
  for (const damaged of ['{', 'null', '[]', '{"epoch":1}', '{"epoch":1,"mode":"Open","encodingVersion":"v1","storedVersions":["v1"],"rollbackFloor":"v1"}']) {
    await backend.commit({ compare: [], put: [{ key: fence.key, value: Buffer.from(damaged) }] })
    await assert.rejects(openFence(backend, 'r', options), FenceUnreadable, damaged)
  }
  await backend.commit({ compare: [], delete: [fence.key] })
  await assert.rejects(fence.refresh(), { name: 'FenceUnreadable', message: 'fence record meta/fence/r is gone' })
})

test('released records of every form are read', async () => {
  const released = (name: string): Buffer => readFileSync(new URL(`../test/compat/${name}`, import.meta.url))
  await using backend = openMemoryBackend()
  for (const [resource, file] of [['one', 'fence-1.json'], ['two', 'fence-2.json']] as const) {
    await backend.commit({ compare: [], put: [{ key: `meta/fence/${resource}`, value: released(file) }] })
  }
  const first = (await openFence(backend, 'one', options)).current()
  assert.deepEqual(first.storedVersions.map(({ version, firstRevision }) => [version, firstRevision]), [['v1beta1', 0], ['v1', 0]])
  assert.deepEqual([first.epoch, first.encodingVersion, first.rollbackFloor, first.retiredVersions], [2, 'v1', 'v1beta1', []])
  const second = (await openFence(backend, 'two', options)).current()
  assert.deepEqual(second.storedVersions[1], {
    version: 'v1', schemaDigest: '000102030405060708090a0b0c0d0e0f', firstEpoch: 2, firstRevision: 17, since: '2026-01-02T03:04:05.000Z', reason: 'set-version',
  })
  assert.deepEqual([second.retiredVersions, second.job], [[{ version: 'v1alpha1', since: '2026-01-03T03:04:05.000Z' }], 'job-1'])
})
