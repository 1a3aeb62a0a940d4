/**
 * Conflicts of an apply with the owners of what it changes.
 * upstream: structured-merge-diff/merge/conflict.go, apimachinery/pkg/util/managedfields/internal/conflict.go
 */
import { BoundedTexts } from '../error-limits.ts'
import { goQuote } from '../go-text.ts'
import { applyConflict, type StatusError } from '../status.ts'
import { pathsOf, sizeOf, type FieldSet } from './field-set.ts'
import { managerInfo } from './managers.ts'
import { formatPath } from './path.ts'

/** Fields that an apply changes and another manager owns. `manager` is its identifier. */
export interface Conflict {
  readonly manager: string
  readonly fields: FieldSet
}

/** The conflicts of an apply that was not forced, by manager. */
export class ApplyConflicts extends Error {
  readonly conflicts: readonly Conflict[]
  constructor(conflicts: readonly Conflict[]) {
    super('conflicts')
    this.conflicts = conflicts
  }
}

/** 409 with a cause for each conflict that there is room for. upstream: NewConflictError */
export function conflictError(conflicts: readonly Conflict[]): StatusError {
  const room = new BoundedTexts()
  const shown: Shown[] = []
  for (const { manager, fields } of conflicts) {
    for (const path of room.full ? [] : pathsOf(fields)) {
      if (room.full) break
      const field = formatPath(path)
      room.count(field.length)
      shown.push({ manager: describe(manager), field })
    }
  }
  const byManager = Map.groupBy(shown, ({ manager }) => manager)
  const causes = [...byManager].flatMap(([manager, own]) => own.map(({ field }) => ({ reason: 'FieldManagerConflict', message: `conflict with ${manager}`, field })))
  return applyConflict(causes, message(byManager, conflicts.reduce((count, { fields }) => count + sizeOf(fields), 0)))
}

interface Shown {
  readonly manager: string
  readonly field: string
}

// upstream: getConflictMessage
function message(byManager: ReadonlyMap<string, readonly Shown[]>, count: number): string {
  const one = count === 1
  const lines = [...byManager].flatMap(([manager, own]) => {
    const paths = own.map(({ field }) => field)
    return one ? [`conflict with ${manager}: ${paths.join('')}`] : [`conflicts with ${manager}:`, ...paths.map((path) => `- ${path}`)]
  })
  return `Apply failed with ${count} conflict${one ? '' : 's'}: ${lines.join('\n')}`
}

// upstream: printManager
function describe(identifier: string): string {
  const { manager, operation, apiVersion, subresource } = managerInfo(identifier)
  const through = subresource === '' ? '' : ` with subresource ${goQuote(subresource)}`
  return `${goQuote(manager)}${through}${operation === 'Update' ? ` using ${apiVersion}` : ''}`
}
