/**
 * What of the fields that an applier let go is owned in the terms of other versions, where lenses lie between them.
 * upstream has only: structured-merge-diff/merge/update.go addBackOwnedItems
 */
import type { KubeObject } from '../object.ts'
import { compareTyped } from './compare.ts'
import { difference, EMPTY_SET, intersection, isEmptySet, union, type FieldSet } from './field-set.ts'
import { mergeTyped } from './merge.ts'
import { withNamedFields } from './named-fields.ts'
import { removeFields } from './remove.ts'
import { convertTyped, type Scope } from './scope.ts'
import type { Atom } from './typed.ts'

/** Fields that go from an object. */
export interface Pruning {
  readonly scope: Scope
  /** The object, in the version of the entry whose fields go. */
  readonly whole: KubeObject
  /** The same in the request version. */
  readonly original: KubeObject
  /** The type of `whole`. */
  readonly type: Atom
}

/**
 * The part of `gone` that somebody owns in another version. What its owners would lose there is put back, and what that brings back
 * here stays. Both ways are compared after the same conversions, so that defaults and what the other version cannot show, which a chain
 * of conversions takes for fields that are there or for fields that are not, cancel out. Throws TypeMismatch.
 */
export function heldElsewhere({ scope, whole, original, type }: Pruning, gone: FieldSet, apiVersion: string, owned: FieldSet): FieldSet {
  const other = scope.typeOf(apiVersion)
  if (other === undefined || isEmptySet(owned)) return EMPTY_SET
  const less = removeFields(whole, gone, type) as KubeObject
  const convert = (object: KubeObject, version: string, beside: KubeObject): KubeObject =>
    convertTyped(scope, object, version, 'failed to prune fields: ', beside) as KubeObject
  const wholeThere = convert(whole, apiVersion, original)
  const lessThere = convert(less, apiVersion, original)
  const { removed, modified } = compareTyped(wholeThere, lessThere, other)
  const lost = union(removed, modified)
  const held = intersection(withNamedFields(owned, other), lost)
  if (isEmptySet(held)) return EMPTY_SET
  const kept = removeFields(wholeThere, difference(lost, held), other)
  const backThere = mergeTyped(kept, removeFields(lessThere, intersection(held, modified), other), other) as KubeObject
  const back = (object: KubeObject): KubeObject => convert(object, whole.apiVersion, less)
  const { added, modified: changed } = compareTyped(back(lessThere), back(backThere), type)
  return withNamedFields(union(added, changed), type)
}
