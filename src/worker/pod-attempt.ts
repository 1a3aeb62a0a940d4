/** One attempt as a pod: makes it, or takes up the one that is there, and follows it to its end. */
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { AttemptError } from './attempt-failure.ts'
import type { AttemptRequest, Observation } from './executor.ts'
import { isFinished, type Job, parseTime } from './job.ts'
import { ApiError, isApiError } from './job-client.ts'
import { judgePod, type PodState } from './judge-pod.ts'
import { containerOf, isGated, isTerminal, type Pod, podNameOf } from './pod.ts'
import type { FollowedPod, PodCache } from './pod-cache.ts'
import type { PodClient } from './pod-client.ts'
import { makePod, type PodSettings } from './pod-manifest.ts'
import { MAX_LOG_BYTES, readReportLog } from './report-log.ts'
import { parseReport } from './report-step.ts'
import type { Report } from './report-types.ts'

export interface PodAttemptOptions {
  readonly request: AttemptRequest
  readonly client: PodClient
  readonly cache: PodCache
  readonly settings: PodSettings
  readonly emit: (observation: Observation) => void
  readonly clock: Clock
  readonly log: Log
  readonly signal: AbortSignal
}

const NAMED_FIRST_MS = 50
const RETRY_FIRST_MS = 1_000
const RETRY_LAST_MS = 15_000
const LOG_TRIES = 6
/** For a report that adds cells to a verdict which is known without it. */
const EXTRA_LOG_TRIES = 3

/**
 * Runs the attempt and emits what happens, the report last. Ends without one when the attempt is no more the current one
 * of its job. Throws what failureOf understands.
 */
export async function runPodAttempt(options: PodAttemptOptions): Promise<void> {
  const { request, cache, emit } = options
  const followed = cache.follow(`${request.job.metadata.namespace}/${podNameOf(request.job, request.number)}`)
  try {
    const found = await obtain(options)
    const { name = '', uid = '' } = found.metadata
    emit({ type: 'pod', name, uid })
    const pod = await admit(options, found)
    if (!pod) return
    cache.set(pod)
    const state = await followPod(options, followed, uid)
    emit({ type: 'comparing' })
    emit({ type: 'finished', report: await conclude(options, followed, state) })
  } finally {
    followed.stop()
  }
}

/** The pod of the attempt: the one that is there, else a new one. */
async function obtain(options: PodAttemptOptions): Promise<Pod> {
  const { request, client, clock, signal } = options
  const { job, number } = request
  const { namespace = '', uid } = job.metadata
  const name = podNameOf(job, number)
  const known = job.status?.podRef?.name === name ? job.status.podRef.uid : undefined
  for (;;) {
    const pod = await persist(options, () => client.read(namespace, name))
    if (known !== undefined && pod?.metadata.uid !== known) throw new AttemptError('Infrastructure', 'PodDeleted', `the pod ${name} was deleted before its result was read`)
    if (pod && !pod.metadata.ownerReferences?.some((owner) => owner.uid === uid)) {
      throw new AttemptError('Final', 'PodConfigInvalid', `there is a pod ${name} already that does not belong to this job`)
    }
    // left by an attempt of the same number that was interrupted: it goes first
    if (pod?.metadata.deletionTimestamp !== undefined && known === undefined) {
      await clock.sleep(RETRY_FIRST_MS, signal)
      continue
    }
    if (pod) return pod
    const created = await create(options)
    if (created) return created
  }
}

/** Undefined when there is a pod of the name after all. */
async function create(options: PodAttemptOptions): Promise<Pod | undefined> {
  const { request, client, settings, clock, signal, emit } = options
  const { job, number, startedAt } = request
  const { namespace = '' } = job.metadata
  if (number > 1) await removeUnfinished(options, podNameOf(job, number - 1))
  for (;;) {
    const manifest = makePod({ job, number, now: clock.now(), ...(startedAt === undefined ? {} : { startedAt }) }, settings)
    try {
      return await persist(options, () => client.create(namespace, manifest))
    } catch (error) {
      if (isApiError(error, 409) && error.reason === 'AlreadyExists') return undefined
      if (!(error instanceof ApiError)) throw error
      const waits = error.code === 409 || (error.code === 403 && /exceeded quota|serviceaccount.*not found/i.test(error.message))
      if (!waits) throw refused(error)
      emit({ type: 'preparing', message: `the pod cannot be created yet: ${error.message.slice(0, 500)}` })
      await clock.sleep(RETRY_LAST_MS, signal)
    }
  }
}

