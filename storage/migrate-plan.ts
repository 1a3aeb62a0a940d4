/** The beginning of a migration: its shards, its record, and the mark in the fence that it is there. */
import { prefixEnd } from './backend.ts'
import type { Backend } from './backend.ts'
import type { Clock } from '../src/base/clock.ts'
import { commitOnce } from './commit-once.ts'
import { beginJob, beginRetirement } from './fence-change.ts'
import { fenceKey, parseFence, storedVersionNames } from './fence-record.ts'
import type { LoadedFence } from './fence-record.ts'
import { addCounters, checkpointKey, encodeRecord, jobKey, jobPrefix, NO_COUNTERS, parseCheckpoint, parseJob } from './migrate-job.ts'
import type { Checkpoint, Job } from './migrate-job.ts'
import type { JobLock } from './migrate-lock.ts'
import type { Shard } from './migrate-shard.ts'
import { Refused } from './refused.ts'
import { readPages } from './scan-page.ts'

/** Shards at most: as many objects are under way at once. */
const SHARDS = 32
/** A shard is not worth it for fewer objects. */
const SHARD_KEYS = 16
/** Records of ended jobs that are kept. */
const KEPT_JOBS = 10

/** A job that was taken up, with the revision of its record. */
export interface OpenJob {
  readonly job: Job
  readonly modRevision: number
  readonly shards: Shard[]
  readonly fence: LoadedFence
}

export interface PlanOptions {
  readonly backend: Backend
  readonly resource: string
  readonly lock: JobLock
  readonly clock: Clock
  /** Objects a second at most, of a job that is planned; one that is taken up keeps its own. */
  readonly rateLimit?: number
  /** Retire this version, and migrate nothing. Absent: whatever has not ended, else a migration. */
  readonly retiring?: string
}

/** Takes up the job that has not ended, or plans one. Throws Refused when the fence changes at the same moment or is frozen. */
export async function openJob(options: PlanOptions): Promise<OpenJob> {
  const { backend, resource } = options
  const key = fenceKey(resource)
  const fence = parseFence(key, await backend.get(key))
  if (fence.mode !== 'ReadWrite') throw new Refused('Frozen', `${resource} is ${fence.mode}: nothing can be migrated now`)
  if (fence.job === undefined) return planJob(options, fence)
  return resumeJob(options, fence, fence.job)
}

async function planJob({ backend, resource, lock, clock, rateLimit, retiring }: PlanOptions, fence: LoadedFence): Promise<OpenJob> {
  const { total, bounds } = await divide(backend, `data/${resource}/`)
  const now = new Date(clock.now()).toISOString()
  const job: Job = {
    id: `${now.replaceAll(/[-:]|\.\d+/g, '').toLowerCase()}-${clock.uuid().slice(0, 8)}`,
    resource, target: fence.encodingVersion, from: storedVersionNames(fence), epoch: fence.epoch,
    phase: 'Running', shards: bounds.length, total, sweep: 1, earlier: NO_COUNTERS, attempts: 1, startedAt: now, updatedAt: now, ...(rateLimit !== undefined && { rateLimit }), ...(retiring !== undefined && { retiring }),
  }
  const checkpoints = bounds.map((bound): Checkpoint => ({ ...bound, owner: lock.compare.modRevision, done: false, counters: NO_COUNTERS }))
  const begin = retiring === undefined ? beginJob({ resource, fence }, job.id) : beginRetirement({ resource, fence }, { version: retiring, job: job.id, compactedRevision: (await backend.status()).compactedRevision })
  const result = await commitOnce(backend, {
    compare: [...begin.compare, lock.compare],
    put: [
      ...(begin.put ?? []),
      { key: jobKey(resource, job.id), value: encodeRecord(job) },
      ...checkpoints.map((checkpoint, i) => ({ key: checkpointKey(job, i), value: encodeRecord(checkpoint) })),
    ],
    delete: await oldJobs(backend, resource),
  }, fenceKey(resource))
  if (!result.succeeded) throw new Refused('Changed', `the fence of ${resource} has changed at the same moment: try again`)
  return {
    job,
    modRevision: result.revision,
    shards: checkpoints.map((checkpoint, number) => ({ number, checkpoint, modRevision: result.revision, dirty: false })),
    // Not read again: the fence may have moved on since, and this job belongs to the one that named it.
    fence: { ...fence, job: job.id, ...(retiring !== undefined && { retiring }), modRevision: result.revision },
  }
}

