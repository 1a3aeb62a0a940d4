/** The way of stored objects from one version to another as an operator goes it: on the store itself and through a server, killed half way. */
import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { alphaJob, job, jobsPath } from '../jobs.ts'
import { kubectlPath } from '../kubectl.ts'
import { runProduct, startProduct, temporaryDirectory, type Exit, type Product } from '../product.ts'

const LAUNCHER = join(import.meta.dirname, '..', '..', 'src', 'launch.mjs')
const RESOURCE = 'notebookvalidationjobs.mlops.dev'
const JOBS = 300

/** Runs `storage …` on a data directory. */
const storage = (directory: string, ...args: string[]): Promise<Exit> => runProduct(['storage', ...args, '--data-dir', directory])

async function done(exit: Promise<Exit>, code = 0): Promise<Exit> {
  const ended = await exit
  assert.equal(ended.code, code, `${ended.stdout}${ended.stderr}`)
  return ended
}

interface Status {
  readonly encodingVersion: string
  readonly storedVersions: readonly { readonly version: string }[]
  readonly byVersion: Record<string, number>
  readonly migration?: { readonly phase: string; readonly done: number; readonly owner?: string; readonly reason?: string; readonly attempts: number }
  readonly next: string
}

async function statusOf(directory: string): Promise<Status> {
  const { stdout } = await done(storage(directory, 'status', '--resource', RESOURCE, '-o', 'json'))
  return (JSON.parse(stdout) as [Status])[0]
}

async function digestOf(directory: string, code = 0): Promise<string> {
  const { stdout } = await done(storage(directory, 'verify', '--deep', '--resource', RESOURCE, '-o', 'json'), code)
  return (JSON.parse(stdout) as [{ digest: string }])[0].digest
}

/** A server whose jobs were written through v1alpha1 while objects were stored at v1beta1. */
async function startWithOldJobs(directory: string): Promise<Product> {
  const product = await startProduct(directory)
  await done(storage(directory, 'set-version', 'v1beta1', '--accept-rollback'))
  await done(storage(directory, 'migrate'))
  using client = product.connect()
  for (let i = 0; i < JOBS; i += 50) {
    const answers = await Promise.all(Array.from({ length: 50 }, (_, j) => client.send('POST', jobsPath('v1alpha1'), { body: alphaJob(`job-${i + j}`) })))
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [201])
  }
  return product
}

/** Starts a command and waits until it says that the migration runs. */
async function startMigration(args: readonly string[]): Promise<ChildProcess & { readonly said: () => string }> {
  const child = spawn(process.execPath, [LAUNCHER, 'storage', 'migrate', ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  let text = ''
  await new Promise<void>((resolve, reject) => {
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
      if (text.includes(' Running, ')) resolve()
    })
    child.once('close', () => reject(new Error(`it ended: ${text}`)))
  })
  return Object.assign(child, { said: () => text })
}

