/** Empty objects that an older version does not show outlive every kind of write through it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readDefinition } from '../src/api/definition.ts'
import { compileConversion } from '../src/api/lens-conversion.ts'
import { newer, rename, within } from '../src/api/lens.ts'
import type { JsonObject } from '../src/api/object.ts'
import { decodeYaml } from '../src/api/yaml.ts'
import { coreResources } from '../src/resources/core/index.ts'
import { startServer } from './harness.ts'
import { openMemoryBackend } from './model/memory-backend.ts'

const definition = readDefinition(decodeYaml(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.sea.example.org}
spec:
  group: sea.example.org
  scope: Namespaced
  names: {plural: boats, kind: Boat}
  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: "https://example.com/never"}}}
  versions:
  - name: v1
    served: true
    storage: false
    subresources: {status: {}, scale: {specReplicasPath: .spec.count, statusReplicasPath: .status.count}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {colour: {type: string}, count: {type: integer, default: 1}, port: {type: string}}}
          status: {type: object, properties: {count: {type: integer}}}
  - name: v2
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              paint: {type: object, properties: {color: {type: string}, gloss: {type: integer}}}
              replicas: {type: integer, default: 1}
              home: {type: object, properties: {port: {type: string}, berth: {type: integer}}}
          status: {type: object, properties: {replicas: {type: integer}}}
`).value as JsonObject)

const conversion = compileConversion(definition, [{
  older: 'v1',
  newer: 'v2',
  operations: [
    within('spec', [rename('colour', 'paint.color'), rename('port', 'home.port'), rename('count', 'replicas'), newer('paint.gloss', 'home.berth')]),
    within('status', [rename('count', 'replicas')]),
  ],
}])

test('a label, a status, a scale and an apply through v1 leave the empty objects of v2', async () => {
  await using server = await startServer({ backend: openMemoryBackend(), resources: [...coreResources, { definition, conversion }] })
  const at = (version: string, rest = ''): string => `/apis/sea.example.org/${version}/namespaces/default/boats${rest}`
  const merge = 'application/merge-patch+json'
  const boat = { apiVersion: 'sea.example.org/v2', kind: 'Boat', metadata: { name: 'a' }, spec: { paint: {}, home: {} } }
  assert.equal((await server.send('POST', at('v2'), { body: boat })).status, 201)
  const writes = [
    [at('v1', '/a'), { metadata: { labels: { a: 'b' } } }, merge],
    [at('v1', '/a/status'), { status: { count: 1 } }, merge],
    [at('v1', '/a/scale'), { spec: { replicas: 3 } }, merge],
    [at('v1', '/a?fieldManager=x'), { apiVersion: 'sea.example.org/v1', kind: 'Boat', metadata: { name: 'a', labels: { c: 'd' } } }, 'application/apply-patch+yaml'],
  ] as const
  for (const [path, body, type] of writes) {
    assert.equal((await server.send('PATCH', path, { body, type })).status, 200, path)
    const { spec } = (await server.send('GET', at('v2', '/a'))).body
    assert.deepEqual([spec.paint, spec.home], [{}, {}], path)
  }
  assert.equal((await server.send('GET', at('v2', '/a'))).body.spec.replicas, 3)
})
