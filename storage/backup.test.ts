import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, test } from 'node:test'
import type { Backend } from './backend.ts'
import { backup, checkBundle, restore } from './backup.ts'
import { fenceKey, parseFence } from './fence-record.ts'
import { beginJob } from './fence-change.ts'
import { codec, contents, fill, name, putTwin, RESOURCE, run, setEncoding, stores } from './migrate.fixture.ts'
import { openMemoryBackend } from '../test/model/memory-backend.ts'
import { checkRevisions, openRevisions } from './revision-offset.ts'
import { startStore } from './start.ts'
import { systemClock } from '../src/base/clock.ts'
import { silentLog } from '../src/base/log.ts'
import { Compacted } from './backend.ts'
import { scanObjects } from './verify.ts'

const about = { program: 'test', now: 0 }
const digestOf = async (backend: Backend): Promise<string | undefined> => (await scanObjects({ backend, resource: RESOURCE, codec, now: () => 0, deep: true })).digest

async function take(backend: Backend): Promise<string[]> {
  const lines: string[] = []
  for await (const line of backup(backend, about)) lines.push(line.slice(0, -1))
  return lines
}

const into = { program: 'mlops-apiserver 9.9.9', clock: systemClock }

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

      await using target = await open()
      const progress: number[] = []
      await restore(target.backend, () => from(bundle), { ...into, onProgress: (done) => progress.push(done) })
      assert.equal(progress.at(-1), 151)
      const made = { backend: await openRevisions(target.backend) }
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
      await assert.rejects(restore(store.backend, () => from(bundle), into), { reason: 'NotEmpty', exitCode: 3 })
      await using empty = await open()
      const revision = await empty.backend.currentRevision()
      const touched: readonly (readonly string[])[] = [
        [], bundle.slice(0, -1), bundle.slice(0, 3), bundle.slice(1), [...bundle.slice(0, 2), ...bundle.slice(3)],
        bundle.map((line) => line.replace('"value":"j', '"value":"k')), [...bundle, bundle[1]!], ['{}', ...bundle.slice(1)], bundle.map(() => 'rubbish'),
      ]
      for (const lines of touched) await assert.rejects(restore(empty.backend, () => from(lines), into), { reason: 'DamagedBundle' }, lines.join('\n').slice(0, 200))
      assert.equal(await empty.backend.currentRevision(), revision)
    })
  })
}

/** A bundle that was taken at another revision than it was. */
function at(bundle: readonly string[], revision: number): string[] {
  const lines = bundle.slice(0, -1).map((line) => line.replace(/"revision":\d+/, `"revision":${revision}`))
  const digest = createHash('sha256').update(lines.map((line) => `${line}\n`).join('')).digest('hex')
  return [...lines, JSON.stringify({ count: lines.length - 1, sha256: digest })]
}

test('revisions that are far behind are made up for by an offset, at once and for ever', async () => {
  await using old = openMemoryBackend()
  await fill(old, 3)
  const bundle = at(await take(old), 2 ** 44)
  await using target = openMemoryBackend()
  await restore(target, () => from(bundle), into)
  assert.ok((await target.currentRevision()) < 100)
  const store = await openRevisions(target)
  const [first, ...more] = (await contents(store)).map(({ modRevision }) => modRevision)
  assert.ok(first! > 2 ** 44 && more.length === 2)
  await assert.rejects(store.range({ start: 'data/', end: 'data0', revision: 2 ** 44 }), Compacted)
  await assert.rejects(async () => void (await store.watch({ start: 'data/', end: 'data0', after: 2 ** 44 })[Symbol.asyncIterator]().next()), Compacted)
  // Opened without it, it is refused; and a program that knows no offsets would be told so.
  const program = { name: 'test', replica: 'r', clock: systemClock, log: silentLog }
  await assert.rejects(startStore(target, program), { reason: 'IncompleteRestore' })
  const { format } = await startStore(store, program)
  assert.deepEqual([format.format, format.minimumReader, format.createdBy], [2, 2, into.program])

  // And so on: a bundle of that goes into a third store.
  await using next = openMemoryBackend()
  const again = await take(store)
  await restore(next, () => from(again), { ...into, above: 2 ** 45 })
  assert.ok((await contents(await openRevisions(next))).every(({ modRevision }) => modRevision > 2 ** 45))
})

test('a record of the offset that cannot be read is refused, one of before offsets is none', async () => {
  for (const [value, accepted] of [['{', false], ['{"offset":-1}', false], ['{"offset":"1"}', false], ['[]', true], ['{"above":1}', true]] as const) {
    await using backend = openMemoryBackend()
    await backend.commit({ compare: [], put: [{ key: 'a', value: Buffer.from('') }] })
    await backend.commit({ compare: [], put: [{ key: 'meta/rv', value: Buffer.from(value) }] })
    if (accepted) await checkRevisions(await openRevisions(backend))
    else await assert.rejects(openRevisions(backend), { reason: 'NewerStore', exitCode: 10 }, value)
  }
})

test('a bundle whose revision leaves no room above it is no bundle', async () => {
  await using old = openMemoryBackend()
  await fill(old, 1)
  for (const revision of [2 ** 52, -1]) {
    const bundle = at(await take(old), 1).map((line) => line.replace('"revision":1', `"revision":${revision}`))
    await assert.rejects(checkBundle(from(bundle)), { reason: 'DamagedBundle' })
  }
  await using target = openMemoryBackend()
  const bundle = await take(old)
  await assert.rejects(restore(target, () => from(bundle), { ...into, above: Number.MAX_SAFE_INTEGER }), { reason: 'RestoredSnapshot', message: /remove it$/ })
})

test('a restore that dies leaves resources that no program serves', async () => {
  await using old = openMemoryBackend()
  await fill(old, 100)
  const bundle = await take(old)
  await using target = openMemoryBackend()
  let commits = 0
  const dying: Backend = { ...target, async commit(request) {
    if (++commits > 60) throw new Error('died')
    return target.commit(request)
  } }
  await assert.rejects(restore(dying, () => from(bundle), into), { message: 'died' })
  assert.equal(parseFence(fenceKey(RESOURCE), await target.get(fenceKey(RESOURCE))).mode, 'Importing')
})
