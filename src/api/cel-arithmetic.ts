/**
 * The operators `+ - * / %`, `-` and `!`, with cel-go's overflow texts.
 * upstream: cel-go common/types/{int,uint,double,string,bytes,timestamp,duration,list,overflow}.go; apiserver/pkg/cel/common/valuesunstructured.go Add
 */
import { celError, celUint, type CelList, type CelUint } from '@bufbuild/cel'
import { contains, items, rawOf } from './cel-equality.ts'
import { declare, overload, type Declaration, type Value } from './cel-function.ts'
import { CHARACTER, INTEGER, meter, OBJECT } from './cel-meter.ts'
import { DURATION, durationOf, nanosOf, offsetOf, TIMESTAMP, timestampOf } from './cel-time.ts'
import { identityOf, JoinedList, ListValue, wrap } from './cel-values.ts'
import type { Json } from './object.ts'

/** An int that fits; throws for one that does not. */
export function int(value: bigint): bigint {
  meter.charge(INTEGER)
  if (BigInt.asIntN(64, value) !== value) throw celError('integer overflow')
  return value
}

/** A uint that fits; throws for one that does not. */
export function uint(value: bigint): CelUint {
  meter.charge(INTEGER)
  if (BigInt.asUintN(64, value) !== value) throw celError('unsigned integer overflow')
  return celUint(value)
}

function divisor(value: bigint, text: string): bigint {
  if (value === 0n) throw celError(text)
  return value
}

/** Text of at most as many characters as the budget has. */
function concatTexts(a: string, b: string): string {
  meter.charge((a.length + b.length) * CHARACTER)
  return a + b
}

function concatBytes(a: Uint8Array, b: Uint8Array): Uint8Array {
  meter.charge((a.length + b.length) * CHARACTER)
  const bytes = new Uint8Array(a.length + b.length)
  bytes.set(a)
  bytes.set(b, a.length)
  return bytes
}

/** Concatenation as cel-go has it for lists of the schema: of a set the union, of a list by key the merge. */
function concat(a: CelList, b: CelList): JoinedList | ListValue {
  if (!(a instanceof ListValue) || (a as ListValue).type.list === 'atomic') return joined(a, items(b))
  const list = a as ListValue
  const known = items(a)
  const others = items(b)
  if (list.type.list === 'set') return joined(a, others.filter((item) => !contains(known, item)))
  meter.charge((list.size + others.length) * OBJECT)
  // a Map keeps the place of a key whose value is replaced
  const merged = new Map([...list.raw, ...others.map(rawItem)].map((item) => [identityOf(item, list.type), item]))
  return wrap([...merged.values()], list.type) as unknown as ListValue
}

function rawItem(item: Value): Json {
  const raw = rawOf(item)
  if (raw === undefined) throw celError('no such overload')
  return raw
}

// The macros map and filter append item by item, so that the longest list of a chain is shared.
function joined(a: CelList, more: readonly Value[]): JoinedList {
  return (a as unknown) instanceof JoinedList ? (a as unknown as JoinedList).append(more) : new JoinedList([...items(a), ...more])
}

const ADDERS = ['int', 'uint', 'double', 'string', 'bytes', 'list', TIMESTAMP, DURATION]
const SUBTRACTORS = ['int', 'uint', 'double', TIMESTAMP, DURATION]
const MULTIPLIERS = ['int', 'uint', 'double']
const MODDERS = ['int', 'uint']
// These take the operator as a method that they do not have, which is another text.
const RECEIVERS = ['string', TIMESTAMP, DURATION]

const operator =
  (kinds: readonly string[]) =>
  (first: string): 'plain' | 'named' =>
    kinds.includes(first) || RECEIVERS.includes(first) ? 'plain' : 'named'

/** The arithmetic operators. */
export const arithmeticFunctions: Declaration[] = [
  declare(
    '_+_',
    [
      overload(['int', 'int'], (a, b) => int(a + b)),
      overload(['list', 'list'], concat),
      overload(['string', 'string'], concatTexts),
      overload(['double', 'double'], (a, b) => a + b),
      overload(['uint', 'uint'], (a, b) => uint(a.value + b.value)),
      overload(['bytes', 'bytes'], concatBytes),
      overload([DURATION, DURATION], (a, b) => durationOf(nanosOf(a) + nanosOf(b))),
      overload([TIMESTAMP, DURATION], (a, b) => timestampOf(nanosOf(a) + nanosOf(b), offsetOf(a))),
      overload([DURATION, TIMESTAMP], (a, b) => timestampOf(nanosOf(a) + nanosOf(b), offsetOf(b))),
    ],
    operator(ADDERS),
  ),
  declare(
    '_-_',
    [
      overload(['int', 'int'], (a, b) => int(a - b)),
      overload(['double', 'double'], (a, b) => a - b),
      overload(['uint', 'uint'], (a, b) => uint(a.value - b.value)),
      overload([DURATION, DURATION], (a, b) => durationOf(nanosOf(a) - nanosOf(b))),
      overload([TIMESTAMP, TIMESTAMP], (a, b) => durationOf(nanosOf(a) - nanosOf(b))),
      overload([TIMESTAMP, DURATION], (a, b) => timestampOf(nanosOf(a) - nanosOf(b), offsetOf(a))),
    ],
    operator(SUBTRACTORS),
  ),
  declare(
    '_*_',
    [
      overload(['int', 'int'], (a, b) => int(a * b)),
      overload(['double', 'double'], (a, b) => a * b),
      overload(['uint', 'uint'], (a, b) => uint(a.value * b.value)),
    ],
    operator(MULTIPLIERS),
  ),
  declare(
    '_/_',
    [
      overload(['int', 'int'], (a, b) => int(a / divisor(b, 'division by zero'))),
      overload(['double', 'double'], (a, b) => a / b),
      overload(['uint', 'uint'], (a, b) => uint(a.value / divisor(b.value, 'division by zero'))),
    ],
    operator(MULTIPLIERS),
  ),
  declare(
    '_%_',
    [
      overload(['int', 'int'], modulo),
      overload(['uint', 'uint'], (a, b) => uint(a.value % divisor(b.value, 'modulus by zero'))),
    ],
    operator(MODDERS),
  ),
  declare('-_', [overload(['int'], (value) => int(-value)), overload(['double'], (value) => -value), overload([DURATION], (value) => durationOf(-nanosOf(value)))], (first) =>
    first === 'string' || first === 'bool' || first === TIMESTAMP ? 'plain' : 'named'),
  declare('!_', [overload(['bool'], (value) => !value)], 'plain'),
]

function modulo(a: bigint, b: bigint): bigint {
  // upstream: moduloInt64Checked, which is of one mind with the division that would overflow
  if (a === -9223372036854775808n && b === -1n) throw celError('integer overflow')
  return a % divisor(b, 'modulus by zero')
}
