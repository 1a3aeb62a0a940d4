/** What the revision log says of jobs and of their migrations, held against what a migration may do. */
import assert from 'node:assert/strict'
import type { KubeObject } from '../../src/api/object.ts'
import { prefixEnd } from '../../storage/backend.ts'
import type { Backend, WatchEvent } from '../../storage/backend.ts'
import { openReader } from '../../storage/backend.suite-fixture.ts'
import { openEnvelope } from '../../storage/envelope.ts'
import { fenceKey, parseFence, storedVersionNames } from '../../storage/fence-record.ts'
import { accountOf, addCounters, jobKey, jobPrefix, parseCheckpoint, parseJob } from '../../storage/migrate-job.ts'
import { codec, PREFIX, RESOURCE } from './migrate-crash-jobs.ts'

/** One change of a job. */
export interface JobChange {
  /** namespace/name */
  readonly key: string
  readonly revision: number
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  /** In hub form; of a deletion, what it was before. */
  readonly hub: KubeObject
  /** The migration that wrote it; absent: a client did. */
  readonly migration?: string
}

/** All changes of jobs after a revision, up to the present one. Asserts that a migration changed encodings and nothing else. */
export async function readJobChanges(backend: Backend, after: number): Promise<{ readonly changes: readonly JobChange[]; readonly revision: number }> {
  const revision = await backend.currentRevision()
  const reader = openReader(backend, { start: 'data/', end: prefixEnd('meta/'), after })
  const byRevision = Map.groupBy(await reader.until(revision), (event) => event.revision)
  await reader.leave()
  const changes: JobChange[] = []
  for (const events of byRevision.values()) {
    const [object, more] = events.filter(({ key }) => key.startsWith(PREFIX))
    assert.equal(more, undefined, 'two objects in one transaction')
    if (!object || object.revision > revision) continue
    const checkpoint = events.find(({ key }) => key.startsWith(jobPrefix(RESOURCE)))
    if (checkpoint) checkRewrite(object)
    changes.push({ ...toChange(object), ...(checkpoint && { migration: checkpoint.key.split('/')[3]! }) })
  }
  return { changes, revision }
}

function toChange({ key, revision, value, previous }: WatchEvent): JobChange {
  const bytes = value ?? previous?.value
  assert.ok(bytes, 'a deletion of nothing')
  return { key: key.slice(PREFIX.length), revision, type: value ? (previous ? 'MODIFIED' : 'ADDED') : 'DELETED', hub: codec.decode(bytes) }
}

function checkRewrite({ value: made, previous }: WatchEvent): void {
  const before = previous?.value
  assert.ok(before && made, 'a migration made or deleted an object')
  assert.equal(codec.canonical(codec.decode(made)), codec.canonical(codec.decode(before)))
  assert.notEqual(openEnvelope(made).version, openEnvelope(before).version)
}

/** Asserts that no object is at a version that storedVersions do not have, and that each migration has counted what the log says that it rewrote. */
export async function checkAccounts(backend: Backend, changes: readonly JobChange[]): Promise<void> {
  const { kvs } = await backend.range({ start: PREFIX, end: prefixEnd(PREFIX) })
  const stored = storedVersionNames(parseFence(fenceKey(RESOURCE), await backend.get(fenceKey(RESOURCE))))
  for (const { key, value } of kvs) assert.ok(stored.includes(openEnvelope(value).version), `${key} is at ${openEnvelope(value).version}, storedVersions are ${stored}`)
  const prefix = jobPrefix(RESOURCE)
  const jobs = (await backend.range({ start: prefix, end: prefixEnd(prefix) })).kvs
  for (const kv of jobs.filter(({ key }) => !key.slice(prefix.length).includes('/'))) {
    const job = parseJob(kv)
    const rewritten = changes.filter(({ migration }) => migration === job.id).length
    const last = addCounters(...jobs.filter(({ key }) => key.startsWith(`${jobKey(RESOURCE, job.id)}/`)).map((checkpoint) => parseCheckpoint(checkpoint).counters))
    assert.equal(accountOf(job, last).rewritten, rewritten, `counters of ${job.id}`)
    if (job.result) assert.equal(job.result.rewritten, rewritten, `result of ${job.id}`)
  }
}
