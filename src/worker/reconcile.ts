/**
 * What to do next with a job: a pure function of the job and of what is observed. Every call says it anew; nothing is
 * remembered but what the status and the observations hold.
 */
import type { AttemptFailure } from './attempt-failure.ts'
import type { AttemptState } from './attempt.ts'
import { isFinished, type Job, type JobStatus, parseTime } from './job.ts'
import { liveReport, makeStatus, type StatusChange } from './job-status.ts'
import { podNameOf } from './pod.ts'
import { findUnsupported } from './unsupported.ts'

/** What is seen beside the job itself. */
export type Observed = {
  /** Milliseconds since the epoch. */
  readonly now: number
  /** The attempt that this worker has started and not yet forgotten. */
  readonly attempt?: AttemptState
  /** When the next attempt may start, after a failure that is tried again. */
  readonly retryAt?: number
  /** The reasons in the reports of earlier attempts that were tried again, as far as this worker has seen them. */
  readonly reportedBefore?: readonly string[]
  /** Whether one more attempt may run beside the others. */
  readonly slotFree: boolean
  /** Bytes that a status may have, where the API keeps less than it takes. */
  readonly maxStatusBytes?: number
  /** Attempts are pods, which outlive their worker: what another worker has started is taken up. */
  readonly pods?: boolean
  /** When this worker has started the attempt, or taken it up. */
  readonly attemptSince?: number
  /** The worker is about to stop. */
  readonly stopping?: boolean
}

/** What to do, in order; after one that fails the rest is left and the job is looked at again. */
export type Action =
  | { readonly type: 'UpdateStatus'; readonly status: JobStatus }
  | { readonly type: 'StartAttempt'; readonly number: number; readonly startedAt?: number }
  /** Ends the attempt if it lives, and forgets it. `number`: it is not this worker's, but a pod that the status names. */
  | { readonly type: 'ForgetAttempt'; readonly number?: number }
  /** `reported`: the reason in the report of the attempt that failed, where it had one. */
  | { readonly type: 'ScheduleRetry'; readonly at: number; readonly reported?: string }
  | { readonly type: 'DeleteJob' }
  /** Look again at this time. */
  | { readonly type: 'Requeue'; readonly at: number }

/** How often the duration of a job is told while one of its cells runs: after 2 s, 4 s, 8 s, then every 10 s. */
const ELAPSED_INTERVAL_MS = { first: 2_000, last: 10_000 }
const POD_GRACE_MS = 30_000
const RETRY_BASE_MS = 10_000
const RETRY_MAX_MS = 300_000

/** How long to wait after the failure of an attempt, counted from 1. */
export function retryDelay(attempt: number): number {
  return Math.min(RETRY_BASE_MS * 2 ** (attempt - 1), RETRY_MAX_MS)
}

/** The actions for a job. */
export function reconcile(job: Job, observed: Observed): Action[] {
  if (job.metadata.deletionTimestamp !== undefined) return forget(job, observed)
  if (isFinished(job)) return [...forget(job, observed), ...expire(job, observed.now)]
  if (job.spec.suspend) return suspend(job, observed)
  // another worker has ended it, while this one was away
  if (observed.pods && observed.attempt && !isNamed(job, observed.attempt)) return [...forget(job, observed), { type: 'Requeue', at: observed.now }]
  const unsupported = findUnsupported(job.spec)
  if (unsupported.length > 0) {
    const verb = unsupported.length === 1 ? 'is' : 'are'
    return finish(job, observed, { reason: 'NotSupported', message: `${unsupported.join(', ')} ${verb} not supported by this worker yet`, class: 'Final' })
  }
  if (observed.stopping) return observed.pods ? [] : putBack(job, observed)
  const taken = observed.attempt ? undefined : findRunningPod(job, observed)
  // it holds its place on a node already, whether there is a slot or not; and may have ended in time
  if (taken !== undefined) return [{ type: 'StartAttempt', number: taken, ...startTimeOf(job) }]
  const deadline = deadlineOf(job, observed)
  if (deadline !== undefined && observed.now >= deadline) {
    return finish(job, observed, { reason: 'DeadlineExceeded', message: `the job did not end within ${job.spec.activeDeadlineSeconds ?? 3600} s`, class: 'Final' })
  }
  const actions = observed.attempt ? followAttempt(job, observed, observed.attempt) : nextAttempt(job, observed)
  const ends = actions.some((action) => action.type === 'UpdateStatus' && action.status.completionTime !== undefined)
  return deadline === undefined || ends ? actions : [...actions, { type: 'Requeue', at: deadline }]
}

