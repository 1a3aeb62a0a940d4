/** Retiring a version: the job that takes it out of all objects, whatever happens meanwhile. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openTwin, sealTwin } from '../test/model/twin-codec.ts'
import type { Backend, CommitRequest } from './backend.ts'
import { fenceKey, parseFence } from './fence-record.ts'
import type { LoadedFence } from './fence.ts'
import { codec, contents, fill, name, PREFIX, putTwin, RESOURCE, run, setEncoding, stores } from './migrate.fixture.ts'
import { abortMigration } from './migrate-control.ts'
import type { Job } from './migrate-job.ts'
import { sha256, replaceQuarantined } from './quarantine.ts'
import { scanObjects } from './verify.ts'

const OLD = 'v1alpha1'
const fenceOf = async (backend: Backend): Promise<LoadedFence> => parseFence(fenceKey(RESOURCE), await backend.get(fenceKey(RESOURCE)))
const retire = (backend: Backend, options: Parameters<typeof run>[1] = {}): Promise<Job> => run(backend, { retiring: OLD, ...options })
const put = (backend: Backend, key: string, names: readonly string[]): Promise<unknown> =>
  backend.commit({ compare: [], put: [{ key: PREFIX + key, value: sealTwin({ key, text: `text of ${key}`, names }, 'v1') }] })
const namesOf = async (backend: Backend): Promise<Set<string>> => new Set((await contents(backend)).flatMap((twin) => (twin as { names?: readonly string[] }).names ?? []))

/** A store with 90 objects at v1, every third of which names the old version, and no history. */
async function prepare(backend: Backend): Promise<void> {
  await fill(backend, 0, { version: 'v1' })
  for (let i = 0; i < 90; i++) await put(backend, name(i), i % 3 === 0 ? ['v1', OLD] : ['v1'])
  await backend.compact(await backend.currentRevision())
}

const isObjectWrite = (request: CommitRequest): boolean => request.put?.some(({ key }) => key.startsWith(PREFIX)) ?? false
const intercept = (backend: Backend, commit: (request: CommitRequest, n: number) => ReturnType<Backend['commit']>): Backend => {
  let n = 0
  return { ...backend, commit: (request) => commit(request, isObjectWrite(request) ? ++n : 0) }
}

