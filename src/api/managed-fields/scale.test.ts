import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject, KubeObject } from '../object.ts'
import type { ResourceDefinition } from '../resource.ts'
import { StatusError } from '../status.ts'
import { applyPatch } from './apply.ts'
import { toParentEntries, toScaleEntries } from './scale.ts'
import { trackUpdate } from './update.ts'

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

test('a scaled object, as recorded of kube-apiserver', () => {
  const widgets = { ...definition, versions: [{ name: 'v1', subresources: { scale: { ...scale, specReplicasPath: '.spec.replicas' } } }] } as unknown as ResourceDefinition
  let parent: JsonObject[] | undefined = [entry('unknown', 'example.com/v1', { '.': {}, 'f:replicas': {}, 'f:size': {} })]
  const base = { definition: widgets, version: 'v1', subresource: 'scale' as const, now: 0 }
  const show = (replicas: number, managedFields?: JsonObject[]): KubeObject => ({
    apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { name: 'x', namespace: 'ns', uid: 'u', ...(managedFields && { managedFields }) }, spec: { replicas }, status: { replicas: 0 },
  })
  let replicas = 3
  const write = (manager: string, next: number): void => {
    const made = trackUpdate({ ...base, live: show(replicas, toScaleEntries(widgets, parent)), next: show(next), manager })
    parent = toParentEntries(widgets, 'example.com/v1', parent, made.metadata.managedFields)
    replicas = next
  }
  write('unknown', 5)
  write('unknown', 7)
  write('hpa', 9)
  assert.throws(() => applyPatch({ ...base, live: show(replicas, toScaleEntries(widgets, parent)), config: { ...show(4), metadata: { name: 'x' } }, manager: 'sc', force: false }),
    (error) => error instanceof StatusError && error.message === 'Apply failed with 1 conflict: conflict with "hpa" with subresource "scale" using autoscaling/v1: .spec.replicas')
  const { time: _, ...hpa } = entry('hpa', 'example.com/v1', { 'f:replicas': {} }, { subresource: 'scale' })
  assert.deepEqual(parent, [hpa, entry('unknown', 'example.com/v1', { '.': {}, 'f:size': {} })])
})
