/** Each walk over a typed value, by tables. Expected texts and sets are those of structured-merge-diff v6.3.3. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deepEqual, Float, isObject, type Json, type JsonObject, type KubeObject } from '../object.ts'
import { compareTyped } from './compare.ts'
import { fieldSet, hasPath, pathsOf, type FieldSet } from './field-set.ts'
import { mergeTyped } from './merge.ts'
import { withNamedFields } from './named-fields.ts'
import { fieldPath, formatPath } from './path.ts'
import { reconcileFieldSet } from './reconcile.ts'
import { removeFields } from './remove.ts'
import { fromFieldsV1, toFieldsV1 } from './serialize.ts'
import { thing, things } from './thing.fixture.ts'
import { toFieldSet } from './to-field-set.ts'
import { atomOf } from './typed.ts'
import { validateTyped } from './validate.ts'

const [type, older] = things.versions.map(atomOf) as [ReturnType<typeof atomOf>, ReturnType<typeof atomOf>]
const print = (set: FieldSet): string => [...pathsOf(set)].map(formatPath).join(' ')

function fault(object: JsonObject, allowDuplicates = false): string {
  try {
    validateTyped(object, type, { allowDuplicates })
    return ''
  } catch (error) {
    return (error as Error).message
  }
}

test('a type is compiled once for each version', () => {
  assert.equal(atomOf(things.versions[0]!), type)
  assert.notEqual(older, type)
})

test('type errors', () => {
  const cases: [Json, string][] = [
    [{ s: 'x', t: 5, n: 1, d: new Float(1), b: true, blob: 'YQ==', ios: 1, any: [{ a: null }], bare: { x: [1] } }, ''],
    [{ s: null, t: null, n: null, b: null, set: null, ports: null, labels: null, atom: null, free: null, tmpl: null, nested: null }, ''],
    [null, ''],
    [{ unknown: 1 }, '.spec.unknown: field not declared in schema'],
    [{ atom: { q: 1 } }, '.spec.atom.q: field not declared in schema'],
    [{ opts: { a: { q: 1 } } }, '.spec.opts.a.q: field not declared in schema'],
    [{ items: [{ name: 'a', q: 1 }] }, '.spec.items[name="a"].q: field not declared in schema'],
    [{ atomicList: [{ a: 1 }, { q: 1 }] }, '.spec.atomicList[1].q: field not declared in schema'],
    [{ s: 5 }, '.spec.s: expected string, got &value.valueUnstructured{Value:5}'],
    [{ s: new Float(1e6) }, '.spec.s: expected string, got &value.valueUnstructured{Value:1e+06}'],
    [{ blob: { b: [null, 'x'], a: true } }, '.spec.blob: expected string, got &value.valueUnstructured{Value:map[string]interface {}{"a":true, "b":[]interface {}{interface {}(nil), "x"}}}'],
    [{ n: 'x' }, '.spec.n: expected numeric (int or float), got string'],
    [{ n: true }, '.spec.n: expected numeric (int or float), got bool'],
    [{ d: [] }, '.spec.d: expected numeric (int or float), got []interface {}'],
    [{ d: {} }, '.spec.d: expected numeric (int or float), got map[string]interface {}'],
    [{ b: 5 }, '.spec.b: expected boolean, got &{5}'],
    [{ b: { k: [1, 'x', null] } }, '.spec.b: expected boolean, got &{map[k:[1 x <nil>]]}'],
    [{ t: {} }, '.spec.t: expected any scalar, got &{map[]}'],
    [{ set: 'x' }, '.spec.set: expected list, got &{x}'],
    [{ labels: ['x'] }, '.spec.labels: expected map, got &{[x]}'],
    [{ tmpl: { metadata: { name: 5 } } }, '.spec.tmpl.metadata.name: expected string, got &value.valueUnstructured{Value:5}'],
    [{ tmpl: { metadata: { nope: 5 } } }, '.spec.tmpl.metadata.nope: field not declared in schema'],
    [{ set: ['v', 'v'] }, '.spec.set: duplicate entries for key [="v"]'],
    [{ nset: [1, new Float(1)] }, '.spec.nset: duplicate entries for key [=1]'],
    [{ items: [{ name: 'a' }, { name: 'a' }] }, '.spec.items: duplicate entries for key [name="a"]'],
    [{ ports: [{ port: 80 }, { port: 80, protocol: 'TCP' }] }, '.spec.ports: duplicate entries for key [port=80,protocol="TCP"]'],
    [{ items: [{ v: 1 }] }, `.spec.items: element 0: associative list with keys has an element that omits all key fields ["name"] (and doesn't have default values for any key fields)`],
    [{ items: [{ name: 'a' }, null] }, '.spec.items: element 1: associative list with keys may not have a null element'],
    [{ items: ['a'] }, '.spec.items: element 0: associative list with keys may not have non-map elements'],
    [{ set: [{}] }, ".spec.set: element 0: associative list without keys has an element that's a map type"],
    [{ set: [null] }, ".spec.set: element 0: associative list without keys has an element that's an explicit null"],
    [{ set: [[]] }, '.spec.set: element 0: not supported: associative list with lists as elements'],
    [{ s: 1, b: 1 }, 'errors:\n  .spec.s: expected string, got &value.valueUnstructured{Value:1}\n  .spec.b: expected boolean, got &{1}'],
  ]
  for (const [spec, expected] of cases) assert.equal(fault(thing(spec)), expected)
  assert.equal(fault(thing({ ports: [{ protocol: 'UDP' }] })), '', 'one key is enough')
  assert.equal(fault(thing({ set: ['v', 'v'], items: [{ name: 'a' }, { name: 'a' }] }), true), '', 'what is stored may repeat')
  assert.equal(fault(thing({}, { labels: { a: 1 } })), '.metadata.labels.a: expected string, got &value.valueUnstructured{Value:1}')
  assert.equal(fault(thing({}, { ownerReferences: [{ uid: 'u' }, { uid: 'u' }] })), '.metadata.ownerReferences: duplicate entries for key [uid="u"]')
  assert.equal(fault(thing({}, {}, { top: 1 })), '.top: field not declared in schema')
})

test('values nest as deep as the parser takes them', () => {
  const DEPTH = 9990
  const nest = (inmost: Json): Json => Array.from({ length: DEPTH }).reduce<Json>((inner) => ({ a: inner }), inmost)
  const depthOf = (value: Json | undefined): number => {
    let depth = 0
    for (let at = value; isObject(at) && at.a !== undefined; at = at.a) depth++
    return depth
  }
  assert.equal(fault(thing({ free: nest(1) })), '')
  const lists = Array.from({ length: DEPTH }).reduce<Json>((inner) => [inner], [])
  const open = '[]interface {}{'.repeat(DEPTH + 1)
  assert.ok(fault(thing({ s: lists })) === `.spec.s: expected string, got &value.valueUnstructured{Value:${open}${'}'.repeat(DEPTH + 1)}}`)
  assert.ok(fault(thing({ n: nest(1) })).startsWith('.spec.n: expected numeric (int or float), got '))
  const [one, two] = [thing({ free: nest({ x: 1 }) }), thing({ free: nest({ x: 2, y: 1 }) })]
  const set = toFieldSet(two, type)
  assert.equal(Math.max(...[...pathsOf(set)].map((path) => path.length)), DEPTH + 3)
  const { added, modified, removed } = compareTyped(one, two, type)
  assert.deepEqual([added, modified, removed].map((changes) => [...pathsOf(changes)].map((path) => formatPath(path.slice(-1)))), [['.y'], ['.x'], []])
  assert.ok(deepEqual(mergeTyped(one, two, type), two))
  const less = removeFields(two, added, type) as { spec: JsonObject }
  assert.equal(depthOf(less.spec.free), DEPTH)
  assert.ok(deepEqual(less, thing({ free: nest({ x: 2 }) })))
  assert.ok(deepEqual(toFieldsV1(reconcileFieldSet(set, type)), toFieldsV1(set)))
  assert.ok(hasPath(withNamedFields(set, type), [...pathsOf(added)][0]!))
})

test('fields that a value mentions', () => {
  const cases: [Json, string][] = [
    [{}, '.spec'],
    [null, '.spec'],
    [{ s: 'x', nul: null, n: null }, '.spec.n .spec.nul .spec.s'],
    [{ set: ['b', 'a'], nset: [] }, '.spec.set[="a"] .spec.set[="b"]'],
    [{ set: ['a', 'a', 'b'] }, '.spec.set[="a"] .spec.set[="b"]'],
    [{ items: [{ name: 'a', v: 1, sub: [{ k: 'k' }] }] },
      '.spec.items[name="a"] .spec.items[name="a"].name .spec.items[name="a"].v .spec.items[name="a"].sub[k="k"] .spec.items[name="a"].sub[k="k"].k'],
    [{ items: [{ name: 'a', v: 1 }, { name: 'a', v: 2 }] }, '.spec.items[name="a"]'],
    [{ labels: {}, opts: { a: {}, b: { v: 1 } } }, '.spec.labels .spec.opts.a .spec.opts.b .spec.opts.b.v'],
    [{ atom: { a: 'x' }, atomicList: [{ a: 1 }], plainList: [] }, '.spec.atom .spec.atomicList .spec.plainList'],
    [{ free: { known: 1, un: { k: [1, { a: 2 }] } } }, '.spec.free.known .spec.free.un .spec.free.un.k'],
    [{ any: 5, ios: 'x' }, '.spec.any .spec.ios'],
    [{ any: null, ios: null }, '.spec.any .spec.ios'],
    [{ any: { a: {} } }, '.spec.any.a'],
    [{ tmpl: { kind: 'Pod', metadata: { name: 'p', labels: { a: 'b' } }, spec: { x: 1 } } },
      '.spec.tmpl.kind .spec.tmpl.spec .spec.tmpl.metadata.name .spec.tmpl.metadata.labels.a .spec.tmpl.spec.x'],
  ]
  for (const [spec, expected] of cases) assert.equal(print(toFieldSet({ spec }, type)), expected, JSON.stringify(spec))
})

test('what differs', () => {
  const cases: [Json | undefined, Json | undefined, string][] = [
    [{ s: 'a' }, { s: 'a' }, ''],
    [{ s: 'a' }, { s: 'b' }, '~.spec.s'],
    [{}, { s: 'b' }, '+.spec.s'],
    [{ s: 'a' }, {}, '-.spec.s'],
    [undefined, { s: 'a' }, '+.spec +.spec.s'],
    [{ s: 'a', set: ['a'] }, undefined, '-.spec -.spec.s -.spec.set -.spec.set[="a"]'],
    [{ d: 1 }, { d: new Float(1) }, ''],
    [{ labels: {} }, { labels: null }, '~.spec.labels'],
    [{ labels: {} }, { labels: { a: '' } }, '+.spec.labels.a'],
    [{ labels: { a: '' } }, { labels: null }, '-.spec.labels.a'],
    [{}, { labels: {}, set: [] }, '+.spec.labels +.spec.set'],
    [{ set: ['a', 'b'] }, { set: ['b', 'c'] }, '+.spec.set[="c"] -.spec.set[="a"]'],
    [{ set: ['a', 'b'] }, { set: ['b', 'a'] }, ''],
    [{ plainList: ['a', 'b'] }, { plainList: ['b', 'a'] }, '~.spec.plainList'],
    [{ atom: { a: '1' } }, { atom: { a: '1', b: '2' } }, '~.spec.atom'],
    [{ items: [{ name: 'a' }] }, { items: [{ name: 'a', v: 1 }, { name: 'b' }] }, '+.spec.items[name="b"] +.spec.items[name="a"].v +.spec.items[name="b"].name'],
    [{ ports: [{ port: 80 }] }, { ports: [{ port: 80, protocol: 'TCP' }] }, '+.spec.ports[port=80,protocol="TCP"].protocol'],
    // Items that repeat are one leaf.
    [{ items: [{ name: 'a', v: 1 }] }, { items: [{ name: 'a', v: 1 }, { name: 'a', v: 2 }] },
      '+.spec.items[name="a"] -.spec.items[name="a"] -.spec.items[name="a"].name -.spec.items[name="a"].v'],
    [{ set: ['a', 'a'] }, { set: ['a', 'a', 'a'] }, '~.spec.set[="a"]'],
    [{ set: ['a', 'a'] }, { set: [] }, '-.spec.set[="a"]'],
    // A value of another kind: the old fields go, the new ones come.
    [{ any: { a: 1 } }, { any: 5 }, '~.spec.any -.spec.any.a'],
    [{ any: 5 }, { any: { a: 1 } }, '+.spec.any.a ~.spec.any'],
    [{ any: [1] }, { any: { a: 1 } }, '+.spec.any.a ~.spec.any'],
    [{ any: null }, { any: 1 }, '~.spec.any'],
  ]
  for (const [old, next, expected] of cases) {
    const root = (spec: Json | undefined): JsonObject => (spec === undefined ? {} : { spec })
    const { added, modified, removed } = compareTyped(root(old), root(next), type)
    const signed = (sign: string, set: FieldSet): string[] => [...pathsOf(set)].map((path) => sign + formatPath(path))
    assert.equal([...signed('+', added), ...signed('~', modified), ...signed('-', removed)].join(' '), expected, JSON.stringify([old, next]))
  }
})

test('the order of a merged list', () => {
  const merge = (live: string, config: string): string => {
    const spec = (text: string): JsonObject => ({ spec: { set: text.split('') } })
    return ((mergeTyped(spec(live), spec(config), type).spec as JsonObject).set as string[]).join('')
  }
  const cases: [string, string, string][] = [
    ['abc', '', 'abc'], ['', 'cba', 'cba'], ['abc', 'abc', 'abc'], ['abc', 'cba', 'cba'], ['abc', 'b', 'abc'], ['abc', 'ca', 'bca'], ['abc', 'dac', 'dabc'],
    ['abc', 'adc', 'abdc'], ['abc', 'xcay', 'bxcay'], ['abcd', 'dbx', 'acdbx'], ['abcd', 'xdyb', 'acxdyb'], ['aab', 'c', 'aabc'], ['aab', 'a', 'ab'],
    ['aba', 'ca', 'cab'], ['abcde', 'edcba', 'edcba'], ['abcde', 'bx', 'abcdex'], ['bcd', 'abc', 'abcd'], ['abcde', 'xbydz', 'axbcydez'], ['abcabc', 'cb', 'acab'],
  ]
  assert.deepEqual(cases.map(([live, config]) => [live, config, merge(live, config)]), cases)
})

test('what a merge keeps', () => {
  const cases: [Json, Json, Json][] = [
    [{ s: 'a', n: 1 }, { s: 'b' }, { s: 'b', n: 1 }],
    [{ s: 'a' }, { s: null }, { s: null }],
    [{ labels: { a: 'x' } }, { labels: null }, { labels: { a: 'x' } }],
    [{ labels: { a: 'x' } }, { labels: {} }, { labels: { a: 'x' } }],
    [{ labels: null }, { labels: {} }, { labels: {} }],
    [{ labels: {} }, { labels: null }, { labels: null }],
    [{ labels: JSON.parse('{"__proto__":"x"}') }, { labels: JSON.parse('{"a":"y"}') }, { labels: JSON.parse('{"__proto__":"x","a":"y"}') }],
    [{ set: ['a'] }, { set: null }, { set: ['a'] }],
    [{ plainList: ['a'] }, { plainList: null }, { plainList: null }],
    [{ atom: { a: '1' } }, { atom: { b: '2' } }, { atom: { b: '2' } }],
    [{ items: [{ name: 'a', v: 1 }] }, { items: [{ name: 'a', sub: [] }] }, { items: [{ name: 'a', v: 1, sub: [] }] }],
    // Items that repeat are replaced by the one that is applied.
    [{ items: [{ name: 'a', v: 1 }, { name: 'a', v: 2 }] }, { items: [{ name: 'a' }] }, { items: [{ name: 'a' }] }],
    [{ ports: [{ port: 80 }] }, { ports: [{ port: 80, protocol: 'TCP' }] }, { ports: [{ port: 80, protocol: 'TCP' }] }],
    [{ any: { a: 1 } }, { any: 5 }, { any: 5 }],
    [{ any: 5 }, { any: { a: 1 } }, { any: { a: 1 } }],
    [{ any: { a: 1 } }, { any: null }, { any: { a: 1 } }],
    [{ any: 5 }, { any: null }, { any: null }],
    [{ any: { l: [1, 2] } }, { any: { l: [3] } }, { any: { l: [3] } }],
  ]
  for (const [live, config, expected] of cases) assert.deepEqual(mergeTyped({ spec: live }, { spec: config }, type), { spec: expected })
})

test('what is left after a removal', () => {
  const spec = { s: 'x', set: ['a', 'b'], items: [{ name: 'a', v: 1 }, { name: 'b' }], labels: { a: 'x' }, atom: { a: 'x' }, any: { a: 1 } }
  const remove = (fields: JsonObject): Json | undefined => removeFields({ spec, status: {} }, fromFieldsV1({ 'f:spec': fields }), type).spec
  assert.equal(remove({}), undefined)
  assert.deepEqual(Object.keys(remove({ 'f:s': {} }) as JsonObject), ['set', 'items', 'labels', 'atom', 'any'])
  assert.deepEqual((remove({ 'f:set': { 'v:"a"': {} } }) as JsonObject).set, ['b'])
  assert.deepEqual((remove({ 'f:items': { 'k:{"name":"a"}': { 'f:v': {} }, 'k:{"name":"b"}': {} } }) as JsonObject).items, [{ name: 'a' }])
  // What loses everything without going itself is null.
  assert.deepEqual((remove({ 'f:labels': { 'f:a': {} } }) as JsonObject).labels, null)
  assert.deepEqual((remove({ 'f:set': { 'v:"a"': {}, 'v:"b"': {} } }) as JsonObject).set, null)
  assert.deepEqual((remove({ 'f:atom': { 'f:a': {} } }) as JsonObject).atom, null)
  assert.deepEqual((remove({ 'f:any': { 'f:a': {} } }) as JsonObject).any, null)
})

test('sets of an older schema: what became atomic is owned as a whole', () => {
  const reconciled = (fields: JsonObject): Json => toFieldsV1(reconcileFieldSet(fromFieldsV1({ 'f:spec': fields }), type))['f:spec'] as Json
  assert.deepEqual(reconciled({ 'f:atom': { 'f:a': {} }, 'f:s': {} }), { 'f:atom': {}, 'f:s': {} })
  assert.deepEqual(reconciled({ 'f:atom': { '.': {}, 'f:a': {} } }), { 'f:atom': {} })
  assert.deepEqual(reconciled({ 'f:plainList': { 'v:"a"': {} } }), { 'f:plainList': {} })
  assert.deepEqual(reconciled({ 'f:items': { 'k:{"name":"a"}': { 'f:v': {} } } }), { 'f:items': { 'k:{"name":"a"}': { 'f:v': {} } } })
  // Became granular: left as it is. Free-form: whatever it is.
  assert.deepEqual(reconciled({ 'f:opts': {}, 'f:set': {} }), { 'f:opts': {}, 'f:set': {} })
  assert.deepEqual(reconciled({ 'f:any': { 'f:l': { 'i:0': {} } }, 'f:unknown': { 'f:a': {} } }), { 'f:any': { 'f:l': { 'i:0': {} } }, 'f:unknown': { 'f:a': {} } })
})

test('inputs are not changed', () => {
  const live = Object.freeze(thing({ set: ['a'] })) as KubeObject
  const text = JSON.stringify(live)
  mergeTyped(live, thing({ set: ['b'] }), type)
  removeFields(live, fieldSet(fieldPath('spec', 'set')), type)
  assert.equal(JSON.stringify(live), text)
})
