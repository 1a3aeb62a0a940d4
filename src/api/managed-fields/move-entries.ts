/**
 * The entries of managedFields that were written in a version, said in another one, so that the first can be forgotten: kube-apiserver fails an apply where an entry's
 * version is gone (kubernetes/kubernetes#111937). Managers, operations, times and subresources stay; the fields are the same ones, where the other version has them.
 */
import { getKey, isObject, type Json, type JsonObject, type KubeObject } from '../object.ts'
import { finish, type Walk } from '../walk.ts'
import { FieldSetBuilder, isEmptySet, union, type FieldSet } from './field-set.ts'
import type { FieldMove } from './field-moves.ts'
import { itemElement } from './list-item.ts'
import { decodeManagedFields, encodeManagedFields, managerIdentifier, managerInfo, seconds, type Managed, type OwnedFields } from './managers.ts'
import { compareElements, type PathElement } from './path.ts'
import { reconcileFieldSet } from './reconcile.ts'
import { TypeMismatch } from './type-mismatch.ts'
import type { Atom } from './typed.ts'

/** A version on the way of entries: its apiVersion and the type of its objects. */
export interface EntryVersion {
  readonly apiVersion: string
  readonly type: Atom
}

/** The way of entries from one version to another. */
export interface EntryMove {
  readonly from: EntryVersion
  readonly to: EntryVersion
  /** From version to version; none where the versions have the same fields. */
  readonly steps: readonly { readonly type: Atom; readonly move: FieldMove }[]
}

/**
 * The entries after the move. `object` is the live object in the version that they move to: fields that it does not have are owned by nobody. An entry that owns
 * nothing then is dropped, as are, all that name the version, when one of the entries cannot be read, or would nest too deep after the move.
 */
export function moveEntries(entries: readonly JsonObject[] | undefined, { from, to, steps }: EntryMove, object: KubeObject): JsonObject[] | undefined {
  const others = (): JsonObject[] | undefined => entries?.filter((entry) => entry.apiVersion !== from.apiVersion)
  const managed = decode(entries)
  if (managed === undefined) return others()
  const managers = new Map<string, OwnedFields>()
  const times = new Map<string, string>()
  const put = (manager: string, owned: OwnedFields, time: string | undefined): void => {
    const known = managers.get(manager)
    managers.set(manager, known ? { ...known, set: union(known.set, owned.set) } : owned)
    if (time !== undefined && seconds(time) >= seconds(times.get(manager))) times.set(manager, time)
  }
  for (const [manager, owned] of managed.managers) {
    const time = managed.times.get(manager)
    if (owned.apiVersion !== from.apiVersion) {
      put(manager, owned, time)
      continue
    }
    const moved = steps.reduce((set, { type, move }) => move(set, type), owned.set)
    const set = finish(present(reconcileFieldSet(moved, to.type), object, to.type))
    if (isEmptySet(set)) continue
    const operation = owned.applied ? 'Apply' : 'Update'
    put(managerIdentifier({ ...managerInfo(manager), operation, apiVersion: to.apiVersion }), { set, apiVersion: to.apiVersion, applied: owned.applied }, time)
  }
  try {
    return encodeManagedFields({ managers, times })
  } catch (error) {
    if (error instanceof TypeMismatch) return others()
    throw error
  }
}

function decode(entries: readonly JsonObject[] | undefined): Managed | undefined {
  try {
    return decodeManagedFields(entries)
  } catch {
    return undefined
  }
}

/** The fields of the set that a value has. */
function* present(set: FieldSet, value: Json, type: Atom | undefined): Walk<FieldSet> {
  const out = new FieldSetBuilder()
  for (const member of set.members) if (find(value, member, type) !== undefined) out.add(member)
  for (const { element, set: inner } of set.children) {
    const found = find(value, element, type)
    if (found === undefined) continue
    const below = element.kind === 'field' ? (type?.map?.fields.get(element.name) ?? type?.map?.element) : type?.list?.element
    out.nest(element, (yield present(inner, found, below)) as FieldSet)
  }
  return out.build()
}

function find(value: Json, element: PathElement, type: Atom | undefined): Json | undefined {
  if (element.kind === 'field') return isObject(value) ? getKey(value, element.name) : undefined
  if (!Array.isArray(value)) return undefined
  if (element.kind === 'index') return value[element.index]
  const list = type?.list
  return list && value.find((item) => {
    const own = itemElement(list, item)
    return typeof own !== 'string' && compareElements(own, element) === 0
  })
}
