/** Runs attempts as processes of this machine, and ends what a worker that died has left behind. */
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { AsyncQueue } from './async-queue.ts'
import { failureOf } from './attempt-failure.ts'
import { PROCESS_FILE } from './execute-step.ts'
import type { AttemptRequest, Executor, Observation } from './executor.ts'
import { runLocalAttempt, type SecretReader } from './local-attempt.ts'
import { type Environment, killMarked, readStartTime, signalGroup } from './process-group.ts'
import { type PreparationProgress, preparePythonEnvironment } from './python-environment.ts'
import { removeSocketDirectory } from './socket-directory.ts'

export interface LocalExecutorOptions {
  /** Holds the Python environment and a folder for each attempt that lives. */
  readonly dataDir: string
  readonly python: string
  readonly environment: Environment
  readonly readSecret: SecretReader
  readonly onPreparing?: (progress: PreparationProgress) => void
  readonly clock: Clock
  readonly log: Log
}

/** More than the supervisor takes: see runner/supervise.py. */
const SUPERVISOR_GRACE_MS = 15_000

type LiveAttempt = { readonly observations: AsyncQueue<Observation>; readonly abort: AbortController; readonly done: Promise<void> }

/**
 * Opens the executor. Attempts of an earlier worker are ended, with their processes. Throws when another worker that
 * lives uses the data directory.
 */
export async function openLocalExecutor(given: LocalExecutorOptions): Promise<Executor> {
  // the steps run in directories of their own, where a relative path would mean another place
  const options = { ...given, dataDir: resolve(given.dataDir) }
  const attemptsDirectory = join(options.dataDir, 'attempts')
  await mkdir(attemptsDirectory, { recursive: true, mode: 0o700 })
  const owner = join(options.dataDir, 'worker.json')
  await takeOver(owner)
  await endAbandoned(attemptsDirectory, options)
  const live = new Map<string, LiveAttempt>()
  const closing = new AbortController()
  const prepare = sharedPreparation(options, closing.signal)
  const cancel = async (id: string): Promise<void> => {
    const attempt = live.get(id)
    attempt?.abort.abort(new Error('the attempt was cancelled'))
    await attempt?.done
  }
  return {
    start: (request) => {
      if (!/^[A-Za-z0-9.-]{1,128}$/.test(request.id)) throw new Error(`bad attempt id ${request.id}`)
      const observations = new AsyncQueue<Observation>()
      const abort = new AbortController()
      const directory = join(attemptsDirectory, request.id)
      const done = runToEnd(options, { request, directory, observations, abort, prepare }).finally(() => {
        live.delete(request.id)
        observations.close()
      })
      live.set(request.id, { observations, abort, done })
    },
    observe: (id) => live.get(id)?.observations,
    cancel,
    close: async () => {
      closing.abort(new Error('the worker stops'))
      await Promise.all([...live.keys()].map(cancel))
      await prepare.settled()
      await rm(owner, { force: true })
    },
  }
}

type Preparation = {
  /** The interpreter, when it is ready. */
  python(onProgress: (message: string) => void): Promise<string>
  /** Resolves when no preparation runs any more. */
  settled(): Promise<void>
}
type Run = { request: AttemptRequest; directory: string; observations: AsyncQueue<Observation>; abort: AbortController; prepare: Preparation }

async function runToEnd(options: LocalExecutorOptions, { request, directory, observations, abort, prepare }: Run): Promise<void> {
  let last: Observation | undefined
  const emit = (observation: Observation): void => {
    if (observation.type === 'finished') last = observation
    else observations.push(observation)
  }
  try {
    await runLocalAttempt({ ...options, request, directory, preparePython: prepare.python, emit, signal: abort.signal })
  } catch (error) {
    if (!abort.signal.aborted) last = { type: 'failed', failure: failureOf(error) }
  }
  // told only when nothing of the attempt is left: what comes next may use the same names
  await removeAttempt(directory, request.id, options.clock).catch((error: unknown) => options.log.warn('attempt directory not removed', { err: error, attempt: request.id }))
  if (last && !abort.signal.aborted) observations.push(last)
}

async function removeAttempt(directory: string, id: string, clock: Clock): Promise<void> {
  await killMarked(id, clock)
  await rm(directory, { recursive: true, force: true, maxRetries: 3 })
}

/** One preparation for all attempts that wait for it; a failed one is tried again by the next attempt. */
function sharedPreparation(options: LocalExecutorOptions, signal: AbortSignal): Preparation {
  let running: Promise<string> | undefined
  const listeners = new Set<(message: string) => void>()
  const begin = (): Promise<string> =>
    preparePythonEnvironment({
      directory: join(options.dataDir, 'python'),
      python: options.python,
      environment: options.environment,
      clock: options.clock,
      signal,
      onProgress: (progress) => {
        options.onPreparing?.(progress)
        for (const listener of listeners) listener(`preparing the Python environment: ${progress.message}`)
      },
    })
  const python: Preparation['python'] = async (onProgress) => {
    listeners.add(onProgress)
    running ??= begin()
    try {
      return await running
    } catch (error) {
      running = undefined
      throw error
    } finally {
      listeners.delete(onProgress)
    }
  }
  return { python, settled: async () => void (await running?.catch(() => {})) }
}

async function takeOver(owner: string): Promise<void> {
  const { pid, startTime } = await readFile(owner, 'utf8').then(JSON.parse).catch(() => ({}))
  const mine = await readStartTime(process.pid)
  if (typeof pid === 'number' && pid !== process.pid && startTime !== undefined && (await readStartTime(pid)) === startTime) {
    throw new Error(`another worker (process ${pid}) uses the same data directory: stop it or choose another directory`)
  }
  await writeFile(owner, JSON.stringify({ pid: process.pid, startTime: mine }), { mode: 0o600 })
}

async function endAbandoned(attemptsDirectory: string, { clock, log }: LocalExecutorOptions): Promise<void> {
  for (const id of await readdir(attemptsDirectory)) {
    const directory = join(attemptsDirectory, id)
    const { pid, startTime } = await readFile(join(directory, PROCESS_FILE), 'utf8').then(JSON.parse).catch(() => ({}))
    if (typeof pid === 'number' && typeof startTime === 'string') await endSupervisor(pid, startTime, clock)
    // the mark finds what the supervisor has not ended, where the system shows it
    const killed = await killMarked(id, clock)
    log.info('ended an attempt of an earlier worker', { attempt: id, processes: killed })
    await removeSocketDirectory(directory)
    await rm(directory, { recursive: true, force: true, maxRetries: 3 })
  }
}

/** Lets a supervisor end its processes, which only it knows all of; it has been told to when its worker died. */
async function endSupervisor(pid: number, startTime: string, clock: Clock): Promise<void> {
  const lives = async (): Promise<boolean> => (await readStartTime(pid)) === startTime
  const end = clock.monotonic() + SUPERVISOR_GRACE_MS
  if (await lives()) signalGroup(pid, 'SIGTERM')
  while ((await lives()) && clock.monotonic() < end) await clock.sleep(50)
  if (await lives()) signalGroup(pid, 'SIGKILL')
}
