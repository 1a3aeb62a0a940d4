/**
 * The watch cache against a dumb twin that keeps all history in a list: random writes, compactions and broken connections; every list, page and watch,
 * from any revision and through any filter, must be what the twin says.
 */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { silentLog } from '../../src/base/log.ts'
import { compareKeys, Compacted, Unavailable } from '../../storage/backend.ts'
import type { Backend } from '../../storage/backend.ts'
import { ByteBudget, openWatchCache, TooOld } from '../../storage/watch-cache.ts'
import type { Codec, Filter, ListOptions, Snapshot, WatchCache, WatchItem } from '../../storage/watch-cache.ts'
import { openManualClock } from './manual-clock.ts'
import type { ManualClock } from './manual-clock.ts'
import { openMemoryBackend } from './memory-backend.ts'

const PREFIX = 'data/things/'
const KEYS = ['a/x', 'a-b/x', 'a.b/x', 'a/y', 'b/x', 'b/\u{1f600}', 'b/\uffee']
const COLORS = ['red', 'blue'] as const
type Color = (typeof COLORS)[number]

const codec: Codec = {
  index: (_key, value) => ({ labels: { color: Buffer.from(value).toString() }, fields: {}, uid: '' }),
  encode: (_key, value) => ({ bytes: value, place: 0 }),
}

// The twin

interface Fact {
  readonly key: string
  readonly revision: number
  readonly color: Color | undefined
}

/** What a filter is to the twin. */
interface Wanted {
  readonly key?: string
  readonly prefix?: string
  readonly color?: Color
}

interface Twin {
  readonly facts: Fact[]
  compacted: number
  revision: number
}

function wants(wanted: Wanted, key: string, color: Color | undefined): boolean {
  if (color === undefined || (wanted.key !== undefined && wanted.key !== key)) return false
  return key.startsWith(wanted.prefix ?? '') && (wanted.color === undefined || wanted.color === color)
}

function stateOf(twin: Twin, revision: number): Map<string, Fact> {
  const state = new Map<string, Fact>()
  for (const fact of twin.facts) if (fact.revision <= revision) state.set(fact.key, fact)
  return new Map([...state].filter(([, fact]) => fact.color !== undefined).sort(([a], [b]) => compareKeys(a, b)))
}

function listOf(twin: Twin, revision: number, wanted: Wanted): string[] {
  return [...stateOf(twin, revision).values()].filter((fact) => wants(wanted, fact.key, fact.color)).map((fact) => `${fact.key} ${fact.revision} ${fact.color}`)
}

/** Everything a watch after a revision is to show, each with its revision. */
function historyOf(twin: Twin, after: number, wanted: Wanted): { revision: number; text: string }[] {
  const before = new Map<string, Color | undefined>()
  const history: { revision: number; text: string }[] = []
  for (const { key, revision, color } of twin.facts) {
    const old = before.get(key)
    before.set(key, color)
    if (revision <= after) continue
    const [did, does] = [wants(wanted, key, old), wants(wanted, key, color)]
    if (does) history.push({ revision, text: `${did ? 'MODIFIED' : 'ADDED'} ${key} ${revision} ${color}` })
    else if (did) history.push({ revision, text: `DELETED ${key} ${revision} ${old}` })
  }
  return history
}

// The real one

const filterOf = ({ color, ...rest }: Wanted): Filter => (color === undefined ? rest : { ...rest, matches: (index) => index.labels['color'] === color })

interface Network {
  readonly backend: Backend
  isDown: boolean
  cut(): void
}

/** A backend whose connection can break: running watches throw, calls reject. */
function breakable(store: Backend): Network {
  const watches = new Set<(error: Error) => void>()
  const network: Network = {
    isDown: false,
    cut() {
      for (const fail of watches) fail(new Unavailable('the connection broke'))
    },
    backend: {
      ...store,
      async range(request) {
        if (network.isDown) throw new Unavailable('away')
        return store.range(request)
      },
      async *watch(request) {
        if (network.isDown) throw new Unavailable('away')
        const { promise, reject } = Promise.withResolvers<never>()
        promise.catch(() => {})
        watches.add(reject)
        const inner = store.watch(request)[Symbol.asyncIterator]()
        try {
          for (;;) {
            const next = await Promise.race([promise, inner.next()])
            if (next.done) return
            yield next.value
          }
        } finally {
          watches.delete(reject)
          await inner.return?.()
        }
      },
    },
  }
  return network
}

interface Watching {
  readonly wanted: Wanted
  readonly after: number
  readonly isInitial: boolean
  readonly items: WatchItem[]
  readonly stop: AbortController
  /** Lets a reader go on that stopped after its first batch. */
  readonly resume: () => void
  outcome: unknown
  done: Promise<void>
}

interface World {
  readonly store: Backend
  readonly network: Network
  readonly clock: ManualClock
  readonly cache: WatchCache
  readonly twin: Twin
  readonly watches: Watching[]
  pages: { snapshot: Snapshot; wanted: Wanted; seen: string[] } | undefined
  /** A connection was down while history went away: watchers may have been ended. */
  mayHaveLost: boolean
}

