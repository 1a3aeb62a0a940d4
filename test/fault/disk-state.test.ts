/** A disk that has become read-only, and one with little room, under a store that is there. Need root for the mount. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '../../src/base/clock.ts'
import { silentLog } from '../../src/base/log.ts'
import { OutOfSpace, Unavailable } from '../../storage/backend.ts'
import { contents, fill, name, putTwin, RESOURCE, run, setEncoding } from '../../storage/migrate.fixture.ts'
import { abortMigration, pauseMigration } from '../../storage/migrate.ts'
import { DirectoryUnusable, openSqlite } from '../../storage/sqlite.ts'
import { alphaJob, jobsPath } from '../jobs.ts'
import { runProduct, startProduct, temporaryDirectory } from '../product.ts'
import { mountSmallDisk } from '../small-disk.ts'

const open = (path: string, options: { orReadOnly?: boolean } = {}) => openSqlite({ directory: join(path, 'store'), clock: systemClock, log: silentLog, ...options })

test('a read-only file system under a store: no server starts, commands read what is there and write nothing', async (t) => {
  const mounted = mountSmallDisk('size=16m')
  if (typeof mounted === 'string') return t.skip(mounted)
  using disk = mounted
  const first = await open(disk.path)
  await fill(first, 20)
  const before = await contents(first)
  await first.close()
  execFileSync('mount', ['-o', 'remount,ro', disk.path])
  await assert.rejects(open(disk.path), (error) => error instanceof DirectoryUnusable && /read-only/.test(error.message))
  const exit = await runProduct(['serve', '--port', '0', '--data-dir', disk.path])
  assert.equal(exit.code, 9, exit.stderr)
  assert.match(exit.stderr, /^mlops-apiserver: [^\n]*read-only[^\n]*\n$/)
  {
    await using reading = await open(disk.path, { orReadOnly: true })
    assert.deepEqual([await contents(reading), (await reading.status()).readOnly], [before, true])
    for (const write of [() => putTwin(reading, name(1), 'x', 'v1'), async () => reading.compact(await reading.currentRevision())]) {
      await assert.rejects(write, (error) => error instanceof Unavailable && error.message.endsWith('read-only file system: nothing can be written'))
    }
  }
  execFileSync('mount', ['-o', 'remount,rw', disk.path])
  await using again = await open(disk.path)
  assert.deepEqual(await contents(again), before)
})

test('little room on the disk: a migration is not begun, others write on; with room the same call does it', async (t) => {
  const mounted = mountSmallDisk('size=16m')
  if (typeof mounted === 'string') return t.skip(mounted)
  using disk = mounted
  await using backend = await open(disk.path)
  await fill(backend, 50)
  await setEncoding(backend, 'v1')
  const { space } = await backend.status()
  assert.equal(space?.limitBytes, 16 * 1024 * 1024)
  const ballast = join(disk.path, 'ballast')
  writeFileSync(ballast, Buffer.alloc(space.freeBytes - 500_000))
  await assert.rejects(run(backend), { reason: 'LowSpace', exitCode: 3, message: /^the store \(sqlite\) has 0\.[45] MB left of 16\.8 MB, .* make room on its disk\. Then the same command continues$/ })
  assert.ok((await backend.commit({ compare: [], put: [{ key: 'other', value: Buffer.from('x') }] })).succeeded)
  rmSync(ballast)
  assert.deepEqual([(await run(backend)).phase, (await contents(backend)).every(({ version }) => version === 'v1')], ['Succeeded', true])
})

test('a migration for which there is too little room: it waits for room before others lack it, and on a full disk the store can be opened, shown and the migration ended', async (t) => {
  const mounted = mountSmallDisk('size=32m')
  if (typeof mounted === 'string') return t.skip(mounted)
  using disk = mounted
  const ballast = join(disk.path, 'ballast')
  const free = (): number => {
    const { bavail, bsize } = statfsSync(disk.path)
    return bavail * bsize
  }
  const texts = Object.fromEntries(Array.from({ length: 2000 }, (_, i) => [name(i), 'x'.repeat(3000)]))
  {
    await using backend = await open(disk.path)
    await fill(backend, 2000, { texts })
    await setEncoding(backend, 'v1')
  }
  {
    await using backend = await open(disk.path)
    writeFileSync(ballast, Buffer.alloc(free() - 6_000_000))
    let [least, waiting] = [Number.POSITIVE_INFINITY, 0]
    const stop = new AbortController()
    const migrating = run(backend, {
      signal: stop.signal,
      onProgress({ limitedBy }) {
        least = Math.min(least, free())
        if (limitedBy === 'LowSpace' && ++waiting === 3) stop.abort()
      },
    })
    const shortened = await migrating
    assert.deepEqual([shortened.phase, shortened.reason], ['Paused', 'Interrupted'])
    assert.ok(waiting >= 3)
    assert.ok(least > 500_000, `${least}`)
    const { space } = await backend.status()
    assert.ok(space && space.freeBytes < 1.5 * space.reserveBytes, JSON.stringify(space))
    // Others write on, until they too must leave the last of it.
    let others = 0
    while (await backend.commit({ compare: [], put: [{ key: `other/${others}`, value: Buffer.alloc(50_000) }] }).catch((error: unknown) => assert.ok(error instanceof OutOfSpace))) others++
    assert.ok(others > 0)
    // A replica that dies, on a disk that somebody else fills to the brim.
    const lease = await backend.lease(60)
    await backend.commit({ compare: [], put: [{ key: 'replica', value: Buffer.from('x'), lease: lease.id }], essential: true })
    assert.throws(() => writeFileSync(join(disk.path, 'brim'), Buffer.alloc(16_000_000)), { code: 'ENOSPC' })
    assert.equal(free(), 0)
    await pauseMigration(backend, RESOURCE, 0)
    await lease.revoke()
  }
  {
    await using backend = await open(disk.path)
    assert.equal((await contents(backend)).length, 2000)
    assert.equal((await abortMigration(backend, RESOURCE, 0))?.phase, 'Aborted')
    await assert.rejects(run(backend), { reason: 'LowSpace' })
  }
  for (const file of ['ballast', 'brim']) rmSync(join(disk.path, file))
  await using backend = await open(disk.path)
  assert.equal((await run(backend)).phase, 'Succeeded')
  assert.ok((await contents(backend)).every(({ version, text }) => version === 'v1' && text.length === 3000))
  assert.ok(existsSync(join(disk.path, 'store', 'store.reserve')))
})

test('a snapshot of a store at work, on a read-only file system: its last writes are read too, by status, verify and backup', async (t) => {
  const mounted = mountSmallDisk('size=16m')
  if (typeof mounted === 'string') return t.skip(mounted)
  using disk = mounted
  using elsewhere = temporaryDirectory('read-only-')
  const origin = join(elsewhere.path, 'origin')
  {
    await using product = await startProduct(origin)
    using client = product.connect()
    for (const job of ['one', 'two']) assert.equal((await client.send('POST', jobsPath('v1alpha1'), { body: alphaJob(job) })).status, 201)
    cpSync(origin, join(disk.path, 'data'), { recursive: true })
  }
  execFileSync('mount', ['-o', 'remount,ro', disk.path])
  const storage = (...args: string[]) => runProduct(['storage', ...args, '--data-dir', join(disk.path, 'data')])
  const bundle = join(elsewhere.path, 'bundle')
  for (const [args, said] of [[['status'], /objects +2 /], [['verify', '--deep'], /: 2 objects .*all of them were read/], [['backup', bundle], /entries/]] as const) {
    const exit = await storage(...args)
    assert.equal(exit.code, 0, exit.stderr)
    assert.match(exit.stdout + exit.stderr, said)
    assert.match(exit.stderr, /^the store is on a read-only file system: /)
  }
  assert.match(readFileSync(bundle, 'utf8'), /notebookvalidationjobs\.mlops\.dev\/default\/two"/)
  const refused = await storage('set-version', 'v1beta1', '--accept-rollback')
  assert.equal(refused.code, 9)
  assert.match(refused.stderr, /read-only file system: nothing can be written\n$/)
})
