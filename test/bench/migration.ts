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

/** Four that write jobs one after another until `over`; the milliseconds of each write, by what `when` says before and after it. */
async function write(backend: Backend, over: () => boolean, when: () => string): Promise<ReadonlyMap<string, readonly number[]>> {
  const fence = await openFence(backend, resource, { encodingVersion: 'v1', decodable: order })
  const took = new Map<string, number[]>()
  await Promise.all(
    Array.from({ length: WRITERS }, async (_, writer) => {
      for (let i = 0; !over(); i++) {
        const hub = jobOf(i)
        const before = when()
        const start = performance.now()
        for (;;) {
          const value = storage.seal(hub, fence.current().encodingVersion)
          const result = await commitFenced(backend, fence, { compare: [], put: [{ key: `data/${resource}/writer-${writer}/job-${i % 500}`, value }] })
          if (result.kind === 'committed') break
        }
        if (when() === before) (took.get(before) ?? took.set(before, []).get(before)!).push(performance.now() - start)
      }
    }),
  )
  return took
}

const say = (line: string): void => void process.stdout.write(`${line}\n`)

function percentiles(what: string, took: readonly number[] = [], seconds: number): number {
  const sorted = took.toSorted((a, b) => a - b)
  const at = (share: number): number => sorted[Math.floor(sorted.length * share)] ?? 0
  say(`  writers, ${what}: ${Math.round(sorted.length / seconds)} writes/s, p50 ${at(0.5).toFixed(2)} ms, p99 ${at(0.99).toFixed(2)} ms`)
  return at(0.99)
}

/** Beside writers the migration is held every other second, so that both figures are of the same machine at the same time. */
async function measure(what: string, busy: boolean): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'bench-'))
  const backend = await openSqlite({ directory, clock: systemClock, log: silentLog })
  try {
    await fill(backend, (i) => `default/job-${i}`, OBJECTS)
    await changeEncoding({ backend, resource, version: 'v1', order, clock: systemClock, reason: 'bench' })
    const times: Record<string, number> = { alone: 0, beside: 0 }
    let [state, since, over] = ['beside', performance.now(), false]
    const enter = (next: string): void => {
      times[state] = (times[state] ?? 0) + (performance.now() - since) / 1000
      state = next
      since = performance.now()
    }
    const writing = busy ? write(backend, () => over, () => state) : undefined
    const job = await migrate({
      backend, resource, codec, clock: systemClock, log: silentLog, owner: 'bench',
      ...(busy && { stop: async () => {
        enter(state === 'beside' ? 'alone' : 'beside')
        return state === 'alone' ? 'Bench' : undefined
      } }),
      onProgress: ({ phase }) => {
        if (phase !== 'Running' && state === 'alone') enter('beside')
      },
    })
    enter('')
    over = true
    const seconds = times.beside as number
    const rewritten = job.result?.rewritten ?? 0
    say(`${what}: ${job.phase}, ${rewritten} rewritten in ${seconds.toFixed(2)} s with its proof: ${Math.round(rewritten / seconds)} objects/s`)
    const took = await writing
    if (took) {
      const [alone, beside] = (['alone', 'beside'] as const).map((name) => percentiles(name, took.get(name), times[name] as number)) as [number, number]
      say(`  p99 beside it: ${(beside / alone).toFixed(2)} of that without`)
    }
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
