/**
 * What the runner writes while it executes a notebook: one JSON object a line, flushed as it happens, so that a killed
 * runner leaves the finished cells readable. The Python side is runner/runner.py. Everything in here is hostile input
 * to the reader: the notebook runs as the same user and may write what it likes.
 */
import type { JsonObject } from '../api/object.ts'

/** What became of a cell; the set of `status.cells[].outcome`. */
export type CellOutcome = 'Succeeded' | 'Failed' | 'TimedOut' | 'KernelDied' | 'Skipped' | 'NotRun'

/** The first record: the notebook as it was read. */
export interface NotebookRecord {
  readonly type: 'notebook'
  readonly kernelName: string
  readonly language: string
  /** "major.minor" of the source notebook. */
  readonly nbformat: string
  /** All cells in order; `index` is 0-based in the source notebook. `id` is "" when the notebook has none. */
  readonly cells: readonly {
    readonly index: number
    readonly id: string
    readonly type: 'Code' | 'Markdown' | 'Raw'
    readonly tags: readonly string[]
    readonly source: string
    /** Outputs stored in the source notebook, for reference StoredOutputs (code cells only). */
    readonly storedOutputs?: readonly JsonObject[]
  }[]
}

/** A code cell begins to run. */
export interface CellStartRecord {
  readonly type: 'cell-start'
  readonly index: number
}

/** A code cell has ended. `outputs` are nbformat outputs with streams coalesced. */
export interface CellRecord {
  readonly type: 'cell'
  readonly index: number
  readonly outcome: CellOutcome
  readonly executionCount?: number
  readonly durationMilliseconds: number
  readonly outputs: readonly JsonObject[]
  /** Outputs were cut by the runner's memory cap. */
  readonly outputsTruncated?: boolean
  /** The error of the reply, also when it was allowed or expected. */
  readonly error?: { readonly name: string; readonly value: string; readonly traceback: string }
  /** Has the tag raises-exception. */
  readonly expectsError?: boolean
}

/** How the run ended; absent when the runner was killed. `Completed` says nothing of the cells' outcomes. */
export interface EndRecord {
  readonly type: 'end'
  readonly outcome: 'Completed' | 'CellTimeout' | 'DeadlineExceeded' | 'KernelDied' | 'OutOfMemory' | 'KernelNotFound' | 'KernelStartFailed' | 'NotebookInvalid' | 'Cancelled' | 'RunnerError'
  readonly message: string
  /** The cell in question, where there is one. */
  readonly cell?: number
}

export type RunnerRecord = NotebookRecord | CellStartRecord | CellRecord | EndRecord
