import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { applyDefaults } from './default.ts'
import { DecodeError } from './go-json-error.ts'
import { deepEqual, type Json, type KubeObject } from './object.ts'
import { dropNulls, prune } from './prune.ts'
import { receive, shape } from './receive.ts'
import type { VersionDefinition } from './resource.ts'
import type { Schema } from './schema.ts'

const spec = {
  type: 'object',
  properties: {
    size: { type: 'string' },
    replicas: { type: 'integer', default: 1 },
    maybe: { type: 'string', nullable: true, default: 'x' },
    empty: { type: 'object' },
    nested: { type: 'object', default: {}, properties: { level: { type: 'integer', default: 3 }, inner: { type: 'object', properties: { deep: { type: 'string', default: 'd' } } } } },
    list: { type: 'array', items: { type: 'object', properties: { a: { type: 'string', default: 'i' }, metadata: { type: 'string' } } } },
    filled: { type: 'array', items: { type: 'string', default: 'f' } },
    opts: { type: 'object', additionalProperties: { type: 'object', properties: { v: { type: 'integer', default: 7 } } } },
    words: { type: 'object', additionalProperties: { type: 'string' } },
    open: { type: 'object', additionalProperties: true },
    free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, properties: { known: { type: 'object', properties: { k: { type: 'string' } } } } },
    tmpl: { type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true },
  },
} as const satisfies Schema

const version: VersionDefinition = { name: 'v1', served: true, storage: true, schema: { type: 'object', properties: { spec } } }
const object = (value: Json, metadata: KubeObject['metadata'] = { name: 'n' }): KubeObject => ({ apiVersion: 'g/v1', kind: 'K', metadata, spec: value })
const FILLED = { replicas: 1, maybe: 'x', nested: { level: 3 } }

test('unknown fields are dropped and listed', () => {
  const { object: out, findings } = receive(
    {
      ...object({
        b: 1,
        a: null,
        empty: { x: 1 },
        list: [{ a: '', x: 1, kind: 'K', metadata: 'm' }, [{ y: 1 }], 'scalar'],
        opts: { 'k.k': { v: 1, w: 2 } },
        open: { s: 1, o: { x: 1 }, l: [[{ y: 1 }]] },
        free: { other: { deep: null }, known: { k: 'k', l: 1 } },
        tmpl: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', junk: 1, labels: {} }, data: { x: null } },
      }),
      foo: 1,
      metadata: { name: 'n', foo: 1, ownerReferences: [{ uid: 'u', bar: 1 }] as never, bar: null, labels: {} },
    },
    version,
  )
  assert.deepEqual(out, {
    ...object(
      {
        ...FILLED,
        empty: {},
        list: [{ a: '', metadata: 'm' }, [{}], 'scalar'],
        opts: { 'k.k': { v: 1 } },
        open: { s: 1, o: {}, l: [[{}]] },
        free: { other: { deep: null }, known: { k: 'k' } },
        tmpl: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, data: { x: null } },
      },
      { name: 'n', ownerReferences: [{ uid: 'u', apiVersion: '', kind: '', name: '' }] },
    ),
  })
  assert.deepEqual(findings, [
    'unknown field "metadata.bar"',
    'unknown field "metadata.foo"',
    'unknown field "metadata.ownerReferences[0].bar"',
    'unknown field "foo"',
    'unknown field "spec.a"',
    'unknown field "spec.b"',
    'unknown field "spec.empty.x"',
    'unknown field "spec.free.known.l"',
    'unknown field "spec.list[0].kind"',
    'unknown field "spec.list[0].x"',
    'unknown field "spec.list[1][0].y"',
    'unknown field "spec.open.l[0][0].y"',
    'unknown field "spec.open.o.x"',
    'unknown field "spec.opts.k.k.w"',
    'unknown field "spec.tmpl.metadata.junk"',
  ])
})

