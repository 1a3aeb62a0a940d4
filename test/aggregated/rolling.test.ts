/** Replicas of this server are replaced one after the other under a load through kube-apiserver: no write is lost, and no request fails that its client repeats. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openHttp2, type Http2Client } from '../http-client.ts'
import { sendRequest } from '../harness.ts'
import { eventually, startAggregated, type Aggregated, type Served } from './aggregated-server.ts'

const JOBS = '/apis/mlops.dev/v1/namespaces/default/notebookvalidationjobs'
const PER_SECOND = 80

suite('replicas', () => {
  let cluster: Aggregated
  let service: Service
  let count = 0
  const replica = (): Promise<Served> => cluster.start([
    '--port', '0', '--data-dir', join(cluster.directory, `replica-${count++}`), '--etcd-servers', cluster.plane.etcd.endpoints.join(','), '--shutdown-delay-seconds', '3',
  ])

  // Ends `old` as a deployment does, when another one is ready.
  async function replace(old: Served): Promise<Served> {
    const next = await replica()
    const stopped = old.stop()
    await eventually('readiness fails', async () => (await sendRequest(old.url, cluster.pki, 'GET', '/readyz', {})).status === 500)
    // As kube-proxy does a moment after: new connections go to who is ready, old ones stay where they are.
    await sleep(500)
    service.target = portOf(next)
    const { code, stderr } = await stopped
    assert.equal(code, 0, stderr)
    await sleep(1000)
    return next
  }

  before(async () => {
    cluster = await startAggregated()
    service = await startService(cluster.port)
  })
  after(async () => {
    service?.close()
    await cluster?.[Symbol.asyncDispose]()
  })

  test('are replaced without a request that fails, but for a few that succeed when they are repeated', async (t) => {
    let running = await replica()
    service.target = portOf(running)
    await cluster.available()
    await eventually('requests arrive', async () => (await cluster.plane.send('GET', JOBS)).status === 200)
    const load = startLoad(openHttp2(cluster.plane.url, { ca: cluster.plane.pki.ca, ...cluster.plane.pki.admin }))
    try {
      for (let round = 0; round < 3; round++) running = await replace(running)
    } finally {
      await load.stop()
    }
    const { answered, failures, raced } = load
    assert.ok(answered > 500, `only ${answered} requests`)
    assert.deepEqual(failures, [])
    // A moment is chosen at which nothing is under way, but what kube-apiserver sends before it has read the GOAWAY it cannot repeat when it has a body.
    t.diagnostic(`${raced} of ${answered} requests met the end of a connection`)
    assert.ok(raced * 100 <= answered, `${raced} of ${answered} requests met the end of a connection`)
    assert.equal((await running.stop()).code, 0)
  })
})

const portOf = ({ url }: Served): number => Number(new URL(url).port)

interface Service {
  target: number
  close(): void
}

// A Service as kube-proxy makes it: it chooses for each connection.
async function startService(port: number): Promise<Service> {
  const sockets = new Set<Socket>()
  const service = { target: 0, close }
  const server = createServer((client) => {
    const upstream = connect(service.target, '127.0.0.1')
    for (const [socket, other] of [[client, upstream], [upstream, client]] as const) {
      sockets.add(socket)
      socket.on('error', () => {}).on('close', () => {
        sockets.delete(socket)
        other.destroy()
      })
      socket.setNoDelay(true)
      socket.pipe(other)
    }
  }).listen(port, '127.0.0.1')
  await once(server, 'listening')
  function close(): void {
    server.close()
    for (const socket of sockets) socket.destroy()
  }
  return service
}

interface Load {
  answered: number
  /** Requests with a body that were sent in the moment in which a GOAWAY was on its way: kube-apiserver cannot repeat those, their client does. */
  raced: number
  readonly failures: string[]
  stop(): Promise<void>
}

// Creates, reads, changes, lists and deletes, evenly in time, as clients do that wait for nobody.
function startLoad(client: Http2Client): Load {
  const failures: string[] = []
  const pending = new Set<Promise<void>>()
  let stopped = false
  const send = async (...[method, path, options]: Parameters<Http2Client['send']>): Promise<void> => {
    try {
      const { status, text } = await client.send(method, path, options)
      if (status === 503 && text.includes('graceful shutdown GOAWAY')) {
        load.raced++
        return await send(method, path, options)
      }
      if (status >= 300) failures.push(`${method} ${path}: ${status} ${text}`)
    } catch (error) {
      failures.push(`${method} ${path}: ${String(error)}`)
    }
    load.answered++
  }
  const life = async (name: string): Promise<void> => {
    const spec = { notebook: { git: { url: 'https://git.example/a.git', revision: 'main' }, path: 'a.ipynb' } }
    await send('POST', JOBS, { body: { apiVersion: 'mlops.dev/v1', kind: 'NotebookValidationJob', metadata: { name }, spec } })
    await send('GET', `${JOBS}/${name}`)
    await send('PATCH', `${JOBS}/${name}`, { body: { metadata: { labels: { a: 'b' } } }, type: 'application/merge-patch+json' })
    await send('GET', `${JOBS}?limit=5`)
    await send('DELETE', `${JOBS}/${name}`)
  }
  const run = async (): Promise<void> => {
    for (let i = 0; !stopped; i++) {
      const one = life(`load-${i}`)
      pending.add(one)
      void one.finally(() => pending.delete(one))
      await sleep(5000 / PER_SECOND)
    }
  }
  const load: Load = {
    answered: 0,
    raced: 0,
    failures,
    async stop() {
      stopped = true
      await running
      await Promise.all(pending)
      client[Symbol.dispose]()
    },
  }
  const running = run()
  return load
}
