/** Keeping the results of a status within its size. */
import type { CellReport } from './report-types.ts'
import { jsonBytes } from './truncate.ts'

/** Cells that a status may list. */
export const MAX_CELLS = 2000

/**
 * The cells that fit into `maxBytes` of JSON and into 2000 items, in their order. Where all do not fit, failures come
 * first: each of them without details, then their details as far as there is room, then the cells that passed, without
 * details. With nothing left the summary stands alone. `extra`: bytes that each cell takes elsewhere, and that count too.
 */
export function fitCells(cells: readonly CellReport[], maxBytes: number, extra = 0): { readonly cells: CellReport[]; readonly truncated: boolean } {
  if (cells.length <= MAX_CELLS && jsonBytes(cells) + cells.length * extra <= maxBytes) return { cells: [...cells], truncated: false }
  const chosen = new Map<number, CellReport>()
  // Two for the brackets, one for the comma of each but one.
  let left = maxBytes - 1
  const choose = (position: number, cell: CellReport): void => {
    const before = chosen.get(position)
    const cost = jsonBytes(cell) - (before ? jsonBytes(before) : -1 - extra)
    if (cost > left || (!before && chosen.size >= MAX_CELLS)) return
    left -= cost
    chosen.set(position, cell)
  }
  const failures = [...cells.entries()].filter(([, cell]) => !isPassed(cell))
  for (const [position, cell] of failures) choose(position, withoutDetails(cell))
  for (const [position, cell] of failures) if (chosen.has(position)) choose(position, cell)
  for (const [position, cell] of cells.entries()) if (isPassed(cell)) choose(position, withoutDetails(cell))
  return { cells: [...chosen].sort(([a], [b]) => a - b).map(([, cell]) => cell), truncated: true }
}

/** Nothing is wrong with the cell and its comparison: Success in v1alpha1. */
export function isPassed(cell: CellReport): boolean {
  const compared = cell.comparison?.outcome ?? 'Matched'
  return (cell.outcome === 'Succeeded' || cell.outcome === 'Skipped') && (compared === 'Matched' || compared === 'Ignored')
}

// Of a cell that did not run the outcome says enough; one that only the golden notebook has is told by its message.
function withoutDetails({ index, id, type, outcome, error, comparison }: CellReport): CellReport {
  return {
    index,
    ...(id === undefined ? {} : { id }),
    type,
    outcome,
    ...(error && (outcome !== 'NotRun' || comparison) ? { error: { message: error.message } } : {}),
    ...(comparison ? { comparison: { outcome: comparison.outcome } } : {}),
  }
}
