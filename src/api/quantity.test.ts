import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addQuantities, compareAmounts, negateQuantity, parseQuantity, toFloat, toInteger, type Quantity } from './quantity.ts'

function quantity(text: string): Quantity {
  const parsed = parseQuantity(text)
  assert.ok(typeof parsed !== 'string', text)
  return parsed
}

test('quantities', () => {
  const cases: [string, bigint, number][] = [
    ['1', 1n, 0], ['0', 0n, 0], ['500m', 500n, -3], ['1.5', 15n, -1], ['.5', 5n, -1], ['1.', 1n, 0], ['-2k', -2n, 3], ['+1Ki', 1024n, 0], ['1.5Gi', 1610612736n, 0], ['1e3', 1n, 3],
    ['1E-3', 1n, -3], ['1E', 1n, 18], ['2n', 2n, -9], ['0.1n', 1n, -9], ['-0.1n', -1n, -9], ['.', 0n, 0], ['+', 0n, 0], ['9Ei', 9223372036854775807n, 0], ['1e999999999', 1n, 999999999],
  ]
  for (const [text, value, scale] of cases) assert.equal(compareAmounts(quantity(text), { value, scale }), 0, text)
  for (const text of ['', 'x', '1 ', '1x', '1.2.3', '1'.repeat(2000)]) assert.match(parseQuantity(text) as string, /must match the regular expression/, text)
  assert.equal(compareAmounts(quantity('Gi'), { value: 0n, scale: 0 }), 0)
  assert.equal(parseQuantity('Ei'), 'unable to parse numeric part of quantity')
  for (const text of ['1ki', '1e', '1e+', '1e99999999999999999999', '1K', '--1']) assert.equal(parseQuantity(text), "unable to parse quantity's suffix", text)
})

test('integers are those that upstream sees', () => {
  const cases: [Quantity, bigint | undefined][] = [
    [quantity('1k'), 1000n], [quantity('1000m'), undefined], [quantity('1.0'), undefined], [quantity('9223372036854775807'), undefined], [quantity('922337203685477580'), 922337203685477580n],
    [addQuantities(quantity('0.5'), quantity('0.5')), undefined], [addQuantities(quantity('1Gi'), negateQuantity(quantity('1Gi'))), 0n], [quantity('1e30'), undefined],
  ]
  for (const [amount, integer] of cases) assert.equal(toInteger(amount), integer)
  assert.equal(toFloat(quantity('1500m')), 1.5)
  assert.equal(toFloat(quantity('1e999')), Infinity)
  assert.equal(toFloat(quantity('1e-2')), 0.01)
})
