import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../object.ts'
import type { ResourceDefinition } from '../resource.ts'
import { toParentEntries, toScaleEntries } from './scale.ts'

const scale = { specReplicasPath: '.spec.size.replicas', statusReplicasPath: '.status.replicas' }
const definition = {
  group: 'example.com',
  versions: [{ name: 'v1', subresources: { scale } }, { name: 'v1beta1' }],
} as unknown as ResourceDefinition

const entry = (manager: string, apiVersion: string, fields: JsonObject, more: JsonObject = {}): JsonObject => ({
  manager, operation: 'Update', apiVersion, fieldsType: 'FieldsV1', time: '2020-01-01T00:00:00Z', fieldsV1: { 'f:spec': fields }, ...more,
})
const replicas = { 'f:size': { 'f:replicas': {} } }
const owner = entry('a', 'example.com/v1', { ...replicas, 'f:x': {} })
const others = [entry('b', 'example.com/v1', { 'f:x': {} }), entry('c', 'example.com/v1beta1', replicas)]

test('a Scale shows the owners of the replicas', () => {
  assert.deepEqual(toScaleEntries(definition, [owner, ...others]), [entry('a', 'autoscaling/v1', { 'f:replicas': {} })])
  assert.equal(toScaleEntries(definition, others), undefined)
  assert.equal(toScaleEntries(definition, undefined), undefined)
  assert.throws(() => toScaleEntries(definition, [{}]), /operation must be/)
})

test('who scales takes the replicas from their owner in the parent, without a time', () => {
  const hpa = entry('hpa', 'autoscaling/v1', { '.': {}, 'f:replicas': {} }, { subresource: 'scale' })
  const { time: _, ...taken } = entry('hpa', 'example.com/v1', replicas, { subresource: 'scale' })
  assert.deepEqual(toParentEntries(definition, 'example.com/v1', [owner, ...others], [hpa]), [
    taken, entry('a', 'example.com/v1', { 'f:x': {} }), ...others,
  ])
  assert.deepEqual(toParentEntries(definition, 'example.com/v1', [entry('a', 'example.com/v1', replicas)], [hpa]), [taken], 'an owner of nothing else goes')
})

test('an owner who is still there keeps its entry; what else a Scale has is not of the parent', () => {
  const applied = { ...owner, operation: 'Apply' }
  assert.deepEqual(toParentEntries(definition, 'example.com/v1', [applied], toScaleEntries(definition, [applied])), [applied])
  assert.deepEqual(toParentEntries(definition, 'example.com/v1', others, [entry('x', 'autoscaling/v1', { 'f:y': {} })]), others)
  assert.deepEqual(toParentEntries(definition, 'example.com/v1', [entry('old', 'example.com/v1alpha1', { 'f:x': {} }), ...others], undefined), others, 'entries of undefined versions go')
})
