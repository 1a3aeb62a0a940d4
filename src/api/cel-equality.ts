/**
 * Equality as `==`, `in`, indexOf, distinct and the sets have it. Numbers compare across types; sets and lists by key of the schema ignore order when
 * they stand on the left.
 * upstream: cel-go common/types/{list,map,int,…}.go Equal, apiserver/pkg/cel/common/valuesunstructured.go
 */
import { isCelError, isCelList, isCelMap, isCelType, isCelUint, type CelList, type CelMap } from '@bufbuild/cel'
import { CHARACTER, ITEM, LIMIT_TEXT, meter, OBJECT } from './cel-meter.ts'
import { equalOpaque } from './cel-opaque.ts'
import { equalJson, identityOf, ListValue, MapValue } from './cel-values.ts'
import type { Value } from './cel-function.ts'
import type { Json } from './object.ts'

/** Equality of two values; throws where cel-go gives an error. */
export function equal(a: unknown, b: unknown): boolean {
  meter.charge(1)
  if (typeof a === 'string' && typeof b === 'string') {
    if (a.length === b.length) meter.charge(a.length * CHARACTER)
    return a === b
  }
  if (a instanceof ListValue && b instanceof ListValue) return equalJson(a.raw as Json[], b.raw as Json[], a.type)
  if (a instanceof MapValue && b instanceof MapValue) return equalJson(a.raw, b.raw, a.type)
  if (isCelList(a)) return isCelList(b) && equalLists(a, b)
  if (isCelMap(a)) return isCelMap(b) && equalMaps(a, b)
  return equalScalars(a, b)
}

/** The items of a list; an item that does not fit its schema throws. */
export function items(list: CelList): Value[] {
  meter.charge(list.size * ITEM)
  const values = [...list]
  for (const value of values) if (isCelError(value)) throw value
  return values
}

/** Whether a list has an item. Where items cannot be compared with the value, that is the error unless another one is equal. */
export function contains(list: readonly Value[], value: Value): boolean {
  let failure: unknown
  for (const item of list) {
    try {
      if (equal(item, value)) return true
    } catch (error) {
      if ((error as Error).message === LIMIT_TEXT) throw error
      failure ??= error
    }
  }
  if (failure !== undefined) throw failure
  return false
}

function equalLists(a: CelList, b: CelList): boolean {
  if (a.size !== b.size) return false
  meter.charge(OBJECT)
  const others = items(b)
  if (a instanceof ListValue && (a as ListValue).type.list !== 'atomic') return equalByIdentity(a as ListValue, others)
  return items(a).every((item, i) => equal(item, others[i]))
}

function equalByIdentity(list: ListValue, others: readonly Value[]): boolean {
  const known = new Map(list.raw.map((item, i) => [identityOf(item, list.type), i]))
  return others.every((other) => {
    const raw = rawOf(other)
    const i = raw === undefined ? undefined : known.get(identityOf(raw, list.type))
    return i !== undefined && (list.type.list === 'set' || equal(list.get(i), other))
  })
}

/** The JSON of a value of the schema or a scalar, undefined for what has none. */
export function rawOf(value: Value): Json | undefined {
  if ((value as unknown) instanceof MapValue) return (value as unknown as MapValue).raw
  if ((value as unknown) instanceof ListValue) return (value as unknown as ListValue).raw as Json
  if (value === null || typeof value === 'string' || typeof value === 'boolean' || typeof value === 'bigint' || typeof value === 'number') return value
  return undefined
}

function equalMaps(a: CelMap, b: CelMap): boolean {
  if (a.size !== b.size) return false
  meter.charge(OBJECT + a.size * ITEM)
  for (const [key, value] of a.entries()) {
    const other = b.get(key)
    if (other === undefined || !equal(value, other)) return false
  }
  return true
}

function equalScalars(left: unknown, right: unknown): boolean {
  const a = isCelUint(left) ? left.value : left
  const b = isCelUint(right) ? right.value : right
  if (a === b) return true
  if (a instanceof Uint8Array && b instanceof Uint8Array) {
    meter.charge(Math.min(a.length, b.length) * CHARACTER)
    return Buffer.compare(a, b) === 0
  }
  if (isCelType(a) && isCelType(b)) return a.kind === b.kind && a.name === b.name
  if (typeof a === 'object') return equalOpaque(a, b)
  // a double is compared as such, so that whole numbers beyond 2^53 lose their last digits
  return (typeof a === 'bigint' && typeof b === 'number' && Number(a) === b) || (typeof a === 'number' && typeof b === 'bigint' && a === Number(b))
}
