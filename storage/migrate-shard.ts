/**
 * The work on one shard: objects in key order, each rewritten in a transaction of its own together with the shard's checkpoint, on the condition that the object,
 * the fence, the owner's lock and the checkpoint are what they were. So the counters are exact wherever a process dies, and an owner that was away can write nothing.
 */
import { OutOfSpace, prefixEnd } from './backend.ts'
import type { Backend, CommitRequest, CommitResult, KeyValue } from './backend.ts'
import { commitOnce } from './commit-once.ts'
import { peekVersion } from './envelope.ts'
import { quarantinePrefix } from './fence-change.ts'
import { fenceKey, parseFence } from './fence-record.ts'
import type { LoadedFence } from './fence-record.ts'
import type { Ahead } from './migrate-ahead.ts'
import { addCounters, checkpointKey, encodeRecord } from './migrate-job.ts'
import type { Checkpoint, Counters, Job } from './migrate-job.ts'
import type { JobLock } from './migrate-lock.ts'
import type { Throttle } from './migrate-throttle.ts'
import type { UndecodableClass } from './object-codec.ts'
import { quarantineEntry, quarantinePut } from './quarantine.ts'
import { nextPageLimit } from './scan-page.ts'

/** Small, because the writes of others wait while a page is read. */
const PAGE_BYTES = 64 * 1024

/** Why a migration does not go on now. */
export type Halt =
  | { readonly phase: 'Paused' | 'Aborted'; readonly reason: string; readonly message?: string }
  /** Somebody else has taken the job over: nothing more is written, not even that. */
  | { readonly phase: 'Lost' }

/** What the shards of a running migration share. */
export interface Run {
  readonly backend: Backend
  readonly resource: string
  readonly ahead: Ahead
  readonly job: Job
  readonly lock: JobLock
  readonly throttle: Throttle
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** Relative keys that have a quarantine record, with the revision of the value that is bad. */
  readonly quarantined: Map<string, number>
  fence: LoadedFence
  /** The store has refused a write for lack of room since the last look at it. */
  refused: boolean
  /** Set once: the shards stop at their next object. */
  halt: Halt | undefined
}

/** A shard at work. */
export interface Shard {
  readonly number: number
  checkpoint: Checkpoint
  modRevision: number
  /** The checkpoint has counts that are not in the store yet. */
  dirty: boolean
}

/** Works until the shard is done or the run halts. Rejects as the backend does; what was committed stays. */
export async function runShard(run: Run, shard: Shard): Promise<void> {
  const { backend, resource } = run
  const prefix = `data/${resource}/`
  const end = shard.checkpoint.end === undefined ? prefixEnd(prefix) : prefix + shard.checkpoint.end
  let limit = nextPageLimit(undefined)
  while (!shard.checkpoint.done && !run.halt) {
    const { cursor, start } = shard.checkpoint
    const page = await backend.range({ start: prefix + (cursor === undefined ? start : `${cursor}\0`), end, limit, uncounted: true })
    for (const [i, kv] of page.kvs.entries()) {
      if (run.halt) return
      const next = page.kvs[i + 1]
      if (next && !isCurrent(run, next)) run.ahead.prepare(next)
      await migrateObject(run, shard, kv.key.slice(prefix.length), kv)
    }
    if (run.halt) return
    if (!page.more) shard.checkpoint = { ...shard.checkpoint, done: true }
    if (!page.more || shard.dirty) await saveCheckpoint(run, shard)
    limit = nextPageLimit(page.kvs, PAGE_BYTES)
  }
}

async function migrateObject(run: Run, shard: Shard, key: string, first: KeyValue): Promise<void> {
  let conflicts = 0
  for (let kv: KeyValue | undefined = first; !run.halt; ) {
    if (!kv) return note(shard, key, { vanished: 1, conflicts })
    const step = plan(run, key, kv)
    if (!step) return note(shard, key, { ...leftAlone(run, key, kv), conflicts })
    const checkpoint = advance(run, shard, key, { ...step.counted, conflicts })
    const result = await commitStep(run, shard, checkpoint, { compare: [{ key: kv.key, modRevision: kv.modRevision }], ...step.write })
    if (!result) return
    if (result.succeeded) {
      if (step.quarantined) run.quarantined.set(key, kv.modRevision)
      else run.quarantined.delete(key)
      return
    }
    const live: KeyValue | undefined = result.current.get(kv.key)
    if (live?.modRevision !== kv.modRevision) conflicts++
    kv = live
  }
}

interface Step {
  readonly write: Pick<CommitRequest, 'put' | 'delete'>
  readonly counted: Partial<Counters>
  readonly quarantined?: true
}