for (const [engine, open] of stores) {
  describe(`retirement on ${engine}`, () => {
    test('rewrites what names the version, leaves the rest alone, proves it and records it', async () => {
      await using store = await open()
      const { backend } = store
      await prepare(backend)
      const before = await contents(backend)
      const job = await retire(backend)
      assert.deepEqual([job.phase, job.retiring, { ...job.result, bytesIn: 0, bytesOut: 0 }],
        ['Succeeded', OLD, { seen: 90, rewritten: 30, current: 60, vanished: 0, quarantined: 0, conflicts: 0, bytesIn: 0, bytesOut: 0 }])
      assert.equal(job.proof?.keys, 90)
      const fence = await fenceOf(backend)
      assert.deepEqual([fence.retiredVersions.map(({ version }) => version), fence.job, fence.retiring], [[OLD], undefined, undefined])
      const after = await contents(backend)
      assert.deepEqual(after.map(({ key, text, version }) => [key, text, version]), before.map(({ key, text, version }) => [key, text, version]))
      assert.deepEqual(after.filter(({ modRevision }, i) => modRevision !== before[i]!.modRevision).map(({ key }) => key), before.filter((_, i) => i % 3 === 0).map(({ key }) => key))
      assert.deepEqual(await namesOf(backend), new Set(['v1']))
      // There is no way back to it.
      await assert.rejects(setEncoding(backend, OLD), { reason: 'RetiredVersion', exitCode: 3 })
      await assert.rejects(retire(backend), { reason: 'RetiredVersion', exitCode: 3 })
    })

    test('goes on where its process died, with exact counters, also when it is continued as any migration is', async () => {
      await using store = await open()
      const { backend } = store
      await prepare(backend)
      await assert.rejects(retire(intercept(backend, async (request, n) => {
        if (n > 12) throw new Error('died')
        return backend.commit(request)
      })), { message: 'died' })
      const half = await fenceOf(backend)
      assert.deepEqual([half.retiring, half.retiredVersions], [OLD, []])
      await assert.rejects(setEncoding(backend, 'v1beta1'), { reason: 'MigrationUnfinished' })
      await assert.rejects(run(backend, { retiring: 'v1beta1' }), { reason: 'MigrationUnfinished', message: /^the retirement of v1alpha1 of twins\.example \(.*\) has not ended/ })
      const end = await run(backend)
      assert.deepEqual([end.phase, end.attempts, end.result?.rewritten, end.result?.seen], ['Succeeded', 2, 30, 90])
      assert.deepEqual((await fenceOf(backend)).retiredVersions.map(({ version }) => version), [OLD])
    })

    test('an object that somebody else changes meanwhile is looked at again', async () => {
      await using store = await open()
      const { backend } = store
      await prepare(backend)
      let raced = false
      const job = await retire(intercept(backend, async (request) => {
        if (!raced && request.put?.some(({ key }) => key === PREFIX + name(3))) {
          raced = true
          await put(backend, name(3), [OLD])
        }
        return backend.commit(request)
      }))
      assert.deepEqual([job.phase, job.result?.conflicts], ['Succeeded', 1])
      assert.deepEqual(await namesOf(backend), new Set(['v1']))
    })

    test('the proof finds what a program wrote that knows no retirements: it fails, and the same call mends it', async () => {
      await using store = await open()
      const { backend } = store
      await prepare(backend)
      const failed = await retire(intercept(backend, async (request) => {
        const job = request.put?.find(({ key }) => key.startsWith('meta/jobs/'))
        if (job && Buffer.from(job.value).includes('"Verifying"')) await put(backend, name(4), [OLD])
        return backend.commit(request)
      }))
      assert.deepEqual([failed.phase, failed.reason], ['Failed', 'OldObjectsFound: 1 still name v1alpha1'])
      assert.deepEqual((await fenceOf(backend)).retiredVersions, [])
      const mended = await retire(backend)
      assert.deepEqual([mended.phase, mended.sweep, mended.result?.rewritten], ['Succeeded', 2, 31])
    })

    test('the way back: it is aborted, and the version can be written again', async () => {
      await using store = await open()
      const { backend } = store
      await prepare(backend)
      const stop = new AbortController()
      const paused = await retire(intercept(backend, (request, n) => {
        if (n === 5) stop.abort()
        return backend.commit(request)
      }), { signal: stop.signal })
      assert.equal(paused.phase, 'Paused')
      await abortMigration(backend, RESOURCE, Date.now())
      const fence = await fenceOf(backend)
      assert.deepEqual([fence.job, fence.retiring, fence.retiredVersions], [undefined, undefined, []])
      assert.equal((await setEncoding(backend, OLD)).encodingVersion, OLD)
      assert.equal((await run(backend)).phase, 'Succeeded')
      assert.deepEqual((await scanObjects({ backend, resource: RESOURCE, codec, now: Date.now })).proof.byVersion, { [OLD]: 90 })
    })

    test('is refused while the version is stored, or history may have it; blocked by objects that cannot be used', async () => {
      await using store = await open()
      const { backend } = store
      await fill(backend, 4, { version: OLD })
      await setEncoding(backend, 'v1')
      await assert.rejects(retire(backend), { reason: 'StillStored', exitCode: 4, message: /v1alpha1 of twins\.example may still be stored: migrate first/ })
      await assert.rejects(run(backend, { retiring: 'v1' }), { reason: 'StillStored' })
      await run(backend)
      await assert.rejects(retire(backend), { reason: 'StillStored', exitCode: 4, message: /history .* wait some minutes, until the store keeps none from before revision \d+$/ })
      const revision = await putTwin(backend, name(1), 'fails', 'v1')
      await backend.compact(await backend.currentRevision())
      const blocked = await retire(backend)
      assert.deepEqual([blocked.phase, blocked.reason], ['Blocked', '1 object is in quarantine'])
      const bad = await backend.get(PREFIX + name(1))
      await replaceQuarantined(backend, RESOURCE, name(1), { key: name(1), text: 'good', names: [OLD] }, { modRevision: revision, sha256: sha256(bad!.value) }, codec)
      assert.deepEqual(openTwin((await backend.get(PREFIX + name(1)))!.value).names, ['v1'], 'a replacement names it no more, either')
      assert.equal((await retire(backend)).phase, 'Succeeded')
    })
  })
}
