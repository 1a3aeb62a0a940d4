import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ajv } from 'ajv'
import fc from 'fast-check'
import { Float, isObject, type Json } from './object.ts'
import type { Schema } from './schema.ts'
import { memberSchema } from './schema-walk.ts'
import { listTypeErrors } from './list-type.ts'
import { validateSchema, type ValidateOptions } from './validate.ts'

function texts(value: Json, schema: Schema, options?: ValidateOptions): string[] {
  return validateSchema(value, schema, options).map((e) => `${e.type} ${e.field}: ${e.body}`)
}

/** Errors of a value that stands at `spec`, without that word where it is the path. */
function at(schema: Schema, value: Json): string[] {
  return texts({ spec: value }, { type: 'object', properties: { spec: schema } })
}

const T = 'FieldValueTypeInvalid spec: Invalid value: '
const I = 'FieldValueInvalid spec: Invalid value: '
const RANGE = 'FieldValueInvalid <nil>: Invalid value: "": Checked value must be of type '

test('each keyword has its text', () => {
  const table: [Schema, Json, string[]][] = [
    [{ type: 'string' }, 5, [`${T}"integer": spec in body must be of type string: "integer"`]],
    [{ type: 'string' }, null, [`${T}"null": spec in body must be of type string: "null"`]],
    [{ type: 'string', nullable: true }, null, []],
    [{ type: 'string', nullable: true, enum: ['a'] }, null, ['FieldValueNotSupported spec: Unsupported value: null: supported values: "a"']],
    [{ type: 'object' }, [], [`${T}"array": spec in body must be of type object: "array"`]],
    [{ type: 'boolean' }, {}, [`${T}"object": spec in body must be of type boolean: "object"`]],
    [{ type: 'number' }, 3, []],
    [{ type: 'integer' }, new Float(1), []],
    [{ type: 'integer' }, 1.5, [`${T}"number": spec in body must be of type integer: "number"`, `${RANGE}integer (default format) in spec`]],
    [{ type: 'integer', format: 'int32' }, '1', [`${T}"string": spec in body must be of type integer: "string"`]],
    [{ type: 'integer', format: 'int32' }, true, [`${T}"": spec in body must be of type int32: ""`]],
    [{ type: 'integer', format: 'int32' }, 1.5, [`${T}"float64": spec in body must be of type int32: "float64"`, `${RANGE}integer with format int32 in spec`]],
    [{ type: 'integer', format: 'int32' }, 2147483648, [`${RANGE}integer with format int32 in spec`]],
    [{ type: 'integer', format: 'int64' }, 9223372036854775807n, []],
    [{ type: 'number', format: 'float' }, new Float(1e39), [`${RANGE}number with format float in spec`]],
    [{ type: 'string', format: 'date-time' }, 5, [`${T}"int64": spec in body must be of type date-time: "int64"`]],
    [{ type: 'string', format: 'date-time' }, [], []],
    [{ type: 'string', format: 'date' }, 'x"', [String.raw`${T}"x\"": spec in body must be of type date: "x\""`]],
    [{ type: 'string', format: 'unknown' }, 5, [`${T}"integer": spec in body must be of type string: "integer"`]],
    [{ 'x-kubernetes-int-or-string': true }, 'a', []],
    [{ 'x-kubernetes-int-or-string': true }, 1.5, [`${T}"number": spec in body must be of type integer,string: "number"`]],
    [{ type: 'string', enum: ['a', 'b'] }, 'c', ['FieldValueNotSupported spec: Unsupported value: "c": supported values: "a", "b"']],
    [{ enum: [1, true, { a: 1 }] }, 'c', [String.raw`FieldValueNotSupported spec: Unsupported value: "c": supported values: "1", "true", "{\"a\":1}"`]],
    [{ enum: [1, { a: 1 }] }, new Float(1), []],
    [{ enum: [1] }, 1.5, []],
    [{ enum: [1.5] }, 1, ['FieldValueNotSupported spec: Unsupported value: 1: supported values: "1.5"']],
    [{ type: 'boolean', format: 'date-time' }, 'x', ['FieldValueTypeInvalid spec: Invalid value: "string": spec in body must be of type boolean: "string"']],
    [{ enum: [{ a: [1] }] }, { a: [1] }, []],
    [{ type: 'integer', minimum: 0.5 }, 1, ['FieldValueInvalid <nil>: Invalid value: "": Minimum boundary value must be of type integer (default format) in spec']],
    [{ type: 'number', multipleOf: 0.1 }, 1.1, []],
    [{ type: 'number', multipleOf: -1 }, 1.5, ['FieldValueInvalid spec: Invalid value: -1: factor MultipleOf declared for spec must be positive: -1']],
    [{ type: 'string', maxLength: -1 }, '', ['FieldValueTooLong spec: Too long: value is too long']],
    [{ type: 'string', maxLength: 1, pattern: 'x' }, 'ab', ['FieldValueTooLong spec: Too long: may not be more than 1 byte']],
    [{ type: 'string', maxLength: 2 }, '😀😀', []],
    [{ type: 'string', minLength: 2, pattern: 'x' }, 'a', [`${I}"a": spec in body should be at least 2 chars long`]],
    [{ type: 'string', pattern: '^[a-z]+$' }, 'A', [`${I}"A": spec in body should match '^[a-z]+$'`]],
    [{ type: 'string', pattern: 'b' }, 'abc', []],
    [{ type: 'integer', maximum: 10 }, 15, [`${I}15: spec in body should be less than or equal to 10`]],
    [{ type: 'integer', maximum: 10, exclusiveMaximum: true }, 10, [`${I}10: spec in body should be less than 10`]],
    [{ type: 'integer', minimum: 10 }, 5, [`${I}5: spec in body should be greater than or equal to 10`]],
    [{ type: 'number', minimum: 0, exclusiveMinimum: true }, new Float(-0), [`${I}-0: spec in body should be greater than 0`]],
    [{ type: 'number', maximum: 1000000 }, 2000000, [`${I}2000000: spec in body should be less than or equal to 1000000`]],
    [{ type: 'number', maximum: 1000000 }, 2000000.5, [`${I}2.0000005e+06: spec in body should be less than or equal to 1e+06`]],
    [{ type: 'number', minimum: 0.5 }, 0, []],
    [{ type: 'number', maximum: 5.5 }, 6, [`${I}6: spec in body should be less than or equal to 5`]],
    [{ type: 'integer', multipleOf: 5 }, 9223372036854775807n, [`${I}9223372036854775807: spec in body should be a multiple of 5`]],
    [{ type: 'number', multipleOf: 0.5 }, 1, [`${I}0: factor MultipleOf declared for spec must be positive: 0`]],
    [{ type: 'number', multipleOf: 0.5 }, 1.25, [`${I}1.25: spec in body should be a multiple of 0.5`]],
    [{ type: 'array', maxItems: 1, items: { type: 'string' } }, ['a', 1], [`${T.replace('spec', 'spec[1]')}"integer": spec[1] in body must be of type string: "integer"`, 'FieldValueTooMany spec: Too many: 2: must have at most 1 item']],
    [{ type: 'array', minItems: 2 }, [], [`${I}0: spec in body should have at least 2 items`]],
    [{ type: 'array', uniqueItems: true }, [1, 1], [`${I}"": spec in body shouldn't contain duplicates`]],
    [{ type: 'object', maxProperties: 2 }, { a: 1, b: 1, c: 1 }, ['FieldValueTooMany spec: Too many: 3: must have at most 2 items']],
    [
      { type: 'object', maxProperties: 1, additionalProperties: { type: 'string', maxLength: 1 } },
      { a: 'x', b: 'xy' },
      ['FieldValueTooMany spec: Too many: 2: must have at most 1 item', 'FieldValueTooLong spec.b: Too long: may not be more than 1 byte'],
    ],
    [{ type: 'object', minProperties: 1, required: ['a'] }, {}, [`${I}0: spec in body should have at least 1 properties`, 'FieldValueRequired spec.a: Required value']],
    [{ type: 'object', required: ['b', 'a'] }, {}, ['FieldValueRequired spec.b: Required value', 'FieldValueRequired spec.a: Required value']],
    [{ type: 'object', additionalProperties: { type: 'string' } }, { 'k.k': 1 }, [`${T.replace('spec', 'spec.k.k')}"integer": spec.k.k in body must be of type string: "integer"`]],
    [{ type: 'object', additionalProperties: false }, { k: 1 }, [`${I}"k": spec.k in body is a forbidden property`]],
  ]
  for (const [schema, value, expected] of table) assert.deepEqual(at(schema, value), expected, JSON.stringify([schema, value], (_, v) => (typeof v === 'bigint' ? String(v) : v)))
})

