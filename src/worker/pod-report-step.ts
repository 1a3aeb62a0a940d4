/** The container report of a pod: waits until the notebook has run, compares, and makes the lines of its log. */
import { readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { getKey, isObject } from '../api/object.ts'
import type { Clock } from '../base/clock.ts'
import { lostRun } from './execute-step.ts'
import type { JobSpec } from './job.ts'
import type { AttemptInput } from './pod-manifest.ts'
import { readCapped } from './read-capped.ts'
import { readRecords } from './read-records.ts'
import { reportAttempt } from './report-attempt.ts'
import { writeReportLog } from './report-log.ts'
import type { Failure } from './report-types.ts'
import { nameCell } from './verdict.ts'

export interface PodReportOptions {
  readonly input: AttemptInput
  readonly work: string
  readonly reference: string
  readonly clock: Clock
  readonly signal: AbortSignal
}

const POLL_MS = 500
/** A runner that has not said for so long that it lives is no more: its container was killed. */
const STALE_MS = 20_000
/** What is waited beyond the deadline of the job for a runner that has begun. */
const LATE_MS = 20_000
const MAX_BYTES = 64 * 1024
const MAX_RECORDS_BYTES = 64 * 1024 ** 2

/** The lines of the log. Throws when the report cannot be made. */
export async function runPodReport(options: PodReportOptions): Promise<string> {
  const { work, reference } = options
  const failure = await waitForRun(options)
  if (failure) await writeFile(join(reference, 'failure.json'), JSON.stringify(failure))
  // read there, as whatever the notebook has made of it: a link, a pipe, a file that still grows
  await symlink(join(work, 'records.ndjson'), join(reference, 'records.ndjson'))
  await reportAttempt(reference)
  return writeReportLog(await readFile(join(reference, 'report.json'), 'utf8'))
}

/** Why there may be no end record, as far as it can be seen from this container. */
async function waitForRun({ input, work, reference, clock, signal }: PodReportOptions): Promise<Failure | undefined> {
  const deadlineAt = await readDeadline(reference)
  let beat: string | undefined
  let beatAt = clock.monotonic()
  for (;;) {
    const ended = await readText(join(work, 'execute.json'))
    if (ended !== undefined) return describeExit(ended, input.spec, await findRunningCell(work))
    const now = await readText(join(work, 'heartbeat'))
    if (now !== beat) {
      beat = now
      beatAt = clock.monotonic()
    }
    // before the first one the image is still being pulled
    if (beat !== undefined && clock.monotonic() - beatAt > STALE_MS) return await describeSilence(work)
    if (clock.now() > deadlineAt + LATE_MS) return { reason: 'DeadlineExceeded', message: `the job did not end within ${input.spec.activeDeadlineSeconds ?? 3600} s` }
    await clock.sleep(POLL_MS, signal)
  }
}

async function describeSilence(work: string): Promise<Failure> {
  const cell = await findRunningCell(work)
  return { reason: 'RunnerUnavailable', message: `the container execute was ended while ${cell === undefined ? 'the notebook' : nameCell(cell)} was running` }
}

/** The cell that had begun and not ended. */
async function findRunningCell(work: string): Promise<number | undefined> {
  const last = readRecords((await readText(join(work, 'records.ndjson'), MAX_RECORDS_BYTES)) ?? '').records.at(-1)
  return last?.type === 'cell-start' ? last.index : undefined
}

async function readDeadline(reference: string): Promise<number> {
  const { deadlineAt }: { deadlineAt: number } = JSON.parse(await readFile(join(reference, 'pod.json'), 'utf8'))
  return deadlineAt * 1000
}

/** A file that the notebook may have tampered with. */
async function readText(path: string, maxBytes = MAX_BYTES): Promise<string | undefined> {
  return (await readCapped(path, maxBytes).catch(() => undefined))?.text
}

function describeExit(text: string, spec: AttemptInput['spec'], running: number | undefined): Failure | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    value = undefined
  }
  if (!isObject(value)) return { reason: 'RunnerUnavailable', message: 'the runner did not tell how it ended' }
  const [code, signal, stderr] = [getKey(value, 'code'), getKey(value, 'signal'), getKey(value, 'stderr')]
  const exit = {
    code: typeof code === 'number' ? code : null,
    signal: typeof signal === 'string' && /^SIG[A-Z0-9]{1,12}$/.test(signal) ? signal : null,
    stderr: typeof stderr === 'string' ? stderr : '',
    timedOut: getKey(value, 'timedOut') === true,
  }
  return lostRun(exit, spec as JobSpec, running)
}
