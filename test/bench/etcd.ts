/** The store on one etcd member on loopback: `node test/bench/etcd.ts [version]`. Commits a second, how late a watch is, and a list of 10,000. */
import { systemClock } from '../../src/base/clock.ts'
import { silentLog } from '../../src/base/log.ts'
import { prefixEnd } from '../../storage/backend.ts'
import type { Backend } from '../../storage/backend.ts'
import { openEtcd } from '../../storage/etcd.ts'
import { ETCD_VERSIONS } from '../etcd/etcd-binaries.ts'
import { startCluster } from '../etcd/etcd-cluster.ts'

const SECONDS = 5
const VALUE_BYTES = 2048
const OBJECTS = 10_000

const percentile = (sorted: readonly number[], part: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0

function report(name: string, figures: Record<string, number>): void {
  process.stdout.write(`${name.padEnd(28)}${Object.entries(figures).map(([key, value]) => `${key} ${value < 100 ? value.toFixed(2) : Math.round(value)}`).join('   ')}\n`)
}

/** Writers that create and update, with a watch of another store going on. */
async function write(backend: Backend, watcher: Backend, writers: number): Promise<void> {
  const latencies: number[] = []
  const abort = new AbortController()
  const after = await watcher.currentRevision()
  let seen = 0
  const watching = (async () => {
    for await (const { events } of watcher.watch({ start: 'load/', end: prefixEnd('load/'), after, signal: abort.signal })) seen += events.length
  })()
  const cpu = process.cpuUsage()
  const end = performance.now() + SECONDS * 1000
  await Promise.all(Array.from({ length: writers }, async (_, writer) => {
    for (let i = 0; performance.now() < end; i++) {
      const start = performance.now()
      await backend.commit({ compare: [{ key: 'fence', modRevision: 0 }], put: [{ key: `load/${writer}/${i % 1000}`, value: Buffer.alloc(VALUE_BYTES, i) }] })
      latencies.push(performance.now() - start)
    }
  }))
  const { user, system } = process.cpuUsage(cpu)
  while (seen < latencies.length) await new Promise((resolve) => setImmediate(resolve))
  abort.abort()
  await watching
  latencies.sort((a, b) => a - b)
  report(`${writers} writers`, {
    'commits/s': latencies.length / SECONDS, 'p50 ms': percentile(latencies, 0.5), 'p99 ms': percentile(latencies, 0.99), 'cpu ms/commit': (user + system) / 1000 / latencies.length,
  })
}

/** How long after a commit was sent and after it resolved a watch of another store shows it, one at a time. */
async function delay(backend: Backend, watcher: Backend): Promise<void> {
  const abort = new AbortController()
  const after = await watcher.currentRevision()
  const seen = new Map<number, number>()
  const watching = (async () => {
    for await (const { events } of watcher.watch({ start: 'delay/', end: prefixEnd('delay/'), after, signal: abort.signal })) for (const { revision } of events) seen.set(revision, performance.now())
  })()
  const [fromSent, commits]: [number[], number[]] = [[], []]
  for (let i = 0; i < 500; i++) {
    const sent = performance.now()
    const { revision } = await backend.commit({ compare: [], put: [{ key: `delay/${i}`, value: Buffer.alloc(VALUE_BYTES) }] })
    commits.push(performance.now() - sent)
    while (!seen.has(revision)) await new Promise((resolve) => setImmediate(resolve))
    fromSent.push(seen.get(revision)! - sent)
  }
  abort.abort()
  await watching
  for (const list of [fromSent, commits]) list.sort((a, b) => a - b)
  report('one commit', { 'p50 ms': percentile(commits, 0.5), 'p99 ms': percentile(commits, 0.99) })
  report('seen by the other store', { 'p50 ms': percentile(fromSent, 0.5), 'p99 ms': percentile(fromSent, 0.99) })
}

async function list(backend: Backend): Promise<void> {
  for (let i = 0; i < OBJECTS; i += 100) await backend.commit({ compare: [], put: Array.from({ length: 100 }, (_, j) => ({ key: `list/${String(i + j).padStart(6, '0')}`, value: Buffer.alloc(VALUE_BYTES, 1) })) })
  const times: number[] = []
  for (let i = 0; i < 5; i++) {
    const start = performance.now()
    await backend.range({ start: 'list/', end: prefixEnd('list/') })
    times.push(performance.now() - start)
  }
  report(`list of ${OBJECTS}`, { 'best ms': Math.min(...times), 'worst ms': Math.max(...times) })
}

const version = ETCD_VERSIONS.find((known) => known === process.argv[2]) ?? '3.6.16'
await using cluster = await startCluster({ version })
const open = () => openEtcd({ endpoints: cluster.endpoints, prefix: '/bench', requestTimeoutMs: 10_000, clock: systemClock, log: silentLog })
await using backend = await open()
await using watcher = await open()
process.stdout.write(`${(await backend.status()).engine}, one member\n`)
for (const writers of [1, 16, 64]) await write(backend, watcher, writers)
await delay(backend, watcher)
await list(backend)
