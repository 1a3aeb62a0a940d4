import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sealTwin, type Twin } from '../test/model/twin-codec.ts'
import type { Backend, CommitRequest } from './backend.ts'
import { OutOfSpace, UnknownOutcome } from './backend.ts'
import { fenceKey, parseFence, storedVersionNames } from './fence-record.ts'
import { setFrozen } from './fence-change.ts'
import type { LoadedFence } from './fence.ts'
import { codec, contents, fill, name, PREFIX, putTwin, RESOURCE, run, setEncoding, stores } from './migrate.fixture.ts'
import { addCounters, checkpointKey, lockKey, parseCheckpoint } from './migrate-job.ts'
import { abortMigration, limitMigration, pauseMigration, unfinishedJob } from './migrate-control.ts'
import { listQuarantine } from './quarantine.ts'
import { Refused } from './refused.ts'
import { scanObjects } from './verify.ts'

const fenceOf = async (backend: Backend): Promise<LoadedFence> => parseFence(fenceKey(RESOURCE), await backend.get(fenceKey(RESOURCE)))
const isObjectWrite = (request: CommitRequest): boolean => request.put?.some(({ key }) => key.startsWith(PREFIX)) ?? false

/** A backend whose commits go through `commit`. */
const intercept = (backend: Backend, commit: (request: CommitRequest, n: number) => ReturnType<Backend['commit']>): Backend => {
  let n = 0
  return { ...backend, commit: (request) => commit(request, isObjectWrite(request) ? ++n : 0) }
}

