/**
 * Migration: writes every object of a resource at its encoding version, proves by a scan that none is left at another, and takes the other versions away.
 * It can be killed at any moment; the same call continues. Nothing but encoding and revision of an object changes, and that is checked for each before it is written.
 */
import { OutOfSpace } from './backend.ts'
import type { Backend, KeyValue } from './backend.ts'
import type { Clock } from '../src/base/clock.ts'
import type { Log } from '../src/base/log.ts'
import { plural } from '../src/base/plural.ts'
import { commitOnce } from './commit-once.ts'
import type { Proof } from './fence-change.ts'
import { openAhead } from './migrate-ahead.ts'
import { accountOf, addCounters, encodeRecord, jobKey, parseJob } from './migrate-job.ts'
import type { Counters, Job, Phase } from './migrate-job.ts'
import { takeLock } from './migrate-lock.ts'
import type { JobLock } from './migrate-lock.ts'
import { openJob } from './migrate-plan.ts'
import type { OpenJob } from './migrate-plan.ts'
import { openRate, progressOf } from './migrate-progress.ts'
import type { Progress } from './migrate-progress.ts'
import { runShard } from './migrate-shard.ts'
import type { Halt, Run } from './migrate-shard.ts'
import { lackOfRoom, openStopConditions } from './migrate-stop.ts'
import { DEFAULT_LIMITS, openThrottle } from './migrate-throttle.ts'
import type { ThrottleLimits } from './migrate-throttle.ts'
import { reencode, settleValue } from './object-codec.ts'
import type { ObjectCodec, Reencoded } from './object-codec.ts'
import { refreshQuarantine } from './quarantine.ts'
import { Refused } from './refused.ts'
import { recordRetirement } from './retire-version.ts'
import { trimStoredVersions } from './trim.ts'
import { verify } from './verify.ts'

export { abortMigration, limitMigration, pauseMigration, unfinishedJob } from './migrate-control.ts'

export interface MigrateOptions {
  readonly backend: Backend
  readonly resource: string
  readonly codec: ObjectCodec
  readonly clock: Clock
  readonly log: Log
  /** Name of this process, for others that come meanwhile. */
  readonly owner: string
  readonly limits?: Partial<ThrottleLimits>
  /** Objects a second at most, for a migration that begins; the job keeps it. See `limitMigration`. */
  readonly rateLimit?: number
  /** Retires this version instead: see `openJob`. */
  readonly retiring?: string
  /** How long it waits for a store without room before it pauses; default a quarter of an hour. */
  readonly roomMs?: number
  /** Pauses the job when it aborts. */
  readonly signal?: AbortSignal
  /** Called each second and with each phase. */
  readonly onProgress?: (progress: Progress) => void
}

const NO_SPACE = 'NoSpace'
const MONITOR_MS = 1000
/** Proofs that are started anew because the fence or the replicas changed under them. */
const PROOFS = 5

/**
 * Runs a resource's migration until it has succeeded, halts or blocks, and returns the job's record with the account of what was done. Throws Refused when another
 * process runs it or takes it over, or as the backend rejects: the job then stays as it is, for the same call.
 */
export async function migrate(options: MigrateOptions): Promise<Job> {
  const { backend, resource, clock, rateLimit, retiring } = options
  await checkRoom(backend)
  let run: Run | undefined
  const lock = await takeLock(backend, resource, options.owner, clock, () => {
    if (run) run.halt ??= { phase: 'Lost' }
  })
  try {
    const open = await openJob({ backend, resource, lock, clock, ...(rateLimit !== undefined && { rateLimit }), ...(retiring !== undefined && { retiring }) })
    const entries = await refreshQuarantine(backend, resource)
    const throttle = openThrottle(clock, { ...DEFAULT_LIMITS, ...options.limits })
    throttle.limit(open.job.rateLimit)
    run = {
      backend, resource, lock, throttle, ahead: openAhead(rewriteFor(options.codec, open)), job: open.job, fence: open.fence, now: clock.now, refused: false, halt: undefined,
      quarantined: new Map(entries.map((entry) => [entry.key, entry.modRevision])),
    }
    return await new Migration(options, run, open).carryOut()
  } finally {
    await lock.release().catch((err: unknown) => options.log.warn('the lock of the migration could not be given back; it ends by itself', { err, resource }))
  }
}

// A retirement writes at the version that is set anyway; what names nothing stays as it is.
function rewriteFor(codec: ObjectCodec, { job: { target, retiring }, fence: { retiredVersions } }: OpenJob): (value: Uint8Array) => Reencoded {
  return retiring === undefined ? (value) => reencode(codec, value, target) : (value) => settleValue(codec, value, target, { retiredVersions, retiring })
}

// So that one which would only wait is not begun.
async function checkRoom(backend: Backend): Promise<void> {
  const message = lackOfRoom(await backend.status())
  if (message !== undefined) throw new Refused('LowSpace', message)
}

