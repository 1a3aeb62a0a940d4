/** Quantities as rules see them. upstream: apiserver/pkg/cel/library/quantity.go */
import { celError } from '@bufbuild/cel'
import { declare, member, overload, type Declaration } from './cel-function.ts'
import { CHARACTER, meter, OBJECT, PARTS } from './cel-meter.ts'
import { opaqueType } from './cel-opaque.ts'
import { addQuantities, compareAmounts, negateQuantity, parseQuantity, toFloat, toInteger, type Quantity } from './quantity.ts'

/** The type of quantities. */
export const quantityType = opaqueType<Quantity>('kubernetes.Quantity', (a, b) => compareAmounts(a, b) === 0)
const QUANTITY = quantityType.desc.typeName

function parse(text: string): Quantity | string {
  meter.charge(PARTS + text.length * CHARACTER)
  return parseQuantity(text)
}

function quantity(text: string): unknown {
  const parsed = parse(text)
  if (typeof parsed === 'string') throw celError(parsed)
  return quantityType.wrap(parsed)
}

const { unwrap, wrap } = quantityType
function compare(a: unknown, b: unknown): number {
  meter.charge(OBJECT)
  return compareAmounts(unwrap(a), unwrap(b))
}

function float(value: Quantity): number {
  meter.charge(OBJECT)
  return toFloat(value)
}

/** What a place of difference in scale costs: amounts may be as far apart as 10³². */
function add(a: Quantity, b: Quantity): unknown {
  meter.charge(Math.abs(a.scale - b.scale))
  return wrap(addQuantities(a, b))
}

const whole = (value: bigint): Quantity => ({ value, scale: 0, small: true })

function asInteger(value: Quantity): bigint {
  const integer = toInteger(value)
  if (integer === undefined) throw celError('cannot convert value to integer')
  return integer
}

/** The functions of quantities alone. */
export const quantityFunctions: Declaration[] = [
  declare('quantity', [overload(['string'], quantity)]),
  declare('isQuantity', [overload(['string'], (text) => typeof parse(text) !== 'string')]),
  declare('sign', [overload([QUANTITY], (value) => BigInt(compareAmounts(unwrap(value), whole(0n))))]),
  declare('add', [member([QUANTITY, QUANTITY], (a, b) => add(unwrap(a), unwrap(b))), member([QUANTITY, 'int'], (a, b) => add(unwrap(a), whole(b)))]),
  declare('sub', [
    member([QUANTITY, QUANTITY], (a, b) => add(unwrap(a), negateQuantity(unwrap(b)))),
    member([QUANTITY, 'int'], (a, b) => add(unwrap(a), whole(-b))),
  ]),
  declare('isInteger', [member([QUANTITY], (value) => toInteger(unwrap(value)) !== undefined)]),
  declare('asInteger', [member([QUANTITY], (value) => asInteger(unwrap(value)))]),
  declare('asApproximateFloat', [member([QUANTITY], (value) => float(unwrap(value)))]),
]

/** The comparisons that quantities share with versions. */
export const quantityComparisons = {
  isGreaterThan: member([QUANTITY, QUANTITY], (a, b) => compare(a, b) > 0),
  isLessThan: member([QUANTITY, QUANTITY], (a, b) => compare(a, b) < 0),
  compareTo: member([QUANTITY, QUANTITY], (a, b) => BigInt(compare(a, b))),
}
