/**
 * What goes into a report and what comes out of it. The parts of the spec are declared structurally: only what the
 * report reads, so that a spec of v1 fits as it is; `Report` has the shapes of `status` in v1.
 */
import type { CellOutcome, RunnerRecord } from './records.ts'
import type { Normalizer } from './normalize.ts'

/** The parts of a v1 spec that decide what a report says. What is absent has the default of the API. */
export type ReportSpec = {
  readonly golden?: unknown
  readonly comparison?: {
    readonly reference?: 'None' | 'Golden' | 'StoredOutputs'
    readonly mode?: 'Exact' | 'Normalized'
    readonly scope?: 'AllCells' | 'TaggedCells'
    readonly tolerance?: { readonly absolute?: string; readonly relative?: string }
    readonly normalizers?: readonly Normalizer[]
    readonly ignore?: {
      readonly outputTypes?: readonly string[]
      readonly streams?: readonly string[]
      readonly mimeTypes?: readonly string[]
      readonly cellTags?: readonly string[]
      readonly cellIndexes?: readonly number[]
      readonly cellIDs?: readonly string[]
    }
    readonly images?: 'Ignore' | 'Exact'
    readonly cellMatching?: 'Auto' | 'Index' | 'ID'
    readonly sourceDrift?: 'Ignore' | 'Warn' | 'Fail'
  }
  readonly execution?: {
    readonly cellTimeoutSeconds?: number
    readonly allowedErrorNames?: readonly string[]
    readonly expectedErrors?: 'Required' | 'Optional'
    readonly failOn?: readonly ('Stderr' | 'PythonWarnings' | 'NoCodeCells')[]
  }
  readonly activeDeadlineSeconds?: number | bigint
  readonly results?: { readonly outputPolicy?: 'None' | 'Failed' | 'All'; readonly maxOutputBytes?: number }
}

/** A reason of the condition Succeeded=False with the text for a person. */
export type Failure = { readonly reason: string; readonly message: string }

/** Everything that a report is made of. */
export type ReportInput = {
  readonly spec: ReportSpec
  readonly records: readonly RunnerRecord[]
  /** The golden notebook as parsed JSON, hostile. Needed when the reference is Golden. */
  readonly golden?: unknown
  /** Why there is no golden notebook to compare with. */
  readonly goldenError?: Failure
  /** What is known from outside of a run that left no end record: a deadline, a kill for memory, a cancellation. */
  readonly failure?: Failure
  /** The run goes on: nothing is compared, what has not ended is NotRun. */
  readonly running?: boolean
  /** How long the cell that runs now has run; it counts in the duration. */
  readonly elapsedMilliseconds?: number
}

/** A difference between an output and its reference; without `outputIndex` it is about the whole cell. */
export type Difference = {
  outputIndex?: number
  kind: 'Text' | 'Number' | 'Image' | 'OutputType' | 'MissingOutput' | 'ExtraOutput' | 'Source'
  mimeType?: string
  expected?: string
  actual?: string
  diff?: string
}

/** An item of `status.cells` in v1. */
export type CellReport = {
  index: number
  id?: string
  type: 'Code'
  outcome: CellOutcome
  executionCount?: number
  durationMilliseconds?: number
  output?: { text: string; bytes: number; truncated: boolean }
  error?: { message: string; name?: string; value?: string; traceback?: string }
  comparison?: { outcome: 'Matched' | 'Mismatched' | 'Ignored' | 'Missing' | 'Extra'; differences?: Difference[] }
}

/** `status.summary` in v1. `total` counts all cells of the source notebook, the outcomes count its code cells. */
export type Summary = {
  total: number
  code: number
  succeeded: number
  failed: number
  skipped: number
  notRun: number
  matched: number
  mismatched: number
  ignored: number
  durationMilliseconds: number
  cells: string
  duration: string
}

/** What became of the whole run; `reason` is one of the reasons of the condition Succeeded. */
export type Verdict = { succeeded: boolean; reason: string; message: string }

/** The result of a run, ready for the status of a job. */
export type Report = {
  verdict: Verdict
  summary: Summary
  cells: CellReport[]
  /** Cells, details of cells or differences were left out to keep the status small. */
  truncated: boolean
  /** `imageID`: the image with its digest, where the notebook ran in one. */
  runtime: { imageID?: string; kernelName: string; language: string; nbformat: string }
}
