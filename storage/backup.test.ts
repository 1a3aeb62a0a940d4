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
import { Compacted, OutOfSpace } from './backend.ts'
import { openFence } from './fence.ts'
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
      await assert.rejects(restore(empty.backend, () => from([...bundle.slice(0, 3), bundle[3]!.slice(0, 20)]), into), { message: /^the bundle is cut off: its last line is not whole$/ })
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

/** A store that fails from the commit of that number on. */
function failing(backend: Backend, from: number, error: Error): Backend {
  let commits = 0
  return { ...backend, async commit(request) {
    if (++commits > from) throw error
    return backend.commit(request)
  } }
}

test('a restore that dies leaves a store that nothing uses, and the same restore goes on with it', async () => {
  await using old = openMemoryBackend()
  await fill(old, 100)
  const bundle = at(await take(old), 2 ** 44)
  await putTwin(old, name(1), 'another', 'v1beta1')
  const another = await take(old)
  await using target = openMemoryBackend()
  for (const [commits, error, expected] of [
    [60, new Error('died'), { message: 'died' }],
    [90, new OutOfSpace('the disk is full'), { name: 'OutOfSpace', message: /^the store has no room for all of the bundle, \d+ of 101 entries are in it: make room, and give the same restore again, which continues \(the disk is full\)$/ }],
    [0, new Error('died'), { message: 'died' }],
  ] as const) await assert.rejects(restore(failing(await openRevisions(target), commits, error), () => from(bundle), into), expected)
  const half = await openRevisions(target)
  assert.equal(parseFence(fenceKey(RESOURCE), await half.get(fenceKey(RESOURCE))).mode, 'Importing')
  const present = (await contents(half)).length
  assert.ok(present > 60 && present < 100, `${present}`)
  await assert.rejects(restore(half, () => from(another), into), { reason: 'NotEmpty', message: /^the store is half a restore of another bundle, taken on 1970-/ })
  await assert.rejects(setEncoding(half, 'v1beta1'), { reason: 'Frozen', message: /has not ended: give the same restore again/ })
  await assert.rejects(take(half), { reason: 'IncompleteRestore' })
  await assert.rejects(startStore(half, { name: 'test', replica: 'r', clock: systemClock, log: silentLog }), { reason: 'IncompleteRestore', exitCode: 11 })

  const progress: number[] = []
  await restore(half, () => from(bundle), { ...into, onProgress: (done) => progress.push(done) })
  assert.equal(progress.at(-1), 101)
  const texts = async (backend: Backend) => (await contents(backend)).map(({ key, text }) => [key, text])
  await putTwin(old, name(1), 'text 1', 'v1beta1')
  assert.deepEqual(await texts(half), await texts(old))
  assert.ok((await contents(half)).every(({ modRevision }) => modRevision > 2 ** 44))
  assert.equal((await run(half)).phase, 'Succeeded')
  // It has ended: it is a store like any other.
  await assert.rejects(restore(half, () => from(bundle), into), { reason: 'NotEmpty', message: /^the store is not empty/ })
})

test('many resources are let go of in several transactions, and a restore that dies between them goes on', async () => {
  await using old = openMemoryBackend()
  for (let i = 0; i < 120; i++) await openFence(old, `r${i}.example`, { encodingVersion: 'v1', decodable: ['v1'] })
  await fill(old, 3)
  const bundle = await take(old)
  await using target = openMemoryBackend()
  const modes = async (): Promise<number> => (await target.range({ start: 'meta/fence/', end: 'meta/fence0' })).kvs.filter((kv) => parseFence(kv.key, kv).mode === 'Importing').length
  // The record, the fences, the objects, and the first of the ends.
  await assert.rejects(restore(failing(target, 1 + 121 + 3 + 1, new Error('died')), () => from(bundle), into), { message: 'died' })
  assert.equal(await modes(), 71)
  await restore(await openRevisions(target), () => from(bundle), into)
  assert.equal(await modes(), 0)
})

test('a write that fails is never lost, whenever that comes: the restore fails, and does not end', async () => {
  await using old = openMemoryBackend()
  await fill(old, 100)
  const bundle = await take(old)
  for (const failed of [3, 40, 70, 101]) {
    await using target = openMemoryBackend()
    let commits = 0
    const losing: Backend = { ...target, async commit(request) {
      if (++commits === failed) throw new OutOfSpace('full')
      return target.commit(request)
    } }
    // The lines come slower than the writes end.
    const slowly = async function* (): AsyncGenerator<string> {
      for (const line of bundle) {
        await new Promise(setImmediate)
        yield line
      }
    }
    await assert.rejects(restore(losing, slowly, into), { name: 'OutOfSpace' }, `${failed}`)
    assert.equal(parseFence(fenceKey(RESOURCE), await target.get(fenceKey(RESOURCE))).mode, 'Importing')
    await restore(await openRevisions(target), slowly, into)
    assert.equal((await contents(await openRevisions(target))).length, 100)
  }
})
