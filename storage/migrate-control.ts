/** Commands to a migration that another process may be running. */
import type { Backend } from './backend.ts'
import { commitOnce } from './commit-once.ts'
import { endJob } from './fence-change.ts'
import { fenceKey, parseFence } from './fence-record.ts'
import { encodeRecord, jobKey, parseJob } from './migrate-job.ts'
import type { Job } from './migrate-job.ts'
import { Refused } from './refused.ts'

/** The job of a resource that has not ended. */
export async function unfinishedJob(backend: Backend, resource: string): Promise<{ readonly job: Job; readonly modRevision: number } | undefined> {
  const { job: id } = parseFence(fenceKey(resource), await backend.get(fenceKey(resource)))
  const kv = id === undefined ? undefined : await backend.get(jobKey(resource, id))
  return kv && { job: parseJob(kv), modRevision: kv.modRevision }
}

/** Asks the process that runs the migration to pause it; it stops at its next look, within about a second. Throws Refused when there is none. */
export async function pauseMigration(backend: Backend, resource: string, now: number): Promise<Job> {
  for (;;) {
    const found = await unfinishedJob(backend, resource)
    if (!found) throw new Refused('Changed', `${resource} has no migration to pause`)
    // One that was only interrupted would be taken up by the next process that can.
    if (found.job.phase === 'Paused' && found.job.reason === 'Requested') return found.job
    const key = jobKey(resource, found.job.id)
    const { message: _, ...rest } = found.job
    const job: Job = { ...rest, phase: 'Paused', reason: 'Requested', updatedAt: new Date(now).toISOString() }
    const result = await commitOnce(backend, { compare: [{ key, modRevision: found.modRevision }], put: [{ key, value: encodeRecord(job) }], essential: true }, key)
    if (result.succeeded) return job
  }
}

/** Sets how fast a migration that has not ended may go, whoever runs it or takes it up: objects a second, 0 for no fixed limit. Nothing to do where there is none. */
export async function limitMigration(backend: Backend, resource: string, rate: number, now: number): Promise<void> {
  for (;;) {
    const found = await unfinishedJob(backend, resource)
    if (!found || (found.job.rateLimit ?? 0) === rate) return
    const key = jobKey(resource, found.job.id)
    const { rateLimit: _, ...rest } = found.job
    const job: Job = { ...rest, ...(rate > 0 && { rateLimit: rate }), updatedAt: new Date(now).toISOString() }
    const result = await commitOnce(backend, { compare: [{ key, modRevision: found.modRevision }], put: [{ key, value: encodeRecord(job) }], essential: true }, key)
    if (result.succeeded) return
  }
}

/** Ends the migration without a result: at once nothing more is written for it. Objects stay as they are, each at a version that storedVersions names. */
export async function abortMigration(backend: Backend, resource: string, now: number): Promise<Job | undefined> {
  const key = fenceKey(resource)
  for (;;) {
    const fence = parseFence(key, await backend.get(key))
    if (fence.job === undefined) throw new Refused('Changed', `${resource} has no migration to abort`)
    const recordKey = jobKey(resource, fence.job)
    const kv = await backend.get(recordKey)
    const end = endJob({ resource, fence })
    const job: Job | undefined = kv && { ...parseJob(kv), phase: 'Aborted', reason: 'Requested', updatedAt: new Date(now).toISOString() }
    const result = await commitOnce(backend, {
      compare: [...end.compare, { key: recordKey, modRevision: kv?.modRevision ?? 0 }],
      put: [...(end.put ?? []), ...(job ? [{ key: recordKey, value: encodeRecord(job) }] : [])],
      essential: true,
    }, key)
    if (result.succeeded) return job
  }
}

