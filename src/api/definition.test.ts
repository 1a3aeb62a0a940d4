import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readDefinition } from './definition.ts'
import { decodeJson } from './json-parse.ts'
import { Float, type JsonObject } from './object.ts'
import { decodeYaml } from './yaml.ts'

const read = (text: string) => readDefinition(decodeYaml(text).value as JsonObject)

const SMALL = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {kind: Widget, plural: widgets}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object}}
`

test('names that the manifest leaves out follow from the kind', () => {
  assert.deepEqual(read(SMALL), {
    group: 'example.com',
    scope: 'Cluster',
    names: { kind: 'Widget', plural: 'widgets', singular: 'widget', listKind: 'WidgetList' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { type: 'object' } }],
  })
})

test('everything that a version may have is read', () => {
  const { names, versions } = read(`${SMALL.replace('plural: widgets}', 'plural: widgets, singular: w, listKind: Ws, shortNames: [wd], categories: [all]}')}  - name: v1beta1
    served: false
    storage: false
    deprecated: true
    deprecationWarning: use v1
    subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}
    additionalPrinterColumns: [{name: Size, type: string, jsonPath: .spec.size}]
    selectableFields: [{jsonPath: .spec.size}]
    schema:
      openAPIV3Schema: {type: object, properties: {__proto__: {type: string}}}
`)
  assert.deepEqual(names, { kind: 'Widget', plural: 'widgets', singular: 'w', listKind: 'Ws', shortNames: ['wd'], categories: ['all'] })
  const { schema, ...rest } = versions[1] ?? assert.fail()
  assert.deepEqual(rest, {
    name: 'v1beta1',
    served: false,
    storage: false,
    deprecated: true,
    deprecationWarning: 'use v1',
    subresources: { status: {}, scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' } },
    additionalPrinterColumns: [{ name: 'Size', type: 'string', jsonPath: '.spec.size' }],
    selectableFields: [{ jsonPath: '.spec.size' }],
  })
  assert.deepEqual(Object.keys(schema.properties ?? {}), ['__proto__'])
})

test('limits are numbers however they are written; defaults stay as they are', () => {
  const schema = '{"type":"object","properties":{"a":{"type":"array","items":{"type":"number","minimum":1.0,"maximum":9223372036854775807,"default":1.0}}}}'
  const spec = `{"group":"g","scope":"Cluster","names":{"kind":"K","plural":"ks"},"versions":[{"name":"v1","schema":{"openAPIV3Schema":${schema}}}]}`
  const [version] = readDefinition(decodeJson(`{"kind":"CustomResourceDefinition","spec":${spec}}`).value as JsonObject).versions
  const items = version?.schema.properties?.a?.items
  assert.equal(items?.minimum, 1)
  assert.equal(items?.maximum, 2 ** 63)
  assert.deepEqual(items?.default, new Float(1))
})

test('what is missing or of another type is named', () => {
  const cases: [string, RegExp][] = [
    [SMALL.replace('CustomResourceDefinition', 'Widget'), /^kind: must be CustomResourceDefinition$/],
    [SMALL.replace('group: example.com', 'group: ""'), /^spec\.group: must be a text that is not empty$/],
    [SMALL.replace('Cluster', 'Everywhere'), /^spec\.scope: must be Namespaced or Cluster$/],
    [SMALL.replace('{kind: Widget, plural: widgets}', '{kind: Widget}'), /^spec\.names\.plural: must be/],
    [SMALL.replace(/versions:[^]*/, 'versions: {}'), /^spec\.versions: must be a list$/],
    [SMALL.replace(/versions:[^]*/, 'versions: [v1]'), /^spec\.versions\[0\]: must be an object$/],
    [SMALL.replace('{openAPIV3Schema: {type: object}}', '{}'), /^spec\.versions\[0\]\.schema\.openAPIV3Schema: must be an object$/],
  ]
  for (const [text, message] of cases) assert.throws(() => read(text), (error: Error) => message.test(error.message), String(message))
})
