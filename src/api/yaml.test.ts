import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { DecodeError } from './go-json-error.ts'
import { decodeJson } from './json-parse.ts'
import { deepEqual, Float, type Json } from './object.ts'
import { decodeYaml, encodeYaml } from './yaml.ts'

const read = (text: string): Json => decodeYaml(text).value

test('scalars are those of YAML 1.1 without times', () => {
  const table: [string, Json][] = [
    ['yes', true], ['Off', false], ['n', false], ['~', null], ['', null], ['null', null],
    ['0777', 511], ['0o777', 511], ['-0o7', -7], ['0x1F', 31], ['0b11', 3], ['1_000', 1000], ['+12', 12],
    ['12:30', '12:30'], ['2001-12-14', '2001-12-14'], ['2001-12-14t21:59:43.10-05:00', '2001-12-14t21:59:43.10-05:00'],
    ['1.0', 1], ['1e3', 1000], ['1.5', 1.5], ['.5', 0.5], ['1e30', new Float(1e30)],
    ['9007199254740993', 9007199254740993n], ['9223372036854775808', new Float(9223372036854775808)],
    ['"1"', '1'], ["'yes'", 'yes'], ['!!binary YWI=', 'ab'], ['!!str 1', '1'], ['1.2.3', '1.2.3'],
  ]
  for (const [text, expected] of table) assert.ok(deepEqual(read(`a: ${text}\n`), { a: expected }), `${text} → ${String((read(`a: ${text}\n`) as { a: Json }).a)}`)
})

test('keys become strings, merges and aliases are followed, the first document counts', () => {
  assert.deepEqual(read('1: a\nyes: b\n1.5: c\n'), { 1: 'a', true: 'b', 1.5: 'c' })
  assert.deepEqual(read('base: &b {x: 1, w: 2}\nmore: &m {w: 3, z: 4}\nd: {<<: *b, w: 5}\nl: {<<: [*b, *m]}\ns: *b\n'), {
    base: { x: 1, w: 2 }, more: { w: 3, z: 4 }, d: { x: 1, w: 5 }, l: { x: 1, w: 2, z: 4 }, s: { x: 1, w: 2 },
  })
  assert.deepEqual(read('a: 1\n---\nb: [\n'), { a: 1 })
  assert.equal(Object.hasOwn(read('__proto__: 1\n') as object, '__proto__'), true)
})

test('duplicate keys are found, inner ones first, the last value wins', () => {
  const { value, duplicates } = decodeYaml('a: 1\nb:\n  c: 1\n  c: 2\na:\n  - x: 1\n    x: 2\n9: 1\n9: 2\n')
  assert.deepEqual(value, { a: [{ x: 2 }], b: { c: 2 }, 9: 2 })
  assert.deepEqual(duplicates, ['line 4: key "c" already set in map', 'line 7: key "x" already set in map', 'line 6: key "a" already set in map', 'line 9: key 9 already set in map'])
})

