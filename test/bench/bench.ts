/**
 * The figures of the product beside those of a kube-apiserver: `npm run bench`. The server is a process of its own on SQLite, loopback only; all
 * clients are in this process. CPU is that of the server with its storage thread (for the kube-apiserver etcd's is not counted), after a warm-up.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { jobsPath } from '../jobs.ts'
import { startProduct, temporaryDirectory, type Product } from '../product.ts'
import { CLIENTS, expect, findPadding, JOB_BYTES, list, openClients, readWatch, requests, spread, watchList, type Clients } from './loads.ts'
import { hasProc, measure, residentMb, type Cost } from './server-usage.ts'
import { printTable, type Row } from './table.ts'

const JOBS = 10_000
const WRITES = 3000
const WARM_UP = 1000
const WATCH_LISTS = 20
const WATCHERS = 200
const FAN_OUT_EVENTS = 300
const STARTS = 3
const LIMIT_MS = 8 * 60_000

const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io'
const PARTIAL = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io'

const rows: Row[] = []

function say(text: string): void {
  process.stderr.write(`${text}\n`)
}

function cpuRow(work: string, { cpuMs, wallMs }: Cost, reference?: { readonly theirs: number; readonly target: number }): void {
  const wall = `${format(wallMs)} ms wall`
  rows.push({ work, ours: hasProc ? cpuMs : wallMs, unit: hasProc ? 'ms' : 'ms wall', note: hasProc ? wall : '', ...reference })
}

function format(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toFixed(value >= 10 ? 1 : 2)
}

async function starts(directory: string): Promise<number> {
  const times: number[] = []
  for (let i = 0; i < STARTS; i++) {
    await using product = await startProduct(directory)
    times.push(product.readyMs)
    await product.stop('SIGINT')
  }
  return times.toSorted((a, b) => a - b)[STARTS >> 1] as number
}

async function emptyStarts(): Promise<number> {
  const times: number[] = []
  for (let i = 0; i < STARTS; i++) {
    using directory = temporaryDirectory('bench-empty-')
    await using product = await startProduct(directory.path)
    times.push(product.readyMs)
    await product.stop('SIGINT')
  }
  return times.toSorted((a, b) => a - b)[STARTS >> 1] as number
}

// Ten thousand jobs, made while the cost of a creation is measured, and the other requests on them.
async function singleObjects(product: Product, clients: Clients): Promise<number> {
  const { pid } = product
  const padding = await findPadding(clients.first)
  say(`creating ${JOBS} jobs`)
  await spread(clients, WARM_UP, (client, i) => requests.create(client, i, padding))
  const creates = await measure(pid, JOBS - WARM_UP, () => spread(clients, JOBS - WARM_UP, (client, i) => requests.create(client, WARM_UP + i, padding)))
  say('get, update, patch')
  await spread(clients, WARM_UP, requests.get)
  cpuRow('get', await measure(pid, JOBS, () => spread(clients, JOBS, requests.get)), { theirs: 1.5, target: 1.5 / 5 })
  cpuRow('create', creates, { theirs: 3.6, target: 1.8 })
  await updateStatuses(product, clients)
  for (const version of ['v1', 'v1beta1', 'v1alpha1']) {
    await spread(clients, WARM_UP, (client, i) => requests.patch(client, i, `warm ${version} ${i}`, version))
    const cost = await measure(pid, WRITES, () => spread(clients, WRITES, (client, i) => requests.patch(client, i, `${version} ${i}`, version)))
    if (version === 'v1') cpuRow('merge patch', cost, { theirs: 5.3, target: 5.3 / 2 })
    else cpuRow(`merge patch through ${version}`, cost)
  }
  return padding
}

async function updateStatuses(product: Product, clients: Clients): Promise<void> {
  const objects = new Map<number, { metadata: { name: string } }>()
  await spread(clients, WRITES, async (client, i) => objects.set(i, (await requests.get(client, i)).body))
  const update = (round: string) => async (client: Parameters<typeof requests.get>[0], i: number) => {
    const object = objects.get(i) as { metadata: { name: string } }
    objects.set(i, (await requests.updateStatus(client, object, `${round} ${i}`)).body)
  }
  await spread(clients, WARM_UP, update('warm'))
  cpuRow('status update', await measure(product.pid, WRITES, () => spread(clients, WRITES, update('measured'))), { theirs: 5.3, target: 5.3 / 2 })
}

async function deletes(product: Product, clients: Clients): Promise<void> {
  say('delete')
  await spread(clients, WARM_UP, requests.delete)
  cpuRow('delete', await measure(product.pid, WRITES, () => spread(clients, WRITES, (client, i) => requests.delete(client, WARM_UP + i))), { theirs: 3.2, target: 1.6 })
}

async function lists(product: Product, clients: Clients): Promise<void> {
  const { pid } = product
  const { first } = clients
  const repeated = async (times: number, version: string, options: Parameters<typeof list>[2] = {}) => {
    await list(first, version, options)
    return measure(pid, times, async () => {
      for (let i = 0; i < times; i++) await list(first, version, options)
    })
  }
  say('lists')
  for (let i = 0; i < 5; i++) await list(first, 'v1')
  const cold = await measure(pid, 1, () => list(first, 'v1beta1'))
  const stored = await repeated(20, 'v1')
  const other = await repeated(20, 'v1beta1')
  cpuRow(`list of ${JOBS}, stored version`, stored, { theirs: 1600, target: 160 })
  cpuRow(`list of ${JOBS} in v1beta1, repeated`, other, { theirs: 1600, target: 160 })
  cpuRow(`list of ${JOBS} in v1beta1, the first`, cold)
  rows.push({ work: 'a repeated list in v1beta1 / in the stored version', ours: hasProc ? other.cpuMs / stored.cpuMs : other.wallMs / stored.wallMs, unit: 'times', target: 1.1, note: `${format(other.wallMs / stored.wallMs)} times by wall` })
  cpuRow(`list of ${JOBS} as Table`, await repeated(5, 'v1', { accept: TABLE }), { theirs: 850, target: 850 / 5 })
  cpuRow(`list of ${JOBS} as metadata only`, await repeated(5, 'v1', { accept: PARTIAL }), { theirs: 800, target: 800 / 5 })
  cpuRow('page of 500', await repeated(100, 'v1', { query: '?limit=500' }), { theirs: 83, target: 8.3 })
}

async function watches(product: Product, clients: Clients): Promise<void> {
  say('watches')
  const { pid } = product
  const together = () => Promise.all(Array.from({ length: WATCH_LISTS }, (_, i) => watchList(clients.all[i % CLIENTS] as (typeof clients.all)[number])))
  await together()
  cpuRow(`watch-list of ${JOBS}, each of ${WATCH_LISTS} at once`, await measure(pid, WATCH_LISTS, together), { theirs: 2300, target: 2300 / 15 })
  await spread(clients, FAN_OUT_EVENTS, (client, i) => requests.patch(client, i, `alone ${i}`))
  const alone = await measure(pid, 1, () => spread(clients, FAN_OUT_EVENTS, (client, i) => requests.patch(client, i, `measured alone ${i}`)))
  await fanOut(clients, 'warm')
  const watched = await measure(pid, 1, () => fanOut(clients, 'measured'))
  const events = FAN_OUT_EVENTS * WATCHERS
  const cost = { cpuMs: (watched.cpuMs - alone.cpuMs) / events, wallMs: (watched.wallMs - alone.wallMs) / events }
  cpuRow(`an event to one of ${WATCHERS} watchers`, cost, { theirs: 0.06, target: 0.02 })
}

async function fanOut(clients: Clients, text: string): Promise<void> {
  const { body } = await expect(200, clients.first.send('GET', `${jobsPath('v1')}?limit=1`))
  const mark = `the end of ${text}`
  const path = `${jobsPath('v1')}?watch=true&resourceVersion=${body.metadata.resourceVersion}`
  const watchers = Array.from({ length: WATCHERS }, (_, i) => readWatch(clients.all[i % CLIENTS] as (typeof clients.all)[number], path, mark))
  await Promise.all(watchers.map((watcher) => watcher.open))
  await spread(clients, FAN_OUT_EVENTS - 1, (client, i) => requests.patch(client, i, `${text} ${i}`))
  await requests.patch(clients.first, FAN_OUT_EVENTS, mark)
  await Promise.all(watchers.map((watcher) => watcher.done))
}

async function run(): Promise<void> {
  using directory = temporaryDirectory('bench-')
  say('starts')
  rows.push({ work: 'start to ready, empty data directory', ours: await emptyStarts(), unit: 'ms' })
  rows.push({ work: 'start to ready, used data directory', ours: await starts(directory.path), unit: 'ms', target: 1000 })
  {
    await using product = await startProduct(directory.path)
    await sleep(1000)
    rows.push({ work: 'resident memory, idle', ours: residentMb(product.pid), unit: 'MB', theirs: 272, target: 130 })
    using clients = await openClients(product)
    await singleObjects(product, clients)
    await sleep(1000)
    const loaded = residentMb(product.pid)
    await lists(product, clients)
    await watches(product, clients)
    const worked = residentMb(product.pid)
    rows.push({ work: `resident memory with ${JOBS} jobs, after all of the above`, ours: worked, unit: 'MB', note: `${format(loaded)} MB after the writes` })
    await product.stop('SIGINT')
  }
  rows.push({ work: `start to ready with ${JOBS} jobs`, ours: await starts(directory.path), unit: 'ms', note: '100,000 jobs: theirs 90 s, target 15 s' })
  await using product = await startProduct(directory.path)
  using clients = await openClients(product)
  await list(clients.first, 'v1')
  await sleep(1000)
  rows.push({ work: `resident memory with ${JOBS} jobs, started with them`, ours: residentMb(product.pid), unit: 'MB', theirs: 640, target: 200 })
  await deletes(product, clients)
}

const limit = setTimeout(() => {
  say(`the bench is not done after ${LIMIT_MS / 60_000} minutes`)
  process.exit(1)
}, LIMIT_MS)
limit.unref()
if (!hasProc) say('This system has no /proc: no CPU and no memory is measured, times are wall times.')
await run()
printTable(rows, process.stdout, `${JOBS} jobs of ${JOB_BYTES} bytes, ${CLIENTS} clients over HTTP/2; CPU of the server per request; kube-apiserver 1.36.3 with etcd 3.6.16 on two shared cores`)
