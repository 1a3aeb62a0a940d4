/**
 * A replica that is stopped in the middle of writes and continued after the encoding was changed and everything was migrated: none of its writes lands in the
 * old encoding, its clients get a success in the new one or a clear error, and it goes on serving. Real signals, real etcd.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../../src/base/clock.ts'
import { silentLog } from '../../src/base/log.ts'
import { openRemoteStorage } from '../../src/commands/storage/remote-storage.ts'
import { prefixEnd } from '../../storage/backend.ts'
import type { Backend } from '../../storage/backend.ts'
import { openReader } from '../../storage/backend.suite-fixture.ts'
import { openEnvelope } from '../../storage/envelope.ts'
import { fenceKey, parseFence, storedVersionNames } from '../../storage/fence-record.ts'
import { openEtcd } from '../../storage/etcd.ts'
import { startTcpProxy } from '../fault/tcp-proxy.ts'
import type { Answer } from '../harness.ts'
import type { Http2Client } from '../http-client.ts'
import { alphaJob, job, jobsPath } from '../jobs.ts'
import { temporaryDirectory, type Product } from '../product.ts'
import { startCluster } from './etcd-cluster.ts'
import { done, openReplicas, RESOURCE, through } from './replicas.ts'

const PREFIX = `data/${RESOURCE}/`
const WRITERS = 8
/** Requests that lie in the stopped process's socket when it goes on. */
const WAITING = 40
/** Longer than the lease of an announcement, so that the stopped replica counts as vanished. */
const VANISHED_MS = 36_000

/** What a client was told: an answer, or that the connection broke. */
type Told = { readonly name: string; readonly answer: Answer | undefined }

interface Writing {
  /** One create a time and writer, through v1alpha1 and v1 by turns, until it is asked to end. */
  end(): Promise<Told[]>
}

/** Creates a job through a version; resolves with what was told. */
async function create(client: Http2Client, name: string, version: 'v1alpha1' | 'v1'): Promise<Told> {
  const body = version === 'v1alpha1' ? alphaJob(name) : job(name)
  return { name, answer: await client.send('POST', jobsPath(version), { body }).catch(() => undefined) }
}

function write(product: Product, turn: string): Writing {
  const told: Told[] = []
  let stopped = false
  const running = Promise.all(
    Array.from({ length: WRITERS }, async (_, writer) => {
      using client = product.connect()
      for (let i = 0; !stopped; i++) told.push(await create(client, `${turn}-${writer}-${i}`, i % 2 === 0 ? 'v1alpha1' : 'v1'))
    }),
  )
  return {
    async end() {
      stopped = true
      await running
      return told
    },
  }
}

/** The versions that objects were written in after a revision. */
async function writtenSince(backend: Backend, after: number): Promise<string[]> {
  const reader = openReader(backend, { start: PREFIX, end: prefixEnd(PREFIX), after })
  const events = await reader.until(await backend.currentRevision())
  await reader.leave()
  return [...new Set(events.flatMap(({ value }) => (value ? [openEnvelope(value).version] : [])))]
}

async function storedAt(backend: Backend): Promise<string[]> {
  const { kvs } = await backend.range({ start: PREFIX, end: prefixEnd(PREFIX) })
  return [...new Set(kvs.map(({ value }) => openEnvelope(value).version))]
}

/** Holds what the stopped replica's clients were told against what is there. */
async function checkTold(told: readonly Told[], product: Product): Promise<void> {
  using client = product.connect()
  const { items } = (await client.send('GET', jobsPath('v1'))).body
  const stored = new Map<string, { metadata: { resourceVersion: string } }>(items.map((item: { metadata: { name: string } }) => [item.metadata.name, item]))
  for (const { name, answer } of told) {
    if (!answer) continue
    if (answer.status === 201) assert.ok(stored.has(name), `${name} was acknowledged and is not there`)
    else assert.deepEqual([answer.body.kind, answer.status >= 500 && answer.body.message.length > 0], ['Status', true], answer.text)
  }
}

