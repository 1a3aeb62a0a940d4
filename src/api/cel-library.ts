/**
 * The functions that rules have besides the language's own: Kubernetes' libraries, and the library's functions that answer
 * otherwise than cel-go or without a bound.
 * upstream: apiserver/pkg/cel/library/{lists,regex,urls,quantity}.go, cel-go ext/{sets,strings}.go
 */
import {
  CelScalar, celError, celFunc, celList, celMethod, isCelError, isCelList, isCelMap, isCelType, isCelUint, listType, mapType,
  type CelFunc, type CelList, type CelValue,
} from '@bufbuild/cel'
import { networkFunctions } from './cel-network.ts'
import { equalOpaque, opaqueType } from './cel-opaque.ts'
import { equalJson, identityOf, JoinedList, ListValue, MapValue, meter, wrap } from './cel-values.ts'
import type { Json } from './object.ts'
import { parseQuantity, type Quantity } from './quantity.ts'
import { compilePattern } from './cel-pattern.ts'
import { timeFunctions } from './cel-time.ts'
import { parseUri, type Uri } from './cel-uri.ts'

const { BOOL, DOUBLE, DYN, INT, STRING } = CelScalar
const ANY_LIST = listType(DYN)
const ANY_MAP = mapType(DYN, DYN)

/** Equality of two values; JSON of one type is compared without wrapping it. */
export function equal(a: unknown, b: unknown): boolean {
  if (a instanceof ListValue && b instanceof ListValue) return equalJson(a.raw as Json[], b.raw as Json[], a.type)
  if (a instanceof MapValue && b instanceof MapValue) return equalJson(a.raw, b.raw, a.type)
  if (isCelList(a) && isCelList(b)) return equalLists(a, b)
  if (isCelMap(a) && isCelMap(b)) return a.size === b.size && [...a.entries()].every(([key, value]) => equal(value, b.get(key)))
  return equalScalars(a, b)
}

function equalLists(a: CelList, b: CelList): boolean {
  if (a.size !== b.size) return false
  const set = a instanceof ListValue && (a as ListValue).type.list === 'set'
  const others = items(b)
  return items(a).every((item, i) => (set ? others.some((other) => equal(item, other)) : equal(item, others[i])))
}

function equalScalars(left: unknown, right: unknown): boolean {
  const a = isCelUint(left) ? left.value : left
  const b = isCelUint(right) ? right.value : right
  if (a === b) return true
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b) === 0
  if (isCelType(a) && isCelType(b)) return a.kind === b.kind && a.name === b.name
  if (typeof a === 'object' || typeof b === 'object') return equalOpaque(a, b)
  // numbers compare across types
  // eslint-disable-next-line eqeqeq
  return typeof a !== typeof b && isNumeric(a) && isNumeric(b) && a == b
}

const isNumeric = (value: unknown): boolean => typeof value === 'number' || typeof value === 'bigint'

/** The items of a list; an item that does not fit its schema throws. */
function items(list: CelList): CelValue[] {
  meter.charge(list.size)
  const values = [...list]
  for (const value of values) if (isCelError(value)) throw value
  return values
}

function compare(a: CelValue | undefined, b: CelValue | undefined): number {
  if (typeof a === typeof b && ['string', 'bigint', 'number', 'boolean'].includes(typeof a)) {
    return (a as string) < (b as string) ? -1 : (a as string) > (b as string) ? 1 : 0
  }
  const [left, right] = [instant(a), instant(b)]
  if (left === undefined || right === undefined) throw celError('no such overload')
  return left < right ? -1 : left > right ? 1 : 0
}

function instant(value: unknown): bigint | undefined {
  const message = (value as { message?: { seconds?: bigint; nanos?: number } } | undefined)?.message
  return message?.seconds === undefined ? undefined : message.seconds * 1_000_000_000n + BigInt(message.nanos ?? 0)
}

function sum(list: CelList): CelValue {
  const values = items(list)
  if (values.every((value) => typeof value === 'bigint')) {
    const total = values.reduce((left, right) => left + right, 0n)
    if (BigInt.asIntN(64, total) !== total) throw celError('integer overflow')
    return total
  }
  if (values.every((value) => typeof value === 'number')) return values.reduce((left, right) => left + right, 0)
  throw celError('no such overload')
}

function extreme(list: CelList, sign: 1 | -1, name: string): CelValue {
  const values = items(list)
  const first = values[0]
  if (first === undefined) throw celError(`${name} called on empty list`)
  return values.reduce((best, value) => (compare(value, best) * sign > 0 ? value : best), first)
}