function refused(error: ApiError): AttemptError {
  const message = error.message.slice(0, 1000)
  // the worker's own rights are no fault of the job
  if (error.code === 403 && /cannot create resource/.test(message)) return new AttemptError('Infrastructure', 'RunnerUnavailable', `the worker may not create pods: ${message}`)
  return new AttemptError('Final', 'PodConfigInvalid', `the cluster refused the pod: ${message}`)
}

/** The pod of the attempt before, which a worker may have lost sight of. */
async function removeUnfinished(options: PodAttemptOptions, name: string): Promise<void> {
  const { client, cache, request } = options
  const namespace = request.job.metadata.namespace ?? ''
  const pod = cache.get(`${namespace}/${name}`)
  if (pod && !isTerminal(pod)) await persist(options, () => client.delete(namespace, name, pod.metadata.uid ?? ''))
}

/**
 * Lets the scheduler have a pod that nobody has let in yet. Pods are made with a gate; it is taken away when the status
 * of the job names this very pod, which happens once for an attempt, whoever writes it. So a worker that was paused
 * before it created a pod cannot run an attempt that is over, or that had a pod already. Undefined when the attempt is
 * not the current one; a pod that never ran is taken away.
 */
async function admit(options: PodAttemptOptions, pod: Pod): Promise<Pod | undefined> {
  const { request, client, clock, signal } = options
  const { namespace = '', name: jobName = '' } = request.job.metadata
  const { name = '', uid = '' } = pod.metadata
  if (!isGated(pod)) return pod
  for (let delay = NAMED_FIRST_MS; ; delay = Math.min(delay * 2, RETRY_FIRST_MS)) {
    const job = await persist(options, () => client.readJob(namespace, jobName))
    const named = job && isCurrent(job, request) ? (job.status?.podRef?.uid ?? '') : undefined
    if (named === uid) break
    if (named !== '') {
      await persist(options, () => client.delete(namespace, name, uid))
      if (named === undefined) return undefined
      throw new AttemptError('Infrastructure', 'PodDeleted', `the pod ${name} was deleted before its result was read`)
    }
    // whoever reads these observations is writing it
    await clock.sleep(delay, signal)
  }
  try {
    return await persist(options, () => client.admit(namespace, name, uid))
  } catch (error) {
    if (isApiError(error, 404, 409)) throw new AttemptError('Infrastructure', 'PodDeleted', `the pod ${name} was deleted before it had started`)
    throw error
  }
}

/** Whether the status, as written before the pod was made, still says that this attempt is under way. */
function isCurrent(job: Job, { job: { metadata }, number }: AttemptRequest): boolean {
  const { status, spec } = job
  const sameJob = job.metadata.uid === metadata.uid && job.metadata.deletionTimestamp === undefined
  return sameJob && !isFinished(job) && !spec.suspend && status?.attempts === number && status.podRef?.name === podNameOf(job, number)
}

/** Tells what the pod does, until it has ended. Throws AttemptError when it ends without a report. */
async function followPod(options: PodAttemptOptions, followed: FollowedPod, uid: string): Promise<Extract<PodState, { type: 'ended' }>> {
  const { request, clock, signal, emit } = options
  const told = new Set<string>()
  const once = (key: string, observation: Observation): void => {
    if (told.has(key)) return
    told.add(key)
    emit(observation)
  }
  for (;;) {
    signal.throwIfAborted()
    const pod = followed.current()
    if (!pod || pod.metadata.uid !== uid) throw new AttemptError('Infrastructure', 'PodDeleted', 'the pod was deleted before it had ended')
    const state = judgePod(pod, request.job.spec, clock.now())
    const clone = containerOf(pod, 'clone')?.state
    const began = parseTime(clone?.running?.startedAt ?? clone?.terminated?.startedAt)
    if (began !== undefined) once('cloning', { type: 'cloning', at: began })
    if (state.type === 'failed') throw new AttemptError(state.failure.class, state.failure.reason, state.failure.message)
    if ('source' in state) once('source', { type: 'source', ...state.source })
    if (state.type === 'waiting' && !told.has('cloning')) once(`waiting ${state.message}`, { type: 'preparing', message: state.message })
    if (state.type === 'comparing') once('comparing', { type: 'comparing' })
    if (state.type === 'ended') return state
    await nextChange(options, followed, 'recheckAt' in state ? state.recheckAt : undefined)
  }
}