test('a replica stopped through set-version, migrate and trim writes nothing in the old encoding, and goes on serving', { timeout: 200_000 }, async (t) => {
  await using cluster = await startCluster({ version: '3.6.16' })
  await using proxy = await startTcpProxy(cluster.members[0]!.port)
  using directory = temporaryDirectory('stale-')
  await using stale = await openReplicas([`http://127.0.0.1:${proxy.port}`], directory.path).start('stale')
  await using other = await openReplicas(cluster.endpoints, directory.path).start('other')
  await using backend = await openEtcd({ endpoints: cluster.endpoints, prefix: '/mlops-apiserver', requestTimeoutMs: 10_000, clock: systemClock, log: silentLog })
  const admin = openRemoteStorage(join(other.directory, 'kubeconfig'))
  t.after(() => admin.close())
  const fence = async () => parseFence(fenceKey(RESOURCE), await backend.get(fenceKey(RESOURCE)))

  async function migrateAndTrim(): Promise<void> {
    await admin.migrate(RESOURCE)
    for (;;) {
      const migration = await admin.migration(RESOURCE)
      if (migration?.phase === 'Succeeded') break
      assert.ok(migration && ['Planned', 'Running', 'Verifying', 'Trimming'].includes(migration.phase), `the migration is ${migration?.phase}: ${migration?.reason}`)
      await sleep(20)
    }
    await admin.trim(RESOURCE)
  }

  /** Stops the replica amid writes, changes the encoding to `to` and moves everything there, continues it. Returns how many of its writes met the fence. */
  async function turn(name: string, { to, setVersion, stoppedMs }: { to: string; setVersion: () => Promise<unknown>; stoppedMs: number }): Promise<number> {
    const writing = write(stale, name)
    using client = stale.connect()
    await client.send('GET', '/version')
    const fencedBefore = await fencedWrites(client)
    let told: Told[]
    try {
      await sleep(400)
      // What it has sent and etcd has not got will come when all is over, as from a network that was stuck.
      proxy.mode = 'holding'
      await sleep(100)
      process.kill(stale.pid, 'SIGSTOP')
      assert.ok(proxy.held > 0, 'no write was under way')
      const waiting = Promise.all(Array.from({ length: WAITING }, (_, i) => create(client, `${name}-waiting-${i}`, 'v1alpha1')))
      await sleep(stoppedMs)
      await setVersion()
      const changed = (await fence()).modRevision
      await migrateAndTrim()
      assert.deepEqual([storedVersionNames(await fence()), await storedAt(backend)], [[to], [to]])
      const before = await backend.currentRevision()
      proxy.mode = 'up'
      process.kill(stale.pid, 'SIGCONT')
      told = await waiting
      await sleep(500)
      told = [...told, ...(await writing.end())]
      assert.deepEqual(await writtenSince(backend, changed), [to])
      assert.deepEqual(await storedAt(backend), [to])
      const afterwards = told.filter(({ answer }) => answer?.status === 201 && Number(answer.body.metadata.resourceVersion) > before)
      assert.ok(afterwards.length > WAITING / 2, `${afterwards.length} writes since it goes on`)
      const refused = told.filter(({ answer }) => answer && answer.status !== 201).length
      t.diagnostic(`${name}: ${told.length} requests, ${afterwards.length} acknowledged after it went on, ${refused} refused, ${told.filter(({ answer }) => !answer).length} cut off`)
    } finally {
      proxy.mode = 'up'
      process.kill(stale.pid, 'SIGCONT')
      await writing.end()
    }
    await checkTold(told, other)
    using again = stale.connect()
    assert.equal((await again.send('POST', jobsPath('v1'), { body: job(`${name}-after`) })).status, 201)
    assert.equal((await again.send('GET', `${jobsPath('v1beta1')}/${name}-after`)).status, 200)
    await done(through(stale, 'verify', '--deep', '--resource', RESOURCE))
    return (await fencedWrites(again)) - fencedBefore
  }

  const met = await turn('live', { to: 'v1beta1', stoppedMs: 0, setVersion: () => admin.setVersion(RESOURCE, { version: 'v1beta1', acceptRollback: true }) })
  assert.ok(met > 0, 'no write of the stopped replica met the change of the fence')
  t.diagnostic(`${met} writes met the fence and were encoded anew`)
  await turn('vanished', {
    to: 'v1', stoppedMs: VANISHED_MS,
    async setVersion() {
      const refused = await done(through(other, 'set-version', 'v1'), 3)
      const id = /--dismiss (\S+)/.exec(refused.stderr)?.[1]
      assert.ok(id, refused.stderr)
      await done(through(other, 'set-version', 'v1', '--dismiss', id))
    },
  })
})

/** Writes of the replica that the fence refused so far. */
async function fencedWrites(client: Http2Client): Promise<number> {
  const { text } = await client.send('GET', '/metrics')
  return Number(new RegExp(`^mlops_fenced_writes_total\\{resource="${RESOURCE}"\\} (\\d+)$`, 'm').exec(text)?.[1])
}
