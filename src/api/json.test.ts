import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { DecodeError } from './go-json-error.ts'
import { encodeInOrder, encodeJson } from './json-encode.ts'
import { checkDepth, decodeJson } from './json-parse.ts'
import { deepEqual, Float, type Json } from './object.ts'

const failing: [string, string][] = [
  ['', 'unexpected end of JSON input'],
  [' ', 'unexpected end of JSON input'],
  ['{', 'unexpected end of JSON input'],
  ['{"a"', 'unexpected end of JSON input'],
  ['{"a":', 'unexpected end of JSON input'],
  ['{"a":1', 'unexpected end of JSON input'],
  ['{"a":1,', 'unexpected end of JSON input'],
  ['[1', 'unexpected end of JSON input'],
  ['"abc', 'unexpected end of JSON input'],
  ['tru', "invalid character ' ' in literal true (expecting 'e')"],
  ['"a\\', "invalid character ' ' in string escape code"],
  ['-', "invalid character ' ' in numeric literal"],
  ['1.', "invalid character ' ' after decimal point in numeric literal"],
  ['1e+', "invalid character ' ' in exponent of numeric literal"],
  ['x', "invalid character 'x' looking for beginning of value"],
  ["'", "invalid character '\\'' looking for beginning of value"],
  ['{x', "invalid character 'x' looking for beginning of object key string"],
  ['{"a":1,}', "invalid character '}' looking for beginning of object key string"],
  ['{"a" 1}', "invalid character '1' after object key"],
  ['{"a":1 2}', "invalid character '2' after object key:value pair"],
  ['[1 "x"]', `invalid character '"' after array element`],
  ['[1,]', "invalid character ']' looking for beginning of value"],
  ['{}t', "invalid character 't' after top-level value"],
  ['nulx', "invalid character 'x' in literal null (expecting 'l')"],
  ['"a\nb"', "invalid character '\\n' in string literal"],
  ['"\\x"', "invalid character 'x' in string escape code"],
  ['"\\u12g4"', "invalid character 'g' in \\u hexadecimal character escape"],
  ['01', "invalid character '1' after top-level value"],
  ['\ufeff{}', "invalid character 'ï' looking for beginning of value"],
  ['\u00c1', "invalid character 'Ã' looking for beginning of value"],
  ['1e400', 'json: cannot unmarshal number 1e400 into Go value of type float64'],
  ['['.repeat(10_001), "invalid character '[' exceeded max depth"],
  ['{"a":'.repeat(10_001), "invalid character '{' exceeded max depth"],
]

test('broken JSON is refused with the texts of Go', () => {
  for (const [text, message] of failing) assert.throws(() => decodeJson(text), new DecodeError(message), text.slice(0, 20))
})

test('integers and floats stay apart', () => {
  const { value } = decodeJson('[1, 1.0, 1e2, -0, -0.0, 1.5, 9007199254740993, 9223372036854775807, 9223372036854775808, 1e-400]')
  const expected = [1, new Float(1), new Float(100), 0, new Float(-0), 1.5, 9007199254740993n, 9223372036854775807n, new Float(9223372036854775808), new Float(0)]
  assert.ok(deepEqual(value, expected))
  assert.equal(encodeJson(value), '[1,1,100,0,0,1.5,9007199254740993,9223372036854775807,9223372036854776000,0]')
})

test('duplicate keys are found with their paths, the last value wins', () => {
  const { value, duplicates } = decodeJson('{"spec":{"a":1,"a":2,"l":[{},{"x":1,"x":{"y":1,"y":2},"x":3}]},"constructor":1,"spec":{"b":1}}')
  assert.deepEqual(duplicates, ['spec.a', 'spec.l[1].x', 'spec.l[1].x.y', 'spec'])
  assert.deepEqual(value, { spec: { b: 1 }, constructor: 1 })
})

test('no more than a hundred duplicates are listed', () => {
  const text = `{${Array.from({ length: 200 }, (_, i) => `"k${i}":1,"k${i}":2`).join(',')}}`
  assert.equal(decodeJson(text).duplicates.length, 100)
})

test('__proto__ is a key like any other', () => {
  const { value, duplicates } = decodeJson('{"__proto__":{"polluted":true},"a":{"__proto__":1,"__proto__":2}}')
  assert.deepEqual(duplicates, ['a.__proto__'])
  assert.equal((value as { polluted?: boolean }).polluted, undefined)
  assert.equal(encodeJson(value), '{"__proto__":{"polluted":true},"a":{"__proto__":2}}')
})