/** Puts a job that runs back: its worker stops before it has ended. The attempt does not count. */
function putBack(job: Job, observed: Observed): Action[] {
  if (!observed.attempt) return []
  const outcome = { status: 'Unknown', reason: 'Pending', message: 'the worker was stopped; the job runs when it is back' } as const
  const attempts = observed.attempt.number - 1
  return [{ type: 'ForgetAttempt' }, update(job, observed, { outcome, phase: 'Pending', attempts, startedAt: startOf(job, observed) })]
}

function forget(job: Job, observed: Observed): Action[] {
  if (observed.attempt) return [{ type: 'ForgetAttempt' }]
  const number = observed.pods && job.status?.podRef ? attemptsOf(job) : 0
  return number > 0 ? [{ type: 'ForgetAttempt', number }] : []
}

/**
 * The number of the attempt whose pod may be there, started by a worker that is no more; undefined for none. Until a job
 * has ended its status names a pod just as long as the attempt may go on.
 */
function findRunningPod(job: Job, observed: Observed): number | undefined {
  const attempts = attemptsOf(job)
  return observed.pods && attempts > 0 && job.status?.podRef?.name === podNameOf(job, attempts) ? attempts : undefined
}

function expire(job: Job, now: number): Action[] {
  const ttl = job.spec.ttlSecondsAfterFinished
  const completed = parseTime(job.status?.completionTime)
  if (ttl === undefined || completed === undefined) return []
  const due = completed + ttl * 1000
  return now >= due ? [{ type: 'DeleteJob' }] : [{ type: 'Requeue', at: due }]
}

function suspend(job: Job, observed: Observed): Action[] {
  // as with batch/v1 Jobs the deadline starts anew after a suspension; what was interrupted does not count as an attempt
  const number = observed.attempt?.number ?? findRunningPod(job, observed)
  const attempts = number === undefined ? attemptsOf(job) : number - 1
  const outcome = { status: 'Unknown', reason: 'Suspended', message: 'the job is suspended' } as const
  if (!observed.attempt && !job.status?.podRef && job.status?.reason === 'Suspended') return keepUpToDate(job, observed, { outcome, phase: 'Pending', attempts })
  return [...forget(job, observed), update(job, observed, { outcome, phase: 'Pending', attempts })]
}

function keepUpToDate(job: Job, observed: Observed, change: StatusChange): Action[] {
  return job.status?.observedGeneration === job.metadata.generation && job.status?.message === change.outcome.message ? [] : [update(job, observed, change)]
}

/** No attempt is known here: one may have been lost with an earlier worker, one may be due. */
function nextAttempt(job: Job, observed: Observed): Action[] {
  const attempts = attemptsOf(job)
  const startedAt = parseTime(job.status?.startTime)
  const limit = job.spec.backoffLimit ?? 2
  const lost = ['Cloning', 'Running', 'Comparing'].includes(job.status?.reason ?? '')
  if (lost && attempts > limit) {
    return finish(job, observed, { reason: 'RunnerUnavailable', message: `the worker was lost while it ran attempt ${attempts}, the last one that backoffLimit allows`, class: 'Final' })
  }
  if (observed.retryAt !== undefined && observed.now < observed.retryAt) return [{ type: 'Requeue', at: observed.retryAt }]
  if (!observed.slotFree) {
    const outcome = { status: 'Unknown', reason: 'Pending', message: 'waiting until other jobs of this worker have ended' } as const
    return keepUpToDate(job, observed, { outcome, phase: 'Pending', attempts, startedAt })
  }
  const number = attempts + 1
  const message = lost ? `attempt ${number} is starting: the worker was lost during attempt ${attempts}` : `attempt ${number} is starting`
  const outcome = { status: 'Unknown', reason: 'Pending', message } as const
  // the status first: an attempt that is not counted could be started for ever
  const podRef = observed.pods ? { name: podNameOf(job, number) } : undefined
  return [update(job, observed, { outcome, phase: 'Pending', attempts: number, startedAt, podRef }), { type: 'StartAttempt', number, ...startTimeOf(job) }]
}

function followAttempt(job: Job, observed: Observed, attempt: AttemptState): Action[] {
  if (attempt.failure) return endAttempt(job, observed, attempt.failure)
  if (attempt.report) {
    const { succeeded, reason, message } = attempt.report.verdict
    return succeeded ? finish(job, observed) : endAttempt(job, observed, { reason, message, class: isInfrastructure(reason, observed) ? 'Infrastructure' : 'Result' })
  }
  const startedAt = startOf(job, observed)
  // the uid stays that another worker has written: no other pod will ever run the attempt
  const podRef = observed.pods ? job.status?.podRef : undefined
  if (attempt.step === 'Preparing') {
    const outcome = { status: 'Unknown', reason: 'Pending', message: attempt.preparing ?? `attempt ${attempt.number} is starting` } as const
    return [update(job, observed, { outcome, phase: 'Pending', attempts: attempt.number, startedAt, attempt, podRef })]
  }
  const report = liveReport(job, attempt, observed.now)
  const outcome = { status: 'Unknown', ...describeStep(attempt, report?.verdict.message ?? (attempt.pod && `the notebook runs in the pod ${attempt.pod.name}`)) } as const
  const status = update(job, observed, { outcome, phase: 'Running', attempts: attempt.number, startedAt, attempt, podRef, report })
  if (attempt.cellStartedAt === undefined) return [status]
  const { first, last } = ELAPSED_INTERVAL_MS
  return [status, { type: 'Requeue', at: observed.now + Math.min(last, Math.max(first, observed.now - attempt.cellStartedAt)) }]
}