test('nulls are dropped, kept or replaced by defaults', () => {
  const table: [Json, Json][] = [
    [{}, FILLED],
    [{ size: null }, FILLED],
    [{ replicas: null }, FILLED],
    [{ maybe: null }, { ...FILLED, maybe: null }],
    [{ nested: null }, FILLED],
    [{ nested: { level: null, inner: {} } }, { ...FILLED, nested: { level: 3, inner: { deep: 'd' } } }],
    [{ list: [null, {}] }, { ...FILLED, list: [null, { a: 'i' }] }],
    [{ filled: [null, 'x'] }, { ...FILLED, filled: ['f', 'x'] }],
    [{ words: { a: null, b: 'b' } }, { ...FILLED, words: { b: 'b' } }],
    [{ opts: { a: null, b: {} } }, { ...FILLED, opts: { b: { v: 7 } } }],
    [{ free: { a: null } }, { ...FILLED, free: { a: null } }],
    ['scalar', 'scalar'],
    [[{ size: 's' }], [{}]],
  ]
  for (const [given, expected] of table) assert.deepEqual(receive(object(given), version).object.spec, expected, JSON.stringify(given))
})

test('malformed metadata is refused when received and dropped when shaped', () => {
  const bad = object({ tmpl: { kind: 5, metadata: { name: 'x', labels: { a: 5 } } } }, { name: 'n', labels: { a: 1 } as never })
  assert.throws(() => receive(bad, version), new DecodeError('json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string'))
  assert.deepEqual(shape(bad, version, { defaults: false }), object({ tmpl: { metadata: { name: 'x' } } }))
  assert.throws(
    () => receive(object({ tmpl: { metadata: { junk: 1, labels: { a: 5 }, name: 'BAD NAME' } } }), version),
    new DecodeError(
      'spec.tmpl.metadata: Invalid value: {"junk":1,"labels":{"a":5},"name":"BAD NAME"}: json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string',
    ),
  )
  assert.throws(() => receive(object({ tmpl: { kind: 5 } }), version), new DecodeError('spec.tmpl.kind: Invalid value: 5: must be a string'))
})

const names = fc.constantFrom(...Object.keys(spec.properties), 'a', 'v', 'level', 'inner', 'metadata', 'kind', '__proto__', 'constructor', 'x')
const anything: fc.Arbitrary<Json> = fc.letrec<{ node: Json }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom<Json>(null, true, 1, 'text'),
    fc.array(tie('node'), { maxLength: 3 }),
    fc.array(fc.tuple(names, tie('node')), { maxLength: 5 }).map((entries) => Object.fromEntries(entries)),
  ),
})).node

test('pruning, dropping nulls and defaulting never throw, change nothing the second time, and do not touch their input', () => {
  fc.assert(
    fc.property(anything, (value) => {
      const before = structuredClone(value)
      const pruned = prune(value, spec, { root: false })
      assert.equal(prune(pruned.value, spec, { root: false }).value, pruned.value)
      const dropped = dropNulls(pruned.value, spec)
      assert.equal(dropNulls(dropped, spec), dropped)
      const defaulted = applyDefaults(dropped, spec)
      assert.equal(applyDefaults(defaulted, spec), defaulted)
      assert.equal(prune(defaulted, spec, { root: false }).value, defaulted)
      assert.ok(deepEqual(before, value))
    }),
    { numRuns: 500 },
  )
})

test('what was received is shaped into itself, the same object', () => {
  fc.assert(
    fc.property(anything, (value) => {
      const { object: received } = receive(object({ ...(value as object), tmpl: 1 }), version)
      assert.equal(shape(received, version, { defaults: true }), received)
    }),
  )
})

test('deep nesting is no danger', () => {
  let deep: Json = {}
  for (let i = 0; i < 100_000; i++) deep = i % 2 === 0 ? [deep] : [deep, 1]
  receive(object({ free: { deep }, open: { deep }, words: deep, x: deep }), version)
})