test('on the store itself: set-version, dry run, migrate killed and interrupted half way, verify, trim; the objects are what they were', async () => {
  using directory = temporaryDirectory('storage-')
  await using product = await startWithOldJobs(directory.path)
  await product.stop('SIGINT')
  const before = await statusOf(directory.path)
  assert.deepEqual(before.byVersion, { v1beta1: JOBS })
  assert.match(before.next, /^storage set-version v1, then storage migrate$/)
  const digest = await digestOf(directory.path)

  const set = await done(storage(directory.path, 'set-version', 'v1'))
  assert.match(set.stdout, /storedVersions {2}v1beta1 \(.*\), v1 \(/)
  const dry = await done(storage(directory.path, 'migrate', '--dry-run'))
  assert.match(dry.stdout, new RegExp(`^${JOBS} objects: ${JOBS} would be rewritten, 0 already at v1, 0 cannot be used; nothing was written\n`))
  assert.equal(await digestOf(directory.path, 5), digest, 'old objects are exit 5')
  assert.equal((await storage(directory.path, 'trim')).code, 0)
  assert.deepEqual((await statusOf(directory.path)).storedVersions.map(({ version }) => version), ['v1beta1', 'v1'], 'a trim takes away nothing that was found')

  const killed = await startMigration(['--data-dir', directory.path, '--rate', '100'])
  await sleep(800)
  killed.kill('SIGKILL')
  await once(killed, 'close')
  const half = await statusOf(directory.path)
  assert.equal(half.migration?.phase, 'Running')
  assert.equal(half.migration.owner, undefined)
  assert.ok(half.migration.done > 0 && half.migration.done < JOBS, `${half.migration.done}`)
  assert.equal(half.next, 'A migration has not ended: storage migrate continues it')
  assert.equal((await storage(directory.path, 'set-version', 'v1beta1')).code, 3)

  const interrupted = await startMigration(['--data-dir', directory.path, '--rate', '100'])
  await sleep(300)
  interrupted.kill('SIGINT')
  assert.deepEqual(await once(interrupted, 'close'), [130, null])
  assert.match(interrupted.said(), /interrupted: the same command continues\n$/)
  const paused = await statusOf(directory.path)
  assert.deepEqual([paused.migration?.phase, paused.migration?.reason], ['Paused', 'Interrupted'])

  const { stdout } = await done(storage(directory.path, 'migrate'))
  assert.match(stdout, new RegExp(`^${JOBS} objects: ${JOBS} rewritten, 0 already at v1, 0 conflicts left, 0 quarantined; proof at revision [\\d,]+; storedVersions \\[v1\\]\n$`))
  assert.equal(await digestOf(directory.path), digest)
  await done(storage(directory.path, 'trim'))
  const after = await statusOf(directory.path)
  assert.deepEqual(after.byVersion, { v1: JOBS })
  assert.equal(after.migration?.attempts, 3)
  assert.equal(after.next, 'Nothing: all objects are stored at the newest version')
  const again = await done(storage(directory.path, 'migrate'))
  assert.match(again.stdout, new RegExp(`^${JOBS} objects: 0 rewritten, ${JOBS} already at v1, `))
})

test('through a server: the migration goes on when the command leaves, and when the server is killed and started again', async () => {
  using directory = temporaryDirectory('storage-')
  await using killed = await startWithOldJobs(directory.path)
  const kubeconfig = join(directory.path, 'kubeconfig')
  const digest = await digestOf(directory.path)
  await done(storage(directory.path, 'set-version', 'v1'))
  const left = await startMigration(['--kubeconfig', kubeconfig, '--rate', '20'])
  left.kill('SIGINT')
  assert.deepEqual(await once(left, 'close'), [130, null])
  assert.match(left.said(), /the migration goes on in the server, and the same command follows it\n$/)
  assert.match((await statusOf(directory.path)).migration?.owner ?? '', /^server /)
  await killed.stop('SIGKILL')

  await using product = await startProduct(directory.path)
  // It goes on by itself, as slowly as it was told to until it is told otherwise; the command follows it.
  const { stdout } = await done(runProduct(['storage', 'migrate', '--kubeconfig', kubeconfig, '--rate', '0']))
  assert.match(stdout, new RegExp(`^${JOBS} objects: (${JOBS} rewritten, 0|0 rewritten, ${JOBS}) already at v1, 0 conflicts left, 0 quarantined; proof at revision [\\d,]+; storedVersions \\[v1\\]\n$`))
  assert.equal(await digestOf(directory.path), digest)
  using client = product.connect()
  const { body } = await client.send('GET', `${jobsPath('v1')}/job-7`)
  assert.equal(body.metadata.generation, 1)
  assert.deepEqual(body.metadata.managedFields.map((entry: { apiVersion: string }) => entry.apiVersion), ['mlops.dev/v1alpha1'])
})

test('pause, resume and abort, through a server and its next start; and as a plugin of kubectl', async () => {
  using directory = temporaryDirectory('storage-')
  await using first = await startWithOldJobs(directory.path)
  const kubeconfig = join(directory.path, 'kubeconfig')
  const migrate = (...args: string[]): Promise<Exit> => runProduct(['storage', 'migrate', '--kubeconfig', kubeconfig, ...args])
  assert.match((await done(migrate('--pause'), 3)).stderr, /has no migration to pause/)
  await done(storage(directory.path, 'set-version', 'v1'))
  const running = await startMigration(['--kubeconfig', kubeconfig, '--rate', '20'])
  await done(migrate('--pause'))
  assert.deepEqual(await once(running, 'close'), [4, null])
  assert.equal((await statusOf(directory.path)).migration?.phase, 'Paused')
  // Pause and rate are the job's, not the process's.
  await first.stop('SIGTERM')
  await using _second = await startProduct(directory.path)
  await sleep(500)
  assert.partialDeepStrictEqual((await statusOf(directory.path)).migration, { phase: 'Paused', reason: 'Requested', rateLimit: 20 })
  const resumed = await startMigration(['--kubeconfig', kubeconfig, '--resume'])
  await done(migrate('--abort'))
  assert.deepEqual(await once(resumed, 'close'), [7, null])
  assert.partialDeepStrictEqual((await statusOf(directory.path)).migration, { phase: 'Aborted', rateLimit: 20 })
  assert.deepEqual((await statusOf(directory.path)).storedVersions.map(({ version }) => version), ['v1beta1', 'v1'])

  const bin = join(directory.path, 'kubectl-mlops')
  symlinkSync(LAUNCHER, bin)
  const env = { ...process.env, PATH: [dirname(bin), dirname(process.execPath), process.env.PATH].join(delimiter), KUBECONFIG: kubeconfig }
  const plugin = spawn(kubectlPath('35'), ['mlops', 'storage', 'migrate'], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  let said = ''
  plugin.stdout.setEncoding('utf8').on('data', (text: string) => (said += text))
  assert.deepEqual(await once(plugin, 'close'), [0, null])
  assert.match(said, /^300 objects: .* storedVersions \[v1\]\n$/)
})

/** Flips a byte of the newest value of a job. */
function damage(directory: string, key: string): void {
  const database = new DatabaseSync(join(directory, 'store', 'store.db'))
  const row = database.prepare('SELECT seq, value FROM log WHERE key = ? ORDER BY revision DESC LIMIT 1').get(`data/${RESOURCE}/${key}`) as { seq: number; value: Uint8Array }
  const value = Uint8Array.from(row.value, (byte, i) => (i === row.value.length - 20 ? byte ^ 1 : byte))
  database.prepare('UPDATE log SET value = ? WHERE seq = ?').run(value, row.seq)
  database.close()
}

test('a flipped byte: reads fail and name it, the migration ends blocked, the object is shown, exported, replaced or deleted', async () => {
  using directory = temporaryDirectory('storage-')
  const manifest = join(directory.path, 'good.json')
  {
    await using product = await startProduct(directory.path)
    const client = product.connect()
    for (const name of ['good', 'bad', 'worse']) assert.equal((await client.send('POST', jobsPath('v1'), { body: job(name) })).status, 201)
    const { text } = await client.send('GET', `${jobsPath('v1alpha1')}/bad`)
    writeFileSync(manifest, text)
    client[Symbol.dispose]()
    await product.stop('SIGINT')
  }
  for (const key of ['default/bad', 'default/worse']) damage(directory.path, key)
  await using product = await startProduct(directory.path)
  using client = product.connect()
  for (const path of [jobsPath('v1'), `${jobsPath('v1beta1')}/bad`]) {
    const { status, body } = await client.send('GET', path)
    assert.deepEqual([status, body.reason], [500, 'InternalError'])
    assert.match(body.message, /cannot decode default\/bad \(Corrupt\): .*/)
  }
  assert.equal((await client.send('GET', `${jobsPath('v1')}/good`)).status, 200)
  // Reads have put them there; no migration has run.
  const read = await done(storage(directory.path, 'quarantine', 'list'))
  assert.match(read.stdout, /default\/bad +Corrupt .*\n.*default\/worse +Corrupt /)

  const blocked = await done(storage(directory.path, 'migrate'), 6)
  assert.match(blocked.stdout, /^3 objects: 0 rewritten, 1 already at v1, 0 conflicts left, 2 quarantined; no proof; storedVersions \[v1\]\nthe migration has not succeeded: Blocked \(2 objects are in quarantine\)\n/)
  assert.equal((await storage(directory.path, 'verify', '--resource', RESOURCE)).code, 5)
  const list = await done(storage(directory.path, 'quarantine', 'list'))
  assert.match(list.stdout, /^RESOURCE .*\nnotebookvalidationjobs\.mlops\.dev +default\/bad +Corrupt .*\nnotebookvalidationjobs\.mlops\.dev +default\/worse +Corrupt /)
  const show = await done(storage(directory.path, 'quarantine', 'show', 'default/bad'))
  const expect = /replace default\/bad --expect (\S+) /.exec(show.stdout)?.[1] ?? ''
  const exported = join(directory.path, 'bad.bin')
  await done(storage(directory.path, 'quarantine', 'export', 'default/bad', exported))
  assert.ok(readFileSync(exported).includes('"kind":"NotebookValidationJob"'))

  const replace = (key: string, expected: string): Promise<Exit> => storage(directory.path, 'quarantine', 'replace', key, '--expect', expected, '-f', manifest)
  assert.equal((await replace('default/bad', 'x')).code, 2)
  assert.match((await done(replace('default/bad', expect.replace(/^\d+/, '7')), 3)).stderr, /is no longer the value at revision 7/)
  assert.match((await done(replace('default/good', expect), 3)).stderr, /is no longer the value/)
  await done(replace('default/bad', expect))
  assert.deepEqual((await client.send('GET', `${jobsPath('v1alpha1')}/bad`)).body.spec, (JSON.parse(readFileSync(manifest, 'utf8')) as { spec: object }).spec)

  const worse = /--expect (\S+) --report/.exec((await done(storage(directory.path, 'quarantine', 'show', 'default/worse'))).stdout)?.[1] ?? ''
  const report = join(directory.path, 'worse.bin')
  const remove = (): Promise<Exit> => storage(directory.path, 'quarantine', 'delete', 'default/worse', '--expect', worse, '--report', report)
  await done(remove())
  assert.ok(readFileSync(report).includes('"worse"'))
  assert.equal((await client.send('GET', `${jobsPath('v1')}/worse`)).status, 404)
  const { items } = (await client.send('GET', jobsPath('v1'))).body
  assert.deepEqual(items.map((item: { metadata: { name: string } }) => item.metadata.name), ['bad', 'good'])
  const unblocked = await done(storage(directory.path, 'migrate'))
  assert.match(unblocked.stdout, /^2 objects: 0 rewritten, 2 already at v1, 0 conflicts left, 0 quarantined; proof at revision /)
})

test('a backup goes into an empty store, above all revisions of the old one', async () => {
  using from = temporaryDirectory('storage-')
  using to = temporaryDirectory('storage-')
  const bundle = join(from.path, 'bundle')
  await using product = await startProduct(from.path)
  const old = await (async () => {
    using client = product.connect()
    return (await client.send('POST', jobsPath('v1'), { body: job('kept') })).body.metadata
  })()
  await done(storage(from.path, 'backup', bundle))
  await product.stop('SIGINT')
  const taken = readFileSync(bundle)
  assert.match((await done(storage(from.path, 'backup', bundle), 2)).stderr, /^mlops-apiserver: \S+bundle is there already: a backup goes into a new file\n$/)
  assert.deepEqual(readFileSync(bundle), taken)
  assert.match((await done(storage(from.path, 'backup', join(from.path, 'absent', 'x')), 2)).stderr, /^mlops-apiserver: \S+absent\/x cannot be written: no such file or directory\n$/)
  assert.match((await done(storage(from.path, 'restore', bundle), 3)).stderr, /the store is not empty/)
  assert.equal((await runProduct(['storage', 'restore', bundle, '--kubeconfig', 'any'])).code, 2)
  await done(storage(to.path, 'restore', bundle))
  writeFileSync(bundle, readFileSync(bundle, 'utf8').replace('"modRevision"', '"modrevision"'))
  assert.match((await done(storage(join(to.path, 'other'), 'restore', bundle), 3)).stderr, /cut off or was changed/)
  // No store came of it, and nothing that a backup could be of.
  assert.match((await done(storage(join(to.path, 'other'), 'backup', join(to.path, 'nothing')), 2)).stderr, /^mlops-apiserver: there is no store in \S+other, only an empty one: name the right one with --data-dir\n$/)
  assert.ok(!existsSync(join(to.path, 'nothing')))
  await using again = await startProduct(to.path)
  using client = again.connect()
  const { metadata } = (await client.send('GET', `${jobsPath('v1')}/kept`)).body
  assert.equal(metadata.uid, old.uid)
  assert.ok(BigInt(metadata.resourceVersion) > BigInt(old.resourceVersion))
})

test('what makes no sense is exit 2, no store or no server exit 2 and 9, each with one line', async () => {
  using directory = temporaryDirectory('storage-')
  for (const [args, code, message] of [
    [['status'], 2, /^mlops-apiserver: there is no store in .*: name the right one with --data-dir, or a server with --kubeconfig\n$/],
    [['migrate', '--rate', 'fast'], 2, /it must be a whole number/],
    [['migrate', '--pause', '--abort'], 2, /cannot be used with/],
    [['statu'], 2, /unknown command 'statu'/],
    [['status', '--output', 'xml'], 2, /Allowed choices are text, json/],
  ] as const) {
    const { stderr } = await done(storage(directory.path, ...args), code)
    assert.match(stderr, message)
  }
  await using product = await startProduct(directory.path)
  assert.match((await done(storage(directory.path, 'set-version', 'v7'), 2)).stderr, /has no version v7; it has v1alpha1, v1beta1, v1\n$/)
  assert.match((await done(storage(directory.path, 'set-version', 'v1beta1'), 3)).stderr, /is older than the rollback floor v1: ask for it with --accept-rollback\n$/)
  assert.match((await done(storage(directory.path, 'retire-version', 'v1'), 4)).stderr, /may still be stored: migrate first\n$/)
  assert.match((await done(storage(directory.path, 'status', '--resource', 'things.example'), 2)).stderr, /the store has no things\.example/)
  await product.stop('SIGKILL')
  const { stderr } = await done(runProduct(['storage', 'status', '--kubeconfig', join(directory.path, 'kubeconfig')]), 9)
  assert.match(stderr, /^mlops-apiserver: the server does not answer: .*ECONNREFUSED.*\n$/)
})

test('a store that a newer program made, and an older copy of a store, are refused at the start with codes of their own', async () => {
  using directory = temporaryDirectory('storage-')
  await using product = await startProduct(directory.path)
  await product.stop('SIGINT')
  const mark = join(directory.path, 'high-water-mark.json')
  const kept = readFileSync(mark, 'utf8')
  writeFileSync(mark, kept.replace(/"revision":\d+/, `"revision":${Number.MAX_SAFE_INTEGER}`))
  const start = (): Promise<Exit> => runProduct(['serve', '--data-dir', directory.path, '--port', '0'])
  assert.match((await done(start(), 11)).stderr, /^mlops-apiserver: the store is at revision \d+, and clients may have seen 9007199254740991 .*storage backup.*\n$/)
  writeFileSync(mark, kept)
  const database = new DatabaseSync(join(directory.path, 'store', 'store.db'))
  const alter = (key: string, change: (record: Record<string, unknown>) => void): void => {
    const row = database.prepare('SELECT seq, value FROM log WHERE key = ? ORDER BY revision DESC LIMIT 1').get(key) as { seq: number; value: Uint8Array }
    const record = JSON.parse(Buffer.from(row.value).toString()) as Record<string, unknown>
    change(record)
    database.prepare('UPDATE log SET value = ? WHERE seq = ?').run(Buffer.from(JSON.stringify(record)), row.seq)
  }
  const fence = `meta/fence/${RESOURCE}`
  alter(fence, (record) => (record.storedVersions as { schemaDigest: string }[]).forEach((entry) => (entry.schemaDigest = '0'.repeat(32))))
  database.close()
  assert.match((await done(start(), 14)).stderr, /the schema of v1 of notebookvalidationjobs\.mlops\.dev is not the one that its objects were stored under/)
  const again = new DatabaseSync(join(directory.path, 'store', 'store.db'))
  const row = again.prepare('SELECT seq, value FROM log WHERE key = ? ORDER BY revision DESC LIMIT 1').get(fence) as { seq: number; value: Uint8Array }
  again.prepare('UPDATE log SET value = ? WHERE seq = ?').run(Buffer.from(Buffer.from(row.value).toString().replaceAll('"v1"', '"v2"')), row.seq)
  again.close()
  assert.match((await done(start(), 12)).stderr, /may have objects stored at v2 \(0 objects.*decodes only v1alpha1, v1beta1, v1\. Nothing was changed\. .*set-version v1, then storage migrate\n$/)
  const format = new DatabaseSync(join(directory.path, 'store', 'store.db'))
  format.prepare("UPDATE log SET value = ? WHERE key = 'meta/format'").run(Buffer.from(JSON.stringify({ format: 9, minimumReader: 9, createdBy: 'mlops-apiserver 9', createdAt: '2030-01-01T00:00:00Z', id: 'x' })))
  format.close()
  assert.match((await done(start(), 10)).stderr, /the store was written by a newer layout \(format 9, made by mlops-apiserver 9/)
})
