/**
 * Conflicts of an apply with the owners of what it changes.
 * upstream: structured-merge-diff/merge/conflict.go, apimachinery/pkg/util/managedfields/internal/conflict.go
 */
import { goQuote } from '../go-text.ts'
import { applyConflict, type StatusError } from '../status.ts'
import { managerInfo } from './managers.ts'
import { formatPath, type Path } from './path.ts'

/** A field that an apply changes and another manager owns. `manager` is its identifier. */
export interface Conflict {
  readonly manager: string
  readonly path: Path
}

/** The conflicts of an apply that was not forced, by manager, then in the order of the set. */
export class ApplyConflicts extends Error {
  readonly conflicts: readonly Conflict[]
  constructor(conflicts: readonly Conflict[]) {
    super('conflicts')
    this.conflicts = conflicts
  }
}

/** 409 with a cause for each conflict. upstream: NewConflictError */
export function conflictError(conflicts: readonly Conflict[]): StatusError {
  const causes = conflicts.map(({ manager, path }) => ({ reason: 'FieldManagerConflict', message: `conflict with ${describe(manager)}`, field: formatPath(path) }))
  return applyConflict(causes, message(conflicts))
}

function message(conflicts: readonly Conflict[]): string {
  const [first] = conflicts
  if (first !== undefined && conflicts.length === 1) return `Apply failed with 1 conflict: conflict with ${describe(first.manager)}: ${formatPath(first.path)}`
  const lines: string[] = []
  for (const manager of new Set(conflicts.map((conflict) => conflict.manager))) {
    lines.push(`conflicts with ${describe(manager)}:`)
    for (const conflict of conflicts) if (conflict.manager === manager) lines.push(`- ${formatPath(conflict.path)}`)
  }
  return `Apply failed with ${conflicts.length} conflicts: ${lines.join('\n')}`
}

function describe(identifier: string): string {
  const { manager, operation, apiVersion, subresource } = managerInfo(identifier)
  const through = subresource === '' ? '' : ` with subresource ${goQuote(subresource)}`
  return `${goQuote(manager)}${through}${operation === 'Update' ? ` using ${apiVersion}` : ''}`
}
