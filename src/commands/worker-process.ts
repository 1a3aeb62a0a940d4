/** The worker as a child process of standalone mode: started again when it dies, ended with the server. */
import { fork, type ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'

/** What the worker tells of its progress: a stage (`environment`, `job`, …) with a count where there is one. */
export interface WorkerProgress {
  readonly stage: string
  readonly message?: string
  readonly done?: number
  readonly total?: number
}

export interface WorkerProcessOptions {
  /** Arguments of the `worker` command. */
  readonly args: readonly string[]
  readonly onProgress: (progress: WorkerProgress) => void
  readonly clock: Clock
  readonly log: Log
}

export interface WorkerProcess {
  readonly pid: number | undefined
  /** Asks the worker to end, kills it after `graceMs`; resolves when it is gone. */
  stop(graceMs: number): Promise<void>
}

const FIRST_RESTART_MS = 500
const LAST_RESTART_MS = 30_000
/** A worker that lived this long was well: the pauses start anew. */
const WELL_MS = 60_000

/** Starts the worker. */
export function startWorkerProcess(options: WorkerProcessOptions): WorkerProcess {
  const { clock, log } = options
  let stopped = false
  let pause = FIRST_RESTART_MS
  let child = launch()

  function launch(): ChildProcess {
    const started = clock.monotonic()
    const next = fork(join(import.meta.dirname, '..', 'launch.mjs'), ['worker', ...options.args], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    next.on('message', (message) => {
      if (isProgress(message)) options.onProgress(message)
    })
    next.on('exit', (code, signal) => {
      if (stopped) return
      log.error('the worker has ended and is started again', { code, signal, pauseMs: pause })
      if (clock.monotonic() - started > WELL_MS) pause = FIRST_RESTART_MS
      clock.schedule(pause, () => {
        if (!stopped) child = launch()
      })
      pause = Math.min(pause * 2, LAST_RESTART_MS)
    })
    return next
  }

  return {
    get pid() {
      return child.pid
    },
    async stop(graceMs) {
      stopped = true
      if (child.exitCode !== null || child.signalCode !== null) return
      const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()))
      child.kill('SIGTERM')
      const timer = clock.schedule(graceMs, () => child.kill('SIGKILL'))
      await gone
      timer.cancel()
    },
  }
}

function isProgress(message: unknown): message is WorkerProgress {
  return typeof message === 'object' && message !== null && typeof (message as { stage?: unknown }).stage === 'string'
}