test('names of prototypes are ordinary keys', () => {
  assert.deepEqual(at({ type: 'object', required: ['constructor', 'toString'], properties: { a: {} } }, {}), [
    'FieldValueRequired spec.constructor: Required value',
    'FieldValueRequired spec.toString: Required value',
  ])
  assert.deepEqual(at({ type: 'object', properties: { a: { type: 'string' } } }, JSON.parse('{"__proto__":1,"constructor":2}')), [])
})

const N = 'FieldValueInvalid <nil>: Invalid value: "": "spec" must '

test('compositions show their own error and those of the best branch', () => {
  const a: Schema = { required: ['a'], properties: { a: { type: 'string' } } }
  const b: Schema = { required: ['b'], properties: { b: { type: 'string' } } }
  const table: [Schema, Json, string[]][] = [
    [{ oneOf: [a, b] }, {}, [`${N}validate one and only one schema (oneOf). Found none valid`, 'FieldValueRequired spec.a: Required value']],
    [{ oneOf: [a, b] }, { a: '', b: '' }, [`${N}validate one and only one schema (oneOf). Found 2 valid alternatives`]],
    [{ oneOf: [a, b] }, { b: '' }, []],
    [{ anyOf: [a, b] }, { b: 1 }, [
      `${N}validate at least one schema (anyOf)`,
      'FieldValueTypeInvalid spec.b: Invalid value: "integer": spec.b in body must be of type string: "integer"',
    ]],
    [{ anyOf: [a, b] }, { a: '', b: 1 }, []],
    [{ allOf: [a, b] }, { a: '' }, ['FieldValueRequired spec.b: Required value', `${N}validate all the schemas (allOf)`]],
    [{ allOf: [a, b] }, {}, ['FieldValueRequired spec.a: Required value', 'FieldValueRequired spec.b: Required value', `${N}validate all the schemas (allOf). None validated`]],
    [{ not: a }, { a: '' }, [`${N}not validate the schema (not)`]],
    [{ not: a }, {}, []],
    [{ 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }], pattern: '^x$' }, 'y', [`${I}"y": spec in body should match '^x$'`]],
  ]
  for (const [schema, value, expected] of table) assert.deepEqual(at(schema, value), expected, JSON.stringify([schema, value]))
})

