/**
 * Functions of lists: Kubernetes' own, cel-go's list library (version 3) and its sets.
 * upstream: apiserver/pkg/cel/library/lists.go, cel-go ext/lists.go, ext/sets.go
 */
import { celError, isCelError, isCelList, type CelList } from '@bufbuild/cel'
import { int, uint } from './cel-arithmetic.ts'
import { COMPARABLE, compare } from './cel-compare.ts'
import { contains, equal, items } from './cel-equality.ts'
import { declare, kindOf, member, overload, type Declaration, type Value } from './cel-function.ts'
import { ITEM, LIMIT_TEXT, meter, OBJECT } from './cel-meter.ts'
import { codePoints, stringIndexes } from './cel-strings.ts'
import { DURATION, durationOf, nanosOf } from './cel-time.ts'
import { JoinedList, MapValue } from './cel-values.ts'

const list = (values: readonly Value[]): JoinedList => {
  meter.charge(values.length * ITEM)
  return new JoinedList([...values])
}

const SUMMABLE = ['int', 'uint', 'double', DURATION] as const

// By the type of the first item; the others must have it, too.
function sum(values: CelList): unknown {
  const all = items(values)
  const kind = all.length === 0 ? 'int' : kindOf(all[0] as Value)
  if (all.some((value) => kindOf(value) !== kind)) throw celError('no such overload')
  switch (kind) {
    case 'int':
      return (all as bigint[]).reduce((total, value) => int(total + value), 0n)
    case 'uint':
      return all.reduce((total, value) => uint((total as { value: bigint }).value + (value as { value: bigint }).value) as Value, uint(0n) as Value)
    case 'double':
      return (all as number[]).reduce((total, value) => total + value, 0)
    default:
      return all.reduce((total, value) => durationOf(nanosOf(total as never) + nanosOf(value as never)) as Value, durationOf(0n) as Value)
  }
}

function extreme(values: CelList, sign: 1 | -1, name: string): Value {
  const [first, ...rest] = items(values)
  if (first === undefined) throw celError(`${name} called on empty list`)
  return rest.reduce((best, value) => (order(best, value) * sign < 0 ? value : best), first)
}

function order(a: Value, b: Value): number {
  meter.charge(ITEM)
  return compare(a, b)
}

function isSorted(values: CelList): boolean {
  const all = items(values)
  return all.every((value, i) => i === 0 || order(all[i - 1] as Value, value) <= 0)
}

// What cannot be compared is another item here.
function isSame(a: Value, b: Value): boolean {
  try {
    return equal(a, b)
  } catch (error) {
    if ((error as Error).message === LIMIT_TEXT) throw error
    return false
  }
}

const position = (values: CelList, value: Value): bigint => BigInt(items(values).findIndex((item) => isSame(item, value)))
const lastPosition = (values: CelList, value: Value): bigint => BigInt(items(values).findLastIndex((item) => isSame(item, value)))

function itemAt(values: CelList, index: number): Value {
  const value = values.get(index)
  if (isCelError(value)) throw value
  return value as Value
}

function slice(values: CelList, start: bigint, end: bigint): JoinedList {
  const call = `cannot slice(${start}, ${end})`
  if (start < 0n || end < 0n) throw celError(`${call}, negative indexes not supported`)
  if (start > end) throw celError(`${call}, start index must be less than or equal to end index`)
  if (BigInt(values.size) < end) throw celError(`${call}, list is length ${values.size}`)
  return list(Array.from({ length: Number(end - start) }, (_, i) => itemAt(values, Number(start) + i)))
}

function flatten(values: CelList, depth: bigint): Value[] {
  if (depth < 0n) throw celError('level must be non-negative')
  meter.charge(OBJECT)
  return items(values).flatMap((value) => (isCelList(value) && depth > 0n ? flatten(value, depth - 1n) : [value]))
}

