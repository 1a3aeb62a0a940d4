/** The last migration of a resource, as its records tell it: any process can read it, whoever runs it. */
import { prefixEnd, type Backend } from '../../storage/backend.ts'
import { accountOf, addCounters, jobPrefix, lockKey, parseCheckpoint, parseJob, type Job } from '../../storage/migrate-job.ts'
import type { Progress } from '../../storage/migrate-progress.ts'
import type { Migration } from './storage-admin.ts'

/** Reads it; undefined when there was none. */
export async function readMigration(backend: Backend, resource: string): Promise<Migration | undefined> {
  const prefix = jobPrefix(resource)
  const [{ kvs }, lock] = await Promise.all([backend.range({ start: prefix, end: prefixEnd(prefix) }), backend.get(lockKey(resource))])
  // Ids are in the order of time, and a job's checkpoints come after it.
  const found = kvs.findLast(({ key }) => !key.slice(prefix.length).includes('/'))
  if (!found) return undefined
  const job = parseJob(found)
  const last = addCounters(...kvs.filter(({ key }) => key.startsWith(`${found.key}/`)).map((kv) => parseCheckpoint(kv).counters))
  const owner = lock && (JSON.parse(Buffer.from(lock.value).toString()) as { readonly owner: string }).owner
  return { ...recordOf(job), done: last.seen, counters: job.result ?? accountOf(job, last), ...(owner !== undefined && { owner }) }
}

function recordOf({ id, resource, from, target, retiring, phase, reason, message, rateLimit, total, sweep, attempts, startedAt, updatedAt, proof }: Job) {
  return { id, resource, from, target, ...(retiring !== undefined && { retiring }), phase, total, sweep, attempts, startedAt, updatedAt, ...(reason !== undefined && { reason }), ...(message !== undefined && { message }), ...(rateLimit !== undefined && { rateLimit }), ...(proof && { proof }) }
}

/** The same with what only the process that runs it knows. */
export function withProgress(migration: Migration, running: { readonly progress: Progress | undefined; readonly advancedAt: number } | undefined): Migration {
  const progress = running?.progress
  if (!running || progress?.id !== migration.id) return migration
  const { done, counters, rate, etaSeconds, limitedBy, waitedMs } = progress
  // The record is written at the same moment or later than what was shown last; an ended job's is final.
  const advancedAt = new Date(running.advancedAt).toISOString()
  const live = migration.owner === undefined ? {} : { done, counters, rate, advancedAt, ...(etaSeconds !== undefined && { etaSeconds }), ...(limitedBy !== undefined && { limitedBy }) }
  return { ...migration, ...live, waitedMs }
}

/** Whether it has ended, so that the next one is another job. */
export function hasEnded({ phase }: Pick<Migration, 'phase'>): boolean {
  return phase === 'Succeeded' || phase === 'Aborted'
}

/** Whether it waits for nobody, and is to be continued by whatever process can. */
export function isLeftAlone({ phase, reason, owner }: Migration): boolean {
  const unfinished = phase === 'Running' || phase === 'Verifying' || phase === 'Trimming' || (phase === 'Paused' && reason === 'Interrupted')
  return unfinished && owner === undefined
}