async function nextChange({ clock, signal }: PodAttemptOptions, followed: FollowedPod, recheckAt: number | undefined): Promise<void> {
  const enough = new AbortController()
  const aborted = AbortSignal.any([signal, enough.signal])
  const stopped = new Promise<void>((resolve) => aborted.addEventListener('abort', () => resolve(), { once: true }))
  const due = recheckAt === undefined ? [] : [clock.sleep(Math.max(1, recheckAt - clock.now()), aborted).catch(() => {})]
  await Promise.race([followed.changed(), stopped, ...due])
  enough.abort()
}

/** The report with the verdict that the pod allows. What the pod says of its end is said also where there is no report. */
async function conclude(options: PodAttemptOptions, followed: FollowedPod, { failure }: Extract<PodState, { type: 'ended' }>): Promise<Report> {
  if (!failure) return checked(await readReport(options, followed, LOG_TRIES), followed.current())
  try {
    return overrule(await readReport(options, followed, EXTRA_LOG_TRIES), failure)
  } catch (error) {
    if (!(error instanceof AttemptError)) throw error
    throw new AttemptError(failure.class, failure.reason, failure.message)
  }
}

/** The report out of the log of its container. */
async function readReport(options: PodAttemptOptions, followed: FollowedPod, maxTries: number): Promise<Report> {
  const { request, client, clock, signal } = options
  const namespace = request.job.metadata.namespace ?? ''
  const name = podNameOf(request.job, request.number)
  for (let tries = 1; ; tries++) {
    signal.throwIfAborted()
    try {
      return withImage(parseReport(readReportLog(await client.readLog(namespace, name, 'report', MAX_LOG_BYTES))), followed.current())
    } catch (error) {
      if (isApiError(error, 404)) throw new AttemptError('Infrastructure', 'PodDeleted', `the pod ${name} was deleted before its result was read`)
      if (tries === maxTries) {
        if (error instanceof AttemptError) throw error
        throw new AttemptError('Result', 'ResultsUnavailable', `the log of the container report cannot be read: ${error instanceof Error ? error.message.slice(0, 500) : String(error)}`)
      }
      // also for a damaged one: the log of a container that has just ended may not be written to its end
      await clock.sleep(Math.min(RETRY_FIRST_MS * 2 ** (tries - 1), RETRY_LAST_MS), signal)
    }
  }
}

function withImage(report: Report, pod: Pod | undefined): Report {
  const imageID = pod && containerOf(pod, 'execute')?.imageID
  return imageID ? { ...report, runtime: { ...report.runtime, imageID: imageID.slice(0, 1024) } } : report
}

/** The cells as they are told, the verdict as it must be. */
function overrule(report: Report, { reason, message }: { readonly reason: string; readonly message: string }): Report {
  return { ...report, verdict: { succeeded: false, reason, message } }
}

/** Success needs a runner that ended well: its exit status says nothing of the notebook, but a bad one says that the results are not whole. */
function checked(report: Report, pod: Pod | undefined): Report {
  const exitCode = pod && containerOf(pod, 'execute')?.state?.terminated?.exitCode
  if (!report.verdict.succeeded || exitCode === 0) return report
  return overrule(report, { reason: 'RunnerUnavailable', message: `the container execute ended with exit status ${exitCode ?? '?'}, although its results are those of a success` })
}

/** Asks again as long as the API is away or busy. Throws ApiError for an answer that would stay the same. */
async function persist<T>({ clock, log, signal }: PodAttemptOptions, ask: () => Promise<T>): Promise<T> {
  for (let delay = RETRY_FIRST_MS; ; delay = Math.min(delay * 2, RETRY_LAST_MS)) {
    signal.throwIfAborted()
    try {
      return await ask()
    } catch (error) {
      if (isApiError(error, 400, 403, 404, 405, 409, 413, 415, 422)) throw error
      log.warn('the cluster does not answer, trying again', { err: error })
      await clock.sleep(delay, signal)
    }
  }
}
