import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { checkCreate, checkStatusUpdate, checkUpdate, type CelRules } from './check.ts'
import { fieldError, type FieldError } from './status.ts'
import { Float, type Json, type KubeObject, type ObjectMeta } from './object.ts'
import type { VersionDefinition } from './resource.ts'

const version: VersionDefinition = {
  name: 'v1',
  served: true,
  storage: true,
  subresources: { status: {}, scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas', labelSelectorPath: '.status.selector' } },
  schema: {
    type: 'object',
    required: ['spec'],
    properties: {
      spec: {
        type: 'object',
        properties: {
          name: { type: 'string', maxLength: 3, pattern: '^[a-z]' },
          replicas: { type: 'integer' },
          tags: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
          templates: { type: 'object', additionalProperties: { type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true } },
        },
      },
      status: { type: 'object', properties: { replicas: { type: 'integer' }, phase: { type: 'string', enum: ['a'] } } },
    },
  },
}
const context = { group: 'g', kind: 'K', namespaced: true }
const rules: CelRules = {
  empty: false,
  evaluate: (object, old) => ({
    errors: [fieldError('FieldValueInvalid', 'spec', 'x', old === undefined ? 'rule on create' : 'rule on update')],
    warnings: [`seen ${object.metadata.name}`],
  }),
}
const object = (spec: Json, more: Record<string, Json> = {}, metadata: ObjectMeta = {}): KubeObject => ({
  apiVersion: 'g/v1',
  kind: 'K',
  metadata: { name: 'n', namespace: 'ns', generation: 1, ...metadata } as never,
  spec,
  ...more,
})
const texts = (errors: readonly FieldError[]): string[] => errors.map((e) => `${e.field}: ${e.body}`)
const create = (spec: Json, more?: Record<string, Json>, meta?: ObjectMeta): string[] => texts(checkCreate(object(spec, more, meta), version, undefined, context).errors)

const NOT_CHECKED =
  '<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation'

test('everything is checked in upstream’s order', () => {
  assert.deepEqual(create({ name: 'A', tags: ['x', 'x'], templates: { t: { kind: 'bad kind', apiVersion: 'a/b/c' } }, replicas: -1 }, { status: { selector: 5 } }, { finalizers: ['bad finalizer'] }).map((t) => t.split(':')[0]), [
    'metadata.finalizers',
    'spec.name',
    '.spec.replicas',
    '.status.selector',
    'spec.templates[t].apiVersion',
    'spec.templates[t].kind',
    'spec.tags[1]',
  ])
})

test('rules run last, and not after errors that could confuse them', () => {
  const fine = checkCreate(object({}), version, rules, context)
  assert.deepEqual(texts(fine.errors), ['spec: Invalid value: "x": rule on create'])
  assert.deepEqual(fine.warnings, ['seen n'])
  assert.deepEqual(texts(checkCreate(object({ name: 'A' }), version, rules, context).errors).slice(1), ['spec: Invalid value: "x": rule on create'])
  assert.deepEqual(texts(checkCreate(object({ name: 'long' }), version, rules, context).errors), ['spec.name: Too long: may not be more than 3 bytes', NOT_CHECKED])
  assert.deepEqual(texts(checkCreate(object({ name: 'long' }), version, { ...rules, empty: true }, context).errors), ['spec.name: Too long: may not be more than 3 bytes'])
  assert.deepEqual(texts(checkUpdate(object({}), object({}), version, rules, context).errors), ['spec: Invalid value: "x": rule on update'])
  const own = [fieldError('FieldValueForbidden', 'spec', '', 'by strategy')]
  assert.deepEqual(texts(checkCreate(object({}), version, undefined, { ...context, strategyErrors: own }).errors), ['spec: Forbidden: by strategy'])
})

test('an object of another kind is only checked for what needs no schema of fields', () => {
  const wrong = { ...object({ tags: ['x', 'x'], name: 5 }, {}, { name: 'BAD' }), kind: 'Foo' }
  assert.deepEqual(texts(checkCreate(wrong, version, undefined, context).errors), ['kind: Invalid value: "Foo": must be K', 'spec.tags[1]: Duplicate value: "x"'])
  assert.deepEqual(texts(checkUpdate(wrong, object({}), version, undefined, context).errors).filter((t) => !t.startsWith('metadata')), [
    'kind: Invalid value: "Foo": must be K',
    'spec.tags[1]: Duplicate value: "x"',
  ])
})

test('on update errors of metadata come as often as upstream repeats them', () => {
  const old = object({}, {}, { uid: 'u', labels: { a: 'b' } })
  const counts = (meta: ObjectMeta, of = old): Record<string, number> => {
    const { errors } = checkUpdate(object({}, {}, { uid: 'u', ...meta }), of, version, undefined, context)
    return Object.fromEntries([...Map.groupBy(errors, (e) => e.field)].map(([field, list]) => [field, list.length]))
  }
  assert.deepEqual(counts({ labels: { a: 'b c' }, annotations: { 'a b': '' } }), { 'metadata.labels': 3, 'metadata.annotations': 3 })
  assert.deepEqual(counts({ uid: 'v' }), { 'metadata.uid': 2 })
  assert.deepEqual(counts({ finalizers: ['a b'] }), { 'metadata.finalizers': 1 })
  const terminating = object({}, {}, { uid: 'u', deletionTimestamp: '2024-01-01T00:00:00Z' })
  assert.deepEqual(counts({ finalizers: ['a/b'], deletionTimestamp: '2024-01-01T00:00:00Z' }, terminating), { 'metadata.finalizers': 2 })
})

test('what was wrong before and did not change is let through on update, list types as a whole', () => {
  const old = object({ name: 'long', tags: ['x', 'x'] })
  assert.deepEqual(texts(checkUpdate(object({ name: 'long', tags: ['y', 'y'], replicas: 1 }), old, version, undefined, context).errors), [])
  assert.deepEqual(texts(checkUpdate(object({ name: 'longer' }), old, version, undefined, context).errors), ['spec.name: Too long: may not be more than 3 bytes'])
})

test('a status update checks the status, by paths below it', () => {
  const old = object({ name: 'long' }, { status: { phase: 'b' } })
  const check = (status: Json): string[] => texts(checkStatusUpdate({ ...old, status }, old, version, undefined, context).errors)
  assert.deepEqual(check({ phase: 'b' }), [])
  assert.deepEqual(check({ phase: 'b', x: 1 }), [])
  assert.deepEqual(check({ phase: 'c' }), ['status.phase: Unsupported value: "c": supported values: "a"'])
  assert.deepEqual(check({ replicas: -1, selector: 'a=b' }), ['.status.replicas: Invalid value: -1: should be a non-negative integer'])
})

test('the scale fields have the texts of their accessors', () => {
  const table: [Json, string[]][] = [
    [{ replicas: 2147483648 }, ['.spec.replicas: Invalid value: 2147483648: should be less than or equal to 2147483647']],
    [{ replicas: new Float(1) }, ['.spec.replicas: Invalid value: 0: .spec.replicas accessor error: 1 is of the type float64, expected int64']],
    ['x', ['.spec.replicas: Invalid value: 0: .spec.replicas accessor error: x is of the type string, expected map[string]interface{}']],
  ]
  for (const [spec, expected] of table) assert.deepEqual(create(spec).filter((text) => text.startsWith('.')), expected)
  assert.equal(create({ replicas: { a: [1, null] } }).at(-1), '.spec.replicas: Invalid value: 0: .spec.replicas accessor error: map[a:[1 <nil>]] is of the type map[string]interface {}, expected int64')
})

test('no object makes a check throw', () => {
  const json = fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<Json>
  const spec = fc.dictionary(fc.constantFrom('name', 'replicas', 'tags', 'templates', '__proto__', 'x'), json)
  fc.assert(
    fc.property(spec, json, spec, (one, status, two) => {
      checkCreate(object(one, { status }), version, undefined, context)
      checkUpdate(object(one, { status }), object(two), version, undefined, context)
      checkStatusUpdate(object(one, { status }), object(two, { status: two }), version, undefined, context)
      checkUpdate(object(one), object(structuredClone(one)), version, undefined, context)
    }),
    { numRuns: 500 },
  )
})