function startWatch(world: World, wanted: Wanted, after: number, isInitial: boolean, isSlow: boolean): void {
  const gate = Promise.withResolvers<void>()
  if (!isSlow) gate.resolve()
  const stop = new AbortController()
  const watching: Watching = { wanted, after, isInitial, items: [], stop, resume: gate.resolve, outcome: 'open', done: Promise.resolve() }
  const start = isInitial ? { initialEvents: true } : { after }
  const run = async (): Promise<void> => {
    try {
      for await (const batch of world.cache.watch({ ...filterOf(wanted), ...start, signal: stop.signal, bookmarkEveryMs: 1000 })) {
        watching.items.push(...batch)
        await gate.promise
      }
      watching.outcome = 'ended'
    } catch (error) {
      watching.outcome = error
    }
  }
  watching.done = run()
  world.watches.push(watching)
}

const colorOf = (value: Uint8Array): string => Buffer.from(value).toString()
const rows = (snapshot: Snapshot): string[] => snapshot.entries.map((entry) => `${entry.key} ${entry.revision} ${colorOf(entry.value)}`)

/** A state at a revision, or undefined when it is rightly refused. */
async function listAt(world: World, revision: number, options: ListOptions): Promise<Snapshot | undefined> {
  try {
    return await world.cache.listAt(revision, options)
  } catch (error) {
    if (error instanceof Compacted) assert.ok(revision < world.twin.compacted, `${revision} is not compacted`)
    else assert.ok(error instanceof Unavailable && world.network.isDown, String(error))
    return undefined
  }
}

// What may happen

type Step = (world: World) => Promise<unknown>
const step = (text: string, run: Step): Step => Object.assign(run, { toString: () => text })

async function write(world: World, changes: readonly (readonly [string, Color | undefined])[]): Promise<void> {
  const put = changes.flatMap(([key, color]) => (color === undefined ? [] : [{ key: PREFIX + key, value: new Uint8Array(Buffer.from(color)) }]))
  const gone = changes.flatMap(([key, color]) => (color === undefined ? [key] : []))
  const present = stateOf(world.twin, world.twin.revision)
  const { revision } = await world.store.commit({ compare: [], put, delete: gone.map((key) => PREFIX + key) })
  for (const [key, color] of changes) if (color !== undefined) world.twin.facts.push({ key, revision, color })
  for (const key of gone) if (present.has(key)) world.twin.facts.push({ key, revision, color: undefined })
  world.twin.revision = revision
}

async function page(world: World, wanted: Wanted, limit: number): Promise<void> {
  const { cache, twin } = world
  const going = world.pages
  const snapshot = going ? await listAt(world, going.snapshot.revision, { ...filterOf(going.wanted), limit, startKey: going.snapshot.nextKey! }) : cache.list({ ...filterOf(wanted), limit })
  world.pages = undefined
  if (!snapshot) return
  const seen = [...(going?.seen ?? []), ...rows(snapshot)]
  const all = listOf(twin, snapshot.revision, going?.wanted ?? wanted)
  assert.deepEqual(seen, all.slice(0, seen.length))
  if (snapshot.remaining !== undefined) assert.equal(snapshot.remaining, all.length - seen.length)
  if (snapshot.nextKey === undefined) assert.deepEqual(seen, all)
  else world.pages = { snapshot, wanted: going?.wanted ?? wanted, seen }
}

const key = fc.constantFrom(...KEYS)
const color = fc.constantFrom(...COLORS)
const wanted: fc.Arbitrary<Wanted> = fc.record(
  { key: fc.option(key, { nil: undefined, freq: 1 }), prefix: fc.constantFrom('a/', 'b/', ''), color },
  { requiredKeys: [] },
) as fc.Arbitrary<Wanted>
/** A part of the way from the oldest to the newest revision, and a little beyond. */
const part = fc.double({ min: 0, max: 1.1, noNaN: true })
const at = ({ twin }: World, share: number): number => Math.max(1, Math.round(share * twin.revision))

