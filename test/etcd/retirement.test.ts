/** Retiring a version on etcd: two replicas with clients of the old version at work, and the one that runs it is killed. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../../src/base/clock.ts'
import { silentLog } from '../../src/base/log.ts'
import { openEtcd } from '../../storage/etcd.ts'
import { alphaJob, jobsPath } from '../jobs.ts'
import { temporaryDirectory } from '../product.ts'
import { startCluster } from './etcd-cluster.ts'
import { done, openReplicas, through } from './replicas.ts'

const LAUNCHER = join(import.meta.dirname, '..', '..', 'src', 'launch.mjs')
const JOBS = 150

test('a version is retired while its clients write through both replicas, one of which is killed', async () => {
  await using cluster = await startCluster({ version: '3.6.16' })
  using directory = temporaryDirectory('retirement-')
  const replicas = openReplicas(cluster.endpoints, directory.path)
  await using one = await replicas.start('one')
  await using two = await replicas.start('two')
  using client = two.connect()
  for (let i = 0; i < JOBS; i += 50) await Promise.all(Array.from({ length: 50 }, (_, j) => client.send('POST', jobsPath('v1alpha1'), { body: alphaJob(`job-${i + j}`) })))
  {
    await using backend = await openEtcd({ endpoints: cluster.endpoints, prefix: '/mlops-apiserver', requestTimeoutMs: 10_000, clock: systemClock, log: silentLog })
    await backend.compact(await backend.currentRevision())
  }
  const writers = { over: false, written: 0 }
  const writing = (async () => {
    for (; !writers.over; writers.written++) {
      const { status } = await client.send('POST', jobsPath('v1alpha1'), { body: alphaJob(`meanwhile-${writers.written}`) })
      assert.equal(status, 201)
      await sleep(20)
    }
  })()
  writing.catch(() => {})
  const command = spawn(process.execPath, [LAUNCHER, 'storage', 'retire-version', 'v1alpha1', '--rate', '40', '--kubeconfig', join(one.directory, 'kubeconfig')], { stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  command.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
  for (let i = 0; i < 600 && !said.includes(' Running, '); i++) await sleep(50)
  await sleep(1000)
  await one.stop('SIGKILL')
  const [code] = (await once(command, 'close')) as [number]
  assert.equal(code, 9, said)
  // Whoever is left goes on with it; the command follows, or finds it done.
  for (let i = 0; i < 120; i++) {
    const { stdout } = await done(through(two, 'status', '-o', 'json', '--resource', 'notebookvalidationjobs.mlops.dev'))
    const [{ migration, retiredVersions }] = JSON.parse(stdout) as [{ migration: { phase: string; retiring: string }; retiredVersions: { version: string }[] }]
    assert.equal(migration.retiring, 'v1alpha1')
    if (migration.phase === 'Succeeded') {
      assert.deepEqual(retiredVersions.map(({ version }) => version), ['v1alpha1'])
      break
    }
    assert.ok(i < 119, migration.phase)
    await sleep(500)
  }
  writers.over = true
  await writing
  const { body } = await client.send('GET', jobsPath('v1'))
  assert.equal(body.items.length, JOBS + writers.written)
  const named = new Set((body.items as { metadata: { managedFields: { apiVersion: string }[] } }[]).flatMap(({ metadata }) => metadata.managedFields.map(({ apiVersion }) => apiVersion)))
  assert.deepEqual([...named], ['mlops.dev/v1beta1'])
})