function describeStep(attempt: AttemptState, progress: string | undefined): { reason: string; message: string } {
  if (attempt.step === 'Cloning') return { reason: 'Cloning', message: 'the repository is being cloned' }
  if (attempt.step === 'Comparing') return { reason: 'Comparing', message: 'the results are being compared' }
  return { reason: 'Running', message: progress ?? 'the kernel is being started' }
}

/** Reasons of a report that may be the machine's as well as the notebook's, which can kill its runner: one second chance each. */
const DOUBTFUL = ['RunnerUnavailable', 'KernelStartFailed']

function isInfrastructure(reason: string, { reportedBefore = [] }: Observed): boolean {
  return DOUBTFUL.includes(reason) && !reportedBefore.includes(reason)
}

function endAttempt(job: Job, observed: Observed, failure: AttemptFailure): Action[] {
  const number = observed.attempt!.number
  if (failure.class !== 'Infrastructure' || number > (job.spec.backoffLimit ?? 2)) return finish(job, observed, failure)
  const delay = retryDelay(number)
  const message = `attempt ${number} failed (${failure.reason}: ${failure.message}); the next one starts in ${delay / 1000} s`
  const outcome = { status: 'Unknown', reason: 'Retrying', message } as const
  const at = observed.now + delay
  const change = { outcome, phase: 'Pending', attempts: number, startedAt: startOf(job, observed), attempt: withoutPod(observed.attempt!) } as const
  const reported = observed.attempt?.report ? { reported: failure.reason } : {}
  return [update(job, observed, change), { type: 'ForgetAttempt' }, { type: 'ScheduleRetry', at, ...reported }, { type: 'Requeue', at }]
}

/** The attempt is over: no worker takes it up any more. */
function withoutPod(attempt: AttemptState): AttemptState {
  const { pod: _, ...rest } = attempt
  return rest
}

/** The end of the job: without a failure it has succeeded. */
function finish(job: Job, observed: Observed, failure?: AttemptFailure): Action[] {
  const { attempt, now } = observed
  const report = attempt?.report ?? (attempt && liveReport(job, attempt, now, failure))
  const outcome = failure
    ? ({ status: 'False', reason: failure.reason, message: failure.message } as const)
    : ({ status: 'True', reason: 'Validated', message: report?.verdict.message ?? '' } as const)
  const change: StatusChange = {
    outcome,
    phase: failure ? 'Failed' : 'Succeeded',
    attempts: attempt?.number ?? attemptsOf(job),
    startedAt: startOf(job, observed),
    completedAt: now,
    attempt,
    report,
  }
  return [update(job, observed, change), ...forget(job, observed)]
}

const update = (job: Job, observed: Observed, change: StatusChange): Action => ({ type: 'UpdateStatus', status: makeStatus(job, change, observed.now, observed.maxStatusBytes) })

/** Whether the status says that this attempt goes on, in the pod that is known here, if one is. */
function isNamed(job: Job, { number, pod }: AttemptState): boolean {
  const { name, uid } = job.status?.podRef ?? {}
  return name === podNameOf(job, number) && (uid === undefined || pod === undefined || uid === pod.uid)
}

function startTimeOf(job: Job): { startedAt?: number } {
  const startedAt = parseTime(job.status?.startTime)
  return startedAt === undefined ? {} : { startedAt }
}

const attemptsOf = (job: Job): number => job.status?.attempts ?? 0

const startOf = (job: Job, observed: Observed): number | undefined => parseTime(job.status?.startTime) ?? observed.attempt?.startedAt

function deadlineOf(job: Job, observed: Observed): number | undefined {
  const start = startOf(job, observed)
  if (start === undefined) return undefined
  const deadline = start + (job.spec.activeDeadlineSeconds ?? 3600) * 1000
  // a pod ends itself in time, with a report of what was done until then, which may have to be fetched yet
  return observed.pods && observed.attempt ? Math.max(deadline, observed.attemptSince ?? 0) + POD_GRACE_MS : deadline
}
