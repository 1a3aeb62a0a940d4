/** What became of a run as a whole, in one reason and one sentence. */
import { cleanText } from './clean-text.ts'
import { describeInterruption } from './cell-results.ts'
import type { CellResult, Run } from './cell-results.ts'
import type { NotebookComparison } from './compare.ts'
import type { Failure, ReportInput, Summary, Verdict } from './report-types.ts'
import { ellipsize } from './truncate.ts'

/** Everything that a verdict is made of. `comparison` is absent where nothing was to be compared. */
export type Findings = {
  readonly input: ReportInput
  readonly run: Run
  readonly results: readonly CellResult[]
  readonly summary: Summary
  readonly reference: 'None' | 'Golden' | 'StoredOutputs'
  readonly comparison?: NotebookComparison
}

const MAX_MESSAGE_BYTES = 2048

/**
 * The reasons in the order of their precedence: the first that is found is the verdict.
 *
 * | reason                                                       | when |
 * |--------------------------------------------------------------|------|
 * | Running                                                      | the run goes on |
 * | the reason passed from outside                               | the run left no end record, and who ran it knows why |
 * | ResultsUnavailable                                           | no end record, no notebook record, or a completed run without a result for some cell that it should have run |
 * | KernelNotFound, KernelStartFailed, NotebookInvalid, Cancelled | as the end record says |
 * | RunnerUnavailable                                            | the runner itself failed |
 * | DeadlineExceeded, OutOfMemory, KernelDied, CellTimeout       | as the end record says; the last two also from a cell |
 * | NotebookFailed                                               | a cell failed, or `failOn` found something |
 * | ExpectedErrorNotRaised                                       | a cell tagged raises-exception did not raise |
 * | the reason of the golden notebook's error                    | it could not be fetched or read |
 * | OutputMismatch                                               | a compared cell differs, or only one notebook has it |
 * | Validated                                                    | none of these |
 *
 * A completed run with cells that did not run is ResultsUnavailable only where no failed cell explains it. The error
 * policy Continue lets later cells run; a cell that fails under it fails the job all the same.
 */
export function judgeRun(findings: Findings): Verdict {
  if (findings.input.running) return verdict(false, { reason: 'Running', message: describeProgress(findings) })
  const rules = [findLostRun, findBrokenRun, findFailedCell, findLostCell, findGoldenError, findMismatch]
  for (const rule of rules) {
    const failure = rule(findings)
    if (failure) return verdict(false, failure)
  }
  return verdict(true, { reason: 'Validated', message: describeSuccess(findings) })
}

function verdict(succeeded: boolean, { reason, message }: Failure): Verdict {
  return { succeeded, reason, message: ellipsize(cleanText(message), MAX_MESSAGE_BYTES) }
}

function findLostRun({ input, run }: Findings): Failure | undefined {
  if (!run.end && input.failure) return input.failure
  if (!run.end) return { reason: 'ResultsUnavailable', message: 'the run left no end record: its results are incomplete' }
  const needsNotebook = run.end.outcome === 'Completed' || run.end.outcome === 'CellTimeout'
  return needsNotebook && !run.notebook ? { reason: 'ResultsUnavailable', message: 'the run left no readable record of the notebook' } : undefined
}

function findBrokenRun({ input, run, results }: Findings): Failure | undefined {
  const { outcome, message } = run.end!
  switch (outcome) {
    case 'KernelNotFound':
    case 'KernelStartFailed':
    case 'NotebookInvalid':
    case 'Cancelled':
      return { reason: outcome, message: message || outcome }
    case 'RunnerError':
      return { reason: 'RunnerUnavailable', message: `the runner failed: ${message}` }
    case 'DeadlineExceeded':
    case 'OutOfMemory':
    case 'KernelDied':
    case 'CellTimeout':
      return findInterrupted({ input, run, results }, outcome)
    case 'Completed':
      return findInterruptedCell(input, run, results)
  }
}

type Interruption = Pick<Findings, 'input' | 'run' | 'results'>

function findInterrupted({ input, run, results }: Interruption, reason: string): Failure {
  const { message, ...end } = run.end!
  const cell = end.cell ?? results.find(({ outcome }) => outcome === 'TimedOut' || outcome === 'KernelDied')?.index
  if (cell === undefined) return { reason, message: (message || reason) + notRun(results) }
  // The runner knows how a kernel died; it names cells by their index.
  const detailed = (reason === 'KernelDied' || reason === 'OutOfMemory') && message.includes(`cell ${cell}`)
  const text = detailed ? message.replace(`cell ${cell}`, nameCell(cell)) : `${nameCell(cell)} ${describeInterruption(end.outcome, input.spec)}`
  return { reason, message: text + notRun(results) }
}

/** A run that calls itself completed while one of its cells was cut short. */
function findInterruptedCell(input: ReportInput, run: Run, results: readonly CellResult[]): Failure | undefined {
  const cell = results.find(({ outcome }) => outcome === 'TimedOut' || outcome === 'KernelDied')
  if (!cell) return undefined
  const reason = cell.outcome === 'TimedOut' ? 'CellTimeout' : 'KernelDied'
  return findInterrupted({ input, run: { ...run, end: { type: 'end', outcome: reason, message: '', cell: cell.index } }, results }, reason)
}

