/**
 * What an applier no longer applies goes from the merged object, unless somebody else owns it.
 * upstream: structured-merge-diff/merge/update.go prune, addBackOwnedItems, addBackDanglingItems
 */
import type { KubeObject } from '../object.ts'
import { difference, EMPTY_SET, intersection, isEmptySet, union, type FieldSet } from './field-set.ts'
import { heldElsewhere, type Pruning } from './held-elsewhere.ts'
import type { Managers, OwnedFields } from './managers.ts'
import { withNamedFields } from './named-fields.ts'
import { removeFields } from './remove.ts'
import { convertTyped, type Scope } from './scope.ts'
import { toFieldSet } from './to-field-set.ts'
import type { Atom } from './typed.ts'

const PRUNE = 'failed to prune fields: '
const ADD_BACK = `${PRUNE}failed add back owned items: failed to convert `

/** The merged object (request version) without what `last`, the applier's previous entry, owned alone. `managers` has the new entry. */
export function pruneApplied(scope: Scope, merged: KubeObject, managers: Managers, last: OwnedFields | undefined): KubeObject {
  if (last === undefined || isEmptySet(last.set)) return merged
  const type = scope.typeOf(last.apiVersion)
  const whole = convertTyped(scope, merged, last.apiVersion, `${PRUNE}failed to convert merged object to last applied version: `)
  if (type === undefined || whole === undefined) return merged
  const pruning: Pruning = { scope, whole, original: merged, type }
  const candidates = withNamedFields(last.set, type)
  const owned = ownedByVersion(managers)
  const gone = scope.renames ? goneAmongNames(pruning, candidates, owned) : goneAmongLenses(pruning, candidates, owned)
  return convertTyped(scope, removeFields(whole, gone, type) as KubeObject, scope.apiVersion, PRUNE, merged) as KubeObject
}

function ownedByVersion(managers: Managers): Map<string, FieldSet> {
  const out = new Map<string, FieldSet>()
  for (const { apiVersion, set } of managers.values()) out.set(apiVersion, union(out.get(apiVersion) ?? EMPTY_SET, set))
  return out
}

function namedFields(object: KubeObject, type: Atom): FieldSet {
  return withNamedFields(toFieldSet(object, type), type)
}

// The versions differ in their names only. That of the previous entry comes first, as upstream.
function goneAmongNames({ scope, whole, type }: Pruning, candidates: FieldSet, owned: ReadonlyMap<string, FieldSet>): FieldSet {
  let rest = addBack(whole, removeFields(whole, candidates, type) as KubeObject, owned.get(whole.apiVersion) ?? EMPTY_SET, type)
  for (const [apiVersion, set] of owned) {
    const other = scope.typeOf(apiVersion)
    if (apiVersion === whole.apiVersion || other === undefined) continue
    const there = (object: KubeObject, what: string): KubeObject =>
      convertTyped(scope, object, apiVersion, `${ADD_BACK}${what} object at version ${apiVersion}: `) as KubeObject
    rest = addBack(there(whole, 'merged'), there(rest, 'pruned'), set, other)
  }
  const lead = `${PRUNE}failed add back dangling items: failed to convert pruned object to last applied version: `
  const kept = convertTyped(scope, rest, whole.apiVersion, lead)
  return goneFrom(whole, kept as KubeObject, candidates, type)
}

function goneAmongLenses(pruning: Pruning, candidates: FieldSet, owned: ReadonlyMap<string, FieldSet>): FieldSet {
  const { whole, type } = pruning
  const rest = addBack(whole, removeFields(whole, candidates, type) as KubeObject, owned.get(whole.apiVersion) ?? EMPTY_SET, type)
  let gone = goneFrom(whole, rest, candidates, type)
  for (const [apiVersion, set] of owned) {
    if (apiVersion !== whole.apiVersion && !isEmptySet(gone)) gone = difference(gone, heldElsewhere(pruning, gone, apiVersion, set))
  }
  return gone
}

// What is left, and what others own.
function addBack(whole: KubeObject, rest: KubeObject, owned: FieldSet, type: Atom): KubeObject {
  const claimed = union(namedFields(rest, type), withNamedFields(owned, type))
  return removeFields(whole, difference(namedFields(whole, type), claimed), type) as KubeObject
}

// Only candidates go: the rest of what they take along comes back.
function goneFrom(whole: KubeObject, kept: KubeObject, candidates: FieldSet, type: Atom): FieldSet {
  return intersection(difference(namedFields(whole, type), namedFields(kept, type)), candidates)
}
