/**
 * Owners of fields of a struct are taken as owners of the struct while applied fields are removed.
 * upstream: structured-merge-diff/fieldpath/set.go EnsureNamedFieldsAreMembers
 */
import { finish, type Walk } from '../walk.ts'
import { FieldSetBuilder, type FieldSet } from './field-set.ts'
import type { PathElement } from './path.ts'
import type { Atom } from './typed.ts'

/** The set with every declared field above one of its members. */
export function withNamedFields(set: FieldSet, type: Atom | undefined): FieldSet {
  return finish(nameLevel(set, type))
}

function* nameLevel(set: FieldSet, type: Atom | undefined): Walk<FieldSet> {
  const out = new FieldSetBuilder()
  for (const member of set.members) out.add(member)
  for (const { element, set: inner } of set.children) {
    if (element.kind === 'field' && type?.map?.fields.has(element.name)) out.add(element)
    out.nest(element, (yield nameLevel(inner, typeBelow(type, element))) as FieldSet)
  }
  return out.build()
}

function typeBelow(type: Atom | undefined, element: PathElement): Atom | undefined {
  if (element.kind === 'field') return type?.map?.fields.get(element.name) ?? type?.map?.element
  return element.kind === 'key' ? type?.list?.element : undefined
}
