/**
 * Where the fields of one version are in a neighbouring one, read off the lens between them. Ownership of fields stays in the version that it was written in
 * (as upstream, which converts objects and never sets of fields); only when a version is retired must its entries be said in another one.
 */
import { compareBytes } from '../go-text.ts'
import type { Lens, Names, Operation } from '../lens.ts'
import { finish, type Walk } from '../walk.ts'
import { FieldSetBuilder, pathsOf, type FieldSet } from './field-set.ts'
import { field, type Path, type PathElement } from './path.ts'
import { elementText } from './serialize.ts'
import type { Atom } from './typed.ts'

/** A set of fields of one version → the same fields in another. `type` is that of the set's version. What the other does not have is left out. */
export type FieldMove = (set: FieldSet, type: Atom) => FieldSet

type Side = 'older' | 'newer'

/** A step down: the name of a field, or into an item of a list, whose key is named on either side. */
type Step = string | { readonly older: string; readonly newer: string }
type Place = Readonly<Record<Side, readonly Step[]>>

/** A node of the tree of one side's fields. */
interface Node {
  readonly fields: Map<string, Node>
  item: Node | undefined
  /** Where it is on either side; absent for what only holds mapped fields. */
  place: Place | undefined
  /** What is below it is the same on both sides. */
  whole: boolean
}

/** Compiles the way of fields through a lens, from one of its sides to the other. */
export function fieldMove(lens: Lens, from: Side): FieldMove {
  const root = node()
  for (const name of ['apiVersion', 'kind', 'metadata']) enter(root, from, { older: [name], newer: [name] }, true)
  enterAll(root, from, lens.operations, { older: [], newer: [] })
  return (set, type) => finish(setOf([...pathsOf(set)].flatMap((path) => move(root, path, type, from)), 0))
}

const node = (): Node => ({ fields: new Map(), item: undefined, place: undefined, whole: false })

function enterAll(root: Node, from: Side, operations: readonly Operation[], at: Place): void {
  for (const operation of operations) enterOperation(root, from, operation, at)
}

function enterOperation(root: Node, from: Side, operation: Operation, at: Place): void {
  const leaf = (older: string, newer: string): void => enter(root, from, below(at, older, newer), true)
  const object = (older: string, newer: string, operations: readonly Operation[], item?: Step): void => {
    const place = below(at, older, newer)
    enter(root, from, place, false)
    if (item === undefined) return enterAll(root, from, operations, place)
    const items = { older: [...place.older, item], newer: [...place.newer, item] }
    enter(root, from, items, false)
    enterAll(root, from, operations, items)
  }
  const gather = (fields: Names, prefix: string, newer: string): void => {
    for (const [older, name] of Object.entries(fields)) leaf(prefix + older, `${newer}.${name}`)
  }
  switch (operation.op) {
    case 'same':
      return operation.fields.forEach((name) => leaf(name, name))
    case 'rename':
      return operation.operations === undefined ? leaf(operation.older, operation.newer) : object(operation.older, operation.newer, operation.operations)
    case 'wrap':
      return leaf(operation.older, `${operation.newer}.${operation.key}`)
    case 'group':
      return gather(operation.fields, '', operation.newer)
    case 'regroup':
      return Object.entries(operation.objects).forEach(([name, fields]) => gather(fields, `${name}.`, operation.newer))
    case 'pick':
      enter(root, from, below(at, operation.field, operation.field), false)
      return operation.keys.forEach((key) => enter(root, from, keyed(below(at, operation.field, operation.field), key), true))
    case 'each':
      return object(operation.older, operation.newer, operation.operations, operation.key)
    case 'verdict':
      return leaf(operation.older, operation.newer)
    case 'inherit':
      return object(operation.older, operation.newer, operation.operations)
    case 'newer':
  }
}

function below({ older, newer }: Place, olderPath: string, newerPath: string): Place {
  return { older: [...older, ...olderPath.split('.')], newer: [...newer, ...newerPath.split('.')] }
}

// A key of a map may have dots.
function keyed({ older, newer }: Place, key: string): Place {
  return { older: [...older, key], newer: [...newer, key] }
}

function enter(root: Node, from: Side, place: Place, whole: boolean): void {
  let at = root
  for (const step of place[from]) {
    const known = typeof step === 'string' ? at.fields.get(step) : at.item
    const next = known ?? node()
    if (typeof step === 'string') at.fields.set(step, next)
    else at.item = next
    at = next
  }
  at.place = place
  at.whole = whole
}

function move(root: Node, path: Path, type: Atom, from: Side): Path[] {
  const items: PathElement[] = []
  let at = root
  let atom: Atom | undefined = type
  for (const [i, element] of path.entries()) {
    const next = element.kind === 'field' ? at.fields.get(element.name) : at.item
    if (next === undefined) return []
    if (element.kind !== 'field') items.push(element)
    atom = element.kind === 'field' ? (atom?.map?.fields.get(element.name) ?? atom?.map?.element) : atom?.list?.element
    at = next
    if (at.whole && at.place !== undefined) return [[...stepsTo(at.place, from, items), ...path.slice(i + 1)]]
  }
  const own = at.place === undefined ? [] : [stepsTo(at.place, from, items)]
  // Who owns an object as a whole owns all that is in it, wherever that is on the other side.
  return atom?.map?.atomic ? [...own, ...inside(at).map((place) => stepsTo(place, from, items))] : own
}

function inside(at: Node): Place[] {
  return [...at.fields.values()].flatMap((child) => [...(child.place === undefined ? [] : [child.place]), ...inside(child)])
}

function stepsTo(place: Place, from: Side, items: readonly PathElement[]): PathElement[] {
  const to = from === 'older' ? 'newer' : 'older'
  let next = 0
  return place[to].map((step) => (typeof step === 'string' ? field(step) : renameKey(items[next++] as PathElement, step[from], step[to])))
}

function renameKey(element: PathElement, from: string, to: string): PathElement {
  if (element.kind !== 'key') return element
  const fields = element.fields.map(({ name, value }) => ({ name: name === from ? to : name, value }))
  return { kind: 'key', fields: fields.sort((a, b) => compareBytes(a.name, b.name)) }
}

/** The set of these paths from a place on, which all have passed; each level is made once. */
function* setOf(paths: readonly Path[], place: number): Walk<FieldSet> {
  const out = new FieldSetBuilder()
  const groups = new Map<string, { readonly element: PathElement; readonly paths: Path[] }>()
  for (const path of paths) {
    const element = path[place]
    if (element === undefined) continue
    if (path.length === place + 1) {
      out.add(element)
      continue
    }
    const text = elementText(element)
    const group = groups.get(text)
    if (group) group.paths.push(path)
    else groups.set(text, { element, paths: [path] })
  }
  for (const { element, paths: inner } of groups.values()) out.nest(element, (yield setOf(inner, place + 1)) as FieldSet)
  return out.build()
}
