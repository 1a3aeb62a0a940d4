/**
 * The order in which calls of two replicas, a newcomer, two migrations, an operator and the compaction reach the store: every single departure from the default order and every
 * single fault is tried, and pairs of them by a seed, on the code that runs in production. MODEL_RUNS says how many pairs; default 100.
 * Then each compare is taken away, and the model must see that something breaks.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { UnknownOutcome } from '../../storage/backend.ts'
import type { Backend, CommitRequest, Compare } from '../../storage/backend.ts'
import { setFrozen } from '../../storage/fence-change.ts'
import { fenceKey, parseFence, storedVersionNames } from '../../storage/fence-record.ts'
import { commitFenced, openFence } from '../../storage/fence.ts'
import { abortMigration } from '../../storage/migrate-control.ts'
import { migrate } from '../../storage/migrate.ts'
import { Refused } from '../../storage/refused.ts'
import { register } from '../../storage/replicas.ts'
import { changeEncoding } from '../../storage/set-version.ts'
import { verify } from '../../storage/verify.ts'
import { silentLog } from '../../src/base/log.ts'
import { openInvariants, PREFIX, RESOURCE } from './migration-invariants.ts'
import { Simulation } from './simulation.ts'
import type { Actor, Schedule, SimulationOptions } from './simulation.ts'
import { openTwin, sealTwin, twinCodec } from './twin-codec.ts'
import type { Twin } from './twin-codec.ts'

const PAIRS = Number(process.env.MODEL_RUNS ?? 100)
const ORDER = ['v1beta1', 'v1']
const codec = twinCodec(ORDER)

/** Whether it was done; refusals and outcomes that stay unknown are answers, after which one tries again. Anything else fails the run. */
async function attempt(act: () => Promise<unknown>): Promise<boolean> {
  try {
    await act()
    return true
  } catch (error) {
    if (error instanceof Refused || error instanceof UnknownOutcome) return false
    throw error
  }
}

/** A replica: writes some objects, each several times, reading before it writes. */
const writer = (name: string, keys: readonly string[]): Actor => ({
  name,
  async run(_sim, backend) {
    const fence = await openFence(backend, RESOURCE, { encodingVersion: 'v1beta1', decodable: ORDER })
    for (let round = 0; round < 2; round++) for (const key of keys) await write(backend, fence, key, `${name}${round}`)
  },
})

async function write(backend: Backend, fence: Awaited<ReturnType<typeof openFence>>, key: string, text: string): Promise<void> {
  for (let tries = 0; tries < 6; tries++) {
    const live = await backend.get(PREFIX + key)
    const value = sealTwin({ key, text }, fence.current().encodingVersion)
    if (fence.current().mode !== 'ReadWrite') return
    const result = await commitFenced(backend, fence, { compare: [{ key: PREFIX + key, modRevision: live?.modRevision ?? 0 }], put: [{ key: PREFIX + key, value }] })
    if (result.kind === 'committed') return
  }
}

/** A replica of an older release, which comes when it comes. */
const newcomer = (decodable: readonly string[]): Actor => ({
  name: 'newcomer',
  async run(sim, backend) {
    const kv = await backend.get(fenceKey(RESOURCE))
    const fence = parseFence(fenceKey(RESOURCE), kv)
    if (storedVersionNames(fence).some((version) => !decodable.includes(version))) return
    const announcement = { id: 'n', program: 'old', decodable, encodable: decodable, served: decodable, formats: [1], observedEpoch: fence.epoch, state: 'Serving' as const }
    await register({ backend, resource: RESOURCE, announcement, clock: sim.clock, log: silentLog, exclusive: false }, fence)
  },
})

const migrator = (n: number): Actor => ({
  name: `migrator ${n}`,
  mortal: true,
  ...(n < 3 && { successor: migrator(n + 1) }),
  async run(sim, backend) {
    for (let tries = 0; tries < 12; tries++) {
      if (await attempt(() => migrate({ backend, resource: RESOURCE, codec, clock: sim.clock, log: silentLog, owner: `${n}` }))) return
      await sim.wait(backend)
    }
  },
})

const operator = (...acts: readonly ((sim: Simulation, backend: Backend) => Promise<unknown>)[]): Actor => ({
  name: 'operator',
  async run(sim, backend) {
    for (const act of acts) {
      for (let tries = 0; tries < 3; tries++) {
        if (await attempt(() => act(sim, backend))) break
        await sim.wait(backend)
      }
    }
  },
})

