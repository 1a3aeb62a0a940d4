/**
 * Sets of fields as trees. A field is in the set when it is a member of its parent's node; to be above a member is not to be one.
 * Sets are values; no node is empty but the root.
 * upstream: structured-merge-diff/fieldpath/set.go
 */
import { compareElements, type Path, type PathElement } from './path.ts'

/** A set of fields: members of this level, and sets below elements of this level; both sorted and without repetition. */
export interface FieldSet {
  readonly members: readonly PathElement[]
  readonly children: readonly SetNode[]
}

/** What is owned below an element. */
export interface SetNode {
  readonly element: PathElement
  readonly set: FieldSet
}

/** The set without fields. */
export const EMPTY_SET: FieldSet = { members: [], children: [] }

/** True for the set without fields. */
export function isEmptySet(set: FieldSet): boolean {
  return set.members.length === 0 && set.children.length === 0
}

const compareNodes = (a: SetNode, b: SetNode): number => compareElements(a.element, b.element)

/** Collects one level of a set, in any order. */
export class FieldSetBuilder {
  private readonly members: PathElement[] = []
  private readonly children: SetNode[] = []

  /** Makes the element a member. */
  add(element: PathElement): void {
    this.members.push(element)
  }

  /** Puts a set below an element; sets below the same element are united. */
  nest(element: PathElement, set: FieldSet): void {
    if (!isEmptySet(set)) this.children.push({ element, set })
  }

  build(): FieldSet {
    if (this.members.length === 0 && this.children.length === 0) return EMPTY_SET
    const members = sortOnce(this.members, compareElements, (first) => first)
    const children = sortOnce(this.children, compareNodes, (a, b) => ({ element: a.element, set: union(a.set, b.set) }))
    return { members, children }
  }
}

function sortOnce<T>(items: T[], compare: (a: T, b: T) => number, join: (first: T, second: T) => T): T[] {
  items.sort(compare)
  const out: T[] = []
  for (const item of items) {
    const last = out.at(-1)
    if (last !== undefined && compare(last, item) === 0) out[out.length - 1] = join(last, item)
    else out.push(item)
  }
  return out
}

/** The set of these paths; the path of the whole object counts for nothing. upstream: NewSet */
export function fieldSet(...paths: Path[]): FieldSet {
  return paths.reduce((set, path) => union(set, single(path)), EMPTY_SET)
}

function single(path: Path): FieldSet {
  const [element, ...rest] = path
  if (element === undefined) return EMPTY_SET
  return rest.length === 0 ? { members: [element], children: [] } : { members: [], children: [{ element, set: single(rest) }] }
}

// Two sorted lists in one pass; `pick` says what stands for an item of either or of both.
function zip<T>(
  left: readonly T[], right: readonly T[], compare: (a: T, b: T) => number, pick: (a: T | undefined, b: T | undefined) => T | undefined,
): T[] {
  const out: T[] = []
  const put = (a: T | undefined, b: T | undefined): void => {
    const item = pick(a, b)
    if (item !== undefined) out.push(item)
  }
  let [i, j] = [0, 0]
  while (i < left.length && j < right.length) {
    const order = compare(left[i] as T, right[j] as T)
    if (order < 0) put(left[i++], undefined)
    else if (order > 0) put(undefined, right[j++])
    else put(left[i++], right[j++])
  }
  while (i < left.length) put(left[i++], undefined)
  while (j < right.length) put(undefined, right[j++])
  return out
}

const node = (element: PathElement, set: FieldSet): SetNode | undefined => (isEmptySet(set) ? undefined : { element, set })

/** Fields of either set. */
export function union(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b || isEmptySet(b)) return a
  if (isEmptySet(a)) return b
  return {
    members: zip(a.members, b.members, compareElements, (left, right) => right ?? left),
    children: zip(a.children, b.children, compareNodes, (left, right) =>
      left && right ? { element: left.element, set: union(left.set, right.set) } : (left ?? right)),
  }
}

/** Fields of both sets. */
export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmptySet(a) || isEmptySet(b)) return EMPTY_SET
  return {
    members: zip(a.members, b.members, compareElements, (left, right) => right && left),
    children: zip(a.children, b.children, compareNodes, (left, right) => left && right && node(left.element, intersection(left.set, right.set))),
  }
}

/** Fields of the first set that are not in the second; what is below a field of the second stays. */
export function difference(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmptySet(a) || isEmptySet(b)) return a
  return {
    members: zip(a.members, b.members, compareElements, (left, right) => (right ? undefined : left)),
    children: zip(a.children, b.children, compareNodes, (left, right) =>
      left && right ? node(left.element, difference(left.set, right.set)) : left),
  }
}

/** Fields of the first set that neither are in the second nor below one of its fields. */
export function recursiveDifference(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmptySet(a) || isEmptySet(b)) return a
  return {
    members: zip(a.members, b.members, compareElements, (left, right) => (right ? undefined : left)),
    children: zip(a.children, b.children, compareNodes, (left, right) => {
      if (left === undefined || hasMember(b, left.element)) return undefined
      return right ? node(left.element, recursiveDifference(left.set, right.set)) : left
    }),
  }
}

/** Whether the element is a member at the top of the set. */
export function hasMember(set: FieldSet, element: PathElement): boolean {
  return find(set.members, (member) => compareElements(member, element)) !== undefined
}

/** The set below an element. upstream: Set.WithPrefix */
export function below(set: FieldSet, element: PathElement): FieldSet {
  return find(set.children, (child) => compareElements(child.element, element))?.set ?? EMPTY_SET
}

/** Whether a field is in the set. */
export function hasPath(set: FieldSet, path: Path): boolean {
  const last = path.at(-1)
  return last !== undefined && hasMember(path.slice(0, -1).reduce(below, set), last)
}

function find<T>(items: readonly T[], order: (item: T) => number): T | undefined {
  let [low, high] = [0, items.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    const item = items[middle] as T
    const sign = order(item)
    if (sign === 0) return item
    if (sign < 0) low = middle + 1
    else high = middle
  }
  return undefined
}

/** The paths of the set in upstream's order: at each level its members, then what is below. upstream: Set.Iterate */
export function* pathsOf(set: FieldSet, prefix: Path = []): Generator<Path> {
  for (const member of set.members) yield [...prefix, member]
  for (const child of set.children) yield* pathsOf(child.set, [...prefix, child.element])
}
