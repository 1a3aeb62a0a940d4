/**
 * What differs between two values of a type.
 * upstream: structured-merge-diff/typed/compare.go
 */
import { isObject, type Json, type JsonObject } from '../object.ts'
import { finish, type Walk } from '../walk.ts'
import { FieldSetBuilder, type FieldSet } from './field-set.ts'
import { itemsOf } from './list-item.ts'
import { field, type PathElement } from './path.ts'
import { elementText } from './serialize.ts'
import { narrow, type Atom, type ListType, type MapType } from './typed.ts'
import { valuesEqual } from './value.ts'

/** The fields that only the new value has, that differ, and that only the old one has. No field is in two of them. */
export interface Comparison {
  readonly added: FieldSet
  readonly modified: FieldSet
  readonly removed: FieldSet
}

/** Compares two validated values of the same type; items may repeat. */
export function compareTyped(old: JsonObject, next: JsonObject, type: Atom): Comparison {
  const root = new Changes()
  if (type.map) finish(compareMembers(old, next, type.map, root))
  return root.build()
}

/** Collects one level of the three sets. */
class Changes {
  readonly added = new FieldSetBuilder()
  readonly modified = new FieldSetBuilder()
  readonly removed = new FieldSetBuilder()

  nest(element: PathElement, { added, modified, removed }: Comparison): void {
    this.added.nest(element, added)
    this.modified.nest(element, modified)
    this.removed.nest(element, removed)
  }

  build(): Comparison {
    return { added: this.added.build(), modified: this.modified.build(), removed: this.removed.build() }
  }
}

// One node: what changed goes into `out`, the level that the element is of. A side that has no such node is undefined.
function* compareNode(old: Json | undefined, next: Json | undefined, type: Atom, element: PathElement, out: Changes): Walk<void> {
  if (old === next) return
  const left = narrow(type, old)
  const right = narrow(type, next)
  // A value that changed its kind is seen as both kinds: fields of the old one are removed, fields of the new one added.
  if (old !== undefined && next !== undefined && left !== right) yield* compareAs(left, old, next, element, out)
  const leaf = yield* compareAs(next === undefined ? left : right, old, next, element, out)
  if (leaf) return
  if (old === undefined) out.added.add(element)
  else if (next === undefined) out.removed.add(element)
}

// True when the node is a leaf of this type, and so compared as a whole.
function* compareAs({ map, list }: Atom, old: Json | undefined, next: Json | undefined, element: PathElement, out: Changes): Walk<boolean> {
  const below = map ? mapChanges(old, next, map) : list ? listChanges(old, next, list) : undefined
  if (below !== undefined) {
    out.nest(element, (yield below) as Comparison)
    return false
  }
  if (old === undefined) out.added.add(element)
  else if (next === undefined) out.removed.add(element)
  else if (!valuesEqual(old, next)) out.modified.add(element)
  return true
}

// Nothing for a leaf: an atomic map, or two that are empty or null, whose difference matters.
function mapChanges(old: Json | undefined, next: Json | undefined, map: MapType): Walk<Comparison> | undefined {
  const left = isObject(old) ? old : {}
  const right = isObject(next) ? next : {}
  if (map.atomic || (isEmpty(left) && isEmpty(right))) return undefined
  return memberChanges(left, right, map)
}

function* memberChanges(old: JsonObject, next: JsonObject, map: MapType): Walk<Comparison> {
  const changes = new Changes()
  yield* compareMembers(old, next, map, changes)
  return changes.build()
}

function isEmpty(object: JsonObject): boolean {
  return !Object.values(object).some((member) => member !== undefined)
}

function* compareMembers(old: JsonObject, next: JsonObject, map: MapType, out: Changes): Walk<void> {
  for (const name of Object.keys(old)) {
    const other = Object.hasOwn(next, name) ? next[name] : undefined
    if (old[name] !== other && old[name] !== undefined) yield* compareMember(old[name], other, name, map, out)
  }
  for (const name of Object.keys(next)) {
    if (next[name] !== undefined && (!Object.hasOwn(old, name) || old[name] === undefined)) yield* compareMember(undefined, next[name], name, map, out)
  }
}

function* compareMember(old: Json | undefined, next: Json | undefined, name: string, map: MapType, out: Changes): Walk<void> {
  const type = map.fields.get(name) ?? map.element
  if (type) yield compareNode(old, next, type, field(name), out)
}

function listChanges(old: Json | undefined, next: Json | undefined, list: ListType): Walk<Comparison> | undefined {
  const left = Array.isArray(old) ? old : []
  const right = Array.isArray(next) ? next : []
  if (list.atomic || (left.length === 0 && right.length === 0)) return undefined
  return itemChanges(left, right, list)
}

function* itemChanges(old: readonly Json[], next: readonly Json[], list: ListType): Walk<Comparison> {
  const groups = new Map<string, Group>()
  gather(old, list, groups, 'old')
  gather(next, list, groups, 'next')
  const changes = new Changes()
  for (const group of groups.values()) yield* compareGroup(group, list, changes)
  return changes.build()
}

/** The items of both sides that one element stands for. */
interface Group {
  readonly element: PathElement
  readonly old: Json[]
  readonly next: Json[]
}

function gather(values: readonly Json[], list: ListType, groups: Map<string, Group>, side: 'old' | 'next'): void {
  for (const { element, value } of itemsOf(list, values)) {
    const text = elementText(element)
    const group = groups.get(text) ?? { element, old: [], next: [] }
    group[side].push(value)
    groups.set(text, group)
  }
}

// Items that stand twice are one leaf.
function* compareGroup({ element, old, next }: Group, list: ListType, out: Changes): Walk<void> {
  if (old.length <= 1 && next.length <= 1) yield compareNode(old[0], next[0], list.element, element, out)
  else if (old.length >= 2 && next.length >= 2) {
    if (!valuesEqual(old, next)) out.modified.add(element)
  } else if (old.length >= 2) {
    if (next.length > 0) yield compareNode(undefined, next[0], list.element, element, out)
    out.removed.add(element)
  } else {
    if (old.length > 0) yield compareNode(old[0], undefined, list.element, element, out)
    out.added.add(element)
  }
}
