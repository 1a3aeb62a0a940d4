/** Carries out what reconcile says: watches jobs, runs their attempts, writes their status. */
import type { JsonObject } from '../api/object.ts'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { type AttemptState, fold, newAttempt } from './attempt.ts'
import { eventsBetween, type EventRecorder, openEventRecorder } from './events.ts'
import { attemptId, type Executor } from './executor.ts'
import { isFinished, type Job, type JobStatus, keyOf } from './job.ts'
import { isApiError, type JobClient } from './job-client.ts'
import { diffMergePatch } from './merge-patch.ts'
import { type Action, reconcile } from './reconcile.ts'
import { reflect } from './reflector.ts'
import { WorkQueue } from './workqueue.ts'

export interface ControllerOptions {
  readonly client: JobClient
  readonly executor: Executor
  /** How many attempts run at once. */
  readonly concurrency: number
  /** Bytes that a status may have, where the API keeps less than it takes. */
  readonly maxStatusBytes?: number
  readonly clock: Clock
  readonly log: Log
  readonly signal: AbortSignal
  /** Other workers may write as well: a status is written only over the one that it was made from. */
  readonly fenced?: boolean
  /** Told after each status that was written. */
  readonly onStatus?: (job: Job) => void
}

/** While a job runs its status is written at most so often. */
const WRITE_INTERVAL_MS = 2_000
const PARALLEL = 8
/** How long a stop may take to put jobs back, when the API does not answer. */
const STOP_MS = 8_000

/** Runs until the signal aborts; then ends the attempts and puts their jobs back. */
export async function runController(options: ControllerOptions): Promise<void> {
  const controller = new Controller(options)
  const { client, clock, log, signal } = options
  await reflect({
    client,
    clock,
    log,
    signal,
    onList: (jobs) => controller.replace(jobs),
    onChange: (job) => controller.set(job),
    onDelete: (job) => controller.remove(job),
  })
  await controller.stop()
}

/** What this worker knows of a job beyond the API. */
type Entry = {
  /** As the last write of its status left it. */
  written?: Job
  writtenAt?: number
  attempt?: AttemptState
  attemptSince?: number
  starting?: boolean
  retryAt?: number
  /** Reasons in the reports of attempts that were tried again. */
  reportedBefore?: readonly string[]
}

class Controller {
  private readonly options: ControllerOptions
  private readonly events: EventRecorder
  private readonly queue: WorkQueue
  private readonly jobs = new Map<string, Job>()
  /** By uid: a job that was deleted and made again is another one. */
  private readonly entries = new Map<string, Entry>()
  private stopping = false

  constructor(options: ControllerOptions) {
    this.options = options
    this.events = openEventRecorder(options.client, options.clock, options.log)
    this.queue = new WorkQueue({
      work: (key) => this.process(key),
      onError: (key, error) => {
        // A job that was deleted meanwhile; its end comes by the watch.
        if (!isApiError(error, 404)) options.log.warn('job not reconciled, trying again', { job: key, err: error })
      },
      parallel: PARALLEL,
      clock: options.clock,
    })
  }

  replace(jobs: readonly Job[]): void {
    const listed = new Set(jobs.map(uidOf))
    for (const job of this.jobs.values()) if (!listed.has(uidOf(job))) this.remove(job)
    for (const job of inOrder(jobs)) this.set(job)
  }

  set(job: Job): void {
    const key = keyOf(job)
    const before = this.jobs.get(key)
    if (before && uidOf(before) !== uidOf(job)) this.remove(before)
    this.jobs.set(key, job)
    const entry = this.entries.get(uidOf(job))
    // the echo of our own write says nothing new while the attempt goes on
    const echo = entry?.attempt !== undefined && entry.written?.metadata.resourceVersion === job.metadata.resourceVersion
    if (!echo) this.queue.add(key)
  }

  /** A job that is gone takes its processes with it. */
  remove(job: Job): void {
    if (this.jobs.get(keyOf(job)) && uidOf(this.jobs.get(keyOf(job))!) === uidOf(job)) this.jobs.delete(keyOf(job))
    const entry = this.entries.get(uidOf(job))
    this.entries.delete(uidOf(job))
    if (!entry?.attempt) return
    this.options.log.info('job was deleted, ending its attempt', { job: keyOf(job) })
    const left = (error: unknown): void => this.options.log.warn('attempt of a deleted job not ended', { job: keyOf(job), err: error })
    void this.options.executor.cancel(attemptId(uidOf(job), entry.attempt.number)).catch(left).then(() => this.wakeWaiting())
  }