const steps = fc.oneof(
  { weight: 10, arbitrary: fc.tuple(key, color).map(([k, c]) => step(`put ${k} ${c}`, (world) => write(world, [[k, c]]))) },
  { weight: 4, arbitrary: key.map((k) => step(`delete ${k}`, (world) => write(world, [[k, undefined]]))) },
  {
    weight: 2,
    arbitrary: fc.uniqueArray(fc.tuple(key, fc.option(color, { nil: undefined })), { selector: ([k]) => k, minLength: 2, maxLength: 3 }).map((all) => step(`write ${all.join(' ')}`, (world) => write(world, all))),
  },
  {
    weight: 1,
    arbitrary: fc.constant(step('write elsewhere', async (world) => (world.twin.revision = (await world.store.commit({ compare: [], put: [{ key: 'other', value: new Uint8Array(1) }] })).revision))),
  },
  {
    weight: 1,
    arbitrary: part.map((share) =>
      step(`compact ${share}`, async (world) => {
        const revision = Math.min(at(world, share), world.twin.revision)
        await world.store.compact(revision)
        world.twin.compacted = Math.max(world.twin.compacted, revision)
        if (world.cache.revision + 1 < revision) world.mayHaveLost = true
      }),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.boolean().map((isDown) =>
      step(isDown ? 'connection lost' : 'connection broken', async (world) => {
        world.network.isDown = isDown
        world.network.cut()
      }),
    ),
  },
  { weight: 2, arbitrary: fc.constant(step('connection back', async (world) => (world.network.isDown = false))) },
  { weight: 4, arbitrary: fc.constant(step('settle', (world) => world.clock.advance(20))) },
  { weight: 1, arbitrary: fc.constant(step('wait', (world) => world.clock.advance(6000))) },
  {
    weight: 5,
    arbitrary: fc.tuple(wanted, part, fc.boolean(), fc.boolean()).map(([w, share, isInitial, isSlow]) => step(`watch ${JSON.stringify(w)} ${share} ${isInitial} ${isSlow}`, async (world) => startWatch(world, w, at(world, share), isInitial, isSlow))),
  },
  { weight: 2, arbitrary: wanted.map((w) => step(`list ${JSON.stringify(w)}`, async ({ cache, twin }) => assert.deepEqual(rows(cache.list(filterOf(w))), listOf(twin, cache.revision, w)))) },
  {
    weight: 2,
    arbitrary: fc.tuple(wanted, part).map(([w, share]) =>
      step(`list ${JSON.stringify(w)} at ${share}`, async (world) => {
        const revision = Math.min(at(world, share), world.twin.revision)
        const snapshot = await listAt(world, revision, filterOf(w))
        if (snapshot) assert.deepEqual(rows(snapshot), listOf(world.twin, revision, w))
      }),
    ),
  },
  { weight: 4, arbitrary: fc.tuple(wanted, fc.integer({ min: 1, max: 3 })).map(([w, limit]) => step(`page ${JSON.stringify(w)} ${limit}`, (world) => page(world, w, limit))) },
)

function check(world: World, watching: Watching): void {
  const { twin } = world
  const { wanted: filter, items, isInitial, outcome } = watching
  let rest = items
  let { after } = watching
  if (isInitial) {
    const end = items.findIndex((item) => item.type === 'BOOKMARK' && item.initialEventsEnd)
    if (end < 0) return assert.notEqual(outcome, 'open')
    after = items[end]!.revision
    assert.deepEqual(items.slice(0, end).map(told), listOf(twin, after, filter).map((row) => `ADDED ${row}`))
    rest = items.slice(end + 1)
  }
  const history = historyOf(twin, after, filter)
  const seen = rest.filter((item) => item.type !== 'BOOKMARK').map(told)
  assert.deepEqual(seen, history.slice(0, seen.length).map((event) => event.text))
  if (outcome === 'open') assert.equal(seen.length, history.length)
  else if (outcome === 'ended') assert.ok(world.mayHaveLost, 'ended for no reason')
  else assert.ok(outcome instanceof TooOld && outcome.requested < twin.compacted, String(outcome))
  let shown = 0
  for (const item of rest) {
    if (item.type !== 'BOOKMARK') shown++
    else assert.equal(shown, history.filter((event) => event.revision <= item.revision).length, `bookmark ${item.revision}`)
  }
}

function told(item: WatchItem): string {
  return item.type === 'BOOKMARK' ? `BOOKMARK ${item.revision}` : `${item.type} ${item.entry.key} ${item.revision} ${colorOf(item.entry.value)}`
}

async function openWorld(windowEvents: number): Promise<World> {
  const store = openMemoryBackend()
  const network = breakable(store)
  const clock = openManualClock()
  const cache = await openWatchCache({ backend: network.backend, prefix: PREFIX, codec, budget: new ByteBudget(), clock, log: silentLog, windowEvents })
  return { store, network, clock, cache, twin: { facts: [], compacted: 1, revision: 1 }, watches: [], pages: undefined, mayHaveLost: false }
}

it('shows every watcher exactly the history, and every list the state', async () => {
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(1, 4, 1000), fc.array(steps, { minLength: 5, maxLength: 60, size: 'max' }), async (windowEvents, run) => {
      const world = await openWorld(windowEvents)
      for (const next of run) await next(world)
      world.network.isDown = false
      for (const watching of world.watches) watching.resume()
      for (let tries = 0; tries < 10 && !(world.cache.ready && world.cache.revision === world.twin.revision); tries++) await world.clock.advance(8000)
      await world.clock.advance(8000)
      assert.equal(world.cache.revision, world.twin.revision)
      assert.deepEqual(rows(world.cache.list({})), listOf(world.twin, world.twin.revision, {}))
      for (const watching of world.watches) check(world, watching)
      for (const { stop } of world.watches) stop.abort()
      await Promise.all(world.watches.map(({ done }) => done))
      assert.equal(world.cache.watchers, 0)
      await world.cache.close()
      await world.store.close()
    }),
    { numRuns: 400, seed: 20260101 },
  )
})
