/**
 * A start with 100,000 jobs, on SQLite and on one etcd member on loopback: `node test/bench/large.ts [count]`. From the start of the process to the first event of
 * a watch, and its memory then and after a list of all.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../../src/base/clock.ts'
import { silentLog } from '../../src/base/log.ts'
import type { KubeObject } from '../../src/api/object.ts'
import type { Backend } from '../../storage/backend.ts'
import { openEtcd } from '../../storage/etcd.ts'
import { openEnvelope } from '../../storage/envelope.ts'
import { openSqlite } from '../../storage/sqlite.ts'
import { startCluster } from '../etcd/etcd-cluster.ts'
import { codec, PREFIX } from '../fault/migrate-crash-jobs.ts'
import { job, jobsPath } from '../jobs.ts'
import { startProduct, temporaryDirectory, type Product } from '../product.ts'
import { expect, findPadding, JOB_BYTES, jobName, list, padded } from './loads.ts'
import { cpuMs, hasProc, residentMb } from './server-usage.ts'
import { printTable, type Row } from './table.ts'

const COUNT = Number(process.argv[2] ?? 100_000)
/** Below etcd's limit of operations in a transaction. */
const BATCH = 100
const TARGETS = { startMs: 15_000, memoryMb: 600 }

/** Where a server runs, and how its store is opened beside it. */
interface Place {
  readonly name: string
  start(): Promise<Product>
  open(): Promise<Backend>
}

// One job as the server makes it, and as many of its like as are wanted, put into the store itself.
async function fill({ start, open }: Place): Promise<void> {
  {
    await using product = await start()
    using client = product.connect()
    await expect(201, client.send('POST', jobsPath('v1'), { body: padded(0, await findPadding(client)) }))
    await product.stop('SIGINT')
  }
  await using backend = await open()
  const kv = await backend.get(`${PREFIX}default/${jobName(0)}`)
  assert.ok(kv)
  const [hub, { version }] = [codec.decode(kv.value), openEnvelope(kv.value)]
  const like = (i: number): KubeObject => ({ ...hub, metadata: { ...hub.metadata, name: jobName(i), uid: `00000000-0000-4000-8000-${String(i).padStart(12, '0')}` } })
  for (let i = 1; i < COUNT; i += BATCH) {
    const put = Array.from({ length: Math.min(BATCH, COUNT - i) }, (_, j) => ({ key: `${PREFIX}default/${jobName(i + j)}`, value: codec.encode(like(i + j), version) }))
    assert.ok((await backend.commit({ compare: [], put })).succeeded)
  }
}

/** The most memory that a process has had, MB (10^6 bytes). */
function peakMb(pid: number): number {
  return hasProc ? (Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024) / 1e6 : Number.NaN
}

async function measure({ name, start }: Place): Promise<Row[]> {
  const begun = performance.now()
  await using product = await start()
  using client = product.connect()
  const { body } = await expect(200, client.send('GET', `${jobsPath('v1')}?limit=1`))
  const watch = client.watch(`${jobsPath('v1')}?watch=true&resourceVersion=${body.metadata.resourceVersion}`)
  await watch.headers
  await expect(201, client.send('POST', jobsPath('v1'), { body: job(`seen-${process.pid}`) }))
  for await (const { type } of watch) {
    assert.equal(type, 'ADDED')
    break
  }
  const watchMs = performance.now() - begun
  watch.close()
  const [cpu, then, peak] = [cpuMs(product.pid), residentMb(product.pid), peakMb(product.pid)]
  await sleep(2000)
  const settled = residentMb(product.pid)
  const listing = performance.now()
  await list(client, 'v1')
  const listMs = performance.now() - listing
  await list(client, 'v1beta1', { query: '?limit=500' })
  return [
    { work: `${name}: start to ready`, ours: product.readyMs, unit: 'ms' },
    { work: `${name}: start to the first event of a watch`, ours: watchMs, unit: 'ms', target: TARGETS.startMs, note: `${Math.round(cpu)} ms of CPU` },
    { work: `${name}: resident memory then`, ours: then, unit: 'MB', target: TARGETS.memoryMb, note: `${Math.round(peak)} at most, ${Math.round(settled)} two seconds later` },
    { work: `${name}: resident memory after a list of all`, ours: residentMb(product.pid), unit: 'MB', note: `the list: ${Math.round(listMs)} ms wall` },
  ]
}

async function run(): Promise<Row[]> {
  using directory = temporaryDirectory('bench-large-')
  await using cluster = await startCluster({ version: '3.6.16' })
  const [onSqlite, onEtcd] = [join(directory.path, 'sqlite'), join(directory.path, 'etcd')]
  const around = { clock: systemClock, log: silentLog }
  const places: Place[] = [
    { name: 'SQLite', start: () => startProduct(onSqlite), open: () => openSqlite({ directory: join(onSqlite, 'store'), ...around }) },
    {
      name: 'etcd',
      start: () => startProduct(onEtcd, { command: 'serve', args: ['--etcd-servers', cluster.endpoints.join(',')] }),
      open: () => openEtcd({ endpoints: cluster.endpoints, prefix: '/mlops-apiserver', requestTimeoutMs: 10_000, ...around }),
    },
  ]
  const rows: Row[] = []
  for (const place of places) {
    const begun = performance.now()
    await fill(place)
    process.stderr.write(`${place.name}: ${COUNT} jobs put in ${Math.round(performance.now() - begun)} ms\n`)
    rows.push(...(await measure(place)))
  }
  return rows
}

printTable(await run(), process.stdout, `${COUNT} jobs of ${JOB_BYTES} bytes`)