  async stop(): Promise<void> {
    this.stopping = true
    await this.queue.stop()
    const { clock, log, executor } = this.options
    const running = [...this.jobs.entries()].filter(([, job]) => this.entries.get(uidOf(job))?.attempt).map(([key]) => key)
    const putBack = Promise.all(running.map((key) => this.process(key).catch((error: unknown) => log.warn('job not put back', { job: key, err: error }))))
    const enough = new AbortController()
    await Promise.race([putBack, clock.sleep(STOP_MS, enough.signal).catch(() => {})])
    enough.abort()
    await executor.close()
  }

  private async process(key: string): Promise<void> {
    const cached = this.jobs.get(key)
    if (!cached) return
    const entry = this.entryOf(uidOf(cached))
    const job = newer(cached, entry.written)
    const { attempt, attemptSince, retryAt, reportedBefore } = entry
    const actions = reconcile(job, {
      now: this.options.clock.now(),
      slotFree: this.countRunning() < this.options.concurrency,
      stopping: this.stopping,
      ...(this.options.maxStatusBytes === undefined ? {} : { maxStatusBytes: this.options.maxStatusBytes }),
      ...(this.options.executor.pods ? { pods: true } : {}),
      ...(attempt ? { attempt } : {}),
      ...(attemptSince === undefined ? {} : { attemptSince }),
      ...(retryAt === undefined ? {} : { retryAt }),
      ...(reportedBefore ? { reportedBefore } : {}),
    })
    // taken before the first await, so that two jobs cannot take the same slot
    entry.starting = actions.some(({ type }) => type === 'StartAttempt')
    try {
      let current = job
      for (const action of actions) current = await this.perform(key, current, entry, action)
      // what is left to do with a finished job (its time to live, forgetting it) is not known before
      if (current !== job && isFinished(current)) this.queue.add(key)
    } finally {
      entry.starting = false
    }
    // not before the cache has seen the end: until then the entry alone knows of it
    if (isFinished(cached) && !entry.attempt) this.entries.delete(uidOf(job))
  }

  private async perform(key: string, job: Job, entry: Entry, action: Action): Promise<Job> {
    const { clock, executor, client } = this.options
    switch (action.type) {
      case 'UpdateStatus':
        return await this.updateStatus(key, job, entry, action.status)
      case 'StartAttempt': {
        // deleted while its status was written
        if (this.entries.get(uidOf(job)) !== entry) return job
        const { number, startedAt } = action
        entry.attempt = newAttempt(number)
        entry.attemptSince = clock.now()
        delete entry.retryAt
        executor.start({ id: attemptId(uidOf(job), number), job, number, ...(startedAt === undefined ? {} : { startedAt }) })
        void this.follow(key, uidOf(job), entry, number)
        return job
      }
      case 'ForgetAttempt':
        if (action.number !== undefined) {
          await executor.cancelPod?.(job, action.number)
          return job
        }
        if (entry.attempt) await executor.cancel(attemptId(uidOf(job), entry.attempt.number))
        delete entry.attempt
        delete entry.attemptSince
        delete entry.retryAt
        this.wakeWaiting()
        return job
      case 'ScheduleRetry':
        entry.retryAt = action.at
        if (action.reported !== undefined) entry.reportedBefore = [...(entry.reportedBefore ?? []), action.reported]
        return job
      case 'DeleteJob':
        await this.deleteJob(client, job)
        return job
      case 'Requeue':
        this.queue.addAfter(key, Math.max(1, action.at - clock.now()))
        return job
    }
  }

  private async follow(key: string, uid: string, entry: Entry, number: number): Promise<void> {
    const { executor, clock } = this.options
    for await (const observation of executor.observe(attemptId(uid, number)) ?? []) {
      if (this.entries.get(uid) !== entry || entry.attempt?.number !== number) return
      entry.attempt = fold(entry.attempt, observation)
      const ended = entry.attempt.step === 'Ended'
      this.queue.addAfter(key, ended || observation.type === 'pod' ? 0 : (entry.writtenAt ?? 0) + WRITE_INTERVAL_MS - clock.monotonic())
      if (ended) this.wakeWaiting()
    }
  }

