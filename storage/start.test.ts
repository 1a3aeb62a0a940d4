import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { silentLog } from '../src/base/log.ts'
import { openManualClock } from '../test/model/manual-clock.ts'
import { openMemoryBackend } from '../test/model/memory-backend.ts'
import { sealTwin } from '../test/model/twin-codec.ts'
import type { Backend } from './backend.ts'
import { encodeFence, fenceKey, parseFence } from './fence-record.ts'
import type { FenceRecord } from './fence-record.ts'
import { markFile } from './high-water-mark.ts'
import { listReplicas } from './replicas.ts'
import { changeEncoding } from './set-version.ts'
import { startResource, startStore } from './start.ts'
import type { Program, ResourceStart } from './start.ts'

const resource = 'jobs.example'
const directory = mkdtempSync(join(tmpdir(), 'start-'))
after(() => rmSync(directory, { recursive: true }))
const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5))

const clock = openManualClock()
const program = (replica = 'r1', name = 'mlops-apiserver 0.1.0'): Program => ({ name, replica, clock, log: silentLog })
const start = (backend: Backend, options: Partial<ResourceStart> = {}): ReturnType<typeof startResource> =>
  startResource({
    backend, resource, program: program(), encodingVersion: 'v1', decodable: ['v1beta1', 'v1'], encodable: ['v1beta1', 'v1'], served: ['v1'],
    schemaDigest: (version) => `digest of ${version}`, schemas: 'Released', exclusive: false, ...options,
  })
const setVersion = (backend: Backend, version: string, options: object = {}): ReturnType<typeof changeEncoding> =>
  changeEncoding({ backend, resource, version, order: ['v1beta1', 'v1', 'v2'], clock, reason: 'test', ...options })

async function change(backend: Backend, fields: Partial<FenceRecord>): Promise<void> {
  const fence = parseFence(fenceKey(resource), await backend.get(fenceKey(resource)))
  await backend.commit({ compare: [], put: [{ key: fenceKey(resource), value: encodeFence({ ...fence, ...fields }) }] })
}

