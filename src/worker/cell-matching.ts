/** Which cell of the golden notebook belongs to which cell of the executed one. */
import { lcsLengths } from './lcs.ts'
import type { NotebookCell } from './notebook.ts'

type Cell = Pick<NotebookCell, 'id' | 'source'>

/** Pairs of positions [expected, actual] in the two lists, each position at most once. */
export type CellPairs = readonly (readonly [number, number])[]

const MAX_LCS_CELLS = 4_000_000

/**
 * Matches two lists of code cells. `ID`: equal ids that are unique in both. `Index`: the same place among the code
 * cells. `Auto`: by id, then the longest common subsequence of sources among what is left, then, between two matched
 * neighbours, by place where both sides have as many cells left.
 */
export function matchCells(expected: readonly Cell[], actual: readonly Cell[], method: 'Auto' | 'Index' | 'ID'): CellPairs {
  if (method === 'Index') return matchByIndex(expected, actual)
  const byId = matchById(expected, actual)
  if (method === 'ID') return byId
  const bySource = matchRest(expected, actual, byId, matchBySource)
  return [...bySource, ...matchGaps(expected.length, actual.length, bySource)]
}

function matchByIndex(expected: readonly unknown[], actual: readonly unknown[]): CellPairs {
  return Array.from({ length: Math.min(expected.length, actual.length) }, (_, i) => [i, i] as const)
}

function matchById(expected: readonly Cell[], actual: readonly Cell[]): CellPairs {
  const positions = uniqueIds(actual)
  return [...uniqueIds(expected)].flatMap(([id, position]) => {
    const other = positions.get(id)
    return other === undefined ? [] : [[position, other] as const]
  })
}

function uniqueIds(cells: readonly Cell[]): Map<string, number> {
  const positions = new Map<string, number>()
  const repeated = new Set<string>()
  for (const [position, { id }] of cells.entries()) {
    if (positions.has(id)) repeated.add(id)
    else if (id !== '') positions.set(id, position)
  }
  for (const id of repeated) positions.delete(id)
  return positions
}

/** Adds to `pairs` what `match` finds among the cells without a partner. */
function matchRest(
  expected: readonly Cell[],
  actual: readonly Cell[],
  pairs: CellPairs,
  match: (expected: readonly string[], actual: readonly string[]) => CellPairs,
): CellPairs {
  const [left, right] = [unmatched(expected.length, pairs, 0), unmatched(actual.length, pairs, 1)]
  const found = match(
    left.map((position) => expected[position]!.source),
    right.map((position) => actual[position]!.source),
  )
  return [...pairs, ...found.map(([i, j]) => [left[i]!, right[j]!] as const)]
}

function unmatched(length: number, pairs: CellPairs, side: 0 | 1): number[] {
  const taken = new Set(pairs.map((pair) => pair[side]))
  return Array.from({ length }, (_, position) => position).filter((position) => !taken.has(position))
}

function matchBySource(expected: readonly string[], actual: readonly string[]): CellPairs {
  const numbers = new Map<string, number>()
  const number = (source: string): number => {
    if (!numbers.has(source)) numbers.set(source, numbers.size)
    return numbers.get(source)!
  }
  const [a, b] = [expected.map(number), actual.map(number)]
  const prefix = commonLength(a, b)
  const suffix = commonLength(a.slice(prefix).reverse(), b.slice(prefix).reverse())
  const [middleA, middleB] = [a.slice(prefix, a.length - suffix), b.slice(prefix, b.length - suffix)]
  const middle = middleA.length * middleB.length <= MAX_LCS_CELLS ? longestCommon(middleA, middleB) : firstCommon(middleA, middleB)
  return [
    ...matchByIndex(a.slice(0, prefix), b),
    ...middle.map(([i, j]) => [i + prefix, j + prefix] as const),
    ...Array.from({ length: suffix }, (_, i) => [a.length - suffix + i, b.length - suffix + i] as const),
  ]
}

function commonLength(a: readonly number[], b: readonly number[]): number {
  const end = a.findIndex((source, i) => source !== b[i])
  return end < 0 ? a.length : end
}

function longestCommon(a: readonly number[], b: readonly number[]): CellPairs {
  const lengths = lcsLengths(a, b)
  const width = b.length + 1
  const pairs: [number, number][] = []
  let [i, j] = [0, 0]
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) pairs.push([i++, j++])
    else if (lengths[(i + 1) * width + j]! >= lengths[i * width + j + 1]!) i++
    else j++
  }
  return pairs
}

/** For notebooks too large for the table: each cell takes the next equal one, in order. Linear. */
function firstCommon(a: readonly number[], b: readonly number[]): CellPairs {
  const places = new Map<number, number[]>()
  for (const [j, source] of b.entries()) places.set(source, [...(places.get(source) ?? []).slice(-100), j])
  const pairs: [number, number][] = []
  let last = -1
  for (const [i, source] of a.entries()) {
    const j = places.get(source)?.find((place) => place > last)
    if (j === undefined) continue
    pairs.push([i, j])
    last = j
  }
  return pairs
}

/** Pairs what is left behind the same matched cell, in order, where both sides have as many. */
function matchGaps(expectedLength: number, actualLength: number, pairs: CellPairs): CellPairs {
  const partner = new Map(pairs.map(([i, j]) => [j, i]))
  const left = gaps(expectedLength, new Map(pairs.map(([i]) => [i, i])))
  const right = gaps(actualLength, partner)
  return [...left].flatMap(([anchor, positions]) => {
    const others = right.get(anchor) ?? []
    return others.length === positions.length ? positions.map((position, k) => [position, others[k]!] as const) : []
  })
}

/** Unmatched positions by the anchor before them: the expected position of the nearest matched cell, -1 at the start. */
function gaps(length: number, anchors: ReadonlyMap<number, number>): Map<number, number[]> {
  const result = new Map<number, number[]>()
  let anchor = -1
  for (let position = 0; position < length; position++) {
    const matched = anchors.get(position)
    if (matched !== undefined) anchor = matched
    else if (result.has(anchor)) result.get(anchor)!.push(position)
    else result.set(anchor, [position])
  }
  return result
}