test('mistakes have the texts of the YAML library of Go', () => {
  const table: [string, string][] = [
    ['a: b: c', 'yaml: mapping values are not allowed in this context'],
    ['a: 1\nb: 2\nc: d: e', 'yaml: line 3: mapping values are not allowed in this context'],
    ['a: b\nc', "yaml: line 3: could not find expected ':'"],
    ['a: b\nc # x\n # y\n\nd: 3', "yaml: line 5: could not find expected ':'"],
    ['a: *x', "yaml: unknown anchor 'x' referenced"],
    ['x: 1\na: b: c\n', 'yaml: line 2: mapping values are not allowed in this context'],
    ['"abc\n', 'yaml: line 2: found unexpected end of stream'],
    ['{a: b\n', "yaml: line 1: did not find expected ',' or '}'"],
    ['a:\n\tb: 1\n', 'yaml: line 2: found character that cannot start any token'],
    ['a:\n  b: 1\n\tc: 2\n', 'yaml: line 3: found a tab character that violates indentation'],
    ['\ta: 1\n', 'yaml: found character that cannot start any token'],
    ['- a\n\t- b\n', 'yaml: line 2: found a tab character that violates indentation'],
    ['a: 1\nkind:\n \tx: 1\n', 'yaml: line 3: found character that cannot start any token'],
    ['spec:\n  a: 1\n \t b: 2\n', 'yaml: line 3: found a tab character that violates indentation'],
    ['a: |\n\tb\n', 'yaml: line 2: found a tab character where an indentation space is expected'],
    ['a: 1\n\n\tb: 2\n', 'yaml: line 3: found a tab character that violates indentation'],
    ['a: x\n\ty\n', 'yaml: line 2: found a tab character that violates indentation'],
    ['{', 'yaml: line 1: did not find expected node content'],
    ['a: \u0000', 'yaml: control characters are not allowed'],
    ['a: @b', 'yaml: found character that cannot start any token'],
    ['a: "b', 'yaml: found unexpected end of stream'],
    ['a: "\\q"', 'yaml: found unknown escape character'],
    ['a: .nan', 'json: unsupported value: NaN'],
    ['a: -.inf', 'json: unsupported value: -Inf'],
    ['<<: 1', 'yaml: map merge requires map or sequence of maps as the value'],
    ['a: &a [*a]', "yaml: anchor 'a' value contains itself"],
    ['['.repeat(100_000), 'yaml: exceeded max depth of 10000'],
  ]
  for (const [text, message] of table) assert.throws(() => decodeYaml(text), new DecodeError(message), text.slice(0, 20))
})

test('aliases that multiply are refused', () => {
  const level = (i: number): string => `l${i}: &l${i} [${Array.from({ length: 10 }, () => `*l${i - 1}`).join(', ')}]`
  const text = ['l0: &l0 [x, x, x, x, x, x, x, x, x, x]', ...Array.from({ length: 9 }, (_, i) => level(i + 1))].join('\n')
  assert.throws(() => decodeYaml(text), new DecodeError('yaml: document contains excessive aliasing'))
})

test('floats are printed as Go prints them', () => {
  const { value } = decodeJson('[1e20,1e-7,0.000001,123456789.125,-0.0,1e21,-0,1.0,0.00001,1234567.5,1e15,123456789012345680000,0.1,-1.5e-9,21000000.0,20999999.5,18446744073709551615]')
  const printed = encodeYaml(value).trimEnd().split('\n').map((line) => line.slice(2))
  const expected = ['1e+20', '1e-07', '1e-06', '1.23456789125e+08', '0', '1e+21', '0', '1', '1e-05', '1.2345675e+06', '1000000000000000', '1.2345678901234568e+20', '0.1', '-1.5e-09', '21000000']
  assert.deepEqual(printed.slice(0, -2), expected)
  assert.equal(printed.at(-2), '2.09999995e+07')
})

test('values are printed as sigs.k8s.io/yaml prints them', () => {
  const value: Json = {
    b: [{ a: 1, list: ['x'] }, []],
    a10: '1',
    a2: 'true',
    empty: {},
    none: null,
    text: 'two\nlines\n',
    colon: 'a: b',
    dash: '-x',
    quote: 'it"s',
    blank: '',
    float: 1.5,
    big: 9007199254740993n,
    time: '2024-01-01T00:00:00Z',
    '.': {},
    'f:x': { '1': 2 },
  }
  assert.equal(
    encodeYaml(value),
    `.: {}
a2: "true"
a10: "1"
b:
- a: 1
  list:
  - x
- []
big: 9007199254740993
blank: ""
colon: 'a: b'
dash: -x
empty: {}
f:x:
  "1": 2
float: 1.5
none: null
quote: it"s
text: |
  two
  lines
time: "2024-01-01T00:00:00Z"
`,
  )
})

test('long lines are broken at the first blank behind column 80, and what is not printable is escaped', () => {
  const words = 'word '.repeat(20).trim()
  assert.equal(
    encodeYaml({ plain: words, list: [words], quoted: `a: ${words}`, double: `ä€𝄞 "${words}"`, solid: 'x'.repeat(100), ['k'.repeat(129)]: 1, 'a\nb': ['a\n b'] }),
    `? |-
  a
  b
: - |-
    a
     b
double: "ä€\\U0001D11E \\"word word word word word word word word word word word word
  word word word word word word word word\\""
? ${'k'.repeat(129)}
: 1
list:
- word word word word word word word word word word word word word word word word
  word word word word
plain: word word word word word word word word word word word word word word word
  word word word word word
quoted: 'a: word word word word word word word word word word word word word word
  word word word word word word'
solid: ${'x'.repeat(100)}
`,
  )
})

