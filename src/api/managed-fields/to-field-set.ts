/**
 * The fields that a value mentions: what its applier owns.
 * upstream: structured-merge-diff/typed/tofieldset.go
 */
import { isObject, type Json } from '../object.ts'
import { finish, type Walk } from '../walk.ts'
import { EMPTY_SET, FieldSetBuilder, type FieldSet } from './field-set.ts'
import { itemsOf } from './list-item.ts'
import { field } from './path.ts'
import { elementText } from './serialize.ts'
import { narrow, type Atom, type ListType, type MapType } from './typed.ts'

/** The leaves and items of a validated value. */
export function toFieldSet(value: Json, type: Atom): FieldSet {
  return (leafOf(value, type) ?? finish(visit(value, type))).below
}

interface Mentioned {
  /** The node itself is mentioned as a leaf. */
  readonly leaf: boolean
  readonly below: FieldSet
}

const LEAF: Mentioned = { leaf: true, below: EMPTY_SET }
const NOTHING: Mentioned = { leaf: false, below: EMPTY_SET }

// Nothing for what has to be walked.
function leafOf(value: Json, type: Atom): Mentioned | undefined {
  const { map, scalar, list } = narrow(type, value)
  if (map) {
    if (map.atomic) return LEAF
    return isObject(value) ? undefined : NOTHING
  }
  if (scalar || list?.atomic) return LEAF
  return list && Array.isArray(value) ? undefined : NOTHING
}

function* visit(value: Json, type: Atom): Walk<Mentioned> {
  const { map, list } = narrow(type, value)
  if (map && isObject(value)) return { leaf: false, below: yield* visitMembers(value, map) }
  return list && Array.isArray(value) ? { leaf: false, below: yield* visitItems(value, list) } : NOTHING
}

function* visitMembers(object: { readonly [key: string]: Json | undefined }, map: MapType): Walk<FieldSet> {
  const set = new FieldSetBuilder()
  for (const name of Object.keys(object)) {
    const member = object[name]
    if (member === undefined) continue
    const declared = map.fields.get(name)
    const type = declared ?? map.element
    if (type === undefined) continue
    const element = field(name)
    const { leaf, below } = leafOf(member, type) ?? ((yield visit(member, type)) as Mentioned)
    // Members of maps are owned with what they hold, fields of structs are not; null and {} are leaves.
    if (leaf || !declared || member === null || (isObject(member) && isEmpty(member))) set.add(element)
    set.nest(element, below)
  }
  return set.build()
}

function isEmpty(object: { readonly [key: string]: Json | undefined }): boolean {
  return !Object.values(object).some((member) => member !== undefined)
}

function* visitItems(values: readonly Json[], list: ListType): Walk<FieldSet> {
  const items = itemsOf(list, values)
  const counts = new Map<string, number>()
  for (const { element } of items) counts.set(elementText(element), (counts.get(elementText(element)) ?? 0) + 1)
  const set = new FieldSetBuilder()
  for (const { element, value } of items) {
    set.add(element)
    // Items that stand twice are owned as a whole.
    if (counts.get(elementText(element)) !== 1) continue
    const { below } = leafOf(value, list.element) ?? ((yield visit(value, list.element)) as Mentioned)
    set.nest(element, below)
  }
  return set.build()
}
