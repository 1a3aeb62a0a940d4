/** The counters of a run and the texts of its printer columns. */
import type { CellResult } from './cell-results.ts'
import type { NotebookComparison } from './compare.ts'
import type { Summary } from './report-types.ts'

/**
 * Counts. A cell that only the golden notebook has counts as mismatched and as nothing else. `total` is all cells of the
 * notebook, `elapsed` the milliseconds of the cell that runs now.
 */
export function summarize(total: number, results: readonly CellResult[], comparison: NotebookComparison | undefined, elapsed = 0): Summary {
  const count = (...outcomes: CellResult['outcome'][]): number => results.filter(({ outcome }) => outcomes.includes(outcome)).length
  const compared = [...(comparison?.cells.values() ?? []), ...(comparison?.missing.map((cell) => cell.comparison) ?? [])]
  const matched = compared.filter(({ outcome }) => outcome === 'Matched').length
  const ignored = compared.filter(({ outcome }) => outcome === 'Ignored').length
  const durationMilliseconds = results.reduce((sum, cell) => sum + (cell.durationMilliseconds ?? 0), elapsed)
  const succeeded = count('Succeeded')
  return {
    total,
    code: results.length,
    succeeded,
    failed: count('Failed', 'TimedOut', 'KernelDied'),
    skipped: count('Skipped'),
    notRun: count('NotRun'),
    matched,
    mismatched: compared.length - matched - ignored,
    ignored,
    durationMilliseconds,
    cells: `${succeeded}/${results.length}`,
    duration: formatDuration(durationMilliseconds),
  }
}

/** A duration for a column: `350ms`, `12s`, `1m12s`, `2h5m0s`. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds < 1000) return `${milliseconds}ms`
  const seconds = Math.floor(milliseconds / 1000)
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60]
  if (hours > 0) return `${hours}h${minutes}m${seconds % 60}s`
  return minutes > 0 ? `${minutes}m${seconds % 60}s` : `${seconds}s`
}