test('fields of a status begin with status, texts do not', () => {
  const schema: Schema = { type: 'object', properties: { num: { type: 'integer', maximum: 10 } }, oneOf: [{ required: ['a'] }] }
  assert.deepEqual(texts({ num: 15 }, schema, { status: true }).sort(), [
    'FieldValueInvalid status.num: Invalid value: 15: num in body should be less than or equal to 10',
    'FieldValueInvalid status: Invalid value: "": "" must validate one and only one schema (oneOf). Found none valid',
    'FieldValueRequired status.a: Required value',
  ])
  assert.deepEqual(texts('string', schema, { status: true }).slice(0, 1), ['FieldValueTypeInvalid status: Invalid value: "string":  in body must be of type object: "string"'])
})

test('errors that were there before are forgiven where nothing changed', () => {
  const bad: Schema = { type: 'string', maxLength: 1 }
  const schema: Schema = {
    type: 'object',
    properties: {
      kind: bad,
      s: bad,
      o: { type: 'object', required: ['x'], properties: { s: bad } },
      atomic: { type: 'array', items: bad },
      map: { type: 'array', 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['k'], items: { type: 'object', properties: { k: { type: 'string' }, s: bad } } },
      free: { type: 'object', additionalProperties: bad },
      one: { type: 'object', properties: { s: { type: 'string' } }, anyOf: [{ properties: { s: bad } }] },
    },
  }
  const fields = (value: Json, old: Json): string[] => validateSchema(value, schema, { old }).map((e) => e.field)
  assert.deepEqual(fields({ s: 'long' }, { s: 'long' }), [])
  assert.deepEqual(fields({ s: 'longer' }, { s: 'long' }), ['s'])
  assert.deepEqual(fields({ s: 'long' }, {}), ['s'])
  assert.deepEqual(fields({ kind: 'long', s: 'x' }, { kind: 'long' }), ['kind'])
  assert.deepEqual(fields({ o: { s: 'long' } }, { o: { s: 'long' } }), [])
  assert.deepEqual(fields({ o: { s: 'long', y: 1 } }, { o: { s: 'long' } }), ['o.x'])
  assert.deepEqual(fields({ atomic: ['long', 'x'] }, { atomic: ['long'] }), ['atomic[0]'])
  assert.deepEqual(fields({ atomic: ['long'], s: 'x' }, { atomic: ['long'] }), [])
  assert.deepEqual(fields({ map: [{ k: 'b', s: 'long' }, { k: 'a', s: 'long' }] }, { map: [{ k: 'a', s: 'long' }] }), ['map[0].s'])
  assert.deepEqual(fields({ free: { a: 'long', b: 'long' } }, { free: { a: 'long' } }), ['free.b'])
  const two = [{ k: 'a', s: 'long' }, { k: 'b' }]
  assert.deepEqual(fields({ map: two.toReversed(), s: 'x' }, { map: two }), [])
})