test('lone surrogates become the replacement character', () => {
  assert.equal(decodeJson(String.raw`"\ud800A\ud83d\ude00"`).value, '\ufffdA😀')
})

test('strings and keys are written as Go writes them', () => {
  assert.equal(encodeJson({ b: '<&>\u2028', a: '\u0001"\\\n\u007f', '😀': 1, '\uffff': 2 }), String.raw`{"a":"\u0001\"\\\n` + '\u007f' + String.raw`","b":"\u003c\u0026\u003e\u2028","` + '\uffff":2,"😀":1}')
})

test('members can be written in their own order', () => {
  assert.equal(encodeInOrder({ b: 1, a: undefined, 'c<': [new Float(1), 2n ** 62n, { z: null, y: '\u2028' }] }), '{"b":1,"c\\u003c":[1,4611686018427387904,{"z":null,"y":"\\u2028"}]}')
})

test('a value is as deep as the parser takes it, or refused with the text of the parser', () => {
  const nested = (depth: number): Json => {
    let value: Json = []
    for (let i = 1; i < depth; i++) value = [value]
    return value
  }
  checkDepth(nested(10_000))
  checkDepth(1)
  assert.throws(() => checkDepth({ a: nested(10_000) }), { message: "invalid character '[' exceeded max depth" })
})

test('nesting up to the limit needs no stack', () => {
  const text = `${'['.repeat(10_000)}${']'.repeat(10_000)}`
  assert.equal(encodeJson(decodeJson(text).value), text)
  assert.ok(deepEqual(decodeJson(text).value, decodeJson(text).value))
  assert.ok(!deepEqual(decodeJson(text).value, decodeJson(text.replace('[]', '[1]')).value))
})

test('equality is that of Go', () => {
  const equal: [unknown, unknown][] = [[{ a: 1, b: [null] }, { b: [null], a: 1 }], [{ a: undefined }, {}], [new Float(1), new Float(1)], [1n, 1n], [[], []]]
  const different: [unknown, unknown][] = [[1, new Float(1)], [{ a: null }, {}], [{}, []], [{}, null], [[1, 2], [2, 1]], [{ a: 1 }, { b: 1 }], [{ toString: 1 }, {}], ['1', 1], [{ a: { b: 1 } }, { a: { b: 1, c: 1 } }], [new Float(1), {}]]
  for (const [a, b] of equal) assert.ok(deepEqual(a, b) && deepEqual(b, a))
  for (const [a, b] of different) assert.ok(!deepEqual(a, b) && !deepEqual(b, a))
})

const json: fc.Arbitrary<Json> = fc.letrec<{ node: Json }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 4 },
    fc.constant(null),
    fc.boolean(),
    fc.string({ unit: 'binary' }),
    fc.maxSafeInteger().map((n) => n + 0),
    fc.bigInt({ min: 2n ** 53n, max: 2n ** 63n - 1n }),
    fc.double({ noNaN: true, noDefaultInfinity: true }).filter((n) => !Number.isInteger(n)),
    fc.array(tie('node')),
    fc.dictionary(fc.string(), tie('node')),
  ),
})).node

test('what is encoded decodes to the same value', () => {
  fc.assert(fc.property(json, (value) => deepEqual(decodeJson(encodeJson(value)).value, value)))
})

test('JSON.parse agrees on what is JSON', () => {
  const fragments = fc.constantFrom('{', '}', '[', ']', ',', ':', '"', '"a"', '1', '-', '.', 'e', '0', 'true', 'nul', ' ', '\\', '\\u00', '\n')
  fc.assert(
    fc.property(fc.array(fragments, { maxLength: 12 }), (parts) => {
      const text = parts.join('')
      const accepts = (parse: (text: string) => unknown): boolean => {
        try {
          parse(text)
          return true
        } catch {
          return false
        }
      }
      assert.equal(accepts(decodeJson), accepts(JSON.parse), text)
    }),
    { numRuns: 2000 },
  )
})

test('hostile documents take linear time', () => {
  const documents = [
    '"\\u0041'.repeat(1) + '\\u0041'.repeat(400_000) + '"',
    `[${'9'.repeat(2_000_000)}]`,
    `{${Array.from({ length: 100_000 }, (_, i) => `"k${i}":1`).join(',')}}`,
    `[${'[],'.repeat(500_000)}1]`,
    ' '.repeat(3_000_000),
  ]
  for (const text of documents) {
    const start = performance.now()
    try {
      decodeJson(text)
    } catch (error) {
      assert.ok(error instanceof DecodeError)
    }
    assert.ok(performance.now() - start < 2000, text.slice(0, 10))
  }
})