/** What to write for an object; undefined: nothing. */
function plan(run: Run, key: string, kv: KeyValue): Step | undefined {
  if (isCurrent(run, kv)) return undefined
  const made = run.ahead.take(kv)
  if ('problem' in made) return isKnownBad(run, key, kv) ? undefined : toQuarantine(run, key, kv, made.problem, made.message)
  const record = run.quarantined.has(key) ? { delete: [quarantinePrefix(run.resource) + key] } : {}
  if (made.value === kv.value) return record.delete ? { write: record, counted: { current: 1 } } : undefined
  return { write: { put: [{ key: kv.key, value: made.value }], ...record }, counted: { rewritten: 1, bytesIn: kv.value.length, bytesOut: made.value.length } }
}

function toQuarantine(run: Run, key: string, kv: KeyValue, problem: UndecodableClass, message: string): Step {
  const entry = quarantineEntry(key, kv, problem, message, run.now())
  return { write: { put: [quarantinePut(run.resource, entry)] }, counted: { quarantined: 1 }, quarantined: true }
}

function isKnownBad(run: Run, key: string, kv: KeyValue): boolean {
  return run.quarantined.get(key) === kv.modRevision
}

/** Written under this fence at the target: by the fence's compare it needs no look inside. (What an object names is not in its header, and a program may know no retirements.) */
function isCurrent({ fence, job, quarantined }: Run, kv: KeyValue): boolean {
  return job.retiring === undefined && kv.modRevision > fence.modRevision && quarantined.size === 0 && versionOf(kv.value) === job.target
}

function versionOf(value: Uint8Array): string | undefined {
  try {
    return peekVersion(value)
  } catch {
    return undefined
  }
}

function leftAlone(run: Run, key: string, kv: KeyValue): Partial<Counters> {
  return isKnownBad(run, key, kv) ? { quarantined: 1 } : { current: 1 }
}

function note(shard: Shard, key: string, counted: Partial<Counters>): void {
  shard.checkpoint = { ...shard.checkpoint, cursor: key, counters: addCounters(shard.checkpoint.counters, { ...counted, seen: 1 }) }
  shard.dirty = true
}

function advance(run: Run, { checkpoint }: Shard, key: string, counted: Partial<Counters>): Checkpoint {
  return { ...checkpoint, owner: run.lock.compare.modRevision, cursor: key, counters: addCounters(checkpoint.counters, { ...counted, seen: 1 }) }
}

/** Saves counts that no object's transaction carried. */
export async function saveCheckpoint(run: Run, shard: Shard): Promise<void> {
  while (!run.halt) {
    const checkpoint = { ...shard.checkpoint, owner: run.lock.compare.modRevision }
    const result = await commitStep(run, shard, checkpoint, { compare: [] })
    if (!result || result.succeeded) return
  }
}

/** Commits when its turn comes; undefined: the run has halted before that. */
async function commitStep(run: Run, shard: Shard, checkpoint: Checkpoint, step: CommitRequest): Promise<CommitResult | undefined> {
  const key = checkpointKey(run.job, shard.number)
  const fence = { key: fenceKey(run.resource), modRevision: run.fence.modRevision }
  const request: CommitRequest = {
    ...step,
    compare: [...step.compare, fence, run.lock.compare, { key, modRevision: shard.modRevision }],
    put: [...(step.put ?? []), { key, value: encodeRecord(checkpoint) }],
    background: true,
  }
  const result = await commitWithRoom(run, request, key)
  if (!result) return undefined
  if (result.succeeded) {
    shard.checkpoint = checkpoint
    shard.modRevision = result.revision
    shard.dirty = false
    return result
  }
  const lost = [run.lock.compare, { key, modRevision: shard.modRevision }].some((compare) => result.current.get(compare.key)?.modRevision !== compare.modRevision)
  if (lost) run.halt = { phase: 'Lost' }
  else takeFence(run, result.current.get(fence.key))
  return result
}

// Nothing was written: it has its turn again when a look at the store finds room.
async function commitWithRoom(run: Run, request: CommitRequest, guard: string): Promise<CommitResult | undefined> {
  for (;;) {
    try {
      return await run.throttle.run(() => commitOnce(run.backend, request, guard))
    } catch (error) {
      if (!(error instanceof OutOfSpace)) throw error
      run.refused = true
      run.throttle.stop('LowSpace')
    }
  }
}

/** Goes on with a fence that has changed, or halts. */
function takeFence(run: Run, kv: KeyValue | undefined): void {
  const fence = parseFence(fenceKey(run.resource), kv)
  if (fence.modRevision <= run.fence.modRevision) return
  if (fence.epoch !== run.job.epoch || fence.job !== run.job.id) run.halt ??= { phase: 'Aborted', reason: 'EpochChanged' }
  else if (fence.mode !== 'ReadWrite') run.halt ??= { phase: 'Paused', reason: 'Frozen' }
  else run.fence = fence
}