test('nothing is forgiven inside of compositions, or for what holds members that the schema does not know', () => {
  const bad: Schema = { type: 'integer', minimum: 10 }
  const schema: Schema = {
    type: 'object',
    properties: {
      one: { type: 'object', properties: { n: { type: 'integer' }, m: { type: 'integer' } }, anyOf: [{ properties: { n: bad } }] },
      not: { type: 'object', properties: { n: { type: 'integer' }, m: { type: 'integer' } }, not: { required: ['n'], properties: { n: bad } } },
      free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, required: ['x'] },
    },
  }
  const fields = (value: Json, old: Json): string[] => validateSchema(value, schema, { old }).map((e) => e.field)
  assert.deepEqual(fields({ one: { n: 1 } }, { one: { n: 1 } }), [])
  assert.deepEqual(fields({ one: { n: 1, m: 1 } }, { one: { n: 1 } }), ['<nil>', 'one.n'])
  assert.deepEqual(fields({ not: { n: 1, m: 1 } }, { not: { n: 1 } }), [])
  assert.deepEqual(fields({ free: {} }, { free: {} }), [])
  assert.deepEqual(fields({ free: { a: 1 } }, { free: { a: 1 } }), ['free.x'])
})

test('list types: the second occurrence of each duplicate', () => {
  const schema: Schema = {
    type: 'object',
    properties: {
      set: { type: 'array', 'x-kubernetes-list-type': 'set' },
      byKey: {
        type: 'object',
        additionalProperties: { type: 'array', 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['n', 'p'], items: { type: 'object' } },
      },
    },
  }
  const errors = (value: Json, old?: Json): string[] => listTypeErrors(value, schema, old).map((e) => `${e.field}: ${e.body}`)
  assert.deepEqual(errors({ set: ['a', 'b', 'a', 'a', 1, new Float(1), { x: 1 }, { x: 1 }] }), ['set[2]: Duplicate value: "a"', 'set[7]: Duplicate value: {"x":1}'])
  assert.deepEqual(errors({ byKey: { k: [{ n: 'a', z: 1 }, { n: 'a', p: 1 }, { n: 'a', z: 2 }, {}, {}] } }), [
    'byKey[k][2]: Duplicate value: {"n":"a"}',
    'byKey[k][4]: Duplicate value: {}',
  ])
  assert.deepEqual(errors({ byKey: { k: [{}, 5, {}] } }), ['byKey[k][1]: Invalid value: 5: must be an object for an array of list-type map'])
  assert.deepEqual(errors({ set: [1, 1] }, { set: [2, 2] }), [])
  assert.deepEqual(errors({ set: [1, 1] }, { set: [2] }), ['set[1]: Duplicate value: 1'])
})

