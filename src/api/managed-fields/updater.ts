/**
 * Ownership after a write, and the object after an apply.
 * upstream: structured-merge-diff/merge/update.go
 */
import type { KubeObject } from '../object.ts'
import { compareTyped, type Comparison } from './compare.ts'
import { ApplyConflicts, type Conflict } from './conflict.ts'
import { difference, EMPTY_SET, intersection, isEmptySet, recursiveDifference, union, type FieldSet } from './field-set.ts'
import type { Managers, OwnedFields } from './managers.ts'
import { mergeTyped } from './merge.ts'
import { pruneApplied } from './prune-applied.ts'
import { reconcileFieldSet } from './reconcile.ts'
import { convertTyped, type Scope } from './scope.ts'
import { toFieldSet } from './to-field-set.ts'
import { compareBytes } from '../go-text.ts'
import type { Atom } from './typed.ts'
import { valuesEqual } from './value.ts'

/** The type of the request version, which is there since the request came through it. */
export function requestType(scope: Scope): Atom {
  const type = scope.typeOf(scope.apiVersion)
  if (type === undefined) throw new Error(`no version ${scope.apiVersion}`)
  return type
}

/**
 * Ownership after an update: `manager` owns what was added or modified, and all others lose it; what was removed nobody owns.
 * Both objects are validated, in the request version and without managedFields. upstream: Updater.Update
 */
export function ownUpdated(scope: Scope, live: KubeObject, next: KubeObject, managers: Managers, manager: string): Managers {
  const before = versionsOf(scope, live, '')
  const current = reconcile(scope, before, managers)
  const { managers: others, changes } = settle(scope, before, versionsOf(scope, next, 'failed to convert new object: '), current, manager, true)
  const previous = current.get(manager)?.set ?? EMPTY_SET
  const set = withoutReset(scope, scope.apiVersion, union(union(difference(previous, changes.removed), changes.modified), changes.added))
  return withManager(others, manager, { set, apiVersion: scope.apiVersion, applied: false })
}

/** The merged object, absent when it equals the live one, and the managers. */
export interface Applied {
  readonly object: KubeObject | undefined
  readonly managers: Managers
}

/**
 * Merges a configuration into the live object and removes what `manager` applied before and does not any more. Objects as for
 * `ownUpdated`. Throws ApplyConflicts unless forced. upstream: Updater.Apply
 */
export function mergeApplied(scope: Scope, live: KubeObject, config: KubeObject, managers: Managers, manager: string, force: boolean): Applied {
  const before = versionsOf(scope, live, '')
  const current = reconcile(scope, before, managers)
  const type = requestType(scope)
  const merged = mergeTyped(live, config, type) as KubeObject
  const set = withoutReset(scope, scope.apiVersion, toFieldSet(config, type))
  const claimed = new Map(current).set(manager, { set, apiVersion: scope.apiVersion, applied: true })
  const next = pruneApplied(scope, merged, claimed, current.get(manager))
  const settled = settle(scope, before, versionsOf(scope, next, 'failed to convert new object: '), claimed, manager, force)
  return { object: valuesEqual(live, next) ? undefined : next, managers: settled.managers }
}

/** Managers with one more, who goes when it owns nothing. */
export function withManager(managers: Managers, manager: string, owned: OwnedFields): Managers {
  const out = new Map(managers)
  if (isEmptySet(owned.set)) out.delete(manager)
  else out.set(manager, owned)
  return out
}

function withoutReset(scope: Scope, apiVersion: string, set: FieldSet): FieldSet {
  const reset = scope.resetFields(apiVersion)
  return reset ? recursiveDifference(set, reset) : set
}

/**
 * Sets that fit today's schemas. Entries of versions that are not defined any more are dropped: kube-apiserver fails the apply, or
 * drops all entries on an update (kubernetes/kubernetes#111937), which would block every object that outlives a version.
 * upstream: Updater.reconcileManagedFieldsWithSchemaChanges
 */
function reconcile(scope: Scope, live: InVersion, managers: Managers): Map<string, OwnedFields> {
  const out = new Map<string, OwnedFields>()
  for (const [manager, owned] of managers) {
    const type = scope.typeOf(owned.apiVersion)
    if (type === undefined || live(owned.apiVersion) === undefined) continue
    const set = reconcileFieldSet(owned.set, type)
    out.set(manager, set === owned.set ? owned : { ...owned, set })
  }
  return out
}

interface Settled {
  readonly managers: Managers
  /** In the request version. */
  readonly changes: Comparison
}

// The other managers after a change, each compared in the version of its entry. upstream: Updater.update
function settle(scope: Scope, live: InVersion, next: InVersion, managers: Managers, writer: string, force: boolean): Settled {
  const comparisons = new Map<string, Comparison>()
  const compareIn = (apiVersion: string): Comparison => {
    const known = comparisons.get(apiVersion)
    if (known !== undefined) return known
    const made = compareVersion(scope, live, next, apiVersion)
    comparisons.set(apiVersion, made)
    return made
  }
  const changes = compareIn(scope.apiVersion)
  const out = new Map<string, OwnedFields>()
  const conflicts: Conflict[] = []
  for (const [manager, owned] of managers) {
    if (manager === writer) {
      if (!isEmptySet(owned.set)) out.set(manager, owned)
      continue
    }
    const { added, modified, removed } = compareIn(owned.apiVersion)
    const taken = intersection(owned.set, union(modified, added))
    if (!force && !isEmptySet(taken)) conflicts.push({ manager, fields: taken })
    const set = difference(difference(owned.set, taken), removed)
    if (!isEmptySet(set)) out.set(manager, set === owned.set ? owned : { ...owned, set })
  }
  if (conflicts.length > 0) throw new ApplyConflicts(conflicts.sort((a, b) => compareBytes(a.manager, b.manager)))
  return { managers: out, changes }
}

function compareVersion(scope: Scope, live: InVersion, next: InVersion, apiVersion: string): Comparison {
  const type = scope.typeOf(apiVersion)
  const old = live(apiVersion)
  const updated = next(apiVersion)
  if (!type || !old || !updated) throw new Error(`no version ${apiVersion}`)
  const { added, modified, removed } = compareTyped(old, updated, type)
  return {
    added: withoutReset(scope, apiVersion, added),
    modified: withoutReset(scope, apiVersion, modified),
    removed: withoutReset(scope, apiVersion, removed),
  }
}

/** An object in each version that it is asked for, converted once. Throws TypeMismatch, with a message that begins with `lead`. */
type InVersion = (apiVersion: string) => KubeObject | undefined

function versionsOf(scope: Scope, object: KubeObject, lead: string): InVersion {
  const known = new Map<string, KubeObject | undefined>([[object.apiVersion, object]])
  return (apiVersion) => {
    if (!known.has(apiVersion)) known.set(apiVersion, convertTyped(scope, object, apiVersion, lead))
    return known.get(apiVersion)
  }
}
