/** Two servers on one etcd: what one writes the other shows; and the way of stored objects to another version beside both, killed half way. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { alphaJob, job, jobsPath } from '../jobs.ts'
import { runProduct, startProduct, temporaryDirectory, type Exit, type Product } from '../product.ts'
import { startCluster } from './etcd-cluster.ts'

const LAUNCHER = join(import.meta.dirname, '..', '..', 'src', 'launch.mjs')
const RESOURCE = 'notebookvalidationjobs.mlops.dev'
const JOBS = 300

async function done(exit: Promise<Exit>, code = 0): Promise<Exit> {
  const ended = await exit
  assert.equal(ended.code, code, `${ended.stdout}${ended.stderr}`)
  return ended
}

test('two replicas: writes of one are seen by watchers of the other; set-version, migrate killed with its server, verify, trim', async () => {
  await using cluster = await startCluster({ version: '3.6.16' })
  using directory = temporaryDirectory('replicas-')
  const servers = ['--etcd-servers', cluster.endpoints.join(',')]
  const start = (name: string): Promise<Product> => startProduct(join(directory.path, name), { command: 'serve', args: [...servers, '--pki-dir', join(directory.path, 'pki')] })
  await using first = await start('a')
  await using second = await start('b')
  assert.equal(first.identity.ca, second.identity.ca)
  // Beside the servers, as long as one lives; else on etcd itself.
  const through = (product: Product, ...args: string[]): Promise<Exit> => runProduct(['storage', ...args, '--kubeconfig', join(product.directory, 'kubeconfig')])
  const direct = (...args: string[]): Promise<Exit> => runProduct(['storage', ...args, ...servers])
  await done(through(first, 'set-version', 'v1beta1', '--accept-rollback'))
  await done(through(second, 'migrate'))

  using a = first.connect()
  using b = second.connect()
  const watch = b.watch(`${jobsPath('v1')}?watch=true&resourceVersion=${(await b.send('GET', jobsPath('v1'))).body.metadata.resourceVersion}`)
  await watch.headers
  for (let i = 0; i < JOBS; i += 50) {
    const answers = await Promise.all(Array.from({ length: 50 }, (_, j) => a.send('POST', jobsPath('v1alpha1'), { body: alphaJob(`job-${i + j}`) })))
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [201])
  }
  const seen = new Set<string>()
  for await (const { type, object } of watch) {
    assert.equal(type, 'ADDED')
    if (seen.add(object.metadata.name).size === JOBS) break
  }
  watch.close()
  const status = JSON.parse((await done(through(second, 'status', '--resource', RESOURCE, '-o', 'json'))).stdout)[0]
  assert.deepEqual(status.byVersion, { v1beta1: JOBS })
  assert.equal(status.replicas.length, 2)
  const digest = JSON.parse((await done(through(first, 'verify', '--deep', '--resource', RESOURCE, '-o', 'json'))).stdout)[0].digest

  await done(through(first, 'set-version', 'v1'))
  const dry = await done(direct('migrate', '--dry-run'))
  assert.match(dry.stdout, new RegExp(`^${JOBS} objects: ${JOBS} would be rewritten`))
  const command = spawn(process.execPath, [LAUNCHER, 'storage', 'migrate', '--rate', '60', '--kubeconfig', join(first.directory, 'kubeconfig')], { stdio: 'ignore' })
  await sleep(1500)
  // The server that runs it is killed, its command with it: the other one takes it over.
  await first.stop('SIGKILL')
  const [code] = (await once(command, 'close')) as [number]
  assert.equal(code, 9)
  assert.equal((await b.send('POST', jobsPath('v1alpha1'), { body: alphaJob('meanwhile') })).status, 201)
  const migrated = await done(runToEnd(through, second))
  assert.match(migrated.stdout, /, 0 conflicts left, 0 quarantined; proof at revision [\d,]+; storedVersions \[v1\]\n$/)
  assert.equal((await b.send('DELETE', `${jobsPath('v1')}/meanwhile`)).status, 200)
  assert.equal(JSON.parse((await done(direct('verify', '--deep', '--resource', RESOURCE, '-o', 'json'))).stdout)[0].digest, digest)
  await done(through(second, 'trim'))
  const after = JSON.parse((await done(direct('status', '--resource', RESOURCE, '-o', 'json'))).stdout)[0]
  assert.deepEqual(after.byVersion, { v1: JOBS })
  assert.deepEqual(after.storedVersions.map((entry: { version: string }) => entry.version), ['v1'])
  assert.equal(after.next, 'Nothing: all objects are stored at the newest version')

  await using third = await start('c')
  using c = third.connect()
  assert.equal((await c.send('POST', jobsPath('v1'), { body: job('third') })).status, 201)
  assert.equal((await b.send('GET', `${jobsPath('v1beta1')}/third`)).status, 200)
  const refused = await done(direct('set-version', 'v1beta1'), 3)
  assert.match(refused.stderr, /replica \S+ \(mlops-apiserver [\d.]+\) (has vanished without a good-bye|has not seen epoch \d+)/)
})

// The lock of the server that was killed ends with its lease, after 15 seconds at most.
async function runToEnd(through: (product: Product, ...args: string[]) => Promise<Exit>, product: Product): Promise<Exit> {
  for (;;) {
    const exit = await through(product, 'migrate')
    if (exit.code !== 8) return exit
    await sleep(500)
  }
}
