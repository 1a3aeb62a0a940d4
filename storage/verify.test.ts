import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { sealTwin, twinCodec } from '../test/model/twin-codec.ts'
import { Compacted } from './backend.ts'
import type { Backend } from './backend.ts'
import { storedVersionNames } from './fence-record.ts'
import { codec, contents, fill, name, ORDER, PREFIX, putTwin, RESOURCE, run, setEncoding, stores } from './migrate.fixture.ts'
import { dryRun } from './migrate-dry-run.ts'
import { deleteQuarantined, listQuarantine, replaceQuarantined, sha256, showQuarantined } from './quarantine.ts'
import { trimStoredVersions } from './trim.ts'
import { readProof, scanObjects, verify } from './verify.ts'

const scan = { resource: RESOURCE, codec, now: () => 0 }
const put = (backend: Backend, key: string, value: Uint8Array): Promise<unknown> => backend.commit({ compare: [], put: [{ key: PREFIX + key, value }] })

for (const [engine, open] of stores) {
  describe(`verification on ${engine}`, () => {
    test('finds every class of bad object, deep also what only the objects tell', async () => {
      await using store = await open()
      const { backend } = store
      await fill(backend, 3)
      const good = sealTwin({ key: 'ns/a', text: 'x' }, 'v1')
      const flipped = Uint8Array.from(good)
      flipped[60]! ^= 1
      const bad: readonly (readonly [string, Uint8Array, string])[] = [
        ['ns/corrupt', flipped, 'Corrupt'],
        ['ns/fails', sealTwin({ key: 'ns/fails', text: 'fails' }, 'v1'), 'ConversionError'],
        ['ns/format', Buffer.from('{"kind":"rubbish"}'), 'UnknownFormat'],
        ['ns/header', sealTwin({ key: 'ns/header', text: 'x' }, 'v1', { version: 'v1beta1' }), 'KeyMismatch'],
        ['ns/key', sealTwin({ key: 'ns/key', text: 'x' }, 'v1', { key: 'ns/other' }), 'KeyMismatch'],
        ['ns/truncated', good.subarray(0, 50), 'Truncated'],
        ['ns/version', sealTwin({ key: 'ns/version', text: 'x' }, 'v2'), 'UnknownVersion'],
      ]
      for (const [key, value] of bad) await put(backend, key, value)
      const light = await scanObjects({ ...scan, backend })
      assert.deepEqual(light.bad.map((entry) => entry.key), ['ns/corrupt', 'ns/format', 'ns/truncated', 'ns/version'])
      assert.deepEqual(await listQuarantine(backend, RESOURCE), [])
      const deep = await verify({ ...scan, backend, deep: true })
      assert.deepEqual(deep.bad.map((entry) => [entry.key, entry.class]), bad.map(([key, , problem]) => [key, problem]))
      assert.deepEqual([deep.proof.keys, deep.proof.undecodable, deep.proof.byVersion, deep.complete], [10, 7, { v1beta1: 3 }, true])
      assert.deepEqual((await listQuarantine(backend, RESOURCE)).map((entry) => entry.key), bad.map(([key]) => key))
      assert.equal((await readProof(backend, RESOURCE))?.undecodable, 7)
      // A later look does not make them newer, and tells of them anew when they are other values.
      await put(backend, 'ns/key', sealTwin({ key: 'ns/key', text: 'y' }, 'v1', { key: 'ns/other' }))
      const later = await verify({ ...scan, now: () => 60_000, backend, deep: true })
      const since = (entries: readonly { readonly key: string; readonly since: string }[]) => entries.filter((entry) => !entry.since.startsWith('1970-01-01T00:00:00')).map(({ key }) => key)
      assert.deepEqual([since(later.bad), since(await listQuarantine(backend, RESOURCE))], [['ns/key'], ['ns/key']])
    })

    test('the digest is of what the objects are, not of how they are stored', async () => {
      await using store = await open()
      await fill(store.backend, 20)
      const before = await scanObjects({ ...scan, backend: store.backend, deep: true })
      for (let i = 0; i < 20; i++) await putTwin(store.backend, name(i), `text ${i}`, ORDER[i % 3]!)
      assert.equal((await scanObjects({ ...scan, backend: store.backend, deep: true })).digest, before.digest)
      await putTwin(store.backend, name(3), 'another', 'v1')
      assert.notEqual((await scanObjects({ ...scan, backend: store.backend, deep: true })).digest, before.digest)
    })

    test('goes on at a later revision when history goes away, and is a proof all the same', async () => {
      await using store = await open()
      await fill(store.backend, 120)
      let pages = 0
      const backend: Backend = { ...store.backend, async range(request) {
        if (request.revision !== undefined && ++pages === 2) throw new Compacted(1)
        return store.backend.range(request)
      } }
      const { proof, complete } = await scanObjects({ ...scan, backend })
      assert.deepEqual([proof.keys, complete], [120, undefined])
    })

    test('verify, then trim; a proof of an older fence is none', async () => {
      await using store = await open()
      const { backend } = store
      await fill(backend, 5)
      await setEncoding(backend, 'v1')
      await assert.rejects(trimStoredVersions({ backend, resource: RESOURCE }), { reason: 'NoProof' })
      await verify({ ...scan, backend })
      assert.deepEqual(storedVersionNames(await trimStoredVersions({ backend, resource: RESOURCE })), ['v1beta1', 'v1'])
      for (let i = 0; i < 5; i++) await putTwin(backend, name(i), 'x', 'v1')
      await setEncoding(backend, 'v1alpha1')
      await setEncoding(backend, 'v1')
      await assert.rejects(trimStoredVersions({ backend, resource: RESOURCE }), { reason: 'NoProof' })
      await verify({ ...scan, backend })
      assert.deepEqual(storedVersionNames(await trimStoredVersions({ backend, resource: RESOURCE })), ['v1'])
    })

    test('a dry run says what the migration does, and writes nothing', async () => {
      await using store = await open()
      const { backend, clock } = store
      await fill(backend, 70, { texts: { [name(3)]: 'fails', [name(5)]: 'lossy text' } })
      await putTwin(backend, name(9), 'there', 'v1')
      await setEncoding(backend, 'v1')
      const revision = await backend.currentRevision()
      const plan = await dryRun({ backend, resource: RESOURCE, codec, clock })
      assert.equal(await backend.currentRevision(), revision)
      assert.partialDeepStrictEqual(plan, { target: 'v1', storedVersions: ['v1beta1', 'v1'], objects: 70, byVersion: { v1beta1: 69, v1: 1 }, rewritten: 67, current: 1, quarantined: 2 })
      assert.deepEqual(plan.bad.map((entry) => [entry.key, entry.class]), [[name(3), 'ConversionError'], [name(5), 'LossyConversion']])
      const { result } = await run(backend)
      assert.deepEqual([result?.rewritten, result?.current, result?.quarantined, result?.bytesIn, result?.bytesOut], [67, 1, 2, plan.bytesIn, plan.bytesOut])
      const other = await dryRun({ backend, resource: RESOURCE, codec, clock, target: 'v1beta1' })
      assert.deepEqual([other.target, other.rewritten], ['v1beta1', 68])
    })
  })

  describe(`quarantine on ${engine}`, () => {
    test('shows, replaces and deletes exactly the value that is meant', async () => {
      await using store = await open()
      const { backend } = store
      await fill(backend, 2)
      const rubbish = Buffer.from('rubbish')
      await put(backend, 'ns/bad', rubbish)
      const shown = await showQuarantined(backend, RESOURCE, 'ns/bad', codec, 0)
      assert.deepEqual([shown.class, shown.sha256, shown.bytes, Buffer.from(shown.value).toString()], ['UnknownFormat', sha256(rubbish), 7, 'rubbish'])
      await assert.rejects(showQuarantined(backend, RESOURCE, name(0), codec, 0), { message: /can be read/ })
      await assert.rejects(showQuarantined(backend, RESOURCE, 'ns/none', codec, 0), { message: /has no object ns\/none/ })

      const whole = { key: 'ns/bad', text: 'repaired' }
      const replace = (expected: { modRevision: number; sha256: string }, hub = whole): Promise<number> => replaceQuarantined(backend, RESOURCE, 'ns/bad', hub, expected, codec)
      await assert.rejects(replace({ ...shown, sha256: '0' }), { reason: 'Changed' })
      await assert.rejects(replace({ ...shown, modRevision: 1 }), { reason: 'Changed' })
      await assert.rejects(replace(shown, { key: 'ns/other', text: '' }), { message: /the object says that it is ns\/other/ })
      await verify({ ...scan, backend })
      assert.equal((await listQuarantine(backend, RESOURCE)).length, 1)
      await replace(shown)
      assert.deepEqual((await contents(backend)).find(({ key }) => key === 'ns/bad')?.text, 'repaired')
      assert.deepEqual(await listQuarantine(backend, RESOURCE), [])
      await assert.rejects(replace(shown), { reason: 'Changed' })

      await put(backend, 'ns/worse', rubbish)
      const worse = await showQuarantined(backend, RESOURCE, 'ns/worse', codec, 0)
      const kept: Uint8Array[] = []
      const keep = async (value: Uint8Array): Promise<void> => {
        kept.push(value)
      }
      await assert.rejects(deleteQuarantined(backend, RESOURCE, 'ns/worse', shown, keep), { reason: 'Changed' })
      assert.deepEqual(kept, [])
      const failing = async (): Promise<void> => {
        throw new Error('no room for the report')
      }
      await assert.rejects(deleteQuarantined(backend, RESOURCE, 'ns/worse', worse, failing), { message: 'no room for the report' })
      assert.ok(await backend.get(`${PREFIX}ns/worse`))
      await deleteQuarantined(backend, RESOURCE, 'ns/worse', worse, keep)
      assert.equal(Buffer.from(kept[0]!).toString(), 'rubbish')
      assert.equal(await backend.get(`${PREFIX}ns/worse`), undefined)
    })
  })
}

test('a program that knows fewer versions calls the others unknown', async () => {
  await using store = await stores[0]![1]()
  await fill(store.backend, 2)
  const { bad } = await scanObjects({ ...scan, backend: store.backend, codec: twinCodec(['v1']) })
  assert.deepEqual(bad.map((entry) => [entry.class, entry.message]), Array(2).fill(['UnknownVersion', 'version v1beta1 is not one of v1']))
})
