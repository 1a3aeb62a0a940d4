/**
 * Creates and status updates a second through the server, on SQLite and on one etcd member on loopback: `node test/bench/writes.ts [count]`. 16 clients over HTTP/2, each
 * with one request at a time. Wall times are those of a machine that may have other work: its load is printed, and the CPU of the server (without etcd's).
 */
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { startCluster } from '../etcd/etcd-cluster.ts'
import type { Http2Client } from '../http-client.ts'
import { startProduct, temporaryDirectory, type Product } from '../product.ts'
import { CLIENTS, type Clients, findPadding, JOB_BYTES, openClients, requests, spread } from './loads.ts'
import { measure } from './server-usage.ts'

const COUNT = Number(process.argv[2] ?? 5000)
/** Requests of each kind before those that count. */
const WARM_UP = 1000

const say = (line: string): void => void process.stdout.write(`${line}\n`)

async function report(what: string, product: Product, clients: Clients, task: (client: Http2Client, i: number) => Promise<unknown>): Promise<void> {
  await spread(clients, WARM_UP, task)
  const took: number[] = []
  const { cpuMs, wallMs } = await measure(product.pid, COUNT, () =>
    spread(clients, COUNT, async (client, i) => {
      const start = performance.now()
      await task(client, WARM_UP + i)
      took.push(performance.now() - start)
    }))
  took.sort((a, b) => a - b)
  const at = (share: number): string => (took[Math.floor(took.length * share)] as number).toFixed(2)
  const load = loadavg().map((value) => value.toFixed(1)).join(' ')
  say(`${what}: ${Math.round(1000 / wallMs)}/s, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, ${cpuMs.toFixed(2)} ms CPU of the server each, load ${load}`)
}

async function run(name: string, product: Product): Promise<void> {
  using clients = await openClients(product)
  const padding = await findPadding(clients.first)
  await report(`${name}, creates`, product, clients, (client, i) => requests.create(client, i, padding))
  const objects = new Map<number, { metadata: { name: string } }>()
  await spread(clients, WARM_UP + COUNT, async (client, i) => objects.set(i, (await requests.get(client, i)).body))
  await report(`${name}, status updates`, product, clients, (client, i) => requests.updateStatus(client, objects.get(i) as { metadata: { name: string } }, `update ${i}`))
  await product.stop('SIGINT')
}

say(`${COUNT} jobs of ${JOB_BYTES} bytes, ${CLIENTS} clients`)
using directory = temporaryDirectory('bench-writes-')
{
  await using product = await startProduct(join(directory.path, 'sqlite'))
  await run('SQLite', product)
}
await using cluster = await startCluster({ version: '3.6.16' })
await using product = await startProduct(join(directory.path, 'etcd'), { command: 'serve', args: ['--etcd-servers', cluster.endpoints.join(',')] })
await run('etcd', product)