const keys = fc.constantFrom('a', 'b', 'c')
const value: fc.Arbitrary<Json> = fc.letrec<{ node: Json }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom<Json>(true, 'a', 'bb', 'ccc', '', 0, 1, 5, -3, 1.5),
    fc.array(tie('node'), { maxLength: 3 }),
    fc.dictionary(keys, tie('node'), { maxKeys: 3 }),
  ),
})).node

const schema: fc.Arbitrary<Schema> = fc.letrec<{ node: Schema }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 3 },
    fc.record({ type: fc.constant('string' as const), minLength: fc.nat(3), maxLength: fc.nat(3), pattern: fc.constantFrom('a', '^b+$') }, { requiredKeys: ['type'] }),
    fc.record({ type: fc.constantFrom('integer' as const, 'number' as const), minimum: fc.integer({ min: -3, max: 5 }), maximum: fc.nat(5), multipleOf: fc.constantFrom(1, 2) }, { requiredKeys: ['type'] }),
    fc.record({ enum: fc.array(fc.constantFrom<Json>('a', 5, true), { minLength: 1, maxLength: 1 }) }),
    fc.record({ type: fc.constant('array' as const), items: tie('node'), minItems: fc.nat(2), maxItems: fc.nat(3) }, { requiredKeys: ['type'] }),
    fc.record(
      {
        type: fc.constant('object' as const),
        properties: fc.dictionary(keys, tie('node')),
        required: fc.uniqueArray(keys),
        additionalProperties: tie('node'),
        minProperties: fc.nat(2),
        maxProperties: fc.nat(3),
      },
      { requiredKeys: ['type'] },
    ),
    fc.record({ anyOf: fc.array(tie('node'), { minLength: 1, maxLength: 2 }) }),
    fc.record({ oneOf: fc.array(tie('node'), { minLength: 1, maxLength: 2 }) }),
    fc.record({ allOf: fc.array(tie('node'), { minLength: 1, maxLength: 2 }), not: tie('node') }, { requiredKeys: ['allOf'] }),
  ),
})).node

test('ajv accepts the same values', () => {
  const ajv = new Ajv({ strict: false, allErrors: false })
  fc.assert(
    fc.property(schema, fc.array(value, { minLength: 5, maxLength: 5 }), (tree, values) => {
      const accepts = ajv.compile(tree)
      for (const candidate of values) assert.equal(validateSchema(candidate, tree).length === 0, accepts(candidate), JSON.stringify([tree, candidate]))
    }),
    { numRuns: 300 },
  )
})

test('an update that changes nothing is valid, whatever stands there that the schema knows', () => {
  const known = (candidate: Json, tree: Schema | undefined): boolean => {
    if (tree === undefined || !isObject(candidate)) return tree !== undefined
    return Object.entries(candidate).every(([key, member]) => known(member as Json, memberSchema(tree, key)))
  }
  fc.assert(fc.property(schema, value, (tree, candidate) => {
    fc.pre(known(candidate, tree))
    assert.deepEqual(validateSchema(candidate, tree, { old: structuredClone(candidate) }), [])
  }))
})

test('many errors, of which the first 10,000 count, and deep values take linear time', () => {
  let deep: Json = 'x'
  for (let i = 0; i < 9000; i++) deep = [deep]
  const start = performance.now()
  at({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true }, { deep })
  assert.equal(at({ type: 'array', items: { type: 'string' } }, Array.from({ length: 100_000 }, () => 1)).length, 10_000)
  assert.ok(at({ type: 'string', pattern: '(a+)+$' }, `${'a'.repeat(20_000)}!`).length > 0)
  assert.ok(performance.now() - start < 4000)
})
