import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeKubeProtobuf } from './protobuf-encode.ts'
import { decodeKubeProtobuf } from './protobuf.ts'
import type { Json, JsonObject, KubeObject } from './object.ts'
import { parseStored } from './codec.ts'
import { scaleOf, withReplicas } from './scale.ts'
import { decodeScale, readScale, SCALE_MESSAGE } from './scale-decode.ts'

const definition = { specReplicasPath: '.spec.size.replicas', statusReplicasPath: '.status.replicas', labelSelectorPath: '.status.selector' }
const object = (members: JsonObject): KubeObject => ({
  apiVersion: 'example.com/v1', kind: 'Widget', ...members,
  metadata: { name: 'a', namespace: 'ns', uid: 'u', resourceVersion: '7', creationTimestamp: '2026-01-01T00:00:00Z', generation: 4, labels: { a: 'b' }, managedFields: [{}] },
})
const METADATA = { name: 'a', namespace: 'ns', uid: 'u', resourceVersion: '7', creationTimestamp: '2026-01-01T00:00:00Z' }

test('a Scale shows replicas and the selector, and of the metadata what tells which object it is', () => {
  const whole = scaleOf(object({ spec: { size: { replicas: 3 } }, status: { replicas: 2, selector: 'a=b' } }), definition)
  assert.deepEqual(whole, { hasReplicas: true, scale: { kind: 'Scale', apiVersion: 'autoscaling/v1', metadata: METADATA, spec: { replicas: 3 }, status: { replicas: 2, selector: 'a=b' } } })
  assert.equal(JSON.stringify(whole.scale), `{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":${JSON.stringify(METADATA)},"spec":{"replicas":3},"status":{"replicas":2,"selector":"a=b"}}`)
})

test('zero is left out of the spec, and what is not there is zero', () => {
  assert.deepEqual(scaleOf(object({ spec: { size: { replicas: 0 } } }), definition), { hasReplicas: true, scale: { kind: 'Scale', apiVersion: 'autoscaling/v1', metadata: METADATA, spec: {}, status: { replicas: 0 } } })
  assert.equal(scaleOf(object({}), definition).hasReplicas, false)
  assert.equal(scaleOf(object({ spec: null }), definition).hasReplicas, false)
  assert.equal(scaleOf(object({ spec: { size: { replicas: 2n ** 32n + 5n } } }), definition).scale.spec.replicas, 5, 'cut to 32 bits')
})

test('a field of another type than its path promises is an error', () => {
  assert.throws(() => scaleOf(object({ spec: { size: { replicas: 'x' } } }), definition), { message: '.spec.size.replicas accessor error: x is of the type string, expected int64' })
  assert.throws(() => scaleOf(object({ spec: { size: 5 } }), definition), { message: '.spec.size.replicas accessor error: 5 is of the type int64, expected map[string]interface{}' })
  assert.throws(() => scaleOf(object({ status: { selector: 1.5 } }), definition), { message: '.status.selector accessor error: 1.5 is of the type float64, expected string' })
})

test('replicas are set at their path, and the object stays as it was', () => {
  const before = object({ spec: { other: 1, size: { x: 2 } } })
  assert.deepEqual(withReplicas(before, '.spec.size.replicas', 4).spec, { other: 1, size: { x: 2, replicas: 4 } })
  assert.deepEqual(before.spec, { other: 1, size: { x: 2 } })
  assert.deepEqual(withReplicas(object({}), 'spec.size.replicas', 4).spec, { size: { replicas: 4 } })
  assert.deepEqual(Object.keys(withReplicas(object({}), '.__proto__.x', 4)).at(-1), '__proto__')
  assert.throws(() => withReplicas(object({ spec: { size: 5 } }), '.spec.size.replicas', 4), { message: 'value cannot be set because .spec.size is not a map[string]interface{}' })
})

const decode = (value: Json) => decodeScale(value, { fromYaml: false })

test('a body may leave out its kind, and all else', () => {
  const empty = { kind: 'Scale', apiVersion: 'autoscaling/v1', metadata: {}, spec: {}, status: { replicas: 0 } }
  for (const value of [{}, null, { kind: 'Scale' }, { apiVersion: 'autoscaling/v1', spec: null, metadata: null }]) assert.deepEqual(decode(value), { scale: empty, findings: [] })
})

test('unknown fields are findings', () => {
  assert.deepEqual(decode({ metadata: { foo: 1 }, specs: {}, spec: { replicas: 2, x: 1 } }), {
    scale: { kind: 'Scale', apiVersion: 'autoscaling/v1', metadata: {}, spec: { replicas: 2 }, status: { replicas: 0 } },
    findings: ['unknown field "metadata.foo"', 'unknown field "specs"', 'unknown field "spec.x"'],
  })
})

test('what is no Scale is refused with the text of a kube-apiserver', () => {
  const text = (json: string) => () => decode(parseStored(Buffer.from(json)))
  for (const [json, message] of [
    ['{"kind":"Foo"}', 'no kind "Foo" is registered for version "autoscaling/v1" in scheme "pkg/runtime/scheme.go:111"'],
    ['{"apiVersion":"autoscaling/v2","kind":"Scale"}', 'no kind "Scale" is registered for version "autoscaling/v2" in scheme "pkg/runtime/scheme.go:111"'],
    ['{"apiVersion":"apps/v1beta1","kind":"Scale"}', 'converting (v1beta1.Scale) to (v1.Scale): unknown conversion'],
    ['{"spec":{"replicas":"x"}}', 'json: cannot unmarshal string into Go struct field ScaleSpec.spec.replicas of type int32'],
    ['{"spec":{"replicas":3000000000}}', 'json: cannot unmarshal number 3000000000 into Go struct field ScaleSpec.spec.replicas of type int32'],
    ['{"spec":{"replicas":2.0}}', 'json: cannot unmarshal number 2.0 into Go struct field ScaleSpec.spec.replicas of type int32'],
    ['{"spec":5}', 'json: cannot unmarshal number into Go struct field Scale.spec of type v1.ScaleSpec'],
    ['{"metadata":5}', 'json: cannot unmarshal number into Go struct field Scale.metadata of type v1.ObjectMeta'],
  ] as const) {
    assert.throws(text(json), { message }, json)
  }
  assert.equal(decodeScale(parseStored(Buffer.from('{"spec":{"replicas":5.0}}')), { fromYaml: true }).scale.spec.replicas, 5, 'in YAML 5.0 is 5')
})

test('a Scale in protobuf', () => {
  const { scale } = scaleOf(object({ spec: { size: { replicas: 3 } }, status: { replicas: 2, selector: 'a=b' } }), definition)
  const { metadata, spec, status } = readScale(decodeKubeProtobuf(encodeKubeProtobuf(scale, SCALE_MESSAGE), SCALE_MESSAGE))
  assert.deepEqual([metadata.name, metadata.resourceVersion, spec, status], ['a', '7', { replicas: 3 }, { replicas: 2, selector: 'a=b' }])
})
