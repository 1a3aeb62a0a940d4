/**
 * kill -9 of a process that writes and migrates at once: no acknowledged write is lost, a migration changes nothing but the encoding, its counters are exact, and the same command continues.
 * KILL_ROUNDS says how often; default 6.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../../src/base/clock.ts'
import { silentLog } from '../../src/base/log.ts'
import type { Backend } from '../../storage/backend.ts'
import { unfinishedJob } from '../../storage/migrate-control.ts'
import { migrate } from '../../storage/migrate.ts'
import { openSqlite } from '../../storage/sqlite.ts'
import { scanObjects } from '../../storage/verify.ts'
import { codec, noteOf, RESOURCE } from './migrate-crash-jobs.ts'
import { checkAccounts, readJobChanges } from './migration-history.ts'

const ROUNDS = Number(process.env.KILL_ROUNDS ?? 6)
const PROCESS = fileURLToPath(new URL('migrate-crash-process.ts', import.meta.url))
const directory = mkdtempSync(join(tmpdir(), 'migrate-crash-'))
after(() => rmSync(directory, { recursive: true }))
const options = { directory, clock: systemClock, log: silentLog, compactAfterMs: 1_000_000 }

interface Line {
  readonly key: string
  readonly note: string
  readonly revision: number
}

async function workAndKill(round: number): Promise<Line[]> {
  const child = spawn(process.execPath, [PROCESS, directory, `${round}`], { stdio: ['ignore', 'pipe', 'inherit'] })
  child.stdout.once('readable', () => void systemClock.sleep(30 + ((round * 211) % 700)).then(() => child.kill('SIGKILL')))
  const [output, [, signal]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  assert.equal(signal, 'SIGKILL')
  return output.split('\n').slice(0, -1).map((line) => {
    const [key, note, revision] = line.split(' ')
    return { key: key!, note: note!, revision: Number(revision) }
  })
}

/** Every acknowledged write is in the log, and the migrations have done and counted what they may. */
async function check(backend: Backend, lines: readonly Line[], first: number): Promise<void> {
  const { changes } = await readJobChanges(backend, first)
  const notes = new Map<string, string>()
  for (const { key, revision, type, hub, migration } of changes) if (migration === undefined) notes.set(`${key} ${revision}`, type === 'DELETED' ? '-' : noteOf(hub))
  for (const { key, note, revision } of lines) if (key !== 'migrated') assert.equal(notes.get(`${key} ${revision}`), note, `${key} at ${revision}`)
  await checkAccounts(backend, changes)
}

test(`kill -9 during writes and migrations, ${ROUNDS} times`, async (t) => {
  const fresh = await openSqlite(options)
  const first = await fresh.currentRevision()
  await fresh.close()
  const lines: Line[] = []
  let resumed = 0
  for (let round = 0; round < ROUNDS; round++) {
    lines.push(...(await workAndKill(round)))
    await using backend = await openSqlite(options)
    await check(backend, lines, first)
    if (await unfinishedJob(backend, RESOURCE)) resumed++
  }
  await using backend = await openSqlite(options)
  const end = await migrate({ backend, resource: RESOURCE, codec, clock: systemClock, log: silentLog, owner: 'test' })
  assert.equal(end.phase, 'Succeeded')
  const { bad, proof, complete } = await scanObjects({ backend, resource: RESOURCE, codec, now: Date.now, deep: true })
  assert.deepEqual([bad, complete, Object.keys(proof.byVersion)], [[], true, [end.target]])
  await check(backend, lines, first)
  t.diagnostic(`${lines.filter(({ key }) => key !== 'migrated').length} acknowledged writes, ${lines.filter(({ key }) => key === 'migrated').length} migrations, ${resumed} of them cut off`)
})
