import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { deepEqual, Float, type Json, type JsonObject } from '../object.ts'
import { difference, EMPTY_SET, fieldSet, hasPath, intersection, pathsOf, recursiveDifference, sizeOf, union, type FieldSet } from './field-set.ts'
import { fieldPath, formatElement, formatPath, type Path, type PathElement } from './path.ts'
import { fromFieldsV1, toFieldsV1 } from './serialize.ts'

const scalars = fc.constantFrom<Json>('a', 'b', '', '"', '__proto__', '\u{1F600}', '\uffee', 1, 2, 1.5, 9007199254740993n, true, false, null)
const elements: fc.Arbitrary<PathElement> = fc.oneof(
  fc.constantFrom('a', 'b', 'c', '', '.', '__proto__', '\u{1F600}', '\uffee').map((name) => ({ kind: 'field', name }) as const),
  fc.uniqueArray(fc.record({ name: fc.constantFrom('k', 'l', '__proto__'), value: scalars }), { selector: ({ name }) => name, minLength: 1 })
    .map((fields) => ({ kind: 'key', fields: fields.toSorted((a, b) => (a.name < b.name ? -1 : 1)) }) as const),
  scalars.map((value) => ({ kind: 'value', value }) as const),
  fc.nat(3).map((index) => ({ kind: 'index', index }) as const),
)
const paths = fc.array(fc.array(elements, { minLength: 1, maxLength: 4 }), { maxLength: 12 })

function holds<T extends unknown[]>(arbitraries: { [K in keyof T]: fc.Arbitrary<T[K]> }, check: (...values: T) => void): void {
  fc.assert(fc.property(fc.tuple(...arbitraries) as unknown as fc.Arbitrary<T>, (values) => check(...values)), { numRuns: 200, seed: 20261130 })
}

// The twin: a set of printed paths.
const twin = (set: FieldSet): Set<string> => new Set([...pathsOf(set)].map(formatPath))
const same = (set: FieldSet, expected: Iterable<string>): void => assert.deepEqual([...twin(set)].toSorted(), [...new Set(expected)].toSorted())
const leads = (prefix: Path, path: Path): boolean => prefix.length <= path.length && formatPath(path.slice(0, prefix.length)) === formatPath(prefix)

test('set operations are those of sets of paths', () => {
  holds([paths, paths], (left, right) => {
    const [a, b] = [fieldSet(...left), fieldSet(...right)]
    const [x, y] = [twin(a), twin(b)]
    same(a, left.map(formatPath))
    same(union(a, b), x.union(y))
    same(intersection(a, b), x.intersection(y))
    same(difference(a, b), x.difference(y))
    same(recursiveDifference(a, b), left.filter((path) => !right.some((other) => leads(other, path))).map(formatPath))
    for (const path of right) assert.equal(hasPath(a, path), x.has(formatPath(path)))
  })
})

test('union and intersection commute, and absorb each other', () => {
  holds([paths, paths, paths], (p, q, r) => {
    const [a, b, c] = [fieldSet(...p), fieldSet(...q), fieldSet(...r)]
    assert.deepEqual(toFieldsV1(union(a, b)), toFieldsV1(union(b, a)))
    assert.deepEqual(toFieldsV1(intersection(a, b)), toFieldsV1(intersection(b, a)))
    assert.deepEqual(union(a, intersection(a, b)), a)
    assert.deepEqual(intersection(a, union(a, b)), a)
    assert.deepEqual(intersection(a, union(b, c)), union(intersection(a, b), intersection(a, c)))
    assert.deepEqual(union(difference(a, b), intersection(a, b)), a)
    assert.deepEqual(difference(a, a), EMPTY_SET)
  })
})

test('a set survives fieldsV1, in any order of keys', () => {
  holds([paths], (some) => {
    const fields = toFieldsV1(fieldSet(...some))
    // Integers beyond 2^53 are read as floats, as upstream.
    const expected = JSON.parse(JSON.stringify(fields).replaceAll('9007199254740993', '9007199254740992'))
    assert.deepEqual(toFieldsV1(fromFieldsV1(fields)), expected)
    assert.deepEqual(toFieldsV1(fromFieldsV1(reversed(fields))), expected)
  })
})

function reversed(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).toReversed().map(([key, value]) => [key, reversed(value as JsonObject)]))
}

