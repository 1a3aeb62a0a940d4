import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { silentLog } from '../src/base/log.ts'
import { openManualClock } from '../test/model/manual-clock.ts'
import { Compacted, OutOfSpace, Unavailable } from './backend.ts'
import type { Backend } from './backend.ts'
import { openReader, put } from './backend.suite-fixture.ts'
import { DirectoryUnusable, openSqlite, StoreLocked } from './sqlite.ts'

const root = mkdtempSync(join(tmpdir(), 'store-'))
after(() => rmSync(root, { recursive: true }))

let directories = 0
const newDirectory = (): string => join(root, 'deep', `${++directories}`)
const open = (directory: string, clock = openManualClock()): Promise<Backend> => openSqlite({ directory, clock, log: silentLog })
const mode = (...path: string[]): string => (statSync(join(...path)).mode & 0o777).toString(8)

test('files are for the owner only, and the owner is named while the store is open', async () => {
  const directory = newDirectory()
  await using backend = await open(directory)
  await put(backend, 'a', '1')
  assert.equal(mode(directory), '700')
  assert.deepEqual(readdirSync(directory).map((name) => `${name} ${mode(directory, name)}`), ['store.db 600', 'store.db-wal 600', 'store.pid 600', 'store.reserve 600'])
  assert.equal(readFileSync(join(directory, 'store.pid'), 'utf8'), `${process.pid}\n`)
  await backend.close()
  assert.deepEqual(readdirSync(directory), ['store.db', 'store.reserve'])
})

test('a second opening is refused with the owner and the directory, in this process and in another', async () => {
  const directory = newDirectory()
  const message = `data directory ${directory} is in use by process ${process.pid}: stop it first, or choose another directory`
  await using backend = await open(directory)
  await assert.rejects(open(directory), (err) => err instanceof StoreLocked && err.pid === process.pid && err.message === message)

  const code = `import { openSqlite } from ${JSON.stringify(import.meta.resolve('./sqlite.ts'))}
    import { systemClock } from ${JSON.stringify(import.meta.resolve('../src/base/clock.ts'))}
    import { silentLog } from ${JSON.stringify(import.meta.resolve('../src/base/log.ts'))}
    await openSqlite({ directory: ${JSON.stringify(directory)}, clock: systemClock, log: silentLog }).catch((err) => console.log(err.name, err.pid, err.message))`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', code])
  assert.equal(stdout, `StoreLocked ${process.pid} ${message}\n`)
  await put(backend, 'a', '1')
})

test('a stale pid file is no obstacle', async () => {
  const directory = newDirectory()
  await (await open(directory)).close()
  writeFileSync(join(directory, 'store.pid'), '1\n')
  await using backend = await open(directory)
  assert.equal((await backend.status()).engine, 'sqlite')
  assert.equal(readFileSync(join(directory, 'store.pid'), 'utf8'), `${process.pid}\n`)
})

test('a directory made anew starts above the one before', async () => {
  const directory = newDirectory()
  const clock = openManualClock()
  await using first = await open(directory, clock)
  for (let i = 0; i < 50; i++) await put(first, 'a', `${i}`)
  const revision = await first.currentRevision()
  await first.close()
  rmSync(directory, { recursive: true })
  await clock.advance(1)
  await using second = await open(directory, clock)
  assert.ok((await second.currentRevision()) > revision)
  assert.ok(Number.isSafeInteger(await second.currentRevision()))
})

test('what cannot be used is named, with the reason', async () => {
  const file = join(root, 'file')
  writeFileSync(file, '')
  await assert.rejects(open(join(file, 'x')), (err) => {
    assert.ok(err instanceof DirectoryUnusable)
    assert.match(err.message, /^data directory .*\/file\/x cannot be used: ENOTDIR/)
    return true
  })
  const refused = async (directory: string, reason: RegExp): Promise<void> => {
    await assert.rejects(open(directory), (err) => err instanceof DirectoryUnusable && err.directory === directory && reason.test(err.message))
  }
  const garbage = newDirectory()
  await (await open(garbage)).close()
  writeFileSync(join(garbage, 'store.db'), 'x'.repeat(10_000))
  await refused(garbage, /file is not a database/)

  const newer = newDirectory()
  await (await open(newer)).close()
  execute(newer, 'PRAGMA user_version = 2')
  await refused(newer, /it has layout 2, this program reads 1$/)

  const foreign = newDirectory()
  await (await open(foreign)).close()
  execute(foreign, 'PRAGMA application_id = 5')
  await refused(foreign, /belongs to another program$/)
})

test('history older than asked for goes by itself, and the write-ahead log is emptied when nothing happens', async () => {
  const directory = newDirectory()
  const clock = openManualClock()
  await using backend = await open(directory, clock)
  for (let i = 0; i < 100; i++) await put(backend, 'a', `${i}`)
  const before = await backend.currentRevision()
  const settle = async (ms: number): Promise<void> => {
    await clock.advance(ms)
    await backend.status()
  }
  for (let i = 0; i < 9; i++) await settle(30_000)
  const last = await put(backend, 'a', 'last')
  assert.notEqual((await backend.status()).compactedRevision, before)
  for (let i = 0; i < 4; i++) await settle(30_000)
  assert.equal((await backend.status()).compactedRevision, before)
  await assert.rejects(openReader(backend, { start: 'a', end: 'b', after: before - 50 }).next(), Compacted)
  assert.deepEqual((await openReader(backend, { start: 'a', end: 'b', after: before }).until(last)).length, 1)

  for (let i = 0; i < 12; i++) await settle(30_000)
  assert.equal(statSync(join(directory, 'store.db-wal')).size, 0)
  await backend.close()
  // The value, and the one that it replaced at the very revision of the compaction.
  assert.deepEqual(execute(directory, 'SELECT count(*) AS rows FROM log'), { rows: 2 })
})

test('a damaged database stops the store, it does not answer wrongly', async () => {
  const directory = newDirectory()
  await using backend = await open(directory)
  for (let i = 0; i < 40; i++) await put(backend, `a${i}`, new Uint8Array(200_000))
  const reader = openReader(backend, { start: 'a', end: 'b', after: await backend.currentRevision() })
  await reader.next()
  const waiting = assert.rejects(reader.next(), Unavailable)
  truncateSync(join(directory, 'store.db'), 8192)
  truncateSync(join(directory, 'store.db-wal'), 0)
  await assert.rejects(backend.range({ start: 'a', end: 'b' }), Unavailable)
  await waiting
  await assert.rejects(put(backend, 'a', '1'), (err) => err instanceof Unavailable && !(err instanceof OutOfSpace))
  await backend.close()
})

function execute(directory: string, sql: string): unknown {
  const database = new DatabaseSync(join(directory, 'store.db'))
  try {
    return { ...database.prepare(sql).get() }
  } finally {
    database.close()
  }
}
