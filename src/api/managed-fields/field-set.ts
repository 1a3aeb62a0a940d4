/**
 * Sets of fields as trees. A field is in the set when it is a member of its parent's node; to be above a member is not to be one.
 * Sets are values; no node is empty but the root.
 * upstream: structured-merge-diff/fieldpath/set.go
 */
import { finish, type Walk } from '../walk.ts'
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
function zip<T, U = T>(
  left: readonly T[], right: readonly T[], compare: (a: T, b: T) => number, pick: (a: T | undefined, b: T | undefined) => U | undefined,
): U[] {
  const out: U[] = []
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

/** How two sets become one, level by level. */
interface Rules {
  /** The answer for two levels that need no walk. */
  readonly early: (a: FieldSet, b: FieldSet) => FieldSet | undefined
  readonly member: (left: PathElement | undefined, right: PathElement | undefined) => PathElement | undefined
  /** What is below an element of one side; `b` is the other level. */
  readonly alone: (left: SetNode | undefined, right: SetNode | undefined, b: FieldSet) => SetNode | undefined
  /** Whether what is below an element of both is looked at. */
  readonly both?: (element: PathElement, b: FieldSet) => boolean
}

function combine(a: FieldSet, b: FieldSet, rules: Rules): FieldSet {
  return rules.early(a, b) ?? finish(combineLevel(a, b, rules))
}

function* combineLevel(a: FieldSet, b: FieldSet, rules: Rules): Walk<FieldSet> {
  const children: SetNode[] = []
  for (const [left, right] of pairs(a.children, b.children)) {
    if (left === undefined || right === undefined) {
      const kept = rules.alone(left, right, b)
      if (kept !== undefined) children.push(kept)
    } else if (rules.both?.(left.element, b) ?? true) {
      const set = rules.early(left.set, right.set) ?? ((yield combineLevel(left.set, right.set, rules)) as FieldSet)
      if (!isEmptySet(set)) children.push({ element: left.element, set })
    }
  }
  return { members: zip(a.members, b.members, compareElements, rules.member), children }
}

function pairs(left: readonly SetNode[], right: readonly SetNode[]): (readonly [SetNode | undefined, SetNode | undefined])[] {
  return zip<SetNode, readonly [SetNode | undefined, SetNode | undefined]>(left, right, compareNodes, (a, b) => [a, b])
}

const UNION: Rules = {
  early: (a, b) => (a === b || isEmptySet(b) ? a : isEmptySet(a) ? b : undefined),
  member: (left, right) => right ?? left,
  alone: (left, right) => left ?? right,
}

const INTERSECTION: Rules = {
  early: (a, b) => (isEmptySet(a) || isEmptySet(b) ? EMPTY_SET : undefined),
  member: (left, right) => right && left,
  alone: () => undefined,
}

const DIFFERENCE: Rules = {
  early: (a, b) => (isEmptySet(a) || isEmptySet(b) ? a : undefined),
  member: (left, right) => (right ? undefined : left),
  alone: (left) => left,
}

const RECURSIVE_DIFFERENCE: Rules = {
  ...DIFFERENCE,
  alone: (left, _, b) => (left === undefined || hasMember(b, left.element) ? undefined : left),
  both: (element, b) => !hasMember(b, element),
}

/** Fields of either set. */
export function union(a: FieldSet, b: FieldSet): FieldSet {
  return combine(a, b, UNION)
}

/** Fields of both sets. */
export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  return combine(a, b, INTERSECTION)
}

/** Fields of the first set that are not in the second; what is below a field of the second stays. */
export function difference(a: FieldSet, b: FieldSet): FieldSet {
  return combine(a, b, DIFFERENCE)
}

/** Fields of the first set that neither are in the second nor below one of its fields. */
export function recursiveDifference(a: FieldSet, b: FieldSet): FieldSet {
  return combine(a, b, RECURSIVE_DIFFERENCE)
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

/** How many fields are in the set. */
export function sizeOf(set: FieldSet): number {
  let size = 0
  const pending = [set]
  for (let level = pending.pop(); level !== undefined; level = pending.pop()) {
    size += level.members.length
    for (const child of level.children) pending.push(child.set)
  }
  return size
}

/** The paths of the set in upstream's order: at each level its members, then what is below. upstream: Set.Iterate */
export function* pathsOf(set: FieldSet): Generator<Path> {
  const path: PathElement[] = []
  const levels = [{ set, next: 0 }]
  for (const member of set.members) yield [member]
  for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
    const child = level.set.children[level.next++]
    if (child === undefined) {
      levels.pop()
      path.pop()
      continue
    }
    path.push(child.element)
    levels.push({ set: child.set, next: 0 })
    for (const member of child.set.members) yield [...path, member]
  }
}
