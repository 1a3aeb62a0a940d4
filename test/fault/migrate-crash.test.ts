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
import type { Backend, WatchEvent } from '../../storage/backend.ts'
import { prefixEnd } from '../../storage/backend.ts'
import { openReader } from '../../storage/backend.suite-fixture.ts'
import { openEnvelope } from '../../storage/envelope.ts'
import { fenceKey, parseFence, storedVersionNames } from '../../storage/fence-record.ts'
import { accountOf, addCounters, jobKey, parseCheckpoint, parseJob } from '../../storage/migrate-job.ts'
import { unfinishedJob } from '../../storage/migrate-control.ts'
import { migrate } from '../../storage/migrate.ts'
import { openSqlite } from '../../storage/sqlite.ts'
import { scanObjects } from '../../storage/verify.ts'
import { codec, noteOf, PREFIX, RESOURCE } from './migrate-crash-jobs.ts'

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

/** What the log says after a revision: the notes that writers wrote, and how many objects each migration rewrote. */
interface History {
  readonly notes: ReadonlyMap<string, string>
  readonly rewrites: ReadonlyMap<string, number>
}

async function readHistory(backend: Backend, first: number): Promise<History> {
  const reader = openReader(backend, { start: 'data/', end: prefixEnd('meta/'), after: first })
  const byRevision = Map.groupBy(await reader.until(await backend.currentRevision()), ({ revision }) => revision)
  await reader.leave()
  const notes = new Map<string, string>()
  const rewrites = new Map<string, number>()
  for (const events of byRevision.values()) {
    const objects = events.filter(({ key }) => key.startsWith(PREFIX))
    assert.ok(objects.length <= 1, 'two objects in one transaction')
    const [object] = objects
    if (!object) continue
    const checkpoint = events.find(({ key }) => key.startsWith(`meta/jobs/${RESOURCE}/`))
    if (checkpoint) countRewrite(object, checkpoint, rewrites)
    else notes.set(`${object.key.slice(PREFIX.length)} ${object.revision}`, object.value ? noteOf(object.value) : '-')
  }
  return { notes, rewrites }
}

/** A migration changed the encoding and nothing else. */
function countRewrite(object: WatchEvent, checkpoint: WatchEvent, rewrites: Map<string, number>): void {
  const [before, made] = [object.previous?.value, object.value]
  assert.ok(before && made, 'a migration made or deleted an object')
  assert.equal(codec.canonical(codec.decode(made)), codec.canonical(codec.decode(before)))
  assert.notEqual(openEnvelope(made).version, openEnvelope(before).version)
  const id = checkpoint.key.split('/')[3]!
  rewrites.set(id, (rewrites.get(id) ?? 0) + 1)
}

async function check(backend: Backend, lines: readonly Line[], history: History): Promise<void> {
  for (const { key, note, revision } of lines) if (key !== 'migrated') assert.equal(history.notes.get(`${key} ${revision}`), note, `${key} at ${revision}`)
  const { kvs } = await backend.range({ start: PREFIX, end: prefixEnd(PREFIX) })
  const stored = storedVersionNames(parseFence(fenceKey(RESOURCE), await backend.get(fenceKey(RESOURCE))))
  for (const { key, value } of kvs) assert.ok(stored.includes(openEnvelope(value).version), `${key} is at ${openEnvelope(value).version}, storedVersions are ${stored}`)
  await checkCounters(backend, history)
}

async function checkCounters(backend: Backend, { rewrites }: History): Promise<void> {
  const prefix = `meta/jobs/${RESOURCE}/`
  const { kvs } = await backend.range({ start: prefix, end: prefixEnd(prefix) })
  for (const kv of kvs.filter(({ key }) => !key.slice(prefix.length).includes('/'))) {
    const job = parseJob(kv)
    const last = addCounters(...kvs.filter(({ key }) => key.startsWith(`${jobKey(RESOURCE, job.id)}/`)).map((checkpoint) => parseCheckpoint(checkpoint).counters))
    assert.equal(accountOf(job, last).rewritten, rewrites.get(job.id) ?? 0, `counters of ${job.id}`)
    if (job.result) assert.equal(job.result.rewritten, rewrites.get(job.id) ?? 0, `result of ${job.id}`)
  }
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
    await check(backend, lines, await readHistory(backend, first))
    if (await unfinishedJob(backend, RESOURCE)) resumed++
  }
  await using backend = await openSqlite(options)
  const end = await migrate({ backend, resource: RESOURCE, codec, clock: systemClock, log: silentLog, owner: 'test' })
  assert.equal(end.phase, 'Succeeded')
  const { bad, proof, complete } = await scanObjects({ backend, resource: RESOURCE, codec, now: Date.now, deep: true })
  assert.deepEqual([bad, complete, Object.keys(proof.byVersion)], [[], true, [end.target]])
  await check(backend, lines, await readHistory(backend, first))
  t.diagnostic(`${lines.filter(({ key }) => key !== 'migrated').length} acknowledged writes, ${lines.filter(({ key }) => key === 'migrated').length} migrations, ${resumed} of them cut off`)
})