  private async updateStatus(key: string, job: Job, entry: Entry, status: JobStatus): Promise<Job> {
    const { client, clock, log, onStatus } = this.options
    const patch = diffMergePatch(asJson(job.status ?? {}), asJson(status))
    if (!patch) return job
    const rest = (entry.writtenAt ?? Number.NEGATIVE_INFINITY) + WRITE_INTERVAL_MS - clock.monotonic()
    // the pod starts when it is named
    const named = status.podRef?.uid !== job.status?.podRef?.uid
    if (!named && isProgress(entry, status) && rest > 0) {
      this.queue.addAfter(key, rest)
      return job
    }
    const { namespace = '', name = '', uid = '', resourceVersion = '' } = job.metadata
    // preconditions: a job made again under the same name is left alone, as is what another worker has written meanwhile
    const metadata = { uid, ...(this.options.fenced ? { resourceVersion } : {}) }
    const write = (changes: JsonObject): Promise<Job> => client.patchStatus(namespace, name, { metadata, status: changes })
    let written: Job
    try {
      written = await write(patch)
    } catch (error) {
      if (!isApiError(error, 400, 413, 422)) throw error
      log.error('status was refused', { job: key, err: error })
      written = await write(diffMergePatch(asJson(job.status ?? {}), asJson(withoutResults(status, error.message))) ?? {})
    }
    entry.written = written
    entry.writtenAt = clock.monotonic()
    for (const event of eventsBetween(job, job.status, written.status ?? status)) await this.events.record(written, event)
    onStatus?.(written)
    return written
  }

  private async deleteJob(client: JobClient, job: Job): Promise<void> {
    const { namespace = '', name = '', uid = '', resourceVersion = '' } = job.metadata
    try {
      await client.delete(namespace, name, { uid, resourceVersion })
      this.options.log.info('job deleted, its time to live has passed', { job: keyOf(job) })
    } catch (error) {
      if (!isApiError(error, 404)) throw error
    }
  }

  private entryOf(uid: string): Entry {
    const entry = this.entries.get(uid) ?? {}
    this.entries.set(uid, entry)
    return entry
  }

  private countRunning(): number {
    return [...this.entries.values()].filter(({ attempt, starting }) => starting || (attempt && attempt.step !== 'Ended')).length
  }

  private wakeWaiting(): void {
    const waits = (job: Job): boolean => !isFinished(job) && !this.entries.get(uidOf(job))?.attempt
    for (const job of inOrder([...this.jobs.values()].filter(waits))) this.queue.add(keyOf(job))
  }
}

const uidOf = (job: Job): string => job.metadata.uid ?? ''
const asJson = (status: JobStatus): JsonObject => status as unknown as JsonObject

/** Oldest first. */
function inOrder(jobs: readonly Job[]): Job[] {
  const time = (job: Job): string => job.metadata.creationTimestamp ?? ''
  return jobs.toSorted((a, b) => (time(a) < time(b) ? -1 : time(a) > time(b) ? 1 : keyOf(a) < keyOf(b) ? -1 : 1))
}

/** The newer of two states of one job: our own write may come back before, or after, its watch event. */
function newer(cached: Job, written: Job | undefined): Job {
  if (!written) return cached
  const [a, b] = [cached, written].map((job) => job.metadata.resourceVersion ?? '')
  const numeric = /^[0-9]+$/
  return numeric.test(a!) && numeric.test(b!) && BigInt(b!) > BigInt(a!) ? written : cached
}

/** A status that only says how far a running attempt is. */
function isProgress(entry: Entry, status: JobStatus): boolean {
  return entry.attempt !== undefined && entry.attempt.step !== 'Ended' && ['Pending', 'Cloning', 'Running', 'Comparing'].includes(status.reason ?? '')
}

/** What can be said when the API refuses the results: never success. */
function withoutResults(status: JobStatus, message: string): JobStatus {
  const { cells: _cells, summary: _summary, runtime: _runtime, truncated: _truncated, ...rest } = status
  if (rest.phase !== 'Succeeded' && rest.phase !== 'Failed') return rest
  const reason = 'ResultsUnavailable'
  const text = `the results could not be stored: ${message}`.slice(0, 1024)
  const conditions = (rest.conditions ?? []).map((condition) => (condition.type === 'Succeeded' ? { ...condition, status: 'False' as const, reason, message: text } : condition))
  return { ...rest, phase: 'Failed', reason, message: text, conditions }
}
