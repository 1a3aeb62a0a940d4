/**
 * Optional values: what `oldSelf` is with optionalOldSelf, and what first, last and format.named give. The syntax (`.?`, `[?…]`) is refused.
 * upstream: cel-go cel/library.go optionalLib, common/types/optional.go
 */
import { celError, isCelError, isCelList, isCelMap, isCelType, isCelUint, type CelList } from '@bufbuild/cel'
import type { ReflectMessage } from '@bufbuild/protobuf/reflect'
import { equal, items } from './cel-equality.ts'
import { declare, kindOf, member, overload, type Declaration, type Value } from './cel-function.ts'
import { ITEM, meter } from './cel-meter.ts'
import { opaqueType } from './cel-opaque.ts'
import { DURATION, nanosOf, TIMESTAMP } from './cel-time.ts'
import { JoinedList, ListValue, MapValue } from './cel-values.ts'

/** A value or none: `value` is undefined then. */
interface Optional {
  readonly value: Value | undefined
}

/** The type of optional values. */
export const optionalType = opaqueType<Optional>('optional_type', ({ value: a }, { value: b }) => (a === undefined || b === undefined ? a === b : equal(a, b)))
/** The name of the type. */
export const OPTIONAL = optionalType.desc.typeName

/** An optional value without one. */
export const none = (): ReflectMessage => optionalType.wrap({ value: undefined })
/** An optional value with one. */
export const optionalOf = (value: Value): ReflectMessage => optionalType.wrap({ value })
/** The value of an optional, undefined for none. */
export const valueOf = (optional: unknown): Value | undefined => optionalType.unwrap(optional).value

function required(optional: unknown): Value {
  const value = valueOf(optional)
  if (value === undefined) throw celError('optional.none() dereference')
  return value
}

const ZERO_TIME = -62135596800n * 1_000_000_000n

// Values of the schema have no zero, and neither have opaque ones.
function isZero(value: Value): boolean {
  if (value === null || value === false || value === '' || value === 0n || value === 0) return true
  if ((value as unknown) instanceof MapValue || (value as unknown) instanceof ListValue || isCelType(value)) return false
  if (isCelUint(value)) return value.value === 0n
  if (value instanceof Uint8Array) return value.length === 0
  if (isCelList(value) || isCelMap(value)) return value.size === 0
  const kind = kindOf(value)
  return kind === TIMESTAMP ? nanosOf(value as ReflectMessage) === ZERO_TIME : kind === DURATION && nanosOf(value as ReflectMessage) === 0n
}

function unwrapAll(optionals: CelList): JoinedList {
  meter.charge(optionals.size * ITEM)
  return new JoinedList(items(optionals).map(valueOf).filter((value) => value !== undefined))
}

function at(list: CelList, index: number): ReflectMessage {
  const value = list.get(index)
  if (isCelError(value)) throw value
  return value === undefined ? none() : optionalOf(value)
}

const OPTIONALS = { items: [OPTIONAL] } as const

/** The functions of optional values. `or` and `orValue` are macros, since they may not look at their argument. */
export const optionalFunctions: Declaration[] = [
  declare('optional.of', [overload(['any'], optionalOf)]),
  declare('optional.none', [overload([], none)]),
  declare('optional.ofNonZeroValue', [overload(['any'], (value) => (isZero(value) ? none() : optionalOf(value)))]),
  declare('optional.unwrap', [overload([OPTIONALS], unwrapAll)]),
  declare('unwrapOpt', [member([OPTIONALS], unwrapAll)]),
  declare('hasValue', [member([OPTIONAL], (optional) => valueOf(optional) !== undefined)]),
  declare('value', [member([OPTIONAL], required)]),
  declare('@isNone', [overload(['any'], (value) => kindOf(value) === OPTIONAL && valueOf(value) === undefined)]),
  declare('@value', [overload(['any'], (value) => (kindOf(value) === OPTIONAL ? required(value) : value))]),
  declare('first', [member(['list'], (list) => at(list, 0))]),
  declare('last', [member(['list'], (list) => at(list, list.size - 1))]),
]
