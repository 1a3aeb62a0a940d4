/** A disk that is full, on a small file system of its own. Needs root for the mount. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '../../src/base/clock.ts'
import { silentLog } from '../../src/base/log.ts'
import { OutOfSpace } from '../../storage/backend.ts'
import { openReader, put } from '../../storage/backend.suite-fixture.ts'
import { DirectoryUnusable, openSqlite } from '../../storage/sqlite.ts'

/** Why there is no small file system here; undefined when there is one. */
function mount(directory: string): string | undefined {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', directory], { stdio: 'pipe' })
    return undefined
  } catch (err) {
    return `cannot mount a tmpfs: ${err instanceof Error ? err.message.trim() : String(err)}`
  }
}

test('a full disk refuses writes, loses nothing, and is no obstacle once there is room', async (t) => {
  const disk = mkdtempSync(join(tmpdir(), 'full-'))
  const reason = mount(disk)
  if (reason !== undefined) {
    rmSync(disk, { recursive: true })
    return t.skip(reason)
  }
  try {
    const ballast = join(disk, 'ballast')
    writeFileSync(ballast, new Uint8Array(2_000_000))
    const options = { directory: join(disk, 'data'), clock: systemClock, log: silentLog }
    let backend = await openSqlite(options)
    const first = await backend.currentRevision()
    const results = await Promise.allSettled(Array.from({ length: 100 }, (_, i) => put(backend, `key/${i}`, new Uint8Array(50_000).fill(i))))
    const written = results.flatMap((result, i) => (result.status === 'fulfilled' ? [{ key: `key/${i}`, revision: result.value }] : []))
    const refused = results.filter((result) => result.status === 'rejected')
    assert.ok(written.length > 0 && refused.length > 0)
    for (const { reason } of refused) assert.ok(reason instanceof OutOfSpace, String(reason))

    const check = async (): Promise<void> => {
      const { kvs } = await backend.range({ start: 'key/', end: 'key0' })
      assert.deepEqual(new Map(kvs.map((kv) => [kv.key, kv.modRevision])), new Map(written.map(({ key, revision }) => [key, revision])))
      const events = await openReader(backend, { start: 'key/', end: 'key0', after: first }).until(await backend.currentRevision())
      assert.equal(events.length, written.length)
    }
    await check()
    await assert.rejects(put(backend, 'key/more', new Uint8Array(1_500_000)), OutOfSpace)
    rmSync(ballast)
    written.push({ key: 'key/more', revision: await put(backend, 'key/more', new Uint8Array(200_000)) })
    await check()
    await backend.close()
    backend = await openSqlite(options)
    await check()
    await backend.close()

    assert.throws(() => writeFileSync(join(disk, 'rest'), new Uint8Array(4_000_000)), { code: 'ENOSPC' })
    await assert.rejects(openSqlite({ ...options, directory: join(disk, 'new') }), (err) => err instanceof DirectoryUnusable && /full|ENOSPC/.test(err.message))
  } finally {
    execFileSync('umount', ['-l', disk])
    rmSync(disk, { recursive: true })
  }
})
