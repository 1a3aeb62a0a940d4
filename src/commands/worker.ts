/** Runs the worker with the local executor against the API that a kubeconfig names. */
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { openApiClient } from '../worker/api-client.ts'
import { runController } from '../worker/controller.ts'
import { type Job, keyOf } from '../worker/job.ts'
import { openLocalExecutor } from '../worker/local-executor.ts'

/**
 * How far something is. Stage `python`: the Python environment is being prepared, counted in packages. Stage `cells`:
 * `message` is the job (namespace/name), counted in code cells. Stage `finished`: `message` is the job, its reason and message.
 */
export type WorkerProgress = { readonly stage: string; readonly done?: number; readonly total?: number; readonly message?: string }

export interface WorkerOptions {
  /** Path of the kubeconfig. */
  readonly kubeconfig: string
  /** Holds the Python environment and the attempts that run. */
  readonly dataDir: string
  /** The system's Python: a name on PATH or a path. */
  readonly python: string
  /** How many notebooks run at once. */
  readonly concurrency: number
  /** Bytes that the status of a job may have, where the API keeps less than it takes. */
  readonly maxStatusBytes?: number
  /** The environment of the user: notebooks run in it, and git and pip take proxies and certificates from it. */
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly log: Log
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly onProgress?: (progress: WorkerProgress) => void
}

/** Runs until the signal aborts; resolves when no process is left. Throws when another worker uses the data directory. */
export async function runWorker(options: WorkerOptions): Promise<void> {
  const { dataDir, python, environment, concurrency, maxStatusBytes, log, clock, signal, onProgress } = options
  const client = openApiClient(options.kubeconfig)
  const executor = await openLocalExecutor({
    dataDir,
    python,
    environment,
    readSecret: client.readSecret,
    onPreparing: (progress) => onProgress?.({ stage: 'python', ...progress }),
    clock,
    log,
  })
  log.info('notebooks run as processes of this user, with all of the user\'s rights', { concurrency })
  await runController({ client, executor, concurrency, ...(maxStatusBytes !== undefined && { maxStatusBytes }), clock, log, signal, onStatus: (job) => tell(job, onProgress) })
}

function tell(job: Job, onProgress: WorkerOptions['onProgress']): void {
  const { phase, reason = '', message = '', summary } = job.status ?? {}
  if (summary) {
    const done = summary.succeeded + summary.failed + summary.skipped
    onProgress?.({ stage: 'cells', done, total: summary.code, message: keyOf(job) })
  }
  if (phase === 'Succeeded' || phase === 'Failed') onProgress?.({ stage: 'finished', message: `${keyOf(job)} ${reason}: ${message}` })
}
