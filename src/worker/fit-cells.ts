/** Keeping the results of a status within its size. */
import type { CellReport } from './report-types.ts'
import { jsonBytes } from './truncate.ts'

/** Cells that a status may list. */
export const MAX_CELLS = 2000

/**
 * The cells that fit into `maxBytes` of JSON and into 2000 items, in their order. Where all do not fit, first the cells
 * that passed give up their outputs and differences; where that is not enough, cells are left out, those that passed
 * first. With nothing left the summary stands alone.
 */
export function fitCells(cells: readonly CellReport[], maxBytes: number): { readonly cells: CellReport[]; readonly truncated: boolean } {
  if (cells.length <= MAX_CELLS && jsonBytes(cells) <= maxBytes) return { cells: [...cells], truncated: false }
  const slim = cells.map((cell) => (isPassed(cell) ? withoutDetails(cell) : cell))
  // Two for the brackets, one for the comma of each.
  let left = maxBytes - 2
  const chosen = new Set<number>()
  for (const passed of [false, true]) {
    for (const [position, cell] of slim.entries()) {
      if (isPassed(cell) !== passed || chosen.size >= MAX_CELLS) continue
      const size = jsonBytes(cell) + 1
      if (size > left) continue
      left -= size
      chosen.add(position)
    }
  }
  return { cells: slim.filter((_, position) => chosen.has(position)), truncated: true }
}

/** Nothing is wrong with the cell and its comparison: Success in v1alpha1. */
export function isPassed(cell: CellReport): boolean {
  const compared = cell.comparison?.outcome ?? 'Matched'
  return (cell.outcome === 'Succeeded' || cell.outcome === 'Skipped') && (compared === 'Matched' || compared === 'Ignored')
}

function withoutDetails(cell: CellReport): CellReport {
  const slim = cell.comparison ? { ...cell, comparison: { outcome: cell.comparison.outcome } } : { ...cell }
  delete slim.output
  return slim
}