/** Key ranges with about as many objects each. Reads every object once, in small pages. */
async function divide(backend: Backend, prefix: string): Promise<{ total: number; bounds: { start: string; end?: string }[] }> {
  const { count: total } = await backend.range({ start: prefix, end: prefixEnd(prefix), countOnly: true })
  const size = Math.max(SHARD_KEYS, Math.ceil(total / SHARDS))
  const starts = ['']
  let seen = 0
  for await (const page of total > size ? readPages(backend, prefix) : []) {
    for (const { key } of page) if (seen++ > 0 && (seen - 1) % size === 0) starts.push(key.slice(prefix.length))
  }
  return { total, bounds: starts.map((start, i) => ({ start, ...(starts[i + 1] !== undefined && { end: starts[i + 1] as string }) })) }
}

/** Keys of all but the newest jobs; ids are in the order of time. */
async function oldJobs(backend: Backend, resource: string): Promise<string[]> {
  const prefix = jobPrefix(resource)
  const { kvs } = await backend.range({ start: prefix, end: prefixEnd(prefix) })
  const idOf = (key: string): string => key.slice(prefix.length).split('/')[0]!
  const kept = new Set([...new Set(kvs.map(({ key }) => idOf(key)))].slice(1 - KEPT_JOBS))
  return kvs.map(({ key }) => key).filter((key) => !kept.has(idOf(key)))
}

async function resumeJob({ backend, resource, lock, clock, retiring }: PlanOptions, fence: LoadedFence, id: string): Promise<OpenJob> {
  const key = jobKey(resource, id)
  const [kv, { kvs }] = await Promise.all([backend.get(key), backend.range({ start: `${key}/`, end: prefixEnd(`${key}/`) })])
  if (!kv) throw new Refused('Changed', `the record of migration ${id} of ${resource} is gone: abort it`)
  const found = parseJob(kv)
  if (retiring !== undefined && retiring !== found.retiring) throw unfinished(resource, found)
  const again = found.phase === 'Blocked' || found.phase === 'Failed'
  const saved = kvs.map(parseCheckpoint)
  const { reason: _, message: __, ...rest } = found
  const job: Job = {
    ...rest,
    phase: found.phase === 'Verifying' || found.phase === 'Trimming' ? found.phase : 'Running',
    attempts: found.attempts + 1,
    updatedAt: new Date(clock.now()).toISOString(),
    ...(again && { sweep: found.sweep + 1, earlier: addCounters(found.earlier, ...saved.map(({ counters }) => counters)) }),
  }
  const checkpoints = again ? saved.map((checkpoint) => fresh(checkpoint, lock)) : saved
  const result = await commitOnce(backend, {
    compare: [{ key, modRevision: kv.modRevision }, lock.compare, { key: fenceKey(resource), modRevision: fence.modRevision }],
    put: [{ key, value: encodeRecord(job) }, ...(again ? checkpoints.map((checkpoint, i) => ({ key: checkpointKey(job, i), value: encodeRecord(checkpoint) })) : [])],
  }, key)
  if (!result.succeeded) throw new Refused('Changed', `migration ${id} of ${resource} has changed at the same moment: try again`)
  const shards = checkpoints.map((checkpoint, number) => ({ number, checkpoint, modRevision: again ? result.revision : kvs[number]!.modRevision, dirty: false }))
  return { job, modRevision: result.revision, shards, fence }
}

function unfinished(resource: string, { id, retiring }: Job): Refused {
  const what = retiring === undefined ? `migration ${id} of ${resource}` : `the retirement of ${retiring} of ${resource} (${id})`
  return new Refused('MigrationUnfinished', `${what} has not ended: let it end with migrate, or abort it`)
}

/** The checkpoint of a new sweep over the same range. */
function fresh({ start, end }: Checkpoint, lock: JobLock): Checkpoint {
  return { start, ...(end !== undefined && { end }), owner: lock.compare.modRevision, done: false, counters: NO_COUNTERS }
}
