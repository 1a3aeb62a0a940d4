/** Small notebooks and runs for the tests of the report. */
import type { JsonObject } from '../api/object.ts'
import type { CellRecord, EndRecord, NotebookRecord, RunnerRecord } from './records.ts'

/** A cell of a test: the golden and the executed side differ in what is given twice. */
export type TestCell = {
  source?: string
  id?: string
  tags?: string[]
  type?: 'Code' | 'Markdown' | 'Raw'
  outputs?: JsonObject[]
  /** The cell's record; null for none. */
  record?: Partial<CellRecord> | null
}

/** A stream output. */
export function stream(text: string | string[], name = 'stdout'): JsonObject {
  return { output_type: 'stream', name, text }
}

/** An execute_result with the text, or with a whole MIME bundle. */
export function result(data: string | JsonObject): JsonObject {
  return { output_type: 'execute_result', execution_count: 1, metadata: {}, data: typeof data === 'string' ? { 'text/plain': data } : data }
}

/** A display_data output. */
export function display(data: JsonObject): JsonObject {
  return { output_type: 'display_data', metadata: {}, data }
}

/** An error output. */
export function raised(ename: string, evalue: string): JsonObject {
  return { output_type: 'error', ename, evalue, traceback: ['line 1', `${ename}: ${evalue}`] }
}

/** A golden notebook as parsed JSON. */
export function goldenNotebook(cells: readonly TestCell[]): JsonObject {
  return {
    nbformat: 4,
    nbformat_minor: 5,
    metadata: {},
    cells: cells.map((cell, i) => ({
      cell_type: (cell.type ?? 'Code').toLowerCase(),
      id: cell.id ?? '',
      metadata: { tags: cell.tags ?? [] },
      source: cell.source ?? `source ${i}`,
      ...((cell.type ?? 'Code') === 'Code' ? { outputs: cell.outputs ?? [], execution_count: i } : {}),
    })),
  }
}

/** The records of a run of the notebook: cells that have a record, then the end. */
export function recordsOf(cells: readonly TestCell[], end: Partial<EndRecord> | null = {}): RunnerRecord[] {
  const notebook: NotebookRecord = {
    type: 'notebook',
    kernelName: 'python3',
    language: 'python',
    nbformat: '4.5',
    cells: cells.map((cell, index) => ({
      index,
      id: cell.id ?? '',
      type: cell.type ?? 'Code',
      tags: cell.tags ?? [],
      source: cell.source ?? `source ${index}`,
    })),
  }
  const records = cells.flatMap((cell, index): RunnerRecord[] => {
    if ((cell.type ?? 'Code') !== 'Code' || cell.record === null) return []
    const record = { type: 'cell', index, outcome: 'Succeeded', durationMilliseconds: 10, outputs: cell.outputs ?? [], ...cell.record } as const
    return [{ type: 'cell-start', index }, record]
  })
  return [notebook, ...records, ...(end ? [{ type: 'end', outcome: 'Completed', message: '', ...end } as const] : [])]
}
