/** Comparing an executed notebook with its reference, cell by cell. */
import type { JsonObject } from '../api/object.ts'
import { matchCells } from './cell-matching.ts'
import type { ComparisonOptions } from './comparison-options.ts'
import { compareOutputs, MAX_DIFFERENCES } from './compare-outputs.ts'
import { fitDifference } from './compare-text.ts'
import { effectiveTags } from './notebook.ts'
import type { NotebookCell } from './notebook.ts'
import type { CellOutcome } from './records.ts'
import type { CellReport, Difference } from './report-types.ts'
import { diffText } from './text-diff.ts'

/** An executed code cell. */
export type ExecutedCell = {
  readonly index: number
  readonly id: string
  readonly tags: readonly string[]
  readonly source: string
  readonly outcome: CellOutcome
  readonly outputs: readonly JsonObject[]
  /** The runner cut the outputs: they cannot match. */
  readonly outputsTruncated: boolean
}

/** What the comparison says of a cell. */
export type CellComparison = {
  readonly outcome: 'Matched' | 'Mismatched' | 'Ignored' | 'Missing' | 'Extra'
  /** What makes the mismatch first, then what is only worth knowing. */
  readonly differences: readonly Difference[]
  readonly truncated: boolean
  /** Why it is not a match, for a person; "" for Matched and Ignored. */
  readonly message: string
}

/** The comparisons by the index of the executed cell, and the cells that only the reference has. */
export type NotebookComparison = {
  readonly cells: ReadonlyMap<number, CellComparison>
  readonly missing: readonly { readonly index: number; readonly id: string; readonly comparison: CellComparison }[]
}

// Cells that a tool put into the golden notebook when it executed it: they have no counterpart in any source.
const INJECTED_TAGS = ['injected-parameters', 'papermill-error-cell-tag']
const OUTPUTS_CUT = 'its outputs were larger than the runner keeps and were cut, so they cannot be compared'

/**
 * Compares the cells that were executed with a reply; the others have their outcome to speak for them. `reference` is
 * the golden notebook's cells.
 */
export function compareWithGolden(executed: readonly ExecutedCell[], reference: readonly NotebookCell[], options: ComparisonOptions): NotebookComparison {
  const golden = reference.filter((cell) => cell.type === 'Code' && !cell.tags.some((tag) => INJECTED_TAGS.includes(tag)))
  const pairs = matchCells(golden, executed, options.cellMatching)
  const partners = new Map(pairs.map(([i, j]) => [j, golden[i]!]))
  const cells = new Map<number, CellComparison>()
  for (const [position, cell] of executed.entries()) {
    if (cell.outcome !== 'Succeeded') continue
    const partner = partners.get(position)
    cells.set(cell.index, partner ? compareCell(cell, partner, options, 'the golden notebook') : withoutPartner(cell, 'Extra', options))
  }
  const matched = new Set(pairs.map(([i]) => i))
  const missing = golden
    .filter((cell, i) => !matched.has(i) && cell.source.trim() !== '')
    .map((cell) => ({ index: cell.index, id: cell.id, comparison: withoutPartner(cell, 'Missing', options) }))
  return { cells, missing: missing.filter(({ comparison }) => comparison.outcome === 'Missing') }
}

/** Compares executed cells with the outputs that their own notebook holds, by cell index. */
export function compareWithStored(
  executed: readonly ExecutedCell[],
  stored: ReadonlyMap<number, readonly JsonObject[]>,
  options: ComparisonOptions,
): NotebookComparison {
  const compared = executed
    .filter((cell) => cell.outcome === 'Succeeded')
    .map((cell) => [cell.index, compareCell(cell, { ...cell, outputs: stored.get(cell.index) ?? [] }, options, 'the stored outputs')] as const)
  return { cells: new Map(compared), missing: [] }
}

function withoutPartner(cell: ExecutedCell | NotebookCell, outcome: 'Extra' | 'Missing', options: ComparisonOptions): CellComparison {
  if (isIgnored(cell, options)) return IGNORED
  const message = outcome === 'Extra' ? 'the golden notebook has no such cell' : 'the cell of the golden notebook is missing in the notebook'
  return { outcome, differences: [], truncated: false, message }
}

