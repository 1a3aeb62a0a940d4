/** A migration as it is recorded: the job at `meta/jobs/<resource>/<id>`, the checkpoint of each of its shards at `…/<id>/<number>`. */
import type { KeyValue } from './backend.ts'
import type { Proof } from './fence-change.ts'

/**
 * Planned, Running ⇄ Paused, Verifying, Trimming, Succeeded. Blocked: an operator must repair objects. Aborted: ended without a result.
 * Failed: the proof found what should not be there. A job that is Paused, Blocked or Failed, or whose process has died, goes on with the same command.
 */
export type Phase = 'Planned' | 'Running' | 'Paused' | 'Verifying' | 'Trimming' | 'Succeeded' | 'Blocked' | 'Aborted' | 'Failed'

/** What became of the objects. `seen` is the sum of rewritten, current, vanished and quarantined. */
export interface Counters {
  readonly seen: number
  readonly rewritten: number
  /** Already as they should be. */
  readonly current: number
  /** Deleted while they were at hand. */
  readonly vanished: number
  readonly quarantined: number
  /** Writes that somebody else was faster than; each was done again. */
  readonly conflicts: number
  /** Bytes of the rewritten objects before and after. */
  readonly bytesIn: number
  readonly bytesOut: number
}

export interface Job {
  readonly id: string
  readonly resource: string
  /** storedVersions when it began. */
  readonly from: readonly string[]
  readonly target: string
  /** The version that it retires: it rewrites the objects that name it, and no others. Absent: it migrates. */
  readonly retiring?: string
  /** Of the fence; another one ends the job. */
  readonly epoch: number
  readonly phase: Phase
  /** Why it is in a phase where it does not go on; and in more words, where there are any. */
  readonly reason?: string
  readonly message?: string
  /** Objects a second at most, for whoever runs it; absent: as fast as others notice nothing. */
  readonly rateLimit?: number
  readonly shards: number
  /** Objects when it began. */
  readonly total: number
  /** Passes over all objects, of which the last one is in the checkpoints. */
  readonly sweep: number
  /** Of the passes before the last one. */
  readonly earlier: Counters
  /** Times that a process took it up. */
  readonly attempts: number
  readonly startedAt: string
  readonly updatedAt: string
  /** At the end: what it did, and on what proof it ended. */
  readonly result?: Counters
  readonly proof?: Proof
}

/** How far a shard has come. */
export interface Checkpoint {
  /** Revision of the lock of whoever wrote it, so that two owners' checkpoints are never the same bytes. */
  readonly owner: number
  /** First key and exclusive end, relative to the prefix; an absent end: that of the prefix. */
  readonly start: string
  readonly end?: string
  /** The last key that was dealt with. */
  readonly cursor?: string
  readonly done: boolean
  readonly counters: Counters
}

/** No object. */
export const NO_COUNTERS: Counters = Object.freeze({ seen: 0, rewritten: 0, current: 0, vanished: 0, quarantined: 0, conflicts: 0, bytesIn: 0, bytesOut: 0 })

/** The sum of counters. */
export function addCounters(...all: readonly Partial<Counters>[]): Counters {
  const sum: Record<string, number> = { ...NO_COUNTERS }
  for (const counters of all) for (const [name, value] of Object.entries(counters)) sum[name] = (sum[name] ?? 0) + value
  return sum as unknown as Counters
}

/**
 * The account of all sweeps: rewritten and conflicts are of all of them, the rest of the last. (What an earlier sweep rewrote is current in the next.)
 */
export function accountOf(job: Pick<Job, 'earlier'>, last: Counters): Counters {
  const { earlier } = job
  return {
    ...last,
    rewritten: earlier.rewritten + last.rewritten,
    current: Math.max(0, last.current - earlier.rewritten),
    conflicts: earlier.conflicts + last.conflicts,
    bytesIn: earlier.bytesIn + last.bytesIn,
    bytesOut: earlier.bytesOut + last.bytesOut,
  }
}

export const jobPrefix = (resource: string): string => `meta/jobs/${resource}/`
export const jobKey = (resource: string, id: string): string => jobPrefix(resource) + id
export const checkpointKey = (job: Pick<Job, 'resource' | 'id'>, shard: number): string => `${jobKey(job.resource, job.id)}/${String(shard).padStart(3, '0')}`
export const lockKey = (resource: string): string => `meta/joblock/${resource}`

/** JSON bytes of a record. */
export function encodeRecord(record: Job | Checkpoint): Uint8Array {
  return Buffer.from(JSON.stringify(record))
}

export function parseJob(kv: KeyValue): Job {
  return JSON.parse(Buffer.from(kv.value).toString()) as Job
}

export function parseCheckpoint(kv: KeyValue): Checkpoint {
  return JSON.parse(Buffer.from(kv.value).toString()) as Checkpoint
}
