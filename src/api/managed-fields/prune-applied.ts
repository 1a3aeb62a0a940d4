/**
 * What an applier no longer applies goes from the merged object, unless somebody else owns it.
 * upstream: structured-merge-diff/merge/update.go prune, addBackOwnedItems, addBackDanglingItems
 */
import type { KubeObject } from '../object.ts'
import { difference, EMPTY_SET, intersection, isEmptySet, union, type FieldSet } from './field-set.ts'
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
  const inLast = convertTyped(scope, merged, last.apiVersion, `${PRUNE}failed to convert merged object to last applied version: `)
  if (type === undefined || inLast === undefined) return merged
  const step: Step = { scope, original: merged }
  const candidates = withNamedFields(last.set, type)
  const bare = removeFields(inLast, candidates, type) as KubeObject
  const owned = addBackOwned(step, inLast, bare, managers)
  const kept = convert(step, owned, last.apiVersion, `${PRUNE}failed add back dangling items: failed to convert pruned object to last applied version: `)
  // Only what the applier owned may go: the rest of what its removal took along comes back.
  const gone = intersection(difference(namedFields(inLast, type), namedFields(kept, type)), candidates)
  return convert(step, removeFields(inLast, gone, type) as KubeObject, scope.apiVersion, PRUNE)
}

interface Step {
  readonly scope: Scope
  /** The merged object in the request version, where conversions find what the other version cannot show. */
  readonly original: KubeObject
}

function convert({ scope, original }: Step, object: KubeObject, apiVersion: string, lead: string): KubeObject {
  return convertTyped(scope, object, apiVersion, lead, original) as KubeObject
}

function namedFields(object: KubeObject, type: Atom): FieldSet {
  return withNamedFields(toFieldSet(object, type), type)
}

// The version of the previous entry comes first, since a conversion may need what was removed.
function addBackOwned(step: Step, merged: KubeObject, pruned: KubeObject, managers: Managers): KubeObject {
  const byVersion = new Map<string, FieldSet>([[merged.apiVersion, EMPTY_SET]])
  for (const { apiVersion, set } of managers.values()) byVersion.set(apiVersion, union(byVersion.get(apiVersion) ?? EMPTY_SET, set))
  let [whole, rest] = [merged, pruned]
  for (const [apiVersion, owned] of byVersion) {
    const type = step.scope.typeOf(apiVersion)
    if (type === undefined || isEmptySet(owned)) continue
    whole = convert(step, whole, apiVersion, `${ADD_BACK}merged object at version ${apiVersion}: `)
    rest = convert(step, rest, apiVersion, `${ADD_BACK}pruned object at version ${apiVersion}: `)
    const claimed = union(namedFields(rest, type), withNamedFields(owned, type))
    rest = removeFields(whole, difference(namedFields(whole, type), claimed), type) as KubeObject
  }
  return rest
}
