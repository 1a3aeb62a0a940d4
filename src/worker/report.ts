/** From the records of a run to what its job's status says. Pure. */
import { readCellResults, sortRecords } from './cell-results.ts'
import type { CellResult, Run } from './cell-results.ts'
import { cleanText, resolveCarriageReturns } from './clean-text.ts'
import { compareWithGolden, compareWithStored, toStatus } from './compare.ts'
import type { CellComparison, NotebookComparison } from './compare.ts'
import { resolveOptions } from './comparison-options.ts'
import type { ComparisonOptions } from './comparison-options.ts'
import { fitCells, isPassed } from './fit-cells.ts'
import { describeOutputs, parseNotebook } from './notebook.ts'
import type { CellReport, Report, ReportInput, ReportSpec } from './report-types.ts'
import { summarize } from './summary.ts'
import { ellipsize, truncate, truncateStart } from './truncate.ts'
import { judgeRun } from './verdict.ts'

/** Bytes of JSON that the cells may take, so that the whole status stays within 256 KiB. */
export const MAX_CELLS_BYTES = 240 * 1024
const MAX_TRACEBACK_BYTES = 4096
const MAX_MESSAGE_BYTES = 1024
const MAX_NAME_BYTES = 256

/** Compares, judges and cuts to size. Throws nothing, whatever the records and the golden notebook hold. */
export function buildReport(input: ReportInput): Report {
  const run = sortRecords(input.records)
  const results = readCellResults(run, input)
  const options = resolveOptions(input.spec)
  const golden = readGolden(input, options)
  const comparison = input.running ? undefined : compare(run, results, options, golden.cells)
  const summary = summarize(run.notebook?.cells.length ?? 0, results, comparison, input.elapsedMilliseconds)
  const judged = { ...input, ...(golden.error ? { goldenError: golden.error } : {}) }
  const verdict = judgeRun({ input: judged, run, results, summary, reference: options.reference, ...(comparison ? { comparison } : {}) })
  const fitted = fitCells(listCells(results, comparison, input.spec), MAX_CELLS_BYTES)
  const cut = [...(comparison?.cells.values() ?? [])].some(({ truncated }) => truncated)
  return { verdict, summary, cells: fitted.cells, truncated: fitted.truncated || cut, runtime: describeRuntime(run) }
}

type Golden = { readonly cells?: Parameters<typeof compareWithGolden>[1]; readonly error?: NonNullable<ReportInput['goldenError']> }

function readGolden(input: ReportInput, options: ComparisonOptions): Golden {
  if (options.reference !== 'Golden' || input.goldenError || input.golden === undefined) return {}
  const parsed = parseNotebook(input.golden)
  return 'cells' in parsed ? parsed : { error: { reason: 'NotebookInvalid', message: `the golden notebook ${parsed.problem}` } }
}

function compare(run: Run, results: readonly CellResult[], options: ComparisonOptions, golden: Golden['cells']): NotebookComparison | undefined {
  if (!run.notebook) return undefined
  if (options.reference === 'StoredOutputs') {
    const stored = new Map(run.notebook.cells.map((cell) => [cell.index, cell.storedOutputs ?? []]))
    return compareWithStored(results, stored, options)
  }
  return golden && compareWithGolden(results, golden, options)
}

function listCells(results: readonly CellResult[], comparison: NotebookComparison | undefined, spec: ReportSpec): CellReport[] {
  const executed = results.map((cell) => reportCell(cell, comparison?.cells.get(cell.index), spec))
  const missing = (comparison?.missing ?? []).map(({ index, id, comparison: compared }): CellReport => {
    return { index, ...reportId(id), type: 'Code', outcome: 'NotRun', error: { message: compared.message }, comparison: toStatus(compared) }
  })
  return [...executed, ...missing].sort((a, b) => a.index - b.index)
}

function reportCell(cell: CellResult, comparison: CellComparison | undefined, spec: ReportSpec): CellReport {
  const error = reportError(cell, comparison)
  const report: CellReport = {
    index: cell.index,
    ...reportId(cell.id),
    type: 'Code',
    outcome: cell.outcome,
    ...(cell.executionCount === undefined ? {} : { executionCount: cell.executionCount }),
    ...(cell.durationMilliseconds === undefined ? {} : { durationMilliseconds: cell.durationMilliseconds }),
    ...(error ? { error } : {}),
    ...(comparison ? { comparison: toStatus(comparison) } : {}),
  }
  const policy = spec.results?.outputPolicy ?? 'All'
  const shown = policy === 'All' || (policy === 'Failed' && !isPassed(report))
  const output = shown ? reportOutput(cell, spec.results?.maxOutputBytes ?? 2048) : undefined
  return output ? { ...report, output } : report
}

function reportId(id: string): { id?: string } {
  const text = ellipsize(cleanText(id), MAX_NAME_BYTES)
  return text === '' ? {} : { id: text }
}

/** The cell's own error, else the mismatch, so that readers of v1alpha1 see why a cell is a Failure. */
function reportError(cell: CellResult, comparison: CellComparison | undefined): CellReport['error'] {
  const message = cell.message ?? (comparison && comparison.message !== '' ? comparison.message : undefined)
  if (message === undefined) return undefined
  const short = { message: ellipsize(cleanText(message), MAX_MESSAGE_BYTES) }
  if (!cell.error) return short
  const { name, value, traceback } = cell.error
  return {
    ...short,
    name: ellipsize(cleanText(name), MAX_NAME_BYTES),
    value: ellipsize(cleanText(value), MAX_MESSAGE_BYTES),
    traceback: truncateStart(cleanText(traceback), MAX_TRACEBACK_BYTES),
  }
}

function reportOutput(cell: CellResult, maxBytes: number): CellReport['output'] {
  const full = cleanText(resolveCarriageReturns(describeOutputs(cell.outputs)))
  if (full === '' && !cell.outputsTruncated) return undefined
  const text = truncate(full, maxBytes)
  return { text, bytes: Buffer.byteLength(full), truncated: text !== full || cell.outputsTruncated }
}

function describeRuntime(run: Run): Report['runtime'] {
  const { kernelName = '', language = '', nbformat = '' } = run.notebook ?? {}
  const [kernel, spoken, format] = [kernelName, language, nbformat].map((text) => ellipsize(cleanText(text), MAX_NAME_BYTES))
  return { kernelName: kernel!, language: spoken!, nbformat: format! }
}
