/**
 * Works on the store in the directory of the first argument until it is killed: eight writers create, update and delete jobs through all versions, and a migration to one version after
 * another runs, is continued, proves and trims. Each write that was acknowledged is a line: the key, its note ("-": deleted) and the revision; each end of a migration too.
 */
import { writeSync } from 'node:fs'
import { systemClock } from '../../src/base/clock.ts'
import { openLog } from '../../src/base/log.ts'
import type { Backend } from '../../storage/backend.ts'
import { commitFenced } from '../../storage/fence.ts'
import type { Fence } from '../../storage/fence.ts'
import { unfinishedJob } from '../../storage/migrate-control.ts'
import { migrate } from '../../storage/migrate.ts'
import { changeEncoding } from '../../storage/set-version.ts'
import { openSqlite } from '../../storage/sqlite.ts'
import { startResource, startStore } from '../../storage/start.ts'
import { codec, jobWith, PREFIX, RESOURCE, VERSIONS } from './migrate-crash-jobs.ts'

const [, , directory, round] = process.argv
const log = openLog('error')
const program = { name: 'crash test', replica: `round-${round}`, clock: systemClock, log }
const backend = await openSqlite({ directory: directory!, clock: systemClock, log, compactAfterMs: 1_000_000 })
await startStore(backend, program)
const { fence } = await startResource({
  backend, resource: RESOURCE, program, encodingVersion: 'v1alpha1', decodable: VERSIONS, encodable: VERSIONS, served: VERSIONS,
  schemaDigest: () => undefined, schemas: 'FromFile', exclusive: true,
})

// At once, past all buffers of this process. A full pipe takes nothing: the lines are shorter than what it takes whole.
async function say(line: string): Promise<void> {
  for (;;) {
    try {
      writeSync(1, `${line}\n`)
      return
    } catch (err) {
      if (!(err instanceof Error && 'code' in err && err.code === 'EAGAIN')) throw err
      await systemClock.sleep(1)
    }
  }
}

async function write(writer: number): Promise<never> {
  for (let i = 0; ; i++) {
    const key = `default/writer-${writer}-${i % 20}`
    const remove = i % 7 === 6
    const note = remove ? '-' : `${round}.${writer}.${i}`
    const revision = await commit(backend, fence, key, remove ? undefined : note, i)
    if (revision !== undefined) await say(`${key} ${note} ${revision}`)
    if (i % 4 === 0) await systemClock.sleep(2)
  }
}

/** Writes on what is there, as a server does, and again when it lost. Undefined: there is nothing to delete. */
async function commit(store: Backend, current: Fence, key: string, note: string | undefined, i: number): Promise<number | undefined> {
  for (;;) {
    const live = await store.get(PREFIX + key)
    if (!live && note === undefined) return undefined
    const compare = [{ key: PREFIX + key, modRevision: live?.modRevision ?? 0 }]
    const hub = note === undefined ? undefined : jobWith(key, note, VERSIONS[i % 3]!)
    const change = hub ? { put: [{ key: PREFIX + key, value: codec.encode(hub, current.current().encodingVersion) }] } : { delete: [PREFIX + key] }
    const result = await commitFenced(store, current, { compare, ...change })
    if (result.kind === 'committed') return result.revision
  }
}

async function migrateForEver(): Promise<never> {
  for (;;) {
    if (!(await unfinishedJob(backend, RESOURCE))) {
      const version = VERSIONS[(VERSIONS.indexOf(fence.current().encodingVersion) + 1) % 3]!
      await changeEncoding({ backend, resource: RESOURCE, version, order: VERSIONS, clock: systemClock, reason: 'crash test', acceptRollback: true })
    }
    const { phase, reason, result } = await migrate({ backend, resource: RESOURCE, codec, clock: systemClock, log, owner: program.replica, limits: { inFlightBusy: 4 } })
    if (phase !== 'Succeeded') throw new Error(`the migration ended ${phase}: ${reason}`)
    await say(`migrated ${result?.rewritten} 0`)
    await fence.refresh()
  }
}

await Promise.all([migrateForEver(), ...Array.from({ length: 8 }, (_, writer) => write(writer))])
