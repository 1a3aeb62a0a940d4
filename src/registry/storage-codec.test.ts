import assert from 'node:assert/strict'
import { test } from 'node:test'
import { noConversion } from '../api/lens-conversion.ts'
import type { JsonObject, KubeObject } from '../api/object.ts'
import type { ResourceDefinition } from '../api/resource.ts'
import { openEnvelope } from '../../storage/envelope.ts'
import { createStorageCodec } from './storage-codec.ts'

const definition: ResourceDefinition = {
  group: 'example.com',
  scope: 'Namespaced',
  names: { plural: 'things', singular: 'thing', kind: 'Thing', listKind: 'ThingList' },
  versions: [
    { name: 'v1', served: true, storage: true, schema: { type: 'object', properties: { spec: { type: 'object', properties: { a: { type: 'string', default: 'x' } } } } } },
    { name: 'v1beta1', served: true, storage: false, schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
  ],
}
const codec = createStorageCodec(definition, noConversion(definition))
const thing = (spec: JsonObject, version = 'v1'): KubeObject => ({ apiVersion: `example.com/${version}`, kind: 'Thing', metadata: { name: 'a' }, spec })

test('an object that is read as it is stored is settled, and is answered as it is', () => {
  const value = codec.seal(thing({ a: 'y' }), 'v1')
  assert.equal(codec.isSettled(value), true)
  assert.deepEqual(codec.open(value), thing({ a: 'y' }))
  assert.deepEqual(codec.encode('', value, 'v1').bytes, openEnvelope(value).payload)
})

test('what no reader sees is stored, and shows in no answer', () => {
  const value = codec.seal(thing({ a: 'y' }), 'v1', { labels: {}, annotations: null })
  assert.equal(codec.isSettled(value), false)
  assert.match(Buffer.from(openEnvelope(value).payload).toString(), /"annotations":null.*"labels":\{\}/)
  assert.deepEqual(codec.open(value), thing({ a: 'y' }))
  assert.equal(Buffer.from(codec.encode('', value, 'v1').bytes).toString(), Buffer.from(codec.encode('', codec.seal(thing({ a: 'y' }), 'v1'), 'v1').bytes).toString())
})

test('defaults that a write did not fill are filled by each read', () => {
  const value = codec.seal(thing({}), 'v1')
  assert.equal(codec.isSettled(value), false)
  assert.deepEqual(codec.open(value), thing({ a: 'x' }))
})

test('what another version wrote is stored as the hub version knows it', () => {
  assert.deepEqual(codec.lift(thing({ a: 'y', b: 1 }, 'v1beta1'), 'v1beta1'), thing({ a: 'y' }))
  assert.deepEqual(codec.lift(thing({ a: 'y', b: 1 }), 'v1'), thing({ a: 'y', b: 1 }))
})
