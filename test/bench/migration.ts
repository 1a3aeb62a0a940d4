/**
 * Objects a second of a migration of 2 kB jobs from v1alpha1 to v1, on an idle store and beside four writers: `node test/bench/migration.ts [sqlite] [etcd]`; without
 * arguments on both, etcd being one member on loopback. OBJECTS says how many; default 20,000. Wall times are those of a machine that may have other work: its load is
 * printed, and the CPU of this process (without etcd's). IN_FLIGHT tries another number of commits under way beside writers.
 */
import { loadavg } from 'node:os'
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
import { openEtcd } from '../../storage/etcd.ts'
import { migrate } from '../../storage/migrate.ts'
import { changeEncoding } from '../../storage/set-version.ts'
import { openSqlite } from '../../storage/sqlite.ts'
import { scanObjects } from '../../storage/verify.ts'
import { startCluster } from '../etcd/etcd-cluster.ts'
import { alphaJob } from '../jobs.ts'
import { complete } from '../model/arbitrary-object.ts'
import { temporaryDirectory } from '../product.ts'

const OBJECTS = Number(process.env.OBJECTS ?? 20_000)
const WRITERS = 4
const limits = process.env.IN_FLIGHT === undefined ? {} : { limits: { inFlightBusy: Number(process.env.IN_FLIGHT) } }
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
const load = (): string => `load ${loadavg().map((value) => value.toFixed(1)).join(' ')}`

function percentiles(what: string, took: readonly number[] = [], seconds: number): number {
  const sorted = took.toSorted((a, b) => a - b)
  const at = (share: number): number => sorted[Math.floor(sorted.length * share)] ?? 0
  say(`  writers, ${what}: ${Math.round(sorted.length / (seconds || 1))} writes/s, p50 ${at(0.5).toFixed(2)} ms, p99 ${at(0.99).toFixed(2)} ms`)
  return at(0.99)
}

/** What the process does: how long, and with how much CPU of all its threads and of the main one, in each state. */
type State = 'alone' | 'beside' | 'proof' | 'over'

function openTimes(first: State) {
  const spent = new Map<State, { seconds: number; cpuMs: number; mainMs: number }>()
  const read = () => ({ at: performance.now(), all: process.cpuUsage(), main: process.threadCpuUsage() })
  const sum = ({ user, system }: NodeJS.CpuUsage): number => (user + system) / 1000
  let state = first
  let since = read()
  return {
    get state() {
      return state
    },
    enter(next: State): void {
      const now = read()
      const old = spent.get(state) ?? { seconds: 0, cpuMs: 0, mainMs: 0 }
      spent.set(state, {
        seconds: old.seconds + (now.at - since.at) / 1000, cpuMs: old.cpuMs + sum(now.all) - sum(since.all), mainMs: old.mainMs + sum(now.main) - sum(since.main),
      })
      state = next
      since = now
    },
    of: (wanted: State) => spent.get(wanted) ?? { seconds: 0, cpuMs: 0, mainMs: 0 },
  }
}

/** The store, which says every other time that it has little room: the migration, which asks each second, then holds still. */
function withPauses(backend: Backend): Backend {
  let asked = 0
  const space = { limitBytes: 2, reserveBytes: 1 }
  return { ...backend, status: async () => ({ ...(await backend.status()), space: { ...space, freeBytes: asked++ % 2 === 0 ? 2 : 0 } }) }
}

/** Beside writers the migration is held every other second, so that both figures are of the same machine at the same time. */
async function measure(what: string, backend: Backend, busy: boolean): Promise<void> {
  await fill(backend, (i) => `default/job-${i}`, OBJECTS)
  await changeEncoding({ backend, resource, version: 'v1', order, clock: systemClock, reason: 'bench' })
  const before = load()
  const times = openTimes('beside')
  const writing = busy ? write(backend, () => times.state === 'over', () => times.state) : undefined
  const job = await migrate({
    backend: busy ? withPauses(backend) : backend, resource, codec, clock: systemClock, log: silentLog, owner: 'bench', ...limits,
    onProgress({ phase, limitedBy }) {
      times.enter(phase !== 'Running' ? 'proof' : limitedBy === 'LowSpace' ? 'alone' : 'beside')
    },
  })
  times.enter('over')
  const took = await writing
  const rewritten = job.result?.rewritten ?? 0
  const { seconds, cpuMs, mainMs } = times.of('beside')
  const withProof = seconds + times.of('proof').seconds
  say(`${what}: ${job.phase}, ${rewritten} rewritten at ${Math.round(rewritten / seconds)} objects/s (${Math.round(rewritten / withProof)} with the proof), ${before}, then ${load()}`)
  if (took) {
    const [alone, beside] = (['alone', 'beside'] as const).map((name) => percentiles(name, took.get(name), times.of(name).seconds)) as [number, number]
    say(`  p99 beside it: ${(beside / alone).toFixed(2)} of that without`)
  }
  const commits = rewritten + (took?.get('beside')?.length ?? 0)
  say(`  CPU per ${took ? 'object or write' : 'object'}: ${(cpuMs / commits).toFixed(3)} ms, of which the main thread ${(mainMs / commits).toFixed(3)} ms`)
  const scanStart = performance.now()
  const { complete: isComplete, proof } = await scanObjects({ backend, resource, codec, now: Date.now, deep: true })
  say(`  deep verification of ${proof.keys}: ${((performance.now() - scanStart) / 1000).toFixed(2)} s, complete ${isComplete}`)
}

const cases = [['idle', false], ['beside four writers', true]] as const
const around = { clock: systemClock, log: silentLog }

const runs: Readonly<Record<string, () => Promise<void>>> = {
  async sqlite() {
    for (const [what, busy] of cases) {
      using directory = temporaryDirectory('bench-')
      await using backend = await openSqlite({ directory: join(directory.path, 'store'), ...around })
      await measure(`sqlite, ${what}`, backend, busy)
    }
  },
  async etcd() {
    await using cluster = await startCluster({ version: '3.6.16' })
    for (const [what, busy] of cases) {
      await using backend = await openEtcd({ endpoints: cluster.endpoints, prefix: busy ? '/busy' : '/idle', requestTimeoutMs: 10_000, ...around })
      await measure(`etcd, ${what}`, backend, busy)
    }
  },
}

const sample = jobOf(1)
say(`stored bytes: ${order.map((version) => `${version} ${storage.seal(sample, version).length}`).join(', ')}`)
for (const name of process.argv.length > 2 ? process.argv.slice(2) : Object.keys(runs)) {
  const run = runs[name]
  if (!run) throw new TypeError(`there is no store ${name}, only ${Object.keys(runs).join(' and ')}`)
  await run()
}
