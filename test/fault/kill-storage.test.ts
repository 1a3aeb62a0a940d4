/** kill -9 of a process that writes: no acknowledged write is lost, and the log is whole. KILL_ROUNDS says how often; default 10. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../../src/base/clock.ts'
import { silentLog } from '../../src/base/log.ts'
import type { Backend, WatchEvent } from '../../storage/backend.ts'
import { openReader } from '../../storage/backend.suite-fixture.ts'
import { openSqlite } from '../../storage/sqlite.ts'

const ROUNDS = Number(process.env.KILL_ROUNDS ?? 10)
const WRITER = fileURLToPath(new URL('kill-storage-writer.ts', import.meta.url))

interface Acknowledged {
  readonly key: string
  readonly value: string
  readonly revision: number
}

const directory = mkdtempSync(join(tmpdir(), 'kill-'))
after(() => rmSync(directory, { recursive: true }))

/** Runs the writer and kills it some time after its first acknowledged write; what it said was written. */
async function writeAndKill(round: number): Promise<Acknowledged[]> {
  const child = spawn(process.execPath, [WRITER, directory, `${round}`], { stdio: ['ignore', 'pipe', 'inherit'] })
  child.stdout.once('readable', () => void systemClock.sleep(20 + ((round * 37) % 180)).then(() => child.kill('SIGKILL')))
  const [output, [, signal]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  assert.equal(signal, 'SIGKILL')
  const lines = output.split('\n').slice(0, -1)
  return lines.map((line) => {
    const [key, value, revision] = line.split(' ')
    return { key: key!, value: value!, revision: Number(revision) }
  })
}

const content = (value: Uint8Array | undefined): string => Buffer.from(value ?? []).toString().trimEnd()

/** Everything acknowledged after revision `first` is in the log at its revision, and the values written since are those of the log. */
async function check(backend: Backend, first: number, acknowledged: readonly Acknowledged[]): Promise<void> {
  const events = new Map<string, WatchEvent>()
  const newest = new Map<string, WatchEvent>()
  const current = await backend.currentRevision()
  const reader = openReader(backend, { start: 'a', end: 'z', after: first })
  for (const event of await reader.until(current)) {
    const place = `${event.revision} ${event.key}`
    assert.ok(!events.has(place), `${place} comes twice`)
    events.set(place, event)
    newest.set(event.key, event)
  }
  await reader.leave()
  for (const { key, value, revision } of acknowledged) assert.equal(content(events.get(`${revision} ${key}`)?.value), value, `${key} at ${revision}`)
  const { kvs } = await backend.range({ start: 'a', end: 'z' })
  const written = kvs.filter((kv) => kv.modRevision > first)
  assert.equal(written.length, newest.size)
  for (const kv of written) {
    assert.equal(kv.modRevision, newest.get(kv.key)?.revision)
    assert.equal(content(kv.value), content(newest.get(kv.key)?.value))
  }
}

test(`kill -9 during load, ${ROUNDS} times`, async (t) => {
  const options = { directory, clock: systemClock, log: silentLog, compactAfterMs: 1_000_000 }
  const fresh = await openSqlite(options)
  const first = await fresh.currentRevision()
  await fresh.close()
  const acknowledged: Acknowledged[] = []
  for (let round = 0, before = first; round < ROUNDS; round++) {
    const written = await writeAndKill(round)
    assert.ok(written.length > 0)
    assert.ok(existsSync(join(directory, 'store.pid')), 'the killed process left its pid file')
    acknowledged.push(...written)
    const backend = await openSqlite(options)
    // What this round wrote now, and at last all of it again.
    await check(backend, before, written)
    if (round === ROUNDS - 1) await check(backend, first, acknowledged)
    before = await backend.currentRevision()
    await backend.close()
  }
  t.diagnostic(`${acknowledged.length} acknowledged writes`)
})