const json: fc.Arbitrary<Json> = fc.letrec<{ node: Json }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom<Json>(null, true, 'yes', 'No', '1', '0x1', '1e3', '~', 'null', '<<', '', ' ', 'a: b', '- a', '#', 'a #b', '1:30', '2024-01-01', 'a\nb', 'a\n', '\n', '\t', '=', '!x', '&a', '*a', '? a', '0o7', '.inf', "it's"),
    fc.string({ unit: 'grapheme' }),
    fc.maxSafeInteger().map((n) => n + 0),
    fc.double({ min: -1e6, max: 1e6, noNaN: true }).filter((n) => !Number.isInteger(n)),
    fc.array(tie('node'), { maxLength: 3 }),
    fc.dictionary(fc.oneof(fc.string(), fc.constantFrom('yes', '1', '~', 'a b', '<<')), tie('node'), { maxKeys: 3 }),
  ),
})).node

test('what is very deep is printed as JSON, which reads back', () => {
  let value: Json = { 'a b': '<x>', n: [1, null] }
  for (let i = 0; i < 10_000; i++) value = i % 2 ? [value] : { k: value }
  const text = encodeYaml(value)
  assert.ok(text.length < 1_000_000)
  let shallow: Json = 'end'
  for (let i = 0; i < 300; i++) shallow = i % 2 ? [shallow] : { k: shallow }
  assert.match(encodeYaml(shallow), /k: \[\{"k":\[/)
  assert.deepEqual(decodeYaml(encodeYaml(shallow)).value, shallow)
})

test('what is printed reads back as the same value', () => {
  fc.assert(fc.property(json, (value) => assert.ok(deepEqual(read(encodeYaml(value)), value), encodeYaml(value))), { numRuns: 500 })
})

test('JSON is read as JSON, to the same value', () => {
  const document = fc.tuple(fc.dictionary(fc.oneof(fc.string(), fc.constantFrom('yes', '<<', '__proto__', '1', '~')), json, { maxKeys: 4 }), fc.boolean())
  fc.assert(
    fc.property(document, fc.constantFrom('1.0', '1e3', '-2.50', '1E-3', '1e30', '9223372036854775807', '9223372036854775808', '-0', '-0.0', '0'), ([value, spaced], number) => {
      const text = (spaced ? JSON.stringify(value, undefined, 2) : JSON.stringify(value)).replace(/^\{/, `{"n":${number},`).replace(/,\s*\}$/, '}').toWellFormed()
      const slow = read(` ${text}`)
      assert.ok(deepEqual(read(text), slow), text)
    }),
    { numRuns: 300 },
  )
  for (const text of ['{"a":1,"a":2}', '{"a":1e400}', '{"a": yes}', '{a: 1}', '{}\n---\n{}', '{"a":1} # x']) assert.deepEqual(decodeYaml(text), decodeYaml(` ${text}`))
})

test('only what is a time is quoted as one', () => {
  const plain = ['2026-01-02T03:04:05Zx', '2026-13-01', '2026-02-30', '2026-01-02T25:00:00Z', '2026-01-02x', '2026-01-02T03:04:05', '20260-01-02']
  for (const text of plain) assert.equal(encodeYaml(text), `${text}\n`, text)
  const times = ['2026-01-02', '2026-1-2', '2026-01-02T03:04:05Z', '2026-01-02t3:4:5.1+01:00', '2026-01-02 03:04:05']
  for (const text of times) assert.equal(encodeYaml(text), `"${text}"\n`, text)
})

test('nothing is read behind what is in brackets or quotes', () => {
  for (const text of ['{a: 1} x', '{a: 1}\nx: y', '{a: 1} }', '{a: 1}\n{b: 2}', '--- {a: 1} x\n...', '# c\n{a: 1} # d\ne']) assert.deepEqual(decodeYaml(text).value, { a: 1 }, text)
  assert.equal(decodeYaml('"x" y').value, 'x')
  assert.deepEqual(decodeYaml('[1] x').value, [1])
})