/** The values in the order of the keys; keys are of one type that has an order. */
function sortBy(values: CelList, keys: CelList): JoinedList {
  const sortKeys = items(keys)
  const all = items(values)
  const [first] = sortKeys
  if (first === undefined) return list(all)
  const kind = kindOf(first)
  if (!COMPARABLE.includes(kind)) throw celError('list elements must be comparable')
  if (sortKeys.some((key) => kindOf(key) !== kind)) throw celError('list elements must have the same type')
  const order2 = sortKeys.map((_, i) => i).sort((a, b) => order(sortKeys[a] as Value, sortKeys[b] as Value))
  return list(order2.map((i) => all[i] as Value))
}

function distinct(values: CelList): JoinedList {
  const unique: Value[] = []
  for (const value of items(values)) if (!unique.some((other) => isSame(value, other))) unique.push(value)
  return list(unique)
}

function range(end: bigint): JoinedList {
  if (end <= 0n) return list([])
  meter.charge(Number(end) * ITEM)
  return list(Array.from({ length: Number(end) }, (_, i) => BigInt(i)))
}

const isWithin = (part: CelList, whole: CelList): boolean => {
  const others = items(whole)
  return items(part).every((value) => contains(others, value))
}

function intersects(a: CelList, b: CelList): boolean {
  const others = items(b)
  return items(a).some((value) => others.some((other) => isSame(other, value)))
}

const size = [
  ['string', (text: string) => codePoints(text)],
  ['bytes', (bytes: Uint8Array) => bytes.length],
  ['list', (values: CelList) => values.size],
  ['map', (map: { size: number }) => map.size],
] as const

const COMPARABLES = { items: COMPARABLE }

/** The functions of lists, and those that lists share with other types. */
export const listFunctions: Declaration[] = [
  declare('size', size.flatMap(([kind, of]) => [overload([kind], (value) => BigInt(of(value as never))), member([kind], (value) => BigInt(of(value as never)))]), 'named'),
  declare(
    '@in',
    [
      overload(['any', 'list'], (value, values) => contains(items(values), value)),
      overload(['any', 'map'], (key, map) => (typeof key === 'string' || !((map as unknown) instanceof MapValue) ? map.has(key as never) : noKey())),
    ],
    'plain',
  ),
  declare('isSorted', [member([COMPARABLES], isSorted)]),
  declare('sum', [member([{ items: SUMMABLE }], sum)]),
  declare('min', [member([COMPARABLES], (values) => extreme(values, -1, 'min'))]),
  declare('max', [member([COMPARABLES], (values) => extreme(values, 1, 'max'))]),
  declare('indexOf', [...stringIndexes.indexOf, member(['list', 'any'], position)]),
  declare('lastIndexOf', [...stringIndexes.lastIndexOf, member(['list', 'any'], lastPosition)]),
  declare('slice', [member(['list', 'int', 'int'], slice)]),
  declare('flatten', [
    member(['list'], (values) => list(flatten(values, 1n))),
    member(['list', 'int'], (values, depth) => list(flatten(values, depth))),
    member(['any'], (value) => flat(`${kindOf(value)}.flatten()`)),
    member(['any', 'any'], (value, depth) => flat(`${kindOf(value)}.flatten(${kindOf(depth)})`)),
  ]),
  declare('sort', [member(['list'], (values) => sortBy(values, values))], 'named'),
  declare('@sortBy', [overload(['list', 'list'], sortBy)], 'named'),
  declare('reverse', [member(['list'], (values) => list(items(values).reverse()))]),
  declare('distinct', [member(['list'], distinct)]),
  declare('lists.range', [overload(['int'], range)]),
  declare('sets.contains', [overload(['list', 'list'], (whole, part) => isWithin(part, whole))]),
  declare('sets.equivalent', [overload(['list', 'list'], (a, b) => isWithin(b, a) && isWithin(a, b))]),
  declare('sets.intersects', [overload(['list', 'list'], intersects)]),
  declare('_==_', [overload(['any', 'any'], equal)]),
  declare('_!=_', [overload(['any', 'any'], (a, b) => !equal(a, b))]),
]

function flat(call: string): never {
  throw celError(`no such overload: ${call}`)
}

function noKey(): never {
  throw celError('no such overload')
}
