/** The comparison settings of a spec with the defaults of the API filled in. */
import { NO_TOLERANCE, parseDecimal } from './numbers.ts'
import type { Tolerance } from './numbers.ts'
import { DEFAULT_NORMALIZERS } from './normalize.ts'
import type { Normalizer } from './normalize.ts'
import type { ReportSpec } from './report-types.ts'

/** What `compareOutputs` needs to know. */
export type OutputOptions = {
  /** Empty in mode Exact. */
  readonly normalizers: ReadonlySet<Normalizer>
  /** Zero in mode Exact. */
  readonly tolerance: Tolerance
  readonly ignoredOutputTypes: ReadonlySet<string>
  readonly ignoredStreams: ReadonlySet<string>
  /** A MIME type, or all of a type as `image/*`. */
  readonly ignoredMimeTypes: ReadonlySet<string>
  readonly images: 'Ignore' | 'Exact'
}

/** What the comparison of two notebooks needs to know. */
export type ComparisonOptions = OutputOptions & {
  /** Mode Exact: no normalizer may be added. */
  readonly exact: boolean
  readonly reference: 'None' | 'Golden' | 'StoredOutputs'
  readonly scope: 'AllCells' | 'TaggedCells'
  readonly ignoredCellTags: ReadonlySet<string>
  readonly ignoredCellIndexes: ReadonlySet<number>
  readonly ignoredCellIDs: ReadonlySet<string>
  readonly cellMatching: 'Auto' | 'Index' | 'ID'
  readonly sourceDrift: 'Ignore' | 'Warn' | 'Fail'
}

/** The settings of a spec. An absent reference is Golden where there is a golden notebook, else None. */
export function resolveOptions(spec: ReportSpec): ComparisonOptions {
  const { comparison = {} } = spec
  const { ignore = {}, tolerance = {} } = comparison
  const exact = comparison.mode === 'Exact'
  return {
    reference: comparison.reference ?? (spec.golden === undefined ? 'None' : 'Golden'),
    exact,
    scope: comparison.scope ?? 'AllCells',
    normalizers: new Set(exact ? [] : (comparison.normalizers ?? DEFAULT_NORMALIZERS)),
    tolerance: exact
      ? NO_TOLERANCE
      : { absolute: parseDecimal(tolerance.absolute ?? '') ?? 1e-8, relative: parseDecimal(tolerance.relative ?? '') ?? 1e-5 },
    ignoredOutputTypes: new Set(ignore.outputTypes),
    ignoredStreams: new Set(ignore.streams),
    ignoredMimeTypes: new Set(ignore.mimeTypes),
    ignoredCellTags: new Set(ignore.cellTags ?? ['nbval-ignore-output']),
    ignoredCellIndexes: new Set(ignore.cellIndexes),
    ignoredCellIDs: new Set(ignore.cellIDs),
    images: comparison.images ?? 'Ignore',
    cellMatching: comparison.cellMatching ?? 'Auto',
    sourceDrift: comparison.sourceDrift ?? 'Warn',
  }
}