const to = (version: string) => (sim: Simulation, backend: Backend) =>
  changeEncoding({ backend, resource: RESOURCE, version, order: ORDER, clock: sim.clock, reason: 'operator', acceptRollback: true })
const abort = (_sim: Simulation, backend: Backend) => abortMigration(backend, RESOURCE, 0)
const freeze = (frozen: boolean) => async (_sim: Simulation, backend: Backend) => {
  const fence = parseFence(fenceKey(RESOURCE), await backend.get(fenceKey(RESOURCE)))
  await backend.commit(setFrozen({ resource: RESOURCE, fence }, frozen))
}

const compaction: Actor = {
  name: 'compaction',
  async run(_sim, backend) {
    for (let i = 0; i < 3; i++) await backend.compact(await backend.currentRevision())
  },
}

const verifier: Actor = {
  name: 'verifier',
  async run(sim, backend) {
    await verify({ backend, resource: RESOURCE, codec, now: sim.clock.now, deep: true })
  },
}

interface Scenario {
  readonly objects: readonly Twin[]
  readonly actors: readonly Actor[]
  /** What must be true at the end of every run in which nothing is taken away. */
  readonly end?: (sim: Simulation) => Promise<void>
}

const three: readonly Twin[] = ['a', 'b', 'c'].map((key) => ({ key, text: `old ${key}` }))

const scenarios: Readonly<Record<string, Scenario>> = {
  'two replicas, set-version, a migration and the compaction': {
    objects: three,
    actors: [operator(to('v1')), writer('x', ['a', 'd']), migrator(1), writer('y', ['b', 'a']), compaction],
    async end(sim) {
      const state = await sim.state()
      const fence = parseFence(fenceKey(RESOURCE), state.get(fenceKey(RESOURCE)))
      for (const [key, kv] of state) if (key.startsWith(PREFIX)) assert.ok(storedVersionNames(fence).includes(openTwin(kv.value).version))
    },
  },
  'the migration again until it succeeds': {
    objects: three,
    actors: [{ ...operator(to('v1'), migrateAll), name: 'migrator 0' }, writer('x', ['b']), migrator(1)],
    async end(sim) {
      const fence = parseFence(fenceKey(RESOURCE), await sim.store.get(fenceKey(RESOURCE)))
      // The operator may have given up on set-version; whatever the encoding is, everything is at it.
      assert.deepEqual([storedVersionNames(fence), fence.job], [[fence.encodingVersion], undefined])
    },
  },
  'forth and back while it runs': {
    objects: three,
    actors: [operator(to('v1')), migrator(1), { ...operator(abort, to('v1beta1'), freeze(true), freeze(false)), name: 'operator 2' }, writer('x', ['a', 'd'])],
  },
  'a replica that knows less comes meanwhile': {
    objects: three.slice(0, 1),
    actors: [operator(to('v1')), newcomer(['v1beta1']), writer('x', ['a'])],
  },
  'quarantine while it proves': {
    objects: [{ key: 'a', text: 'hidden' }, { key: 'b', text: 'old' }],
    actors: [operator(to('v1')), migrator(1), verifier],
  },
}

async function migrateAll(sim: Simulation, backend: Backend): Promise<void> {
  for (let phase = ''; phase !== 'Succeeded'; await sim.wait(backend)) {
    await attempt(async () => {
      phase = (await migrate({ backend, resource: RESOURCE, codec, clock: sim.clock, log: silentLog, owner: 'operator' })).phase
    })
  }
}

async function simulate(scenario: Scenario, schedule: Schedule, mutate?: SimulationOptions['mutate']): Promise<Simulation> {
  const sim = new Simulation({ schedule, check: openInvariants(), ...(mutate && { mutate }) })
  await openFence(sim.store, RESOURCE, { encodingVersion: 'v1beta1', decodable: ORDER })
  for (const object of scenario.objects) await sim.store.commit({ compare: [], put: [{ key: PREFIX + object.key, value: sealTwin(object, 'v1beta1') }] })
  for (const actor of scenario.actors) sim.start(actor)
  await sim.run()
  if (!mutate) await scenario.end?.(sim)
  return sim
}