const indexOf = (list: CelList, value: CelValue): bigint => BigInt(items(list).findIndex((item) => equal(item, value)))
const lastIndexOf = (list: CelList, value: CelValue): bigint => BigInt(items(list).findLastIndex((item) => equal(item, value)))
const isSorted = (list: CelList): boolean => items(list).every((item, i, all) => i === 0 || compare(all[i - 1], item) <= 0)

const listFunctions: CelFunc[] = [
  celMethod('isSorted', ANY_LIST, [], BOOL, function () { return isSorted(this) }),
  celMethod('sum', ANY_LIST, [], DYN, function () { return sum(this) }),
  celMethod('min', ANY_LIST, [], DYN, function () { return extreme(this, -1, 'min') }),
  celMethod('max', ANY_LIST, [], DYN, function () { return extreme(this, 1, 'max') }),
  celMethod('indexOf', ANY_LIST, [DYN], INT, function (value) { return indexOf(this, value) }),
  celMethod('lastIndexOf', ANY_LIST, [DYN], INT, function (value) { return lastIndexOf(this, value) }),
]

const within = (a: CelList, b: CelList): boolean => {
  const others = items(b)
  return items(a).every((item) => {
    meter.charge(others.length)
    return others.some((other) => equal(item, other))
  })
}
const intersects = (a: CelList, b: CelList): boolean => items(a).some((item) => within(celList([item]), b))

const setFunctions: CelFunc[] = [
  celFunc('sets.contains', [ANY_LIST, ANY_LIST], BOOL, (list, part) => within(part, list)),
  celFunc('sets.equivalent', [ANY_LIST, ANY_LIST], BOOL, (a, b) => within(a, b) && within(b, a)),
  celFunc('sets.intersects', [ANY_LIST, ANY_LIST], BOOL, (a, b) => intersects(a, b)),
]

/** Concatenation as cel-go has it for lists of the schema: of a set the union, of a list by key the merge. */
function concat(a: CelList, b: CelList): CelList {
  if (!(a instanceof ListValue)) return joined(a, items(b))
  const { type, raw } = a as ListValue
  if (type.list === 'atomic') return joined(a, items(b))
  if (!((b as unknown) instanceof ListValue)) {
    const known = items(a)
    return joined(a, type.list === 'set' ? items(b).filter((item) => !known.some((other) => equal(item, other))) : items(b))
  }
  meter.charge(a.size + b.size)
  // a Map keeps the place of a key whose value is replaced
  const merged = new Map([...raw, ...(b as unknown as ListValue).raw].map((item) => [identityOf(item, type), item]))
  return wrap([...merged.values()], type) as CelList
}

// The macros map and filter append item by item, so that the longest list of a chain is shared.
function joined(a: CelList, more: readonly CelValue[]): CelList {
  if (!(a instanceof JoinedList)) return new JoinedList([...items(a), ...more]) as unknown as CelList
  return (a as JoinedList).append(more) as unknown as CelList
}

const operators: CelFunc[] = [
  celFunc('_==_', [DYN, DYN], BOOL, equal),
  celFunc('_!=_', [DYN, DYN], BOOL, (a, b) => !equal(a, b)),
  celFunc('_+_', [ANY_LIST, ANY_LIST], ANY_LIST, concat),
  celFunc('@in', [DYN, ANY_LIST], BOOL, (value, list) => items(list).some((item) => equal(item, value))),
  celFunc('@in', [STRING, ANY_MAP], BOOL, (key, map) => map.has(key)),
]

// The library reads numbers as JavaScript does, where '' is 0 and '0x10' is 16.
const conversions: CelFunc[] = [
  celFunc('int', [STRING], INT, (text) => {
    const value = /^[+-]?\d{1,64}$/.test(text) ? BigInt(text.replace(/^\+/, '')) : undefined
    if (value === undefined || BigInt.asIntN(64, value) !== value) throw celError("type conversion error from 'string' to 'int'")
    return value
  }),
  celFunc('double', [STRING], DOUBLE, (text) => {
    if (!/^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$|^[+-]?(inf|infinity|nan)$/i.test(text)) throw celError("type conversion error from 'string' to 'double'")
    const special = /^([+-]?)(inf|nan)/i.exec(text)
    if (special === null) return Number(text)
    return /nan/i.test(text) ? Number.NaN : special[1] === '-' ? -Infinity : Infinity
  }),
]

function find(text: string, pattern: string): string {
  meter.charge(1 + text.length / 50)
  const matcher = compilePattern(pattern).matcher(text)
  return matcher.find() ? (matcher.group() ?? '') : ''
}

function findAll(text: string, pattern: string, limit: bigint): CelList {
  meter.charge(1 + text.length / 50)
  const matcher = compilePattern(pattern).matcher(text)
  const found: string[] = []
  while ((limit < 0n || found.length < limit) && matcher.find()) {
    meter.charge(1)
    found.push(matcher.group() ?? '')
  }
  return celList(found)
}

