/** The execute step: starts the Python runner and passes its records on as they are written. */
import { open, writeFile } from 'node:fs/promises'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Clock } from '../base/clock.ts'
import { type JobSpec, referenceOf } from './job.ts'
import { type Environment, type Exit, readStartTime, startProcess } from './process-group.ts'
import { readRecords } from './read-records.ts'
import type { RunnerRecord } from './records.ts'
import type { Failure } from './report-types.ts'
import { makeSocketDirectory, removeSocketDirectory } from './socket-directory.ts'
import { nameCell } from './verdict.ts'

export interface ExecuteStepOptions {
  /** The attempt's directory. */
  readonly directory: string
  readonly python: string
  readonly spec: JobSpec
  /** The checkout, and the notebook inside of it. */
  readonly checkout: string
  readonly notebook: string
  /** Milliseconds until the runner ends by itself. */
  readonly deadlineMs: number
  readonly environment: Environment
  readonly onRecord: (record: RunnerRecord, bytes: number) => void
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** In the attempt's directory: who runs the notebook, for a later worker that finds this one dead. */
export const PROCESS_FILE = 'process.json'

const RUNNER = fileURLToPath(new URL('./runner/runner.py', import.meta.url))
/** Ends with the runner what the notebook has left behind. */
const SUPERVISOR = fileURLToPath(new URL('./runner/supervise.py', import.meta.url))
const POLL_MS = 200
/** More than the runner ever writes: what is beyond was written by somebody else. */
const MAX_RECORDS_BYTES = 64 * 1024 ** 2
/** The runner ends by itself; this is for one that hangs. */
const LATE_MS = 30_000

/** Runs the notebook. Returns why there is no end record, as far as that is known from outside. */
export async function execute(options: ExecuteStepOptions): Promise<Failure | undefined> {
  const { directory } = options
  const socketDirectory = await makeSocketDirectory(directory)
  try {
    return await executeWith(options, { ...runnerSettings(options), ...(socketDirectory === undefined ? {} : { socketDirectory }) })
  } finally {
    await removeSocketDirectory(directory)
  }
}

async function executeWith(options: ExecuteStepOptions, runnerSettings: Record<string, unknown>): Promise<Failure | undefined> {
  const { directory, spec, clock, signal } = options
  await writeFile(join(directory, 'runner.json'), JSON.stringify(runnerSettings))
  const records = join(directory, 'records.ndjson')
  await writeFile(records, '')
  const child = startProcess({
    command: options.python,
    args: ['-I', '-B', SUPERVISOR, options.python, '-I', '-B', RUNNER, directory],
    directory: dirname(options.notebook),
    environment: options.environment,
    timeoutMs: options.deadlineMs + LATE_MS,
    clock,
    signal,
  })
  if (child.pid !== undefined) await writeFile(join(directory, PROCESS_FILE), JSON.stringify({ pid: child.pid, startTime: await readStartTime(child.pid) }))
  const tail = { ended: false }
  let running: number | undefined
  const onRecord: ExecuteStepOptions['onRecord'] = (record, bytes) => {
    if (record.type !== 'notebook') running = record.type === 'cell-start' ? record.index : undefined
    options.onRecord(record, bytes)
  }
  const reading = follow(records, onRecord, tail, clock)
  const exit = await child.exited
  tail.ended = true
  const end = await reading
  signal.throwIfAborted()
  return end ? undefined : lostRun(exit, spec, running)
}

/** The settings that runner.py reads from runner.json: see its class Settings. */
export function runnerSettings({ spec, checkout, notebook, deadlineMs }: Pick<ExecuteStepOptions, 'spec' | 'checkout' | 'notebook' | 'deadlineMs'>): Record<string, unknown> {
  const { kernelName, cellTimeoutSeconds, startupTimeoutSeconds, errorPolicy, allowedErrorNames, workingDirectory } = spec.execution ?? {}
  return {
    notebook,
    workingDirectory: workingDirectory === 'RepositoryRoot' ? checkout : dirname(notebook),
    kernelName: kernelName ?? '',
    cellTimeoutSeconds: cellTimeoutSeconds ?? 0,
    startupTimeoutSeconds: startupTimeoutSeconds ?? 60,
    deadlineSeconds: deadlineMs / 1000,
    errorPolicy: errorPolicy ?? 'FailFast',
    allowedErrorNames: allowedErrorNames ?? [],
    storedOutputs: referenceOf(spec) === 'StoredOutputs',
  }
}

/** Why a run left no end record, by how its process ended. */
export function lostRun(exit: Pick<Exit, 'code' | 'signal' | 'stderr' | 'timedOut' | 'error'>, spec: JobSpec, running: number | undefined): Failure {
  if (exit.timedOut) return { reason: 'DeadlineExceeded', message: `the job did not end within ${spec.activeDeadlineSeconds ?? 3600} s` }
  if (exit.error) return { reason: 'RunnerUnavailable', message: `the runner could not be started: ${exit.error.message}` }
  const how = exit.signal === null ? `exit status ${exit.code}` : `killed by signal ${constants.signals[exit.signal as NodeJS.Signals]}, ${exit.signal}`
  const where = running === undefined ? '' : ` while ${nameCell(running)} was running`
  const last = exit.stderr.trim().split('\n').at(-1) ?? ''
  return { reason: 'RunnerUnavailable', message: `the runner ended without a result (${how})${where}${last === '' ? '' : `: ${last.slice(0, 300)}`}` }
}

/** Passes whole lines of a growing file on, until it has ended and was read to its end. True when an end record was among them. */
async function follow(path: string, onRecord: (record: RunnerRecord, bytes: number) => void, tail: { ended: boolean }, clock: Clock): Promise<boolean> {
  const file = await open(path)
  let rest: Buffer = Buffer.alloc(0)
  let position = 0
  let end = false
  try {
    for (;;) {
      const last = tail.ended
      const { bytesRead, buffer } = await file.read(Buffer.alloc(1024 * 1024), 0, 1024 * 1024, position)
      position += bytesRead
      if (bytesRead > 0 && position <= MAX_RECORDS_BYTES) {
        const lines = splitLines(Buffer.concat([rest, buffer.subarray(0, bytesRead)]))
        rest = lines.rest
        for (const line of lines.whole) {
          const [record] = readRecords(line).records
          if (!record) continue
          end ||= record.type === 'end'
          onRecord(record, line.length)
        }
      } else if (last || position > MAX_RECORDS_BYTES) {
        return end
      } else {
        await clock.sleep(POLL_MS)
      }
    }
  } finally {
    await file.close()
  }
}

function splitLines(bytes: Buffer): { whole: string[]; rest: Buffer } {
  const cut = bytes.lastIndexOf(0x0a) + 1
  return { whole: cut === 0 ? [] : bytes.toString('utf8', 0, cut - 1).split('\n'), rest: bytes.subarray(cut) }
}
