/**
 * What the watch cache costs: `node --expose-gc test/bench/watch-cache.ts`. Objects of 2 kB in a store that makes them as they are read, so that
 * the memory shown is the cache's own.
 */
import { systemClock } from '../../src/base/clock.ts'
import { silentLog } from '../../src/base/log.ts'
import type { Backend, KeyValue, RangeRequest, RangeResult, WatchBatch, WatchEvent } from '../../storage/backend.ts'
import { ByteBudget, openWatchCache } from '../../storage/watch-cache.ts'
import type { Codec, WatchCache } from '../../storage/watch-cache.ts'

const PREFIX = 'data/things/'
const VALUE_BYTES = 2048

interface Labelled {
  readonly labels: Record<string, string>
}

const codec: Codec = {
  index: (_key, value) => ({ labels: (JSON.parse(Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString()) as Labelled).labels, fields: {}, uid: '' }),
  encode: (_key, value, version) => ({ bytes: version === 'stored' ? value.subarray(0) : new Uint8Array(value), place: 2 }),
}

function valueOf(n: number): Uint8Array {
  const head = `{"labels":{"app":"bench","shard":"${n % 10}"},"text":"`
  const bytes = new Uint8Array(VALUE_BYTES).fill(0x78)
  bytes.set(Buffer.from(head))
  bytes.set(Buffer.from('"}'), VALUE_BYTES - 2)
  return bytes
}

const keyOf = (n: number): string => `${PREFIX}default/job-${String(n).padStart(7, '0')}`

interface Source {
  readonly backend: Backend
  send(events: WatchEvent[]): void
}

/** A store of `count` objects of which only reading and watching work. */
function openSource(count: number): Source {
  let queue: WatchBatch[] = []
  let wake = (): void => {}
  let revision = count
  const refuse = async (): Promise<never> => {
    throw new TypeError('only reads')
  }
  const range = async ({ start, limit = Infinity }: RangeRequest): Promise<RangeResult> => {
    const from = start === PREFIX ? 0 : Number.parseInt(start.slice(-8), 10) + 1
    const kvs: KeyValue[] = []
    for (let n = from; n < Math.min(count, from + limit); n++) kvs.push({ key: keyOf(n), value: valueOf(n), modRevision: n + 1, createRevision: n + 1 })
    return { kvs, more: from + kvs.length < count, count: count - from, revision }
  }
  async function* watch({ signal }: { signal?: AbortSignal }): AsyncGenerator<WatchBatch> {
    signal?.addEventListener('abort', () => wake())
    yield { events: [], revision }
    while (!signal?.aborted) {
      const ready = queue
      queue = []
      yield* ready
      if (queue.length === 0 && !signal?.aborted) await new Promise<void>((resolve) => (wake = resolve))
    }
  }
  const backend: Backend = {
    range,
    watch,
    currentRevision: async () => revision,
    get: refuse,
    commit: refuse,
    lease: refuse,
    compact: refuse,
    status: refuse,
    close: async () => {},
    [Symbol.asyncDispose]: async () => {},
  }
  return {
    backend,
    send(events) {
      revision = events.at(-1)!.revision
      queue.push({ events, revision })
      wake()
    },
  }
}

function say(what: string, value: string): void {
  process.stdout.write(`${what.padEnd(64)} ${value}\n`)
}

const rss = (): number => {
  globalThis.gc?.()
  return process.memoryUsage().rss
}

const cpu = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

function timed(what: string, times: number, run: () => void): void {
  run()
  const start = performance.now()
  for (let i = 0; i < times; i++) run()
  say(what, `${((performance.now() - start) / times).toFixed(3)} ms`)
}

async function open(count: number): Promise<{ cache: WatchCache; source: Source }> {
  const source = openSource(count)
  return { source, cache: await openWatchCache({ backend: source.backend, prefix: PREFIX, codec, budget: new ByteBudget(), clock: systemClock, log: silentLog }) }
}

async function fill(): Promise<void> {
  const before = rss()
  const start = performance.now()
  const { cache, source } = await open(100_000)
  say('fill, 100,000 of 2 kB', `${(performance.now() - start).toFixed(0)} ms`)
  const grown = rss() - before
  say('resident memory', `${(grown / 2 ** 20).toFixed(0)} MiB, ${(grown / 100_000 - VALUE_BYTES).toFixed(0)} B each beside the value`)
  timed('list of 100,000', 20, () => cache.list({}))
  timed('page of 500 from the middle', 200, () => cache.list({ limit: 500, startKey: keyOf(50_000).slice(PREFIX.length) }))
  await write(cache, source, 'write among 100,000', 20_000)
  const after = rss() - before
  say('resident memory after 20,000 writes', `${(after / 2 ** 20).toFixed(0)} MiB`)
  await cache.close()
}

/** Sends updates in batches of 50, and shows what each costs. */
async function write(cache: WatchCache, source: Source, what: string, times: number): Promise<void> {
  const first = cache.revision
  const start = cpu()
  for (let sent = 0; sent < times; sent += 50) {
    const events = Array.from({ length: 50 }, (_, i): WatchEvent => {
      const n = ((sent + i) * 7919) % cache.size
      return { type: 'put', key: keyOf(n), value: valueOf(n), createRevision: n + 1, revision: first + sent + i + 1 }
    })
    source.send(events)
    await cache.waitFor(first + sent + 50)
    await new Promise((resolve) => setImmediate(resolve))
  }
  say(what, `${(((cpu() - start) / times) * 1000).toFixed(1)} µs`)
}

async function dispatch(what: string, filterOf: (n: number) => { key?: string; prefix?: string; matches?: () => boolean }): Promise<void> {
  const { cache, source } = await open(10_000)
  const stop = new AbortController()
  let delivered = 0
  const read = async (n: number): Promise<void> => {
    for await (const items of cache.watch({ after: cache.revision, signal: stop.signal, ...filterOf(n) })) delivered += items.length
  }
  const readers = Array.from({ length: 200 }, (_, n) => read(n))
  await write(cache, source, `event, 200 watchers ${what}`, 10_000)
  say('  items delivered', String(delivered))
  stop.abort()
  await Promise.all(readers)
  await cache.close()
}

async function lists(): Promise<void> {
  const { cache } = await open(10_000)
  timed('list of 10,000', 200, () => cache.list({}))
  timed('list of 10,000 by label', 50, () => cache.list({ matches: (index) => index.labels['shard'] === '3' }))
  const { entries } = cache.list({})
  const encode = (version: string): void => entries.forEach((entry) => cache.encode(entry, version))
  timed('bytes of 10,000, stored version, after the first', 50, () => encode('stored'))
  timed('bytes of 10,000, other version, after the first', 50, () => encode('v1'))
  await cache.close()
}

await fill()
await lists()
await dispatch('of none: the write alone', () => ({ prefix: 'nowhere/' }))
await dispatch('of one object each', (n) => ({ key: keyOf(n).slice(PREFIX.length) }))
await dispatch('of everything', () => ({}))
await dispatch('with a selector that takes nothing', () => ({ matches: () => false }))
