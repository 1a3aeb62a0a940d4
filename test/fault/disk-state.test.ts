/** A disk that has become read-only, and one with little room, under a store that is there. Need root for the mount. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '../../src/base/clock.ts'
import { silentLog } from '../../src/base/log.ts'
import { contents, fill, run, setEncoding } from '../../storage/migrate.fixture.ts'
import { DirectoryUnusable, openSqlite } from '../../storage/sqlite.ts'
import { runProduct } from '../product.ts'
import { mountSmallDisk } from '../small-disk.ts'

const open = (path: string) => openSqlite({ directory: join(path, 'store'), clock: systemClock, log: silentLog })

test('a read-only file system under a store: refused with what is the matter, by the server and by commands, and nothing is lost', async (t) => {
  const mounted = mountSmallDisk('size=16m')
  if (typeof mounted === 'string') return t.skip(mounted)
  using disk = mounted
  const first = await open(disk.path)
  await fill(first, 20)
  const before = await contents(first)
  await first.close()
  execFileSync('mount', ['-o', 'remount,ro', disk.path])
  await assert.rejects(open(disk.path), (error) => error instanceof DirectoryUnusable && /read-only/.test(error.message))
  for (const [args, code] of [[['serve', '--port', '0'], 1], [['storage', 'status'], 9]] as const) {
    const exit = await runProduct([...args, '--data-dir', disk.path])
    assert.equal(exit.code, code, exit.stderr)
    assert.match(exit.stderr, /^mlops-apiserver: [^\n]*read-only[^\n]*\n$/)
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