describe('the store as a whole', () => {
  test('says what it is, once', async () => {
    await using backend = openMemoryBackend()
    await using first = await startStore(backend, program())
    await using again = await startStore(backend, program('r2', 'mlops-apiserver 0.2.0'))
    assert.deepEqual(again.format, first.format)
    assert.partialDeepStrictEqual(first.format, { format: 1, minimumReader: 1, createdBy: 'mlops-apiserver 0.1.0' })
  })

  test('10: a layout that is newer', async () => {
    await using backend = openMemoryBackend()
    const newer = { format: 4, minimumReader: 3, createdBy: 'mlops-apiserver 4.0.0', createdAt: '', id: 'x' }
    await backend.commit({ compare: [], put: [{ key: 'meta/format', value: Buffer.from(JSON.stringify(newer)) }] })
    const revision = await backend.currentRevision()
    await assert.rejects(startStore(backend, program()), { reason: 'NewerStore', exitCode: 10, message: /newer layout \(format 4, made by mlops-apiserver 4\.0\.0; .* run the newer release/ })
    assert.equal(await backend.currentRevision(), revision)
    await backend.commit({ compare: [], put: [{ key: 'meta/format', value: Buffer.from('{') }] })
    await assert.rejects(startStore(backend, program()), { exitCode: 10 })
    // A newer format that old readers can read.
    await backend.commit({ compare: [], put: [{ key: 'meta/format', value: Buffer.from(JSON.stringify({ ...newer, minimumReader: 1 })) }] })
    await (await startStore(backend, program()))[Symbol.asyncDispose]()
  })

  test('11: an older copy of the store', async () => {
    const path = join(directory, 'mark.json')
    const place = markFile(path)
    await using backend = openMemoryBackend()
    const store = await startStore(backend, program(), place)
    await backend.commit({ compare: [], put: [{ key: 'a', value: Buffer.from('1') }] })
    await clock.advance(10_000)
    const mark = (): { store: string; revision: number } => JSON.parse(readFileSync(path, 'utf8')) as { store: string; revision: number }
    // The file system takes its time.
    while (mark().revision < (await backend.currentRevision())) await settle()
    assert.deepEqual(mark(), { store: store.format.id, revision: await backend.currentRevision() })
    await backend.commit({ compare: [], put: [{ key: 'a', value: Buffer.from('2') }] })
    await store[Symbol.asyncDispose]()
    const last = mark().revision
    assert.equal(last, await backend.currentRevision())
    await (await startStore(backend, program(), place))[Symbol.asyncDispose]()

    writeFileSync(path, JSON.stringify({ store: store.format.id, revision: last + 1 }))
    await assert.rejects(startStore(backend, program(), place), {
      reason: 'RestoredSnapshot', exitCode: 11, message: new RegExp(`at revision ${last}, and clients may have seen ${last + 1} .* an older copy of itself.*storage restore`),
    })
    writeFileSync(path, 'rubbish')
    await assert.rejects(startStore(backend, program(), place), { exitCode: 11 })
  })
})

describe('a resource', () => {
  test('starts, says what it can do, and says good-bye', async () => {
    await using backend = openMemoryBackend()
    const started = await start(backend)
    assert.equal(started.state, 'Serving')
    assert.deepEqual(started.fence.current().storedVersions.map(({ version, schemaDigest }) => [version, schemaDigest]), [['v1', 'digest of v1']])
    const { replicas } = await listReplicas(backend, resource)
    assert.partialDeepStrictEqual(replicas, [{ id: 'r1', live: true, decodable: ['v1beta1', 'v1'], observedEpoch: 1, state: 'Serving', formats: [1] }])
    await started[Symbol.asyncDispose]()
    assert.deepEqual((await listReplicas(backend, resource)).replicas, [])
  })

  test('11: a restore that did not end', async () => {
    await using backend = openMemoryBackend()
    await (await start(backend))[Symbol.asyncDispose]()
    await change(backend, { mode: 'Importing' })
    await assert.rejects(start(backend), { reason: 'IncompleteRestore', exitCode: 11 })
  })

  test('12: a stored version that it does not know, named with its objects', async () => {
    await using backend = openMemoryBackend()
    await (await start(backend))[Symbol.asyncDispose]()
    await change(backend, {
      storedVersions: [
        { version: 'v1', firstEpoch: 1, firstRevision: 0, reason: 'first start' },
        { version: 'v2', firstEpoch: 2, firstRevision: 5, since: '2027-01-01T00:00:00.000Z', reason: 'mlops-apiserver 0.9.0' },
      ],
      encodingVersion: 'v2',
    })
    for (let i = 0; i < 100; i++) await backend.commit({ compare: [], put: [{ key: `data/${resource}/ns/${i}`, value: sealTwin({ key: `ns/${i}`, text: 'x' }, 'v2') }] })
    const revision = await backend.currentRevision()
    await assert.rejects(start(backend), {
      reason: 'UndecodableVersion', exitCode: 12,
      message: /objects stored at v2 \(100 objects, entered by mlops-apiserver 0\.9\.0 on 2027-01-01.*\), and mlops-apiserver 0\.1\.0 decodes only v1beta1, v1\. .*storage set-version v1, then storage migrate/,
    })
    assert.equal(await backend.currentRevision(), revision)
  })

  test('13: an encoding version that it cannot write, or read-only', async () => {
    await using backend = openMemoryBackend()
    await (await start(backend))[Symbol.asyncDispose]()
    await assert.rejects(start(backend, { encodable: ['v1beta1'], refuseReadOnly: true }), { reason: 'UnencodableVersion', exitCode: 13 })
    await using started = await start(backend, { encodable: ['v1beta1'] })
    assert.equal(started.state, 'ReadOnly')
  })

  test('14: a released schema that was edited; one from a file may change', async () => {
    await using backend = openMemoryBackend()
    await (await start(backend))[Symbol.asyncDispose]()
    const edited = { schemaDigest: () => 'another' }
    await assert.rejects(start(backend, edited), { reason: 'EditedSchema', exitCode: 14, message: /^the schema of v1 of jobs\.example is not the one/ })
    await (await start(backend, { ...edited, schemas: 'FromFile' }))[Symbol.asyncDispose]()
  })

  test('15: a program that does not read its own samples', async () => {
    await using backend = openMemoryBackend()
    const selfTest = (): void => {
      throw new Error('sample 3 of v1beta1 differs')
    }
    await assert.rejects(start(backend, { selfTest }), { reason: 'SelfTestFailed', exitCode: 15, message: /sample 3 of v1beta1 differs/ })
  })

  test('registers only under the fence that it has checked', async () => {
    await using inner = openMemoryBackend()
    let flips = 0
    // The fence changes between the look at it and the registration, the first time.
    const backend: Backend = { ...inner, async lease(seconds) {
      if (flips++ === 0) await change(inner, { epoch: 7 })
      return inner.lease(seconds)
    } }
    await using started = await start(backend)
    assert.equal(started.fence.current().epoch, 7)
    assert.equal((await listReplicas(inner, resource)).replicas[0]?.observedEpoch, 7)
  })

  test('a change of the fence is seen; a version that it cannot decode makes it unable, until that is gone', async () => {
    await using backend = openMemoryBackend()
    await using started = await start(backend)
    const { able } = started
    await change(backend, { epoch: 2 })
    await settle()
    assert.equal(able.aborted, false)
    assert.deepEqual([started.fence.current().epoch, (await listReplicas(backend, resource)).replicas[0]?.observedEpoch], [2, 2])
    const { storedVersions } = started.fence.current()
    await change(backend, { epoch: 3, storedVersions: [...storedVersions, { version: 'v2', firstEpoch: 3, firstRevision: 9, reason: 'newer' }] })
    await settle()
    assert.deepEqual([started.state, started.problem?.name, able.aborted, started.able.aborted], ['Unable', 'UndecodableStoredVersions', true, true])
    assert.equal((await listReplicas(backend, resource)).replicas[0]?.state, 'Unable')
    await change(backend, { epoch: 4, storedVersions })
    await settle()
    assert.deepEqual([started.state, started.problem, started.able.aborted], ['Serving', undefined, false])
  })
})

describe('set-version', () => {
  test('is done when every replica can do it and has seen the epoch', async () => {
    await using backend = openMemoryBackend()
    await using started = await start(backend, { encodingVersion: 'v1beta1' })
    const fence = await setVersion(backend, 'v1')
    assert.deepEqual([fence.encodingVersion, fence.epoch], ['v1', 2])
    await settle()
    assert.equal(started.fence.current().encodingVersion, 'v1')
    assert.equal((await setVersion(backend, 'v1')).modRevision, fence.modRevision)
  })

  test('is refused for a replica that cannot, that has not seen the epoch, or that has vanished', async () => {
    await using backend = openMemoryBackend()
    await using old = await start(backend, { encodingVersion: 'v1beta1', decodable: ['v1beta1'], encodable: ['v1beta1'], program: program('old', 'mlops-apiserver 0.0.9') })
    await assert.rejects(setVersion(backend, 'v1'), { reason: 'ReplicaUnable', exitCode: 3, message: /replica old \(mlops-apiserver 0\.0\.9\) cannot read and write jobs\.example at v1: replace it by a release that can; if it was killed, its announcement ends by itself at 20\S+Z at the latest, and --dismiss old says then/ })
    await old[Symbol.asyncDispose]()

    const gone = await start(backend, { program: program('gone') })
    const lost = (await backend.range({ start: 'meta/replicas/', end: 'meta/replicas0' })).kvs[0]!
    await backend.commit({ compare: [], delete: [lost.key] })
    await assert.rejects(setVersion(backend, 'v1'), { reason: 'ReplicaMissing', message: /--dismiss gone/ })
    assert.equal((await setVersion(backend, 'v1', { dismissed: ['gone'] })).encodingVersion, 'v1')
    assert.equal((await setVersion(backend, 'v1beta1', { dismissed: ['gone'] })).encodingVersion, 'v1beta1')
    await gone[Symbol.asyncDispose]()
  })

  test('says what to do about a replica that may have been killed: its announcement still lives', async () => {
    await using backend = openMemoryBackend()
    const killed = await start(backend, { program: program('killed'), encodingVersion: 'v1beta1' })
    // A killed one sees no change any more.
    const { kvs } = await backend.range({ start: 'meta/replicas/', end: 'meta/replicas0' })
    await setVersion(backend, 'v1')
    await settle()
    await backend.commit({ compare: [], put: kvs.map(({ key, value }) => ({ key, value })) })
    const end = new Date(clock.now() + 30_000).toISOString()
    await assert.rejects(setVersion(backend, 'v1beta1', { acceptRollback: true }), {
      reason: 'ReplicaUnable', exitCode: 3,
      message: `replica killed (mlops-apiserver 0.1.0) has not seen epoch 2 of ${resource} yet: try again; if it was killed, its announcement ends by itself at ${end} at the latest, and --dismiss killed says then that it will not come back`,
    })
    await killed[Symbol.asyncDispose]()
  })

  test('a store of one process forgets the replicas that were killed', async () => {
    await using backend = openMemoryBackend()
    const killed = await start(backend, { program: program('killed'), encodingVersion: 'v1beta1' })
    await using next = await start(backend, { program: program('next'), exclusive: true })
    const { replicas } = await listReplicas(backend, resource)
    assert.deepEqual(replicas.filter(({ id }) => id === 'next').length, 1)
    await killed[Symbol.asyncDispose]()
    assert.equal(next.state, 'Serving')
    assert.equal((await setVersion(backend, 'v1')).encodingVersion, 'v1')
  })

  test('loses against a replica that comes at the same moment', async () => {
    await using inner = openMemoryBackend()
    await (await start(inner, { encodingVersion: 'v1beta1' }))[Symbol.asyncDispose]()
    const comers: Awaited<ReturnType<typeof start>>[] = []
    const backend: Backend = { ...inner, async commit(request) {
      if (request.put?.[0]?.key === fenceKey(resource)) comers.push(await start(inner, { program: program('late'), decodable: ['v1beta1'], encodable: ['v1beta1'] }))
      return inner.commit(request)
    } }
    await assert.rejects(setVersion(backend, 'v1'), { reason: 'ReplicasChanged' })
    for (const comer of comers) await comer[Symbol.asyncDispose]()
  })
})
