/** The status of a job in each of its states. Pure: the old status and what is known give the new one. */
import type { AttemptState } from './attempt.ts'
import { buildReport } from './report.ts'
import { findConditions, type Outcome, setConditions } from './conditions.ts'
import { formatTime, type Job, type JobStatus } from './job.ts'
import { fitCells } from './fit-cells.ts'
import type { Failure, Report } from './report-types.ts'
import { jsonBytes } from './truncate.ts'

/** What is said about a job, beside what its attempt tells. */
export type StatusChange = {
  readonly outcome: Outcome
  readonly phase: 'Pending' | 'Running' | 'Succeeded' | 'Failed'
  readonly attempts: number
  /** When the first attempt began, in milliseconds since the epoch. */
  readonly startedAt?: number | undefined
  /** When the job ended. */
  readonly completedAt?: number
  readonly attempt?: AttemptState | undefined
  /** The pod of the attempt, before it is known to be there. */
  readonly podRef?: { readonly name: string; readonly uid?: string } | undefined
  readonly report?: Report | undefined
}

/** Outputs beyond this size are left out of what is shown while the job runs: reading them again and again is not free. */
const MAX_LIVE_BYTES = 1024 ** 2

/** What v1alpha1 hides of a cell is kept with a mark of the cell, about so long, by which it is found again. */
const CELL_MARK_BYTES = 64

/** The whole new status. With `maxBytes` its JSON, together with such marks of its cells, has no more bytes. */
export function makeStatus(job: Job, change: StatusChange, now: number, maxBytes?: number): JobStatus {
  const status = wholeStatus(job, change, now)
  if (maxBytes === undefined || change.report === undefined) return status
  const { cells, truncated } = fitCells(change.report.cells, maxBytes - jsonBytes({ ...status, cells: [], truncated: true }) + jsonBytes([]), CELL_MARK_BYTES)
  return truncated ? { ...status, cells, truncated } : status
}

function wholeStatus(job: Job, change: StatusChange, now: number): JobStatus {
  const { outcome, attempt, report, startedAt, completedAt } = change
  const source = attempt?.source
  const runtime = report?.runtime ?? attempt?.runtime
  return {
    observedGeneration: job.metadata.generation ?? 0,
    conditions: setConditions(job.status?.conditions ?? [], findConditions(job, outcome, attempt, report), now, job.metadata.generation ?? 0),
    phase: change.phase,
    reason: outcome.reason,
    message: outcome.message,
    attempts: change.attempts,
    ...(startedAt === undefined ? {} : { startTime: formatTime(startedAt) }),
    ...(completedAt === undefined ? {} : { completionTime: formatTime(completedAt) }),
    ...(attempt?.pod || change.podRef ? { podRef: attempt?.pod ?? change.podRef! } : {}),
    ...(source ? { source: { commit: source.commit } } : {}),
    ...(source?.goldenCommit === undefined ? {} : { goldenSource: { commit: source.goldenCommit } }),
    ...(runtime && runtime.nbformat !== '' ? { runtime } : {}),
    ...(report ? { summary: report.summary, cells: report.cells } : {}),
    ...(report?.truncated ? { truncated: true } : {}),
  }
}

/**
 * What is shown of the cells while the notebook runs, or after it was cut short by `failure`; undefined before it was
 * read.
 */
export function liveReport(job: Job, attempt: AttemptState, now: number, failure?: Failure): Report | undefined {
  if (!attempt.records.some(({ type }) => type === 'notebook')) return undefined
  const spec = attempt.recordBytes > MAX_LIVE_BYTES ? { ...job.spec, results: { outputPolicy: 'None' as const } } : job.spec
  // a run that has told its end, and left no report, is judged by nobody else
  if (failure && !attempt.records.some(({ type }) => type === 'end')) return buildReport({ spec, records: attempt.records, failure })
  // in whole seconds: a status that is made again within one says nothing new
  const elapsedMilliseconds = attempt.cellStartedAt === undefined ? 0 : Math.max(0, Math.floor((now - attempt.cellStartedAt) / 1000) * 1000)
  return buildReport({ spec, records: attempt.records, running: true, elapsedMilliseconds })
}
