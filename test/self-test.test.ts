/** A program that does not read its own samples rightly touches no store: exit code 15. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../src/base/clock.ts'
import { silentLog } from '../src/base/log.ts'
import { migrationCodec } from '../src/registry/migration-codec.ts'
import { openResourceStore, type ResourceStore, type ServedResource } from '../src/registry/resource-store.ts'
import { checkSamples } from '../src/registry/self-test.ts'
import { createStorageCodec } from '../src/registry/storage-codec.ts'
import { resources } from '../src/resources/index.ts'
import type { Backend } from '../storage/backend.ts'
import { ByteBudget } from '../storage/watch-cache.ts'
import { openMemoryBackend } from './model/memory-backend.ts'

const [served] = resources as [ServedResource]

const open = (backend: Backend, resource: ServedResource): Promise<ResourceStore> => {
  const program = { name: 'mlops-apiserver 0.1.0', replica: 'r1', clock: systemClock, log: silentLog }
  return openResourceStore(resource, { backend, program, budget: new ByteBudget(1024), exclusive: true, clock: systemClock, log: silentLog, admission: [] })
}

const broken: readonly (readonly [string, ServedResource, RegExp])[] = [
  ['reads a sample as another object', {
    ...served,
    conversion: { ...served.conversion, load: (stored) => ({ ...served.conversion.load(stored), spec: { suspend: true } }) },
  }, /does not read its own samples of notebookvalidationjobs\.mlops\.dev: sample 1 is read as another object\. This program is damaged: install it again$/],
  ['loses what a version cannot show', {
    ...served,
    conversion: {
      ...served.conversion,
      store(hub, version) {
        const { remainder: _, ...stored } = served.conversion.store(hub, version)
        return stored
      },
    },
  }, /: sample \d cannot be written at v1alpha1: that would change it\./],
  ['fails', {
    ...served,
    conversion: {
      ...served.conversion,
      load() {
        throw new Error('no lens')
      },
    },
  }, /samples of notebookvalidationjobs\.mlops\.dev: no lens\. /],
]

for (const [what, resource, message] of broken) {
  test(`a program that ${what} does not start`, async () => {
    await using backend = openMemoryBackend()
    await assert.rejects(open(backend, resource), { reason: 'SelfTestFailed', exitCode: 15, message })
    // It is not announced, and has written nothing but the fence of a new store.
    const { kvs } = await backend.range({ start: '', end: '~' })
    assert.deepEqual(kvs.map(({ key }) => key), ['meta/fence/notebookvalidationjobs.mlops.dev'])
  })
}

test('an undamaged one does', async () => {
  await using backend = openMemoryBackend()
  await using store = await open(backend, served)
  assert.equal(store.started.state, 'Serving')
})

test('it takes a few milliseconds of a start', () => {
  const codec = migrationCodec(served.definition, createStorageCodec(served.definition, served.conversion))
  const before = process.cpuUsage()
  const begun = systemClock.monotonic()
  checkSamples(codec, served.samples ?? [])
  const { user, system } = process.cpuUsage(before)
  const ms = (user + system) / 1000
  // Measured: 8 ms before anything is compiled. An order above is a change that somebody should know of.
  assert.ok(ms < 80, `${ms} ms of CPU, ${systemClock.monotonic() - begun} ms`)
})
