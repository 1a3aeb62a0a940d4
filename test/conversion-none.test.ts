/** Versions between which nothing is converted: what a version does not have is lost by every write through it, and by no reading. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readDefinition } from '../src/api/definition.ts'
import { noConversion } from '../src/api/lens-conversion.ts'
import type { JsonObject } from '../src/api/object.ts'
import { decodeYaml } from '../src/api/yaml.ts'
import { coreResources } from '../src/resources/core/index.ts'
import { startServer } from './harness.ts'

const DEFINITION = readDefinition(decodeYaml(`kind: CustomResourceDefinition
spec:
  group: example.com
  scope: Cluster
  names: {plural: things, kind: Thing}
  versions:
  - {name: v1, served: true, storage: false, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {a: {type: string}}}}}}}
  - {name: v2, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {a: {type: string}, b: {type: string}}}}}}}
`).value as JsonObject)

const body = { apiVersion: 'example.com/v2', kind: 'Thing', metadata: { name: 'x', finalizers: ['example.com/held'] }, spec: { a: '1', b: '2' } }

test('reading through a version loses nothing, writing does, and so does a deletion that waits', async () => {
  await using server = await startServer({ resources: [...coreResources, { definition: DEFINITION, conversion: noConversion(DEFINITION) }] })
  const stored = async () => (await server.send('GET', '/apis/example.com/v2/things/x')).body.spec
  const create = async () => assert.equal((await server.send('POST', '/apis/example.com/v2/things', { body })).status, 201)
  const release = () => server.send('PATCH', '/apis/example.com/v2/things/x', { body: { metadata: { finalizers: null } }, type: 'application/merge-patch+json' })

  await create()
  assert.deepEqual((await server.send('GET', '/apis/example.com/v1/things/x')).body.spec, { a: '1' })
  assert.deepEqual(await stored(), { a: '1', b: '2' })
  await server.send('PATCH', '/apis/example.com/v1/things/x', { body: { metadata: { labels: { l: 'v' } } }, type: 'application/merge-patch+json' })
  assert.deepEqual(await stored(), { a: '1' })

  await server.send('DELETE', '/apis/example.com/v2/things/x')
  await release()
  await create()
  assert.equal((await server.send('DELETE', '/apis/example.com/v1/things/x')).status, 200)
  assert.deepEqual(await stored(), { a: '1' })
})
