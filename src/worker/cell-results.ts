/** What became of each code cell, from the runner's records. */
import type { JsonObject } from '../api/object.ts'
import { resolveCarriageReturns, cleanText } from './clean-text.ts'
import { parseOutput } from './notebook.ts'
import type { CellOutcome, CellRecord, EndRecord, NotebookRecord, RunnerRecord } from './records.ts'
import type { ReportInput, ReportSpec } from './report-types.ts'

/** A code cell of the source notebook with its result. */
export type CellResult = {
  readonly index: number
  readonly id: string
  readonly tags: readonly string[]
  readonly source: string
  readonly outcome: CellOutcome
  /** Why a cell Failed that did not raise. */
  readonly failure?: 'ExpectedErrorNotRaised' | 'FailOn'
  /** In words for a person; only where the cell is not Succeeded or Skipped. */
  readonly message?: string
  readonly error?: { readonly name: string; readonly value: string; readonly traceback: string }
  readonly executionCount?: number
  readonly durationMilliseconds?: number
  readonly outputs: readonly JsonObject[]
  readonly outputsTruncated: boolean
}

/** The records sorted by kind. Of repeated records the first notebook and the last of all others count. */
export type Run = {
  readonly notebook?: NotebookRecord
  readonly started: ReadonlySet<number>
  readonly cells: ReadonlyMap<number, CellRecord>
  readonly end?: EndRecord
}

/** Sorts records by kind. */
export function sortRecords(records: readonly RunnerRecord[]): Run {
  const cells = new Map<number, CellRecord>()
  const started = new Set<number>()
  let [notebook, end]: [NotebookRecord?, EndRecord?] = []
  for (const record of records) {
    if (record.type === 'cell') cells.set(record.index, record)
    else if (record.type === 'cell-start') started.add(record.index)
    else if (record.type === 'notebook') notebook ??= record
    else end = record
  }
  return { ...(notebook ? { notebook } : {}), started, cells, ...(end ? { end } : {}) }
}

/** The results of the code cells in order. A cell without a record has no reply: it never succeeded. */
export function readCellResults(run: Run, input: ReportInput): CellResult[] {
  const cells = run.notebook?.cells.filter((cell) => cell.type === 'Code') ?? []
  return cells.map((cell) => {
    const { index, id, tags, source } = cell
    const record = run.cells.get(index)
    const base = { index, id, tags, source, outputs: record?.outputs ?? [], outputsTruncated: record?.outputsTruncated ?? false }
    if (!record) return { ...base, ...withoutRecord(index, run, input) }
    return {
      ...base,
      ...(record.executionCount === undefined ? {} : { executionCount: record.executionCount }),
      durationMilliseconds: record.durationMilliseconds,
      ...judge(record, tags, run, input.spec),
    }
  })
}

type Judgement = Pick<CellResult, 'outcome' | 'failure' | 'message' | 'error'>

/** What became of the cell that was running when a run ended so. */
const INTERRUPTED: Record<string, CellOutcome> = {
  CellTimeout: 'TimedOut',
  DeadlineExceeded: 'TimedOut',
  KernelDied: 'KernelDied',
  OutOfMemory: 'KernelDied',
}

function withoutRecord(index: number, run: Run, { spec, running, failure }: ReportInput): Judgement {
  if (running) return { outcome: 'NotRun' }
  if (!run.started.has(index)) return { outcome: 'NotRun', message: describeNotRun(run, failure?.reason) }
  const ending = run.end?.outcome ?? failure?.reason ?? ''
  const outcome = (run.end?.cell ?? index) === index && Object.hasOwn(INTERRUPTED, ending) ? INTERRUPTED[ending] : undefined
  if (outcome) return { outcome, message: describeInterruption(ending, spec) }
  return { outcome: 'NotRun', message: 'the run ended while this cell was running; it left no result' }
}

