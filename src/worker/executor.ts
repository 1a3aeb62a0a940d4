/** What carries out an attempt: as processes on this machine, or as a pod. */
import type { AttemptFailure } from './attempt-failure.ts'
import type { Job } from './job.ts'
import type { RunnerRecord } from './records.ts'
import type { Report } from './report-types.ts'

/** One run of a job: clone, execute, report. */
export type AttemptRequest = {
  /** Unique over jobs and attempts; see attemptId. */
  readonly id: string
  readonly job: Job
  /** From 1. */
  readonly number: number
  /** When the job's first attempt began, in milliseconds since the epoch; the deadline counts from there. */
  readonly startedAt?: number
}

/** What is seen of an attempt, in the order in which it happens; the last one is `finished` or `failed`. */
export type Observation =
  | { readonly type: 'preparing'; readonly message: string }
  /** The pod that runs the attempt is there. */
  | { readonly type: 'pod'; readonly name: string; readonly uid: string }
  | { readonly type: 'cloning'; readonly at: number }
  | { readonly type: 'source'; readonly commit: string; readonly goldenCommit?: string }
  | { readonly type: 'started'; readonly runtime: { readonly kernelName: string; readonly language: string; readonly nbformat: string } }
  /** `bytes` is the size of the record as it was written, `at` when it was seen. */
  | { readonly type: 'record'; readonly record: RunnerRecord; readonly bytes: number; readonly at?: number }
  | { readonly type: 'comparing' }
  | { readonly type: 'finished'; readonly report: Report }
  | ({ readonly type: 'failed' } & { readonly failure: AttemptFailure })

/** Runs attempts. An attempt that nobody observes goes on. */
export interface Executor {
  /** Attempts are pods: they outlive the worker, and one that is started again is taken up where it is. */
  readonly pods?: boolean
  /** Begins an attempt; returns at once. */
  start(request: AttemptRequest): void
  /** What happens to an attempt from its beginning; undefined when no such attempt lives. The stream of a cancelled attempt ends without a last observation. */
  observe(id: string): AsyncIterable<Observation> | undefined
  /** Ends an attempt with everything that it has started; resolves when nothing of it is left. */
  cancel(id: string): Promise<void>
  /** Ends the pod of an attempt that another worker has started, where attempts are pods. */
  cancelPod?(job: Job, number: number): Promise<void>
  /** Cancels all attempts; where they are pods it only looks away. */
  close(): Promise<void>
}

/** The id of an attempt of a job. */
export function attemptId(uid: string, number: number): string {
  return `${uid}.${number}`
}