class Migration {
  readonly #options: MigrateOptions
  readonly #run: Run
  readonly #shards: OpenJob['shards']
  readonly #lock: JobLock
  readonly #rate
  readonly #stopConditions
  #job: Job
  #jobRevision: number
  /** Aborts with the first halt. */
  readonly #stop = new AbortController()
  #scanned: number | undefined

  constructor(options: MigrateOptions, run: Run, open: OpenJob) {
    this.#options = options
    this.#run = run
    this.#shards = open.shards
    this.#lock = run.lock
    this.#rate = openRate(options.clock)
    this.#stopConditions = openStopConditions(options.clock, options.roomMs)
    this.#job = open.job
    this.#jobRevision = open.modRevision
  }

  async carryOut(): Promise<Job> {
    const halt = (): void => this.#halt({ phase: 'Paused', reason: 'Interrupted' })
    const { signal, clock } = this.#options
    if (signal?.aborted) halt()
    signal?.addEventListener('abort', halt, { once: true })
    let timer = clock.schedule(MONITOR_MS, tick.bind(this))
    let over = false
    function tick(this: Migration): void {
      void this.#monitor().finally(() => {
        if (!over) timer = clock.schedule(MONITOR_MS, tick.bind(this))
      })
    }
    try {
      return await this.#phases()
    } finally {
      over = true
      timer.cancel()
      signal?.removeEventListener('abort', halt)
    }
  }

  async #phases(): Promise<Job> {
    this.#report()
    for (let proofs = 0; ; ) {
      if (this.#job.phase === 'Running') {
        await this.#sweep()
        if (this.#run.halt) return this.#halted(this.#run.halt)
        if (this.#run.quarantined.size > 0) return this.#end('Blocked', inQuarantine(this.#run.quarantined.size))
        await this.#enter({ phase: 'Verifying' })
        continue
      }
      if (this.#run.halt) return this.#halted(this.#run.halt)
      const proof = await this.#verify()
      if (this.#run.halt) return this.#halted(this.#run.halt)
      if (!proof) return this.#end('Blocked', 'the proof found objects that cannot be used')
      if (typeof proof === 'string') return this.#end('Failed', proof)
      const old = Object.entries(proof.byVersion).filter(([version]) => version !== this.#job.target)
      if (old.length > 0 && this.#job.retiring === undefined) return this.#end('Failed', `OldObjectsFound: ${old.map(([version, count]) => `${count} at ${version}`).join(', ')}`)
      const trimmed = await this.#trim(proof)
      if (trimmed) return trimmed
      if (++proofs === PROOFS) return this.#end('Paused', 'the fence or the replicas keep changing')
    }
  }

  async #sweep(): Promise<void> {
    const results = await Promise.allSettled(this.#shards.map((shard) => runShard(this.#run, shard).catch((error: unknown) => this.#fail(error))))
    for (const result of results) if (result.status === 'rejected') throw result.reason
  }

  // The other shards stop at their next object, so that nothing runs on behind an error.
  #fail(error: unknown): never {
    this.#halt({ phase: 'Paused', reason: 'Failed' })
    throw error
  }

  /** The proof; undefined: it found objects that cannot be used, or was interrupted; a text: why the job has failed. */
  async #verify(): Promise<Proof | string | undefined> {
    const { backend, resource, codec, clock } = this.#options
    const { signal } = this.#stop
    const onProgress = ({ done }: { done: number }): void => {
      this.#scanned = done
    }
    try {
      const { retiring } = this.#job
      const { proof, bad, naming = 0 } = await verify({ backend, resource, codec, now: clock.now, onProgress, signal, ...(retiring !== undefined && { naming: retiring }) })
      if (bad.length > 0) return undefined
      return naming > 0 ? `OldObjectsFound: ${naming} still name ${retiring}` : proof
    } catch (error) {
      if (signal.aborted && error === signal.reason) return undefined
      throw error
    } finally {
      this.#scanned = undefined
    }
  }

  /** The job's end; undefined: something has changed, and the proof does not hold any more. */
  async #trim(proof: Proof): Promise<Job | undefined> {
    const { backend, resource } = this.#options
    if (this.#job.phase !== 'Trimming') await this.#enter({ phase: 'Trimming' })
    if (this.#run.halt) return this.#halted(this.#run.halt)
    const job: Job = { ...this.#stamped({ phase: 'Succeeded', proof }), result: this.#account() }
    const key = jobKey(resource, job.id)
    try {
      const own = { id: job.id, also: { compare: [this.#lock.compare, { key, modRevision: this.#jobRevision }], put: [{ key, value: encodeRecord(job) }] } }
      if (job.retiring === undefined) await trimStoredVersions({ backend, resource, proof, job: own })
      else await recordRetirement({ backend, resource, proof, job: own, now: this.#options.clock.now() })
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      await this.#monitor()
      if (this.#run.halt) return this.#halted(this.#run.halt)
      const { length } = await refreshQuarantine(backend, resource)
      return length > 0 ? this.#end('Blocked', inQuarantine(length)) : undefined
    }
    this.#job = job
    this.#report()
    return job
  }

  #account(): Counters {
    return accountOf(this.#job, addCounters(...this.#shards.map(({ checkpoint }) => checkpoint.counters)))
  }

  #stamped(change: Partial<Job>): Job {
    return { ...this.#job, ...change, updatedAt: new Date(this.#options.clock.now()).toISOString() }
  }

  /** Records a change of the job, on the condition that nobody else has changed it in more than its limits; else halts. */
  async #enter(change: Partial<Job>): Promise<void> {
    for (;;) {
      const job = this.#stamped(change)
      const key = jobKey(this.#options.resource, job.id)
      const known = this.#jobRevision
      const request = { compare: [{ key, modRevision: known }, this.#lock.compare], put: [{ key, value: encodeRecord(job) }], essential: true }
      const result = await commitOnce(this.#options.backend, request, key)
      if (result.succeeded) {
        this.#job = job
        this.#jobRevision = result.revision
        return this.#report()
      }
      if (result.current.get(this.#lock.compare.key)?.modRevision !== this.#lock.compare.modRevision) return this.#halt({ phase: 'Lost' })
      await this.#monitor()
      if (this.#run.halt) return
      if (this.#jobRevision === known) return this.#halt({ phase: 'Paused', reason: 'Changed' })
    }
  }

  async #end(phase: Phase, reason: string): Promise<Job> {
    await this.#enter({ phase, reason, result: this.#account() })
    return this.#run.halt ? this.#halted(this.#run.halt) : this.#job
  }

  async #halted(halt: Halt): Promise<Job> {
    const { resource, backend } = this.#options
    if (halt.phase === 'Lost') throw new Refused('LostOwnership', `another process has taken over the migration of ${resource}`)
    const key = jobKey(resource, this.#job.id)
    for (;;) {
      const kv = await backend.get(key)
      const found = kv && parseJob(kv)
      // Whoever paused or aborted it has recorded that.
      if (!kv || !found || found.phase === 'Aborted' || found.phase === 'Paused') return found ?? this.#job
      const job: Job = { ...found, phase: halt.phase, reason: halt.reason, ...(halt.message !== undefined && { message: halt.message }), updatedAt: new Date(this.#options.clock.now()).toISOString() }
      const request = { compare: [{ key, modRevision: kv.modRevision }, this.#lock.compare], put: [{ key, value: encodeRecord(job) }], essential: true }
      const result = await commitOnce(backend, request, key).catch((error: unknown) => {
        if (error instanceof OutOfSpace && halt.phase === 'Paused') return undefined
        throw error
      })
      // Not even that can be written: the record says Running, and the same call continues it all the same.
      if (!result) return job
      if (result.succeeded) {
        this.#job = job
        this.#report()
        return job
      }
      if (result.current.get(this.#lock.compare.key)?.modRevision !== this.#lock.compare.modRevision) return this.#halted({ phase: 'Lost' })
    }
  }

  #halt(halt: Halt): void {
    this.#run.halt ??= halt
    this.#run.throttle.end()
    this.#stop.abort()
  }

  /** Looks for commands of others and for what the store needs; shows where things are. */
  async #monitor(): Promise<void> {
    const { backend, resource, log } = this.#options
    try {
      const [kv, status] = await Promise.all([backend.get(jobKey(resource, this.#job.id)), backend.status()])
      const phase = kv ? parseJob(kv).phase : 'Aborted'
      if (phase === 'Aborted' || phase === 'Paused') this.#halt({ phase, reason: 'Requested' })
      else this.#adopt(kv as KeyValue)
      const { hold, giveUp } = this.#stopConditions(status, this.#run.refused)
      this.#run.refused = false
      if (giveUp !== undefined) this.#halt({ phase: 'Paused', reason: NO_SPACE, message: giveUp })
      if (!this.#run.halt) this.#run.throttle.stop(hold)
    } catch (err) {
      log.warn('the migration could not look at its record', { err, resource })
    }
    this.#report()
  }

  /** Takes over the limits that somebody else has written into the record. */
  #adopt(kv: KeyValue): void {
    if (kv.modRevision <= this.#jobRevision) return
    const { rateLimit } = parseJob(kv)
    const { rateLimit: _, ...rest } = this.#job
    this.#job = { ...rest, ...(rateLimit !== undefined && { rateLimit }) }
    this.#jobRevision = kv.modRevision
    this.#run.throttle.limit(rateLimit)
  }

  #report(): void {
    const checkpoints = this.#shards.map(({ checkpoint }) => checkpoint)
    const done = this.#scanned ?? addCounters(...checkpoints.map(({ counters }) => counters)).seen
    const at = { phase: this.#job.phase, checkpoints, rate: this.#rate.add(done), ...(this.#scanned !== undefined && { scanned: this.#scanned }) }
    this.#options.onProgress?.(progressOf(this.#job, at, this.#run.throttle))
  }
}

function inQuarantine(count: number): string {
  return `${plural(count, 'object')} ${count === 1 ? 'is' : 'are'} in quarantine`
}
