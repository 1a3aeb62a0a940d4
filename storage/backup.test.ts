import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Backend } from './backend.ts'
import { backup, checkBundle, restore } from './backup.ts'
import { fenceKey, parseFence } from './fence-record.ts'
import { beginJob } from './fence-change.ts'
import { codec, contents, fill, name, putTwin, RESOURCE, run, setEncoding, stores } from './migrate.fixture.ts'
import { openMemoryBackend } from '../test/model/memory-backend.ts'
import { scanObjects } from './verify.ts'

const about = { program: 'test', now: 0 }
const digestOf = async (backend: Backend): Promise<string | undefined> => (await scanObjects({ backend, resource: RESOURCE, codec, now: () => 0, deep: true })).digest

async function take(backend: Backend): Promise<string[]> {
  const lines: string[] = []
  for await (const line of backup(backend, about)) lines.push(line.slice(0, -1))
  return lines
}

async function* from(lines: readonly string[]): AsyncGenerator<string> {
  yield* lines
}

for (const [engine, open] of stores) {
  describe(`bundles on ${engine}`, () => {
    test('an empty store becomes what the old one was at one revision, above its revisions', async () => {
      await using old = await open()
      await fill(old.backend, 150)
      await setEncoding(old.backend, 'v1')
      const fence = parseFence(fenceKey(RESOURCE), await old.backend.get(fenceKey(RESOURCE)))
      await old.backend.commit(beginJob({ resource: RESOURCE, fence }, 'j'))
      const reading = backup(old.backend, about)
      const lines = [(await reading.next()).value as string]
      // What is written while the bundle is taken is not in it.
      await putTwin(old.backend, name(149), 'later', 'v1')
      for await (const line of reading) lines.push(line)
      const bundle = lines.map((line) => line.slice(0, -1))
      const { header, trailer } = await checkBundle(from(bundle))
      assert.deepEqual([header.bundle, trailer.count], ['mlops.dev/bundle.1', 151])

      await using made = await open()
      const progress: number[] = []
      await restore(made.backend, () => from(bundle), { onProgress: (done) => progress.push(done) })
      assert.equal(progress.at(-1), 151)
      assert.ok((await contents(made.backend)).every(({ modRevision }) => modRevision > header.revision))
      assert.equal((await contents(made.backend)).find(({ key }) => key === name(149))?.text, 'text 149')
      const restored = parseFence(fenceKey(RESOURCE), await made.backend.get(fenceKey(RESOURCE)))
      assert.deepEqual([restored.mode, restored.encodingVersion, restored.epoch, restored.job], ['ReadWrite', 'v1', 2, undefined])
      await putTwin(old.backend, name(149), 'text 149', 'v1')
      assert.equal(await digestOf(made.backend), await digestOf(old.backend))
      assert.equal((await run(made.backend)).phase, 'Succeeded')
    })

    test('a store that is not empty is refused, and so is a bundle that was touched', async () => {
      await using store = await open()
      await fill(store.backend, 3)
      const bundle = await take(store.backend)
      await assert.rejects(restore(store.backend, () => from(bundle)), { reason: 'NotEmpty', exitCode: 3 })
      await using empty = await open()
      const revision = await empty.backend.currentRevision()
      const touched: readonly (readonly string[])[] = [
        [], bundle.slice(0, -1), bundle.slice(0, 3), bundle.slice(1), [...bundle.slice(0, 2), ...bundle.slice(3)],
        bundle.map((line) => line.replace('"value":"j', '"value":"k')), [...bundle, bundle[1]!], ['{}', ...bundle.slice(1)], bundle.map(() => 'rubbish'),
      ]
      for (const lines of touched) await assert.rejects(restore(empty.backend, () => from(lines)), { reason: 'DamagedBundle' }, lines.join('\n').slice(0, 200))
      assert.equal(await empty.backend.currentRevision(), revision)
    })
  })
}

test('revisions that are too far behind are not made up for', async () => {
  await using old = openMemoryBackend()
  await fill(old, 1)
  const bundle = await take({ ...old, status: async () => ({ ...(await old.status()), revision: 2 ** 41 }), range: (request) => old.range({ ...request, ...(request.revision && { revision: 3 }) }) })
  await using empty = openMemoryBackend()
  await assert.rejects(restore(empty, () => from(bundle)), { reason: 'RevisionsBehind', message: /--bump-revision/ })
})

test('a restore that dies leaves resources that no program serves', async () => {
  await using old = openMemoryBackend()
  await fill(old, 100)
  const bundle = await take(old)
  await using target = openMemoryBackend()
  let commits = 0
  const dying: Backend = { ...target, async commit(request) {
    if (++commits > 60 + 104) throw new Error('died')
    return target.commit(request)
  } }
  await assert.rejects(restore(dying, () => from(bundle)), { message: 'died' })
  assert.equal(parseFence(fenceKey(RESOURCE), await target.get(fenceKey(RESOURCE))).mode, 'Importing')
})
