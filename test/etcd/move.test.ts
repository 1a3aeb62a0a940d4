/** The whole of a store goes from the embedded store to etcd and back: clients keep their objects, and no revision that they see goes back. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { alphaJob, job, jobsPath } from '../jobs.ts'
import { runProduct, startProduct, temporaryDirectory, type Product } from '../product.ts'
import { startCluster } from './etcd-cluster.ts'

async function storage(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runProduct(['storage', ...args])
  assert.equal(code, 0, stderr)
  return stdout
}

interface Seen {
  readonly uids: Readonly<Record<string, string>>
  readonly highest: bigint
}

/** What a client sees of all jobs; and that what it knew before is gone or older, never taken for something newer. */
async function look(product: Product, before?: Seen): Promise<Seen> {
  using client = product.connect()
  const { body: list } = await client.send('GET', jobsPath('v1'))
  const items = list.items as { metadata: { name: string; uid: string; resourceVersion: string } }[]
  const revisions = [list.metadata.resourceVersion as string, ...items.map(({ metadata }) => metadata.resourceVersion)].map(BigInt)
  if (before) {
    assert.ok(revisions.every((revision) => revision > before.highest), `${revisions.join()} against ${before.highest}`)
    const watch = client.watch(`${jobsPath('v1')}?watch=true&resourceVersion=${before.highest}`)
    for await (const { type, object } of watch) {
      assert.deepEqual([type, object.code, object.reason], ['ERROR', 410, 'Expired'])
      break
    }
    assert.equal((await client.send('GET', `${jobsPath('v1')}?limit=1&resourceVersion=${before.highest}&resourceVersionMatch=Exact`)).status, 410)
    // "Not older than" is what informers begin with: it is answered with what is there.
    assert.equal((await client.send('GET', `${jobsPath('v1')}?resourceVersion=${before.highest}`)).body.items.length, items.length)
    const old = await client.send('PUT', `${jobsPath('v1')}/one`, { body: { ...job('one'), metadata: { name: 'one', namespace: 'default', resourceVersion: String(before.highest) } } })
    assert.equal(old.status, 409, old.text)
  }
  const uids = Object.fromEntries(items.map(({ metadata }) => [metadata.name, metadata.uid]))
  return { uids, highest: revisions.reduce((a, b) => (a > b ? a : b)) }
}

test('from SQLite to etcd and back', async () => {
  await using cluster = await startCluster({ version: '3.6.16' })
  using directory = temporaryDirectory('move-')
  const servers = ['--etcd-servers', cluster.endpoints.join(',')]
  const data = join(directory.path, 'data')
  const [first, second] = [join(directory.path, 'first.bundle'), join(directory.path, 'second.bundle')]
  const change = async (product: Product, name: string): Promise<void> => {
    using client = product.connect()
    assert.equal((await client.send('POST', jobsPath('v1alpha1'), { body: alphaJob(name) })).status, 201)
    assert.equal((await client.send('PATCH', `${jobsPath('v1beta1')}/one`, { type: 'application/merge-patch+json', body: { metadata: { labels: { last: name } } } })).status, 200)
  }

  await using embedded = await startProduct(data)
  {
    using client = embedded.connect()
    assert.equal((await client.send('POST', jobsPath('v1'), { body: job('one') })).status, 201)
  }
  await change(embedded, 'two')
  await storage('backup', first, '--data-dir', data)
  // What the bundle does not have is lost, but the clients have seen it.
  await change(embedded, 'lost')
  const onSqlite = await look(embedded)
  await embedded.stop('SIGINT')

  await storage('restore', first, '--data-dir', data, ...servers)
  assert.ok((await cluster.client.getAll().prefix('/mlops-apiserver/').exec()).header.revision.length < 6, 'etcd itself counts from where it was')
  await using distributed = await startProduct(data, { command: 'serve', args: servers })
  const onEtcd = await look(distributed, onSqlite)
  const { lost: _, ...kept } = onSqlite.uids
  assert.deepEqual(onEtcd.uids, kept)
  await change(distributed, 'three')
  const later = await look(distributed)
  const [status] = JSON.parse(await storage('status', '--resource', 'notebookvalidationjobs.mlops.dev', '-o', 'json', ...servers)) as [{ store: { revision: number; offset: number } }]
  assert.ok(status.store.offset > 1e13 && BigInt(status.store.revision) >= later.highest)
  await storage('backup', second, '--data-dir', data, ...servers)
  await distributed.stop('SIGTERM')

  const back = join(directory.path, 'back')
  await storage('restore', second, '--data-dir', back)
  await using again = await startProduct(back)
  assert.deepEqual((await look(again, later)).uids, later.uids)
  await change(again, 'four')
})