test('fieldsV1 as upstream writes it', () => {
  const key = (...fields: [string, Json][]): PathElement => ({ kind: 'key', fields: fields.map(([name, value]) => ({ name, value })) })
  const value = (v: Json): PathElement => ({ kind: 'value', value: v })
  const set = fieldSet(
    fieldPath('spec'), fieldPath('spec', 'a'), [...fieldPath('spec', 'l'), key(['name', 'x'], ['port', 80])], [...fieldPath('spec', 'l'), key(['name', 'x'], ['port', 80]), ...fieldPath('v')],
    [...fieldPath('spec', 's'), value('<&>')], [...fieldPath('spec', 's'), value(new Float(1))], [...fieldPath('spec', 's'), value(1e-7)], [...fieldPath('spec', 's'), value(null)],
    [...fieldPath('m'), { kind: 'index', index: 0 }],
  )
  assert.equal(JSON.stringify(toFieldsV1(set)), JSON.stringify({
    'f:m': { 'i:0': {} },
    'f:spec': {
      '.': {},
      'f:a': {},
      'f:l': { 'k:{"name":"x","port":80}': { '.': {}, 'f:v': {} } },
      'f:s': { 'v:1e-07': {}, 'v:1': {}, 'v:"\\u003c\\u0026\\u003e"': {}, 'v:null': {} },
    },
  }))
})

test('paths come level by level, and print as people read them', () => {
  const set = fromFieldsV1({
    'f:spec': { 'f:z': {}, 'f:a': { '.': {}, 'f:b': {} }, 'k:{"port":8080000,"name":"a\\n"}': {}, 'v:"x"': {}, 'v:1.5': {}, 'v:true': {}, 'i:3': {} },
    'f:a': {},
  })
  // Numbers of stored elements are floats to upstream, which shows from a million on.
  assert.deepEqual([...pathsOf(set)].map(formatPath), [
    '.a', '.spec.a', '.spec.z', '.spec[name="a\\n",port=8.08e+06]', '.spec[=1.5]', '.spec[="x"]', '.spec[=true]', '.spec[3]', '.spec.a.b',
  ])
})

test('what a fieldsV1 may hold', () => {
  const read = (fields: Json): string => {
    try {
      return [...pathsOf(fromFieldsV1(fields))].map(formatPath).join(' ')
    } catch (error) {
      return `error: ${(error as Error).message}`
    }
  }
  assert.deepEqual(
    [{}, { '.': {} }, { 'f:a': null }, { 'f:a': { '.': 5 } }, { 'x:y': {} }, { 'f:a': { 'x:y': {} } }, { 'f:': {} }, { 'k:null': {} }, null].map(read),
    ['', '', '.a', '.a', '', '.a', '.', '[]', ''],
  )
  for (const bad of [5, 'x', [], { 'f:a': 5 }, { 'f:a': [] }, { f: {} }, { fa: {} }, { 'k:5': {} }, { 'k:{': {} }, { 'v:': {} }, { 'v:{': {} }, { 'i:x': {} }]) {
    assert.match(read(bad as Json), /^error: /, JSON.stringify(bad).slice(0, 80))
  }
})

test('sets nest as deep as the parser takes them', () => {
  const DEPTH = 9990
  const fields = (leaf: string): JsonObject => Array.from({ length: DEPTH }).reduce<JsonObject>((inner) => ({ 'f:a': inner }), { [leaf]: {} })
  const [a, b] = [fromFieldsV1(fields('f:x')), fromFieldsV1(fields('f:y'))]
  const both = union(a, b)
  const ends = (set: FieldSet): string[] => [...pathsOf(set)].map((path) => `${path.length} ${formatElement(path.at(-1)!)}`)
  assert.deepEqual(ends(both), [`${DEPTH + 1} .x`, `${DEPTH + 1} .y`])
  assert.equal(sizeOf(both), 2)
  for (const set of [difference(both, b), recursiveDifference(both, b), intersection(both, a)]) assert.deepEqual(ends(set), [`${DEPTH + 1} .x`])
  assert.deepEqual(ends(difference(a, a)), [])
  assert.ok(deepEqual(toFieldsV1(a), fields('f:x')))
})

test('equal numbers are one element, whatever their kind', () => {
  const value = (v: Json): Path => [{ kind: 'value', value: v }]
  assert.equal(hasPath(fieldSet(value(1)), value(new Float(1))), true)
  assert.equal(hasPath(fieldSet(value(9007199254740993n)), value(new Float(9007199254740992))), true)
  assert.equal(hasPath(fieldSet(value(9007199254740993n)), value(9007199254740994n)), false)
  assert.equal(hasPath(fieldSet(value('1')), value(1)), false)
})
