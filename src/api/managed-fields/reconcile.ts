/**
 * Sets that were written under an older schema: what has become atomic since is owned as a whole.
 * upstream: structured-merge-diff/typed/reconcile_schema.go
 */
import { finish, type Walk } from '../walk.ts'
import { below, EMPTY_SET, FieldSetBuilder, hasMember, isEmptySet, recursiveDifference, union, type FieldSet } from './field-set.ts'
import { isDeducedMap, type Atom } from './typed.ts'
import type { PathElement } from './path.ts'

/** The set as the type has it today. Types that became granular are left as they are. */
export function reconcileFieldSet(set: FieldSet, type: Atom): FieldSet {
  const atoms = finish(atomicBelow(set, type))
  return isEmptySet(atoms) ? set : union(recursiveDifference(set, atoms), atoms)
}

// The atomic nodes below which the set has fields.
function* atomicBelow(set: FieldSet, type: Atom): Walk<FieldSet> {
  if (type.map ? isDeducedMap(type.map) : !type.list) return EMPTY_SET
  const out = new FieldSetBuilder()
  for (const element of elementsOf(set)) {
    const inner = typeOf(type, element)
    if (inner === undefined) continue
    const under = below(set, element)
    const owned = hasMember(set, element) && isEmptySet(under)
    if (!owned && isAtomic(inner, under)) out.add(element)
    else if (!isEmptySet(under)) out.nest(element, (yield atomicBelow(under, inner)) as FieldSet)
  }
  return out.build()
}

function elementsOf(set: FieldSet): readonly PathElement[] {
  return [...set.members, ...set.children.map(({ element }) => element).filter((element) => !hasMember(set, element))]
}

function typeOf({ map, list }: Atom, element: PathElement): Atom | undefined {
  if (!map) return list?.element
  return (element.kind === 'field' ? map.fields.get(element.name) : undefined) ?? map.element
}

function isAtomic({ map, scalar, list }: Atom, under: FieldSet): boolean {
  if (map) return map.atomic && !isDeducedMap(map) && !isEmptySet(under)
  return !scalar && list !== undefined && list.atomic
}
