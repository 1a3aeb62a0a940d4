/**
 * Objects a second of a migration on the embedded store, of 2 kB jobs from v1alpha1 to v1, on an idle store and beside four writers: `node test/bench/migration.ts`.
 * OBJECTS says how many; default 20,000.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { KubeObject } from '../../src/api/object.ts'
import { findVersion, qualifiedName } from '../../src/api/resource.ts'
import { systemClock } from '../../src/base/clock.ts'
import { silentLog } from '../../src/base/log.ts'
import { migrationCodec } from '../../src/registry/migration-codec.ts'
import { createStorageCodec } from '../../src/registry/storage-codec.ts'
import { resources } from '../../src/resources/index.ts'
import type { Backend } from '../../storage/backend.ts'
import { commitFenced, openFence } from '../../storage/fence.ts'
import { migrate } from '../../storage/migrate.ts'
import { changeEncoding } from '../../storage/set-version.ts'
import { openSqlite } from '../../storage/sqlite.ts'
import { scanObjects } from '../../storage/verify.ts'
import { alphaJob } from '../jobs.ts'
import { complete } from '../model/arbitrary-object.ts'

const OBJECTS = Number(process.env.OBJECTS ?? 20_000)
const WRITERS = 4
const served = resources[0]!
const resource = qualifiedName(served.definition)
const storage = createStorageCodec(served.definition, served.conversion)
const codec = migrationCodec(served.definition, storage)
const order = ['v1alpha1', 'v1beta1', 'v1']

// 2 kB as a job has them: names, labels, ownership and parameters.
function jobOf(i: number): KubeObject {
  const object = alphaJob(`job-${i}`, {
    metadata: {
      namespace: 'default', uid: '6f1c1d6e-0000-4000-8000-000000000000', generation: 1, creationTimestamp: '2026-01-01T00:00:00Z',
      labels: { team: 'ml', run: `r-${i}` }, annotations: { note: 'x'.repeat(1200) },
      managedFields: [{ manager: 'kubectl', operation: 'Update', apiVersion: 'mlops.dev/v1alpha1', time: '2026-01-01T00:00:00Z', fieldsType: 'FieldsV1', fieldsV1: { 'f:spec': { 'f:notebook': { '.': {}, 'f:git': {} } } } }],
    },
  })
  return served.conversion.lift(complete(object as unknown as KubeObject, findVersion(served.definition, 'v1alpha1')!.schema), 'v1alpha1')
}

async function fill(backend: Backend, name: (i: number) => string, count: number): Promise<void> {
  const fence = await openFence(backend, resource, { encodingVersion: 'v1alpha1', decodable: order })
  for (let i = 0; i < count; i += 500) {
    await Promise.all(
      Array.from({ length: Math.min(500, count - i) }, (_, j) => {
        const value = storage.seal(jobOf(i + j), fence.current().encodingVersion)
        return commitFenced(backend, fence, { compare: [], put: [{ key: `data/${resource}/${name(i + j)}`, value }] })
      }),
    )
  }
}

/** Four that write jobs one after another until `over`; the milliseconds of each write. */
async function write(backend: Backend, over: () => boolean): Promise<number[]> {
  const fence = await openFence(backend, resource, { encodingVersion: 'v1', decodable: order })
  const took: number[] = []
  await Promise.all(
    Array.from({ length: WRITERS }, async (_, writer) => {
      for (let i = 0; !over(); i++) {
        const hub = jobOf(i)
        const start = performance.now()
        for (;;) {
          const value = storage.seal(hub, fence.current().encodingVersion)
          const result = await commitFenced(backend, fence, { compare: [], put: [{ key: `data/${resource}/writer-${writer}/job-${i % 500}`, value }] })
          if (result.kind === 'committed') break
        }
        took.push(performance.now() - start)
      }
    }),
  )
  return took.sort((a, b) => a - b)
}

const at = (sorted: readonly number[], share: number): string => (sorted[Math.floor(sorted.length * share)] ?? 0).toFixed(2)
const say = (line: string): void => void process.stdout.write(`${line}\n`)

async function measure(what: string, busy: boolean): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'bench-'))
  const backend = await openSqlite({ directory, clock: systemClock, log: silentLog })
  try {
    await fill(backend, (i) => `default/job-${i}`, OBJECTS)
    await changeEncoding({ backend, resource, version: 'v1', order, clock: systemClock, reason: 'bench' })
    let over = false
    const until = performance.now() + 4000
    if (busy) {
      const alone = await write(backend, () => performance.now() > until)
      say(`  writers alone: ${Math.round(alone.length / 4)} writes/s, p50 ${at(alone, 0.5)} ms, p99 ${at(alone, 0.99)} ms`)
    }
    const writing = busy ? write(backend, () => over) : undefined
    const start = performance.now()
    let swept = 0
    const job = await migrate({
      backend, resource, codec, clock: systemClock, log: silentLog, owner: 'bench',
      onProgress: ({ phase }) => {
        if (phase === 'Verifying') swept ||= performance.now()
      },
    })
    const seconds = (performance.now() - start) / 1000
    over = true
    say(`${what}: ${job.phase}, ${job.result?.rewritten} rewritten in ${seconds.toFixed(2)} s with its proof: ${Math.round((job.result?.rewritten ?? 0) / seconds)} objects/s; sweep alone ${Math.round((job.result?.rewritten ?? 0) / ((swept - start) / 1000))}`)
    const beside = await writing
    if (beside) say(`  writers beside it: ${Math.round(beside.length / seconds)} writes/s, p50 ${at(beside, 0.5)} ms, p99 ${at(beside, 0.99)} ms`)
    const scanStart = performance.now()
    const { complete, proof } = await scanObjects({ backend, resource, codec, now: Date.now, deep: true })
    say(`  deep verification of ${proof.keys}: ${((performance.now() - scanStart) / 1000).toFixed(2)} s, complete ${complete}`)
  } finally {
    await backend.close()
    rmSync(directory, { recursive: true })
  }
}

const sample = jobOf(1)
say(`stored bytes: ${order.map((version) => `${version} ${storage.seal(sample, version).length}`).join(', ')}`)
await measure('idle', false)
await measure('beside four writers', true)
