/** Damage in etcd: an object with a flipped byte is never hidden, and a store of a newer release is refused. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '../../src/base/clock.ts'
import { silentLog } from '../../src/base/log.ts'
import type { Backend } from '../../storage/backend.ts'
import { openEtcd } from '../../storage/etcd.ts'
import { job, jobsPath } from '../jobs.ts'
import { runProduct, temporaryDirectory } from '../product.ts'
import { startCluster } from './etcd-cluster.ts'
import { done, openReplicas, RESOURCE, through } from './replicas.ts'

async function change(backend: Backend, key: string, to: (value: Uint8Array) => Uint8Array): Promise<void> {
  const live = await backend.get(key)
  assert.ok(live)
  assert.ok((await backend.commit({ compare: [{ key, modRevision: live.modRevision }], put: [{ key, value: to(live.value) }] })).succeeded)
}

const flipped = (value: Uint8Array): Uint8Array => value.map((byte, i) => (i === value.length - 20 ? byte ^ 1 : byte))

test('a flipped byte in an object: reads through both replicas fail and name it, a migration ends blocked; deleted from quarantine, all is well', async () => {
  await using cluster = await startCluster({ version: '3.6.16' })
  using directory = temporaryDirectory('damage-')
  const replicas = openReplicas(cluster.endpoints, directory.path)
  await using one = await replicas.start('one')
  await using backend = await openEtcd({ endpoints: cluster.endpoints, prefix: '/mlops-apiserver', requestTimeoutMs: 10_000, clock: systemClock, log: silentLog })
  using client = one.connect()
  for (const name of ['good', 'bad']) assert.equal((await client.send('POST', jobsPath('v1'), { body: job(name) })).status, 201)
  const { body: list } = await client.send('GET', jobsPath('v1'))
  await change(backend, `data/${RESOURCE}/default/bad`, flipped)
  // One that was there when it happened, and one that starts with it.
  await using two = await replicas.start('two')
  using other = two.connect()
  for (const asked of [client, other]) {
    for (const path of [jobsPath('v1'), `${jobsPath('v1')}?limit=1`, `${jobsPath('v1alpha1')}/bad`]) {
      const { status, body } = await asked.send('GET', path)
      assert.deepEqual([status, body.reason], [500, 'InternalError'], path)
      assert.match(body.message, /cannot decode default\/bad \(Corrupt\)/)
    }
    assert.equal((await asked.send('GET', `${jobsPath('v1')}/good`)).status, 200)
    assert.equal((await asked.send('DELETE', `${jobsPath('v1')}/bad`)).status, 500)
  }
  assert.match((await done(through(one, 'migrate'), 6)).stdout, /Blocked \(1 objects? (is|are) in quarantine\)/)
  await done(replicas.direct('verify', '--resource', RESOURCE), 5)
  const expect = /--expect (\S+) --report/.exec((await done(through(two, 'quarantine', 'show', 'default/bad'))).stdout)?.[1] ?? ''
  await done(through(two, 'quarantine', 'delete', 'default/bad', '--expect', expect, '--report', join(directory.path, 'bad.bin')))
  for (const asked of [client, other]) {
    const { status, body } = await asked.send('GET', jobsPath('v1'))
    assert.deepEqual([status, body.items], [200, list.items.filter((item: { metadata: { name: string } }) => item.metadata.name === 'good')])
  }
  await done(through(one, 'migrate'))

  await change(backend, 'meta/format', (value) => Buffer.from(JSON.stringify({ ...JSON.parse(Buffer.from(value).toString()), format: 9, minimumReader: 9, createdBy: 'mlops-apiserver 9' })))
  const refused = await done(runProduct(['serve', '--data-dir', join(directory.path, 'three'), '--port', '0', ...replicas.servers]), 10)
  assert.match(refused.stderr, /the store was written by a newer layout \(format 9, made by mlops-apiserver 9/)
  assert.match((await done(replicas.direct('status'), 10)).stderr, /needs a program that reads format 9/)
})
