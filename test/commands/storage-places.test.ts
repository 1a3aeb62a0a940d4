/** Where `storage` commands find what they work on, and that what they print for programs says what they print for people. */
import assert from 'node:assert/strict'
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { job, jobsPath } from '../jobs.ts'
import { runProduct, startProduct, temporaryDirectory, type Exit } from '../product.ts'

const KEY = 'data/notebookvalidationjobs.mlops.dev/default/a'

/** Makes the newest value of the job a text. */
function spoil(directory: string): void {
  const database = new DatabaseSync(join(directory, 'store', 'store.db'))
  const { changes } = database.prepare('UPDATE log SET value = ? WHERE seq = (SELECT max(seq) FROM log WHERE key = ?)').run(Buffer.from('rubbish'), KEY)
  database.close()
  assert.equal(changes, 1)
}

test('a data directory without a store, but with the kubeconfig of a server; JSON; a bad object that no scan has met', async () => {
  using directory = temporaryDirectory('places-')
  const [own, other] = [join(directory.path, 'own'), join(directory.path, 'other')]
  mkdirSync(other)
  const storage = (place: string, ...args: string[]): Promise<Exit> => runProduct(['storage', ...args, '--data-dir', place])
  const bundle = join(directory.path, 'a.bundle')
  {
    await using product = await startProduct(own)
    using client = product.connect()
    assert.equal((await client.send('POST', jobsPath('v1'), { body: job('a') })).status, 201)
    copyFileSync(join(own, 'kubeconfig'), join(other, 'kubeconfig'))
    const status = await storage(other, 'status')
    assert.equal(status.code, 0, status.stderr)
    assert.match(status.stdout, /^store: sqlite/)
    assert.equal(status.stderr, `there is no store in ${other}: asking the server of ${join(other, 'kubeconfig')}\n`)
    const backup = await storage(own, 'backup', bundle, '-o', 'json')
    const { count } = JSON.parse(readFileSync(bundle, 'utf8').trimEnd().split('\n').at(-1) ?? '') as { count: number }
    assert.partialDeepStrictEqual(JSON.parse(backup.stdout), { file: bundle, count })
    await product.stop('SIGINT')
  }
  const silent = await storage(other, 'status')
  assert.deepEqual([silent.code, silent.stdout], [9, ''])
  assert.equal(silent.stderr, `mlops-apiserver: there is no store in ${other}, and the server of its kubeconfig does not answer: start it, or name its etcd with --etcd-servers\n`)

  spoil(own)
  assert.match((await storage(own, 'status')).stdout, /quarantine +0\n.* next +storage verify puts what cannot be used into quarantine: 1 object without a readable header\n/s)
  assert.equal((await storage(own, 'verify')).code, 5)
  const list = await storage(own, 'quarantine', 'list', '-o', 'json')
  assert.equal((await storage(own, 'verify', '--deep')).code, 5)
  assert.deepEqual(JSON.parse((await storage(own, 'quarantine', 'list', '-o', 'json')).stdout), JSON.parse(list.stdout), 'a later scan makes it no newer')
  assert.match((await storage(own, 'status')).stdout, /next +1 object cannot be used: see storage quarantine list, then replace or delete it\n/)
  const { stdout } = await storage(own, 'quarantine', 'show', 'default/a')
  const expect = /--expect (\S+) --report/.exec(stdout)?.[1] ?? ''
  const deleted = await storage(own, 'quarantine', 'delete', 'default/a', '--expect', expect, '--report', join(directory.path, 'a.bin'))
  assert.deepEqual([deleted.code, deleted.stderr], [0, ''], 'nothing but the result')
})