/** All schedules with one departure, then pairs by a seed. `found` gets the first that fails. */
async function explore(scenario: Scenario, pairs: number, mutate?: SimulationOptions['mutate']): Promise<{ runs: number; failed?: { schedule: Schedule; error: unknown } }> {
  let runs = 0
  const attemptSchedule = async (schedule: Schedule): Promise<{ choices: readonly number[] } | { error: unknown }> => {
    runs++
    try {
      return await simulate(scenario, schedule, mutate)
    } catch (error) {
      return { error }
    }
  }
  const base = await attemptSchedule([])
  if ('error' in base) return { runs, failed: { schedule: [], error: base.error } }
  const random = seeded(20261130)
  const firsts = base.choices.flatMap((count, at) => Array.from({ length: count - 1 }, (_, i) => ({ at, choice: i + 1 })))
  const lengths: (readonly [Schedule, readonly number[]])[] = []
  for (const first of firsts) {
    const result = await attemptSchedule([first])
    if ('error' in result) return { runs, failed: { schedule: [first], error: result.error } }
    lengths.push([[first], result.choices])
  }
  for (let i = 0; i < pairs; i++) {
    const [[first], choices] = lengths[Math.floor(random() * lengths.length)]! as readonly [Schedule, readonly number[]]
    const at = first!.at + 1 + Math.floor(random() * Math.max(1, choices.length - first!.at - 1))
    const schedule = [first!, { at, choice: 1 + Math.floor(random() * Math.max(1, (choices[at] ?? 2) - 1)) }]
    const result = await attemptSchedule(schedule)
    if ('error' in result) return { runs, failed: { schedule, error: result.error } }
  }
  return { runs }
}

function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

describe('no order of calls and no fault breaks an invariant', () => {
  for (const [name, scenario] of Object.entries(scenarios)) {
    test(name, async (t) => {
      const { runs, failed } = await explore(scenario, PAIRS)
      t.diagnostic(`${runs} runs`)
      if (failed) throw new Error(`schedule ${JSON.stringify(failed.schedule)}`, { cause: failed.error })
    })
  }
})

const isObjectWrite = ({ put }: CommitRequest): boolean => put?.some(({ key }) => key.startsWith(PREFIX)) ?? false
const isFenceWrite = ({ put }: CommitRequest): boolean => put?.some(({ key }) => key === fenceKey(RESOURCE)) ?? false
const isRegistration = ({ put }: CommitRequest): boolean => put?.some(({ key }) => key.startsWith('meta/replicas/')) ?? false
const onKey = (prefix: string) => (compare: Compare): boolean => 'key' in compare && compare.key.startsWith(prefix)
const onRange = (prefix: string) => (compare: Compare): boolean => 'start' in compare && compare.start.startsWith(prefix)
const isMigration = (actor: string): boolean => actor.startsWith('migrator')

/** Takes a condition away from some commits. */
const without = (which: (request: CommitRequest, actor: string) => boolean, ...conditions: ((compare: Compare) => boolean)[]) =>
  (request: CommitRequest, actor: string): CommitRequest =>
    which(request, actor) ? { ...request, compare: request.compare.filter((compare) => !conditions.some((is) => is(compare))) } : request

describe('the model sees a condition that is taken away', () => {
  const guards: readonly (readonly [string, string, ReturnType<typeof without>, RegExp])[] = [
    ['the fence, of a replica’s write', 'two replicas, set-version, a migration and the compaction', without((r, a) => isObjectWrite(r) && !isMigration(a), onKey('meta/fence/')), /I-[12]/],
    ['the fence, of a migration’s write', 'forth and back while it runs', without((r, a) => isObjectWrite(r) && isMigration(a), onKey('meta/fence/')), /I-2|refused/],
    ['the object, of a migration’s write', 'two replicas, set-version, a migration and the compaction', without((r, a) => isObjectWrite(r) && isMigration(a), onKey(PREFIX)), /I-5/],
    ['the lock and the checkpoint', 'the migration again until it succeeds', without((_, a) => isMigration(a), onKey('meta/joblock/'), onKey('meta/jobs/')), /I-9/],
    ['the replicas, of set-version', 'a replica that knows less comes meanwhile', without(isFenceWrite, onRange('meta/replicas/')), /I-3/],
    ['the fence, of a registration', 'a replica that knows less comes meanwhile', without(isRegistration, onKey('meta/fence/')), /I-3/],
    ['the fence, of trimming', 'forth and back while it runs', without((r, a) => isFenceWrite(r) && isMigration(a), onKey('meta/fence/')), /mode|encoding|epoch|I-/],
    ['the quarantine, of trimming', 'quarantine while it proves', without(isFenceWrite, onRange('meta/quarantine/')), /I-4/],
  ]
  for (const [what, scenario, mutate, seen] of guards) {
    test(what, async (t) => {
      const { runs, failed } = await explore(scenarios[scenario] as Scenario, 10_000, mutate)
      t.diagnostic(`seen after ${runs} runs: ${JSON.stringify(failed?.schedule)}`)
      assert.match(String(failed?.error), seen)
    })
  }
})
