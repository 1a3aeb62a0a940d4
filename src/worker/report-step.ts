/** The report step: a process of its own (the command `report`) compares and cuts to size; what it writes is read as hostile input. */
import { open, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isObject } from '../api/object.ts'
import type { Clock } from '../base/clock.ts'
import { AttemptError } from './attempt-failure.ts'
import { quote } from './git-source.ts'
import type { JobSpec } from './job.ts'
import { type Environment, startProcess } from './process-group.ts'
import type { Failure, Report } from './report-types.ts'

export interface ReportStepOptions {
  /** The attempt's directory: source.json, records.ndjson and the notebooks are there. */
  readonly directory: string
  readonly spec: JobSpec
  /** What is known from outside of a run that left no end record. */
  readonly failure?: Failure
  readonly environment: Environment
  readonly clock: Clock
  readonly signal: AbortSignal
}

const TIMEOUT_MS = 120_000
const MAX_REPORT_BYTES = 2 * 1024 ** 2
const HEAP_MEBIBYTES = 768
// built, the sources are .js files
const PROGRAM = fileURLToPath(new URL(`../main${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url))

/** Makes the report of an attempt. Throws AttemptError with ResultsUnavailable when there is none that can be read. */
export async function makeReport(options: ReportStepOptions): Promise<Report> {
  const { directory, spec, failure, environment, clock, signal } = options
  await writeFile(join(directory, 'job.json'), JSON.stringify({ spec }))
  if (failure) await writeFile(join(directory, 'failure.json'), JSON.stringify(failure))
  const args = [`--max-old-space-size=${HEAP_MEBIBYTES}`, PROGRAM, 'report', directory]
  const exit = await startProcess({ command: process.execPath, args, environment, clock, signal, timeoutMs: TIMEOUT_MS }).exited
  signal.throwIfAborted()
  if (exit.code !== 0) {
    const why = exit.timedOut ? `it took longer than ${TIMEOUT_MS / 1000} s` : (exit.stderr.trim().split('\n').at(-1) ?? `exit status ${exit.code}`)
    throw unavailable(`the report step failed: ${quote(why).slice(1, -1)}`)
  }
  return await readReport(join(directory, 'report.json'))
}

/** Reads a report. Throws AttemptError with ResultsUnavailable when it is missing, too large or none. */
export async function readReport(path: string): Promise<Report> {
  const text = await readLimited(path).catch((error: Error) => {
    throw unavailable(`the report cannot be read: ${error.message}`)
  })
  return parseReport(text)
}

/** The report in a text, as hostile input. Throws AttemptError with ResultsUnavailable when it is none. */
export function parseReport(text: string): Report {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw unavailable('the report is not JSON')
  }
  if (!isReport(value)) throw unavailable('the report has not the form of one')
  return value
}

async function readLimited(path: string): Promise<string> {
  const file = await open(path)
  try {
    if ((await file.stat()).size > MAX_REPORT_BYTES) throw new Error('it is too large')
    return await file.readFile('utf8')
  } finally {
    await file.close()
  }
}

function isReport(value: unknown): value is Report {
  if (!isObject(value) || !isObject(value.verdict) || !isObject(value.summary) || !isObject(value.runtime)) return false
  const { succeeded, reason, message } = value.verdict
  const verdict = typeof succeeded === 'boolean' && typeof reason === 'string' && typeof message === 'string'
  // success and its reason are told twice: both must say the same
  return verdict && succeeded === (reason === 'Validated') && Array.isArray(value.cells) && value.cells.every(isObject)
}

function unavailable(message: string): AttemptError {
  return new AttemptError('Result', 'ResultsUnavailable', message)
}