for (const [engine, open] of stores) {
  describe(`migration on ${engine}`, () => {
    test('rewrites, proves and trims, and says what it did', async () => {
      await using store = await open()
      const { backend } = store
      await fill(backend, 300)
      const before = await scanObjects({ backend, resource: RESOURCE, codec, now: Date.now, deep: true })
      await setEncoding(backend, 'v1')
      await putTwin(backend, name(7), 'text 7', 'v1')
      const job = await run(backend)
      assert.equal(job.phase, 'Succeeded')
      assert.deepEqual({ ...job.result, bytesIn: 0, bytesOut: 0 }, { seen: 300, rewritten: 299, current: 1, vanished: 0, quarantined: 0, conflicts: 0, bytesIn: 0, bytesOut: 0 })
      assert.deepEqual(job.proof?.byVersion, { v1: 300 })
      const objects = await contents(backend)
      assert.ok(objects.every(({ version }) => version === 'v1'))
      // One object, one revision.
      assert.equal(new Set(objects.map(({ modRevision }) => modRevision)).size, 300)
      const fence = await fenceOf(backend)
      assert.deepEqual([storedVersionNames(fence), fence.job, fence.epoch], [['v1'], undefined, 3])
      const after = await scanObjects({ backend, resource: RESOURCE, codec, now: Date.now, deep: true })
      assert.equal(after.digest, before.digest)
      assert.equal(after.complete, true)
      assert.equal(await backend.get(lockKey(RESOURCE)), undefined)
      const again = await run(backend)
      assert.deepEqual([again.phase, again.result?.rewritten, again.result?.current], ['Succeeded', 0, 300])
    })

    test('an empty store is migrated too', async () => {
      await using store = await open()
      await fill(store.backend, 0)
      await setEncoding(store.backend, 'v1')
      assert.equal((await run(store.backend)).phase, 'Succeeded')
      assert.deepEqual(storedVersionNames(await fenceOf(store.backend)), ['v1'])
    })

    test('goes on where it was interrupted, with exact counters', async () => {
      await using store = await open()
      const { backend } = store
      await fill(backend, 200)
      await setEncoding(backend, 'v1')
      const stop = new AbortController()
      const first = await run(intercept(backend, (request, n) => {
        if (n === 60) stop.abort()
        return backend.commit(request)
      }), { signal: stop.signal })
      assert.deepEqual([first.phase, first.reason], ['Paused', 'Interrupted'])
      const halfway = (await contents(backend)).filter(({ version }) => version === 'v1').length
      assert.ok(halfway >= 60 && halfway < 200, `${halfway}`)
      const second = await run(backend)
      assert.deepEqual([second.phase, second.id, second.attempts, second.result?.rewritten, second.result?.seen], ['Succeeded', first.id, 2, 200, 200])
    })

    test('a process that dies leaves a job that goes on', async () => {
      await using store = await open()
      const { backend } = store
      await fill(backend, 200)
      await setEncoding(backend, 'v1')
      const dying = intercept(backend, async (request, n) => {
        if (n > 70) throw new Error('died')
        return backend.commit(request)
      })
      await assert.rejects(run(dying), { message: 'died' })
      const { job } = await fenceOf(backend)
      const saved = await Promise.all([...Array(13).keys()].map((i) => backend.get(checkpointKey({ resource: RESOURCE, id: job as string }, i))))
      const counted = addCounters(...saved.flatMap((kv) => (kv ? [parseCheckpoint(kv).counters] : [])))
      assert.equal(counted.rewritten, (await contents(backend)).filter(({ version }) => version === 'v1').length)
      const end = await run(backend)
      assert.deepEqual([end.phase, end.result?.rewritten, end.result?.seen], ['Succeeded', 200, 200])
    })

    test('an outcome that nobody knows is found out, and nothing is counted twice', async () => {
      await using store = await open()
      const { backend } = store
      await fill(backend, 60)
      await setEncoding(backend, 'v1')
      const unsure = intercept(backend, async (request, n) => {
        if (n % 10 === 3) throw new UnknownOutcome('not sent')
        const result = await backend.commit(request)
        if (n % 10 === 6) throw new UnknownOutcome('no answer')
        return result
      })
      const job = await run(unsure)
      assert.deepEqual([job.phase, job.result?.rewritten, job.result?.conflicts], ['Succeeded', 60, 0])
    })

    test('objects that change or vanish meanwhile are looked at again', async () => {
      await using store = await open()
      const { backend } = store
      await fill(backend, 40)
      await setEncoding(backend, 'v1')
      const busy = intercept(backend, async (request, n) => {
        const key = request.put?.find((put) => put.key.startsWith(PREFIX))?.key.slice(PREFIX.length)
        if (key === name(5) && n < 100) await putTwin(backend, key, 'edited', 'v1')
        if (key === name(6)) await backend.commit({ compare: [], delete: [PREFIX + key] })
        return backend.commit(request)
      })
      const job = await run(busy)
      assert.deepEqual([job.phase, job.result?.rewritten, job.result?.current, job.result?.vanished, job.result?.conflicts], ['Succeeded', 38, 1, 1, 2])
      assert.equal((await contents(backend)).find(({ key }) => key === name(5))?.text, 'edited')
    })

    test('what cannot be used blocks the job, and is left as it is until it is repaired', async () => {
      await using store = await open()
      const { backend } = store
      await fill(backend, 50, { texts: { [name(3)]: 'fails', [name(30)]: 'lossy text' } })
      await backend.commit({ compare: [], put: [{ key: PREFIX + name(40), value: Buffer.from('rubbish') }] })
      await setEncoding(backend, 'v1')
      const blocked = await run(backend)
      assert.deepEqual([blocked.phase, blocked.result?.rewritten, blocked.result?.quarantined], ['Blocked', 47, 3])
      const entries = await listQuarantine(backend, RESOURCE)
      assert.deepEqual(entries.map((entry) => [entry.key, entry.class]), [[name(3), 'ConversionError'], [name(30), 'LossyConversion'], [name(40), 'UnknownFormat']])
      assert.deepEqual(storedVersionNames(await fenceOf(backend)), ['v1beta1', 'v1'])
      assert.equal(Buffer.from((await backend.get(PREFIX + name(40)))!.value).toString(), 'rubbish')
      const still = await run(backend)
      assert.deepEqual([still.phase, still.sweep, still.result?.rewritten, still.result?.quarantined], ['Blocked', 2, 47, 3])
      for (const i of [3, 30]) await putTwin(backend, name(i), 'good', 'v1')
      await backend.commit({ compare: [], delete: [PREFIX + name(40)] })
      const done = await run(backend)
      assert.deepEqual([done.phase, done.result?.rewritten, done.result?.current, done.result?.quarantined, done.result?.seen], ['Succeeded', 47, 2, 0, 49])
      assert.deepEqual(await listQuarantine(backend, RESOURCE), [])
    })

    test('a repaired decoder takes objects out of quarantine', async () => {
      await using store = await open()
      const { backend } = store
      await fill(backend, 20, { texts: { [name(3)]: 'fails' } })
      await setEncoding(backend, 'v1')
      assert.equal((await run(backend)).phase, 'Blocked')
      const repaired = { ...codec, decode: (value: Uint8Array) => { const { key } = codec.identity(value); return key === name(3) ? { key, text: 'fails no more' } : codec.decode(value) } }
      const done = await run(backend, { codec: repaired as typeof codec })
      assert.deepEqual([done.phase, done.result?.rewritten, done.result?.quarantined], ['Succeeded', 20, 0])
      assert.deepEqual(await listQuarantine(backend, RESOURCE), [])
    })

    test('a pause, a freeze and an abort stop it, the last two at once', async () => {
      await using store = await open()
      const { backend } = store
      await fill(backend, 100)
      await setEncoding(backend, 'v1')
      let action: (() => Promise<unknown>) | undefined = () => pauseMigration(backend, RESOURCE, 0)
      const commanded = intercept(backend, async (request, n) => {
        if (n === 20) await action?.()
        return backend.commit(request)
      })
      // The pause is seen at the end of the pass, since the look at the record comes each second.
      const paused = await run(commanded)
      assert.deepEqual([paused.phase, paused.reason], ['Paused', 'Requested'])

      await putTwin(backend, name(1), 'old again', 'v1beta1')
      await setFreeze(backend, true)
      await assert.rejects(run(backend), { reason: 'Frozen' })
      await setFreeze(backend, false)
      await assert.rejects(setEncoding(backend, 'v1beta1'), { reason: 'MigrationUnfinished', exitCode: 3 })
      action = undefined
      const aborted = await abortMigration(backend, RESOURCE, 0)
      assert.equal(aborted?.id, paused.id)
      assert.equal((await fenceOf(backend)).job, undefined)
      assert.deepEqual(storedVersionNames(await fenceOf(backend)), ['v1beta1', 'v1'])

      action = () => setFreeze(backend, true)
      await fillOld(backend, 100)
      const frozen = await run(commandedAt(backend, 20, () => setFreeze(backend, true)))
      assert.deepEqual([frozen.phase, frozen.reason], ['Paused', 'Frozen'])
      const at = (await fenceOf(backend)).modRevision
      assert.ok((await contents(backend)).every(({ modRevision }) => modRevision < at))
      await setFreeze(backend, false)
      const stopped = await run(commandedAt(backend, 20, () => abortMigration(backend, RESOURCE, 0)))
      assert.deepEqual([stopped.phase, stopped.id], ['Aborted', frozen.id])
      assert.equal((await run(backend)).phase, 'Succeeded')
    })

    test('one process at a time; who was taken over writes nothing more', async () => {
      await using store = await open()
      const { backend } = store
      await fill(backend, 50)
      await setEncoding(backend, 'v1')
      let other: unknown
      const contended = await run(commandedAt(backend, 10, async () => {
        other = await run(backend).catch((error: unknown) => error)
      }))
      assert.equal(contended.phase, 'Succeeded')
      assert.ok(other instanceof Refused && other.reason === 'LostOwnership' && other.exitCode === 8)

      await fillOld(backend, 50)
      const robbed = run(commandedAt(backend, 10, async () => {
        await backend.commit({ compare: [], delete: [lockKey(RESOURCE)] })
        const second = await run(backend)
        assert.deepEqual([second.phase, second.result?.seen], ['Succeeded', 50])
      }))
      await assert.rejects(robbed, { reason: 'LostOwnership' })
    })

    test('nothing is trimmed when an object at another version is found', async () => {
      await using store = await open()
      const { backend } = store
      await fill(backend, 30)
      await setEncoding(backend, 'v1')
      // Somebody writes past the fence, behind the migration.
      const careless: Backend = { ...backend, async commit(request) {
        const last = request.put?.find(({ value }) => Buffer.from(value).includes('"phase":"Verifying"'))
        if (last) await putTwin(backend, name(2), 'smuggled', 'v1beta1')
        return backend.commit(request)
      } }
      const failed = await run(careless)
      assert.deepEqual([failed.phase, failed.reason], ['Failed', 'OldObjectsFound: 1 at v1beta1'])
      assert.deepEqual(storedVersionNames(await fenceOf(backend)), ['v1beta1', 'v1'])
      const done = await run(backend)
      assert.deepEqual([done.phase, done.result?.rewritten], ['Succeeded', 31])
    })

    test('a full disk pauses it, also when not even that can be written', async () => {
      await using store = await open()
      const { backend } = store
      await fill(backend, 60)
      await setEncoding(backend, 'v1')
      const filling = intercept(backend, async (request, n) => {
        if (n > 10) throw new OutOfSpace('the disk is full')
        return backend.commit(request)
      })
      assert.partialDeepStrictEqual(await run(filling, { roomMs: 0 }), { phase: 'Paused', reason: 'NoSpace' })
      assert.partialDeepStrictEqual(await run(intercept(backend, async (request, n) => {
        if (n > 0 || request.put?.some(({ value }) => Buffer.from(value).includes('NoSpace'))) throw new OutOfSpace('the disk is full')
        return backend.commit(request)
      }), { roomMs: 0 }), { phase: 'Paused', reason: 'NoSpace' })
      assert.partialDeepStrictEqual(await run(backend), { phase: 'Succeeded', result: { rewritten: 60 } })
    })

    test('how fast it may go and that it rests is in the job: whoever takes it up keeps to it', async () => {
      await using store = await open()
      const { backend } = store
      await fill(backend, 100)
      await setEncoding(backend, 'v1')
      const interrupted = new AbortController()
      const first = run(backend, { rateLimit: 50, signal: interrupted.signal })
      await sleep(300)
      interrupted.abort()
      assert.partialDeepStrictEqual(await first, { phase: 'Paused', reason: 'Interrupted', rateLimit: 50 })
      // Said of one that was only interrupted, it rests for every process.
      assert.equal((await pauseMigration(backend, RESOURCE, 0)).reason, 'Requested')
      assert.equal((await unfinishedJob(backend, RESOURCE))?.job.reason, 'Requested')
      let shown = 0
      const second = run(backend, { onProgress: ({ done }) => (shown = done) })
      await sleep(500)
      assert.ok(shown < 90, `${shown}`)
      assert.equal((await unfinishedJob(backend, RESOURCE))?.job.rateLimit, 50)
      // Changed while it runs, by somebody else: it goes on, and does not take that for another's command.
      await limitMigration(backend, RESOURCE, 0, 0)
      const done = await second
      assert.deepEqual([done.phase, done.result?.rewritten, done.rateLimit], ['Succeeded', 100, undefined])
      await limitMigration(backend, RESOURCE, 7, 0)
    })

    test('without room it is not begun, holds still while it runs, and gives up in the end; the same call continues', async () => {
      await using store = await open()
      let freeBytes = 1
      const backend: Backend = { ...store.backend, status: async () => ({ ...(await store.backend.status()), space: { limitBytes: 1000, freeBytes, reserveBytes: 100 } }) }
      await fill(backend, 100)
      await setEncoding(backend, 'v1')
      const revision = await backend.currentRevision()
      await assert.rejects(run(backend), { reason: 'LowSpace', exitCode: 3, message: /make room on its disk/ })
      assert.equal(await backend.currentRevision(), revision)
      freeBytes = 500
      const shown: (string | undefined)[] = []
      const first = run(backend, {
        rateLimit: 40, roomMs: 1500,
        onProgress: ({ limitedBy }) => {
          shown.push(limitedBy)
          freeBytes = 1
        },
      })
      const given = await first
      assert.deepEqual([given.phase, given.reason], ['Paused', 'NoSpace'])
      assert.match(given.message ?? '', /the last 0\.0 MB to others/)
      assert.ok(shown.includes('LowSpace'), shown.join())
      await limitMigration(backend, RESOURCE, 0, 0)
      freeBytes = 500
      const done = await run(backend)
      assert.deepEqual([done.phase, done.result?.rewritten, done.message], ['Succeeded', 100, undefined])
    })

    test('an object that would become too large is left as it is, and blocks', async () => {
      await using store = await open()
      const { backend } = store
      await fill(backend, 3)
      await setEncoding(backend, 'v1')
      const growing = { ...codec, encode: (hub: Twin, version: string) => sealTwin({ ...hub, ...(hub.key === name(1) && { text: 'x'.repeat(2 ** 21) }) }, version) }
      const blocked = await run(backend, { codec: growing as typeof codec })
      assert.deepEqual([blocked.phase, blocked.result?.rewritten], ['Blocked', 2])
      assert.match((await listQuarantine(backend, RESOURCE))[0]!.message, /it would have 2\d+ bytes at v1, the limit is 1576960/)
    })

    test('shows how far it is', async () => {
      await using store = await open()
      await fill(store.backend, 100)
      await setEncoding(store.backend, 'v1')
      const phases: string[] = []
      let last
      await run(store.backend, { onProgress: (progress) => { phases.push(progress.phase); last = progress } })
      assert.deepEqual([...new Set(phases)], ['Running', 'Verifying', 'Trimming', 'Succeeded'])
      assert.partialDeepStrictEqual(last, { total: 100, done: 100, target: 'v1', counters: { rewritten: 100 } })
    })
  })
}

function commandedAt(backend: Backend, at: number, action: () => Promise<unknown>): Backend {
  return intercept(backend, async (request, n) => {
    if (n === at) await action()
    return backend.commit(request)
  })
}

async function setFreeze(backend: Backend, frozen: boolean): Promise<void> {
  await backend.commit(setFrozen({ resource: RESOURCE, fence: await fenceOf(backend) }, frozen))
}

/** Objects at an older version again, with the fence saying so. */
async function fillOld(backend: Backend, count: number): Promise<void> {
  if ((await fenceOf(backend)).encodingVersion !== 'v1beta1') await setEncoding(backend, 'v1beta1')
  for (let i = 0; i < count; i++) await putTwin(backend, name(i), `text ${i}`, 'v1beta1')
  await setEncoding(backend, 'v1')
}