const patternFunctions: CelFunc[] = [
  celMethod('matches', STRING, [STRING], BOOL, function (pattern) {
    meter.charge(1 + this.length / 50)
    return compilePattern(pattern).test(this)
  }),
  celMethod('find', STRING, [STRING], STRING, function (pattern) { return find(this, pattern) }),
  celMethod('findAll', STRING, [STRING], ANY_LIST, function (pattern) { return findAll(this, pattern, -1n) }),
  celMethod('findAll', STRING, [STRING, INT], ANY_LIST, function (pattern, limit) { return findAll(this, pattern, limit) }),
]

const quantityType = opaqueType<Quantity>('kubernetes.Quantity', (a, b) => a.nanos === b.nanos)
const QUANTITY = quantityType.type

function quantity(text: string): Quantity {
  const parsed = parseQuantity(text)
  if (parsed === undefined) {
    throw celError("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")
  }
  return parsed
}

const amount = (value: CelValue): bigint => quantityType.unwrap(value).nanos
const ONE = 1_000_000_000n
const sign = (nanos: bigint): bigint => (nanos > 0n ? 1n : nanos < 0n ? -1n : 0n)

const quantityFunctions: CelFunc[] = [
  celFunc('quantity', [STRING], QUANTITY, (text) => quantityType.wrap(quantity(text))),
  celFunc('isQuantity', [STRING], BOOL, (text) => parseQuantity(text) !== undefined),
  celMethod('sign', QUANTITY, [], INT, function () { return sign(amount(this)) }),
  celMethod('isGreaterThan', QUANTITY, [QUANTITY], BOOL, function (other) { return amount(this) > amount(other) }),
  celMethod('isLessThan', QUANTITY, [QUANTITY], BOOL, function (other) { return amount(this) < amount(other) }),
  celMethod('compareTo', QUANTITY, [QUANTITY], INT, function (other) { return sign(amount(this) - amount(other)) }),
  celMethod('add', QUANTITY, [QUANTITY], QUANTITY, function (other) { return quantityType.wrap({ nanos: amount(this) + amount(other) }) }),
  celMethod('add', QUANTITY, [INT], QUANTITY, function (other) { return quantityType.wrap({ nanos: amount(this) + other * ONE }) }),
  celMethod('sub', QUANTITY, [QUANTITY], QUANTITY, function (other) { return quantityType.wrap({ nanos: amount(this) - amount(other) }) }),
  celMethod('sub', QUANTITY, [INT], QUANTITY, function (other) { return quantityType.wrap({ nanos: amount(this) - other * ONE }) }),
  celMethod('isInteger', QUANTITY, [], BOOL, function () { return isInt64(amount(this)) }),
  celMethod('asInteger', QUANTITY, [], INT, function () {
    if (!isInt64(amount(this))) throw celError('cannot convert value to integer')
    return amount(this) / ONE
  }),
  celMethod('asApproximateFloat', QUANTITY, [], DOUBLE, function () { return Number(amount(this)) / 1e9 }),
]

const isInt64 = (nanos: bigint): boolean => nanos % ONE === 0n && BigInt.asIntN(64, nanos / ONE) === nanos / ONE

const uriType = opaqueType<Uri>('kubernetes.URL', (a, b) => a.text === b.text)
const URI = uriType.type
const uri = (value: CelValue): Uri => uriType.unwrap(value)

const uriFunctions: CelFunc[] = [
  celFunc('isURL', [STRING], BOOL, (text) => parseUri(text) !== undefined),
  celFunc('url', [STRING], URI, (text) => {
    const parsed = parseUri(text)
    if (parsed === undefined) throw celError(`URL parse error during conversion from string: parse ${JSON.stringify(text)}: invalid URI for request`)
    return uriType.wrap(parsed)
  }),
  celMethod('getScheme', URI, [], STRING, function () { return uri(this).scheme }),
  celMethod('getHost', URI, [], STRING, function () { return uri(this).host }),
  celMethod('getHostname', URI, [], STRING, function () { return uri(this).hostname }),
  celMethod('getPort', URI, [], STRING, function () { return uri(this).port }),
  celMethod('getEscapedPath', URI, [], STRING, function () { return uri(this).path }),
  celMethod('getQuery', URI, [], ANY_MAP, function () { return uri(this).query }),
]

/** Everything that rules have besides the language's own functions and the strings extension. */
export const kubernetesFunctions: CelFunc[] = [
  ...operators,
  ...conversions,
  ...listFunctions,
  ...setFunctions,
  ...patternFunctions,
  ...quantityFunctions,
  ...uriFunctions,
  ...networkFunctions,
  ...timeFunctions,
]