function findFailedCell({ input, results }: Findings): Failure | undefined {
  const failed = results.filter(({ outcome }) => outcome === 'Failed')
  const first = failed.find(({ failure }) => failure !== 'ExpectedErrorNotRaised')
  if (first) return { reason: 'NotebookFailed', message: describeFailed(first, failed.length) + notRun(results) }
  const [silent] = failed
  if (silent) return { reason: 'ExpectedErrorNotRaised', message: describeFailed(silent, failed.length) + notRun(results) }
  const idle = results.every(({ outcome }) => outcome === 'Skipped')
  if (!idle || !input.spec.execution?.failOn?.includes('NoCodeCells')) return undefined
  return { reason: 'NotebookFailed', message: 'the notebook has no code cells to run' }
}

function describeFailed(cell: CellResult, count: number): string {
  const name = nameCell(cell.index)
  const more = count > 1 ? `; ${count - 1} more ${count === 2 ? 'cell' : 'cells'} failed` : ''
  if (cell.failure === 'ExpectedErrorNotRaised') return `${name} has the tag raises-exception and did not raise${more}`
  const what = cell.error ? `raised ${cell.message}` : cell.failure === 'FailOn' ? cell.message : `failed: ${cell.message}`
  return `${name} ${what}${more}`
}

function findLostCell({ results }: Findings): Failure | undefined {
  const lost = results.find(({ outcome }) => outcome === 'NotRun')
  return lost && { reason: 'ResultsUnavailable', message: `the run left no result for ${nameCell(lost.index)}` }
}

function findGoldenError({ input, reference }: Findings): Failure | undefined {
  if (reference !== 'Golden') return undefined
  if (input.goldenError) return input.goldenError
  return input.golden === undefined ? { reason: 'GoldenNotFound', message: 'there is no golden notebook to compare with' } : undefined
}

function findMismatch({ summary, reference, comparison }: Findings): Failure | undefined {
  if (!comparison || summary.mismatched === 0) return undefined
  const compared = summary.matched + summary.mismatched
  const against = reference === 'Golden' ? 'the golden notebook' : 'the stored outputs'
  const counts = `${summary.mismatched} of ${compared} compared ${compared === 1 ? 'cell' : 'cells'} ${summary.mismatched === 1 ? 'differs' : 'differ'} from ${against}`
  const first = [...comparison.cells].find(([, { outcome }]) => outcome === 'Mismatched' || outcome === 'Extra')
  if (first) return { reason: 'OutputMismatch', message: `${counts}: ${nameCell(first[0])}: ${withoutPreamble(first[1].message, against)}` }
  const [missing] = comparison.missing
  return { reason: 'OutputMismatch', message: `${counts}: ${nameCell(missing!.index)} of the golden notebook is missing in the notebook` }
}

function withoutPreamble(message: string, against: string): string {
  const preamble = `output differs from ${against}: `
  return message.startsWith(preamble) ? message.slice(preamble.length) : message
}

function describeSuccess({ results, summary, reference, comparison }: Findings): string {
  if (results.length === 0) return 'the notebook has no code cells: nothing to execute'
  const skipped = summary.skipped > 0 ? `, ${summary.skipped} skipped` : ''
  const run = `${summary.succeeded} of ${summary.code} code cells succeeded${skipped}`
  if (!comparison) return run
  const against = reference === 'Golden' ? 'the golden notebook' : 'the stored outputs'
  const images = [...comparison.cells.values()].flatMap((cell) => cell.differences).filter(({ kind }) => kind === 'Image').length
  const drifted = [...comparison.cells.values()].filter((cell) => cell.differences.some(({ kind }) => kind === 'Source')).length
  return [
    `${run}; ${summary.matched} compared with ${against} ${summary.matched === 1 ? 'matches' : 'match'}`,
    ...(summary.ignored > 0 ? [`${summary.ignored} ignored`] : []),
    ...(images > 0 ? [`${images} differing ${images === 1 ? 'image' : 'images'} ignored`] : []),
    ...(drifted > 0 ? [`the source of ${drifted} ${drifted === 1 ? 'cell' : 'cells'} differs`] : []),
  ].join(', ')
}

function describeProgress({ run, results }: Findings): string {
  if (!run.notebook) return 'the notebook is being opened'
  const done = results.filter(({ index }) => run.cells.has(index)).length
  const current = results.find(({ index }) => run.started.has(index) && !run.cells.has(index))
  return `${done} of ${results.length} code cells have ended${current ? `; ${nameCell(current.index)} is running` : ''}`
}

function notRun(results: readonly CellResult[]): string {
  const count = results.filter(({ outcome }) => outcome === 'NotRun').length
  return count === 0 ? '' : `; ${count} ${count === 1 ? 'cell' : 'cells'} did not run`
}

/** A cell as a person counts it, with its index: `cell 3 (index 2)`. */
export function nameCell(index: number): string {
  return `cell ${index + 1} (index ${index})`
}
