/**
 * Access to members of values whose type is only known when the rule runs: `a[k]`, `a.k` and `has(a.k)`. An optional value passes the access on
 * and gives another one.
 * upstream: cel-go interpreter/attributes.go refQualify, common/types/list.go IndexOrError
 */
import { celError, isCelError, isCelList, isCelMap, isCelUint, type CelList, type CelMap } from '@bufbuild/cel'
import { declare, kindOf, overload, type Declaration, type Value } from './cel-function.ts'
import { items } from './cel-equality.ts'
import { formatValue } from './cel-go-text.ts'
import { LiteralMap } from './cel-map.ts'
import { none, OPTIONAL, optionalOf, valueOf } from './cel-optional.ts'
import { MapValue } from './cel-values.ts'

const KEYS = ['string', 'int', 'uint', 'bool', 'double']
// Go's names of the types that are no keys.
const GO_TYPES: Record<string, string> = { null_type: 'types.Null', list: '*types.baseList', map: '*types.baseMap', bytes: 'types.Bytes', type: '*types.Type' }

function access(value: Value, key: Value): Value {
  if (kindOf(value) === OPTIONAL) return accessOptional(value, key) as Value
  const found = find(value, key)
  if (found !== undefined) return found
  throw celError(isCelList(value) ? `index out of bounds: ${formatValue(key)}` : `no such key: ${formatValue(key)}`)
}

function accessOptional(optional: Value, key: Value): unknown {
  const value = valueOf(optional)
  const found = value === undefined ? undefined : find(value, key)
  return found === undefined ? none() : optionalOf(found)
}

/** The member, undefined when there is none. Throws for a key that cannot be one. */
function find(value: Value, key: Value): Value | undefined {
  if (!KEYS.includes(kindOf(key))) throw celError(`invalid qualifier type: ${GO_TYPES[kindOf(key)] ?? kindOf(key)}`)
  const found = isCelMap(value) ? findKey(value, key) : isCelList(value) ? findIndex(value, key) : undefined
  if (isCelError(found)) throw found
  return found
}

function findKey(map: CelMap, key: Value): Value | undefined {
  if ((map as unknown) instanceof MapValue && typeof key !== 'string') throw celError('no such overload')
  return map.get(key as never)
}

function findIndex(list: CelList, key: Value): Value | undefined {
  const index = isCelUint(key) ? key.value : key
  if (typeof index !== 'bigint' && typeof index !== 'number') throw celError(`unsupported index type '${kindOf(key)}' in list`)
  if (typeof index === 'number' && !Number.isInteger(index)) throw celError(`unsupported index value ${formatValue(index)} in list`)
  return index < 0 || index >= list.size ? undefined : list.get(Number(index))
}

function has(value: Value, key: Value): boolean {
  const inner = kindOf(value) === OPTIONAL ? valueOf(value) : value
  if (inner === undefined) return false
  return isCelMap(inner) || isCelList(inner) ? find(inner, key) !== undefined : false
}

function mapOf(pairs: readonly Value[]): LiteralMap {
  return new LiteralMap(Array.from({ length: pairs.length / 2 }, (_, i) => [pairs[2 * i] as Value, pairs[2 * i + 1] as Value]))
}

/** What the expressions are rewritten to; rules cannot write these names. */
export const accessFunctions: Declaration[] = [
  declare('@index', [overload(['any', 'any'], access)]),
  declare('@has', [overload(['any', 'any'], has)]),
  declare('@map', [overload(['list'], (pairs) => mapOf(items(pairs)))]),
]
