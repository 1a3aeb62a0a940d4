/** Informers of client-go, streaming and classic, over 2,000 objects: what they hold is what the server has, through restarts and a compaction. Pages of a list too. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { silentLog } from '../../src/base/log.ts'
import { systemClock } from '../../src/base/clock.ts'
import { openBackend } from '../../src/commands/open-backend.ts'
import { startCluster } from '../etcd/etcd-cluster.ts'
import { temporaryDirectory } from '../product.ts'
import { buildPrograms, runProgram, startProgram, whyNotBuilt, type Facts, type Program } from './programs.ts'
import { startTraining, type TrainingServer } from './serve.ts'

const RUNS = '/apis/ml.example.com/v1/namespaces/default/trainingruns'
const COUNT = 2000
const INFORMERS = ['dynamic', 'metadata', 'typed'] as const
const MERGE = 'application/merge-patch+json'

interface Round {
  readonly name: string
  readonly engine: 'sqlite' | 'etcd'
  readonly streaming: boolean
}

const ROUNDS: readonly Round[] = [
  { name: 'streaming, embedded store', engine: 'sqlite', streaming: true },
  { name: 'classic, embedded store', engine: 'sqlite', streaming: false },
  { name: 'streaming, etcd', engine: 'etcd', streaming: true },
]

const skip = await whyNotBuilt()

for (const { name, engine, streaming } of ROUNDS) {
  describe(`informers, ${name}`, { skip, concurrency: 1 }, () => {
    const stack = new AsyncDisposableStack()
    let path: string
    let server: TrainingServer
    let dataDir: string
    let etcdServers: readonly string[]
    let informers: Program
    before(async () => {
      path = (await buildPrograms())['client-go']
      dataDir = stack.use(temporaryDirectory('clients-')).path
      etcdServers = engine === 'etcd' ? stack.use(await startCluster({ version: '3.6.16' })).endpoints : []
      const options = engine === 'etcd' ? { command: 'serve' as const, args: ['--etcd-servers', etcdServers.join(',')] } : {}
      server = stack.use(await startTraining(dataDir, options))
      await runProgram(path, [server.kubeconfig, 'populate', 'many', String(COUNT)])
      informers = stack.use(startProgram(path, [server.kubeconfig, 'informers'], { KUBE_FEATURE_WatchListClient: String(streaming) }))
    })
    after(() => stack.disposeAsync())

    const send = async (method: string, name: string, body?: object) => {
      using client = server.product.connect()
      const { status, text } = await client.send(method, `${RUNS}${name}`, body ? { body, ...(method === 'PATCH' ? { type: MERGE } : {}) } : {})
      assert.ok(status < 300, text)
    }
    /** A new object, a changed one and one less. */
    const change = async (round: string) => {
      await send('POST', '', { apiVersion: 'ml.example.com/v1', kind: 'TrainingRun', metadata: { name: `new-${round}` }, spec: { image: 'i' } })
      await send('PATCH', '/many-7', { metadata: { annotations: { round } } })
      await send('DELETE', `/many-${COUNT - 1 - Number(round)}`)
    }
    const served = async () => {
      using client = server.product.connect()
      const { body } = await client.send('GET', RUNS)
      const lines = body.items.map(({ metadata: { name, uid, resourceVersion } }: { metadata: Record<string, string> }) => `${name} ${uid} ${resourceVersion}\n`)
      return { count: lines.length as number, digest: createHash('sha256').update(lines.sort().join('')).digest('hex') }
    }
    /** Waits until every informer holds what is served and has told its handlers of it: so many additions, updates and deletions in all. Returns what each has reported then. */
    const agree = async (what: string, told: readonly [added: number, updated: number, deleted: number]): Promise<Record<string, Facts>> => {
      const { count, digest } = await served()
      const waiting = new Set<string>(INFORMERS)
      const found: Record<string, Facts> = {}
      while (waiting.size > 0) {
        const facts = await informers.next(`${[...waiting].join(', ')} agree ${what}`, ({ informer, digest: held, added, updated, deleted }) =>
          waiting.has(informer) && held === digest && isDeepStrictEqual([added, updated, deleted], told))
        assert.equal(facts.count, count)
        waiting.delete(facts.informer)
        found[facts.informer] = facts
      }
      return found
    }
    const compact = async () => {
      const none = { etcdCacert: '', etcdCertfile: '', etcdKeyfile: '', etcdUser: '', etcdPassword: '' }
      const { backend } = await openBackend({ dataDir, etcdServers, etcdPrefix: '/mlops-apiserver', ...none }, { clock: systemClock, log: silentLog })
      await backend.compact(await backend.currentRevision())
      await backend.close()
    }
    const lists = (facts: Record<string, Facts>) => INFORMERS.map((name) => facts[name]?.requests[streaming ? 'watch-list' : 'get'])

    test('the first synchronisation', async () => {
      await agree('at first', [COUNT, 0, 0])
    })

    test('each change, once', async () => {
      await change('0')
      const facts = await agree('after changes', [COUNT + 1, 1, 1])
      for (const name of INFORMERS) assert.deepEqual(facts[name]?.requests, streaming ? { 'watch-list': 1 } : { get: 1, watch: 1 })
      const stream = { 'application/vnd.kubernetes.protobuf;stream=watch': 1 }
      assert.deepEqual(facts.metadata?.types, streaming ? stream : { 'application/vnd.kubernetes.protobuf': 1, ...stream })
    })

    test('a restart of the server is a watch from where it was, not a list', async () => {
      await server.stop()
      await server.start()
      await change('1')
      const facts = await agree('after a restart', [COUNT + 2, 2, 2])
      assert.deepEqual(lists(facts), [1, 1, 1])
    })

    test('pages are of one moment, whatever is written meanwhile', async () => {
      const before_ = await served()
      await using pages = startProgram(path, [server.kubeconfig, 'pages'])
      await pages.next('the first page', ({ what }) => what === 'first')
      await change('2')
      pages.say('go on')
      const [all] = await pages.end()
      assert.deepEqual([all?.count, all?.digest, all?.pages, all?.expired, all?.paginated], [before_.count, before_.digest, 7, 0, true])
      assert.deepEqual(all?.remaining, [1700, 1400, 1100, 800, 500, 200])
      await agree('after the pages', [COUNT + 3, 3, 3])
    })

    test('who was away while history was compacted lists again; so does a reader of pages', async () => {
      await using pages = startProgram(path, [server.kubeconfig, 'pages'])
      await pages.next('the first page', ({ what }) => what === 'first')
      informers.signal('SIGSTOP')
      // What is written to a connection reaches its reader however late: the change comes when there is none.
      await server.stop('SIGKILL')
      await server.start()
      await change('3')
      await server.stop('SIGKILL')
      await compact()
      await server.start()
      informers.signal('SIGCONT')
      // A new list tells of all that it has again.
      const facts = await agree('after a compaction', [COUNT + 4, 3 + COUNT - 1, 4])
      assert.deepEqual(lists(facts), [2, 2, 2])
      pages.say('go on')
      const [all] = await pages.end()
      const now = await served()
      assert.deepEqual([all?.count, all?.digest, all?.expired, all?.pages], [now.count, now.digest, 1, 2])
    })
  })
}