const IGNORED: CellComparison = { outcome: 'Ignored', differences: [], truncated: false, message: '' }

function isIgnored(cell: ExecutedCell | NotebookCell, options: ComparisonOptions): boolean {
  const tags = effectiveTags(cell)
  if (options.scope === 'TaggedCells' && !tags.has('nbval-check-output')) return true
  return options.ignoredCellIndexes.has(cell.index) || options.ignoredCellIDs.has(cell.id) || [...tags].some((tag) => options.ignoredCellTags.has(tag))
}

function compareCell(
  cell: ExecutedCell,
  reference: { readonly source: string; readonly outputs: readonly JsonObject[] },
  options: ComparisonOptions,
  against: string,
): CellComparison {
  if (isIgnored(cell, options)) return IGNORED
  const drift = options.sourceDrift === 'Ignore' ? [] : compareSource(reference.source, cell.source)
  const [drifted, noticed] = options.sourceDrift === 'Fail' ? [drift, []] : [[], drift]
  const outputs = compareOutputs(reference.outputs, cell.outputs, options)
  const cut: Difference[] = cell.outputsTruncated ? [{ kind: 'MissingOutput', actual: OUTPUTS_CUT }] : []
  const counted = [...cut, ...outputs.differences, ...drifted]
  const all = [...counted, ...noticed, ...outputs.notices]
  const hint = counted.length === outputs.differences.length && counted.length > 0 ? hintAt(reference.outputs, cell.outputs, options) : ''
  return {
    outcome: counted.length > 0 ? 'Mismatched' : 'Matched',
    differences: all.slice(0, MAX_DIFFERENCES),
    truncated: outputs.truncated || all.length > MAX_DIFFERENCES,
    message: counted.length > 0 ? describeMismatch(counted, against) + hint : '',
  }
}

/** What a person could do about outputs of which nothing but temporary paths differ; these are not masked by default. */
function hintAt(expected: readonly JsonObject[], actual: readonly JsonObject[], options: ComparisonOptions): string {
  if (options.exact || options.normalizers.has('TemporaryPaths')) return ''
  const masked = compareOutputs(expected, actual, { ...options, normalizers: new Set([...options.normalizers, 'TemporaryPaths']) })
  return masked.differences.length === 0 ? '; only temporary paths differ, which the normalizer TemporaryPaths masks' : ''
}

function compareSource(expected: string, actual: string): Difference[] {
  const [e, a] = [expected, actual].map((source) => source.replaceAll('\r\n', '\n').trimEnd())
  return e === a ? [] : [fitDifference({ kind: 'Source', diff: diffText(e!, a!, 512) })]
}

function describeMismatch(differences: readonly Difference[], against: string): string {
  const [first] = differences
  const more = differences.length > 1 ? ` (and ${differences.length - 1} more)` : ''
  if (first!.kind === 'Source') return `source differs from ${against}${more}`
  return `output differs from ${against}: ${describeDifference(first!)}${more}`
}

/** A difference in a few words: `expected "42", got "43"`. */
export function describeDifference(difference: Difference): string {
  const { kind, mimeType = 'output', expected, actual } = difference
  switch (kind) {
    case 'MissingOutput':
      return actual ?? `${mimeType} is missing: expected ${quote(expected)}`
    case 'ExtraOutput':
      return `${mimeType} was not expected: got ${quote(actual)}`
    case 'Image':
      return `${mimeType} differs: expected ${expected ?? 'none'}, got ${actual ?? 'none'}`
    case 'Source':
      return 'the source differs'
    case 'OutputType':
    case 'Number':
    case 'Text':
      return `expected ${quote(expected)}, got ${quote(actual)}`
  }
}

function quote(text: string | undefined): string {
  return JSON.stringify(text ?? '')
}

/** A comparison as it stands in the status. */
export function toStatus(comparison: CellComparison): NonNullable<CellReport['comparison']> {
  const { outcome, differences } = comparison
  return { outcome, ...(differences.length > 0 ? { differences: [...differences] } : {}) }
}