/** Why a cell did not begin: for readers of v1alpha1 it is a Failure. */
function describeNotRun({ end }: Run, reason: string | undefined): string {
  const before = end?.cell === undefined ? undefined : `cell ${end.cell + 1}`
  switch (end?.outcome ?? reason) {
    case 'Completed':
      return before ? `not run: ${before} failed before` : 'not run'
    case 'CellTimeout':
      return `not run: ${before ?? 'a cell'} took too long`
    case 'KernelDied':
    case 'OutOfMemory':
      return 'not run: the kernel died before'
    case 'DeadlineExceeded':
      return 'not run: the deadline of the job came before'
    default:
      return 'not run: the run ended before'
  }
}

/** How the end of the run (an outcome or a reason) cut a cell short, in words that follow its name. */
export function describeInterruption(ending: string | undefined, spec: ReportSpec): string {
  const seconds = spec.execution?.cellTimeoutSeconds
  switch (ending) {
    case 'DeadlineExceeded':
      return `was still running at the deadline of the job and was stopped (activeDeadlineSeconds is ${spec.activeDeadlineSeconds ?? 3600}, its last seconds are kept for the report)`
    case 'OutOfMemory':
      return 'was running when the kernel was killed for using too much memory'
    case 'KernelDied':
      return 'was running when the kernel died'
    default:
      return seconds === undefined ? 'did not finish in time' : `did not finish within ${seconds} s`
  }
}

function judge(record: CellRecord, tags: readonly string[], run: Run, spec: ReportSpec): Judgement {
  const { outcome, error } = record
  if (outcome === 'TimedOut') return { outcome, message: describeInterruption(run.end?.outcome, spec), ...withError(record) }
  if (outcome === 'KernelDied') {
    const ending = run.end?.outcome === 'OutOfMemory' ? 'OutOfMemory' : 'KernelDied'
    return { outcome, message: describeInterruption(ending, spec), ...withError(record) }
  }
  if (outcome === 'Skipped') return { outcome }
  if (outcome === 'NotRun') return { outcome, message: describeNotRun(run, undefined) }
  const expected = record.expectsError === true || tags.some((tag) => tag === 'raises-exception' || tag === 'nbval-raises-exception')
  if (error && (expected || (spec.execution?.allowedErrorNames ?? []).includes(error.name))) return judgeOutputs(record, spec)
  if (error) return { outcome: 'Failed', message: error.value === '' ? error.name : `${error.name}: ${error.value}`, error }
  if (outcome === 'Failed') return { outcome, message: 'the kernel answered with an error and did not say which' }
  if (expected && spec.execution?.expectedErrors !== 'Optional') {
    return { outcome: 'Failed', failure: 'ExpectedErrorNotRaised', message: 'the cell has the tag raises-exception and did not raise' }
  }
  return judgeOutputs(record, spec)
}

function withError(record: CellRecord): Pick<CellResult, 'error'> {
  return record.error ? { error: record.error } : {}
}

/** The one place where outputs decide, because `execution.failOn` asks for it. */
function judgeOutputs(record: CellRecord, spec: ReportSpec): Judgement {
  const failOn = spec.execution?.failOn ?? []
  if (!failOn.includes('Stderr') && !failOn.includes('PythonWarnings')) return { outcome: 'Succeeded' }
  const stderr = record.outputs
    .map(parseOutput)
    .map((output) => (output?.type === 'stream' && output.name === 'stderr' ? output.text : ''))
    .join('')
  const lines = cleanText(resolveCarriageReturns(stderr)).split('\n').filter((line) => line.trim() !== '')
  const warning = failOn.includes('PythonWarnings') ? lines.find(isPythonWarning) : undefined
  const line = warning ?? (failOn.includes('Stderr') ? lines[0] : undefined)
  if (line === undefined) return { outcome: 'Succeeded' }
  const what = warning === undefined ? 'wrote to stderr' : 'issued a Python warning'
  return { outcome: 'Failed', failure: 'FailOn', message: `${what}: ${line.trim()}` }
}

/** `path:12: DeprecationWarning: text`, as Python's warnings.formatwarning writes it. */
function isPythonWarning(line: string): boolean {
  const category = line.indexOf('Warning: ')
  return category > 0 && /:[0-9]{1,9}: [A-Za-z_.]{0,100}$/.test(line.slice(Math.max(0, category - 120), category))
}
