import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { compareNumerically, isWithin, NO_TOLERANCE, parseDecimal } from './numbers.ts'

const DEFAULT = { absolute: 1e-8, relative: 1e-5 }

test('decimal strings of the API are numbers, nothing else is', () => {
  assert.equal(parseDecimal('1e-8'), 1e-8)
  assert.equal(parseDecimal('0.25'), 0.25)
  assert.equal(parseDecimal('0'), 0)
  for (const text of ['', '-1', '1.', '.5', 'NaN', 'Infinity', '0x10', '1e999', '1_000', ' 1']) assert.equal(parseDecimal(text), undefined, text)
})

test('the tolerance is absolute plus relative to the expected value', () => {
  assert.ok(isWithin(1, 1.000009, DEFAULT))
  assert.ok(!isWithin(1, 1.00002, DEFAULT))
  assert.ok(isWithin(0, 1e-9, DEFAULT))
  assert.ok(!isWithin(0, 1e-7, DEFAULT))
  assert.ok(isWithin(100, 110, { absolute: 0, relative: 0.1 }))
  assert.ok(!isWithin(100, 110.1, { absolute: 0, relative: 0.1 }))
})

test('NaN equals NaN and an infinity only itself', () => {
  assert.ok(isWithin(NaN, NaN, NO_TOLERANCE))
  assert.ok(!isWithin(NaN, 1, { absolute: 1e9, relative: 1 }))
  assert.ok(isWithin(Infinity, Infinity, NO_TOLERANCE))
  assert.ok(!isWithin(Infinity, -Infinity, { absolute: 1, relative: 1 }))
  assert.ok(!isWithin(Infinity, 1, { absolute: 1, relative: 1 }))
})

const CASES: [expected: string, actual: string, outcome: 'equal' | 'Number' | 'Text'][] = [
  ['loss: 0.123456', 'loss: 0.1234561', 'equal'],
  ['loss: 0.123456', 'loss: 0.1244561', 'Number'],
  ['loss: 0.123456', 'cost: 0.123456', 'Text'],
  ['[1. 2. 3.]', '[1.0000001 2. 3.]', 'equal'],
  ['1e-3', '0.001', 'equal'],
  ['nan', 'NaN', 'equal'],
  ['nan', '1.0', 'Number'],
  ['inf', '-inf', 'Number'],
  ['It is 0.5.', 'It is 0.5000001.', 'equal'],
  ['12.5ms', '12.50001ms', 'equal'],
  ['12.5ms', '12.5s', 'Text'],
  ['1.0+2.0j', '1.0+2.0000001j', 'equal'],
  ['v1.2.3', 'v1.2.4', 'Text'],
  ['2024-01-01', '2024-01-02', 'Text'],
  ['sha 100000000a', 'sha 100000001a', 'Text'],
  ['x1', 'x2', 'Text'],
  ['42', '43', 'Number'],
  ['42', '42 43', 'Text'],
  ['a 1', 'a', 'Text'],
  ['9007199254740993', '9007199254740992', 'equal'],
  ['1.0\n2.0', '1.0\n2.5', 'Number'],
  ['1.0 a', '2.0 b', 'Text'],
  ['μ=0.5', 'μ=0.50000001', 'equal'],
]

for (const [expected, actual, outcome] of CASES) {
  test(`"${expected}" and "${actual}": ${outcome}`, () => {
    const compared = compareNumerically(expected, actual, DEFAULT)
    assert.equal(compared.equal ? 'equal' : compared.kind, outcome)
  })
}

test('without tolerance large integers are told apart', () => {
  assert.ok(!compareNumerically('9007199254740993', '9007199254740992', NO_TOLERANCE).equal)
})

test('any text equals itself', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => compareNumerically(text, text, NO_TOLERANCE).equal))
})

test('megabytes of digits, signs and points are compared in linear time', () => {
  const started = performance.now()
  for (const unit of ['1', '1.', '-', '1e', '+1.5e', 'nan', '1 ', '.']) {
    const text = unit.repeat(Math.ceil(1_000_000 / unit.length))
    compareNumerically(`${text}a`, `${text}b`, DEFAULT)
  }
  assert.ok(performance.now() - started < 4000)
})
