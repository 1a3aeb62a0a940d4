/** Jobs and reports for tests. */
import type { Job, JobSpec, JobStatus } from './job.ts'
import type { Report } from './report-types.ts'

/** A job with the least spec. */
export function makeJob(more: { name?: string; uid?: string; spec?: Partial<JobSpec>; status?: JobStatus; generation?: number; deletionTimestamp?: string } = {}): Job {
  const { name = 'a', uid = `uid-${name}`, generation = 1, deletionTimestamp } = more
  return {
    apiVersion: 'mlops.dev/v1',
    kind: 'NotebookValidationJob',
    metadata: { name, namespace: 'default', uid, generation, resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z', ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }) },
    spec: { notebook: { git: { url: 'https://git.example/nb.git', revision: 'main' }, path: 'a.ipynb' }, activeDeadlineSeconds: 3600, backoffLimit: 2, ...more.spec },
    ...(more.status ? { status: more.status } : {}),
  }
}

/** A report with one cell and the given verdict. */
export function makeReport(reason = 'Validated', message = 'said'): Report {
  const succeeded = reason === 'Validated'
  return {
    verdict: { succeeded, reason, message },
    summary: { total: 1, code: 1, succeeded: succeeded ? 1 : 0, failed: succeeded ? 0 : 1, skipped: 0, notRun: 0, matched: 0, mismatched: reason === 'OutputMismatch' ? 1 : 0, ignored: 0, durationMilliseconds: 5, cells: succeeded ? '1/1' : '0/1', duration: '5ms' },
    cells: [{ index: 0, type: 'Code', outcome: succeeded ? 'Succeeded' : 'Failed' }],
    truncated: false,
    runtime: { kernelName: 'python3', language: 'python', nbformat: '4.5' },
  }
}
