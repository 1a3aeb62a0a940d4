/** The job as the worker sees it: v1, read from the API. */
import type { NotebookValidationJobV1 } from '../resources/notebookvalidationjobs/v1.ts'

export type Job = NotebookValidationJobV1
export type JobSpec = Job['spec']
export type JobStatus = NonNullable<Job['status']>
export type Condition = NonNullable<JobStatus['conditions']>[number]

/** The group of the job's API. */
export const GROUP = 'mlops.dev'
/** The version that the worker speaks. */
export const API_VERSION = `${GROUP}/v1`
/** The kind of the job. */
export const KIND = 'NotebookValidationJob'
/** The resource of the job. */
export const RESOURCE = 'notebookvalidationjobs'

/** `namespace/name`, the key of a job in queues and maps. */
export function keyOf(job: Job): string {
  return `${job.metadata.namespace ?? ''}/${job.metadata.name ?? ''}`
}

/** True once the job has ended: nothing but its deletion is left to do. */
export function isFinished(job: Job): boolean {
  const succeeded = job.status?.conditions?.find(({ type }) => type === 'Succeeded')
  return succeeded?.status === 'True' || succeeded?.status === 'False'
}

/** A time of the API from milliseconds since the epoch: RFC 3339 with whole seconds. */
export function formatTime(milliseconds: number): string {
  return `${new Date(milliseconds).toISOString().slice(0, 19)}Z`
}

/** Milliseconds since the epoch of a time of the API; undefined for what is absent or no time. */
export function parseTime(time: string | undefined): number | undefined {
  const milliseconds = time === undefined ? Number.NaN : Date.parse(time)
  return Number.isNaN(milliseconds) ? undefined : milliseconds
}

/** What the outputs are compared with; absent means Golden where there is a golden notebook. */
export function referenceOf(spec: JobSpec): 'None' | 'Golden' | 'StoredOutputs' {
  return spec.comparison?.reference ?? (spec.golden ? 'Golden' : 'None')
}
