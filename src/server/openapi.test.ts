import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ResourceDefinition } from '../api/resource.ts'
import type { Schema } from '../api/schema.ts'
import { systemClock } from '../base/clock.ts'
import { createOpenApi } from './openapi.ts'
import { openApiV2, openApiV3 } from './openapi-documents.ts'
import { objectSchema } from './openapi-schema.ts'

// The documents are looked into freely.
// oxlint-disable-next-line no-explicit-any
type Any = any

const schema: Schema = {
  type: 'object',
  description: 'A widget.',
  required: ['spec'],
  properties: {
    metadata: { type: 'object' },
    spec: {
      type: 'object',
      required: ['size', 'maybe'],
      'x-kubernetes-validations': [{ rule: 'self.size != ""' }],
      properties: {
        size: { type: 'string', enum: ['small', 'large'], default: 'small', description: 'How big.' },
        maybe: { type: 'string', nullable: true },
        port: { 'x-kubernetes-int-or-string': true },
        percent: { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }], pattern: '%$' },
        both: { 'x-kubernetes-int-or-string': true, anyOf: [{ minimum: 1 }] },
        free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, properties: { known: { type: 'integer' } } },
        template: { type: 'object', 'x-kubernetes-embedded-resource': true, properties: { spec: { type: 'object' } } },
        ports: { type: 'array', 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['port'], items: { type: 'object', required: ['port'], properties: { port: { type: 'integer', default: 1 } } } },
        labels: { type: 'object', additionalProperties: { type: 'string', default: '' } },
        choice: { type: 'object', oneOf: [{ required: ['a'] }], not: { required: ['b'] }, properties: { a: { type: 'string' } } },
        constructor: { type: 'string' as const },
      },
    },
  },
}
const names = { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' }
const scale = { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' }
const widgets: ResourceDefinition = {
  group: 'mlops.dev', scope: 'Namespaced', names,
  versions: [
    { name: 'v1', served: true, storage: true, schema, subresources: { status: {}, scale }, selectableFields: [{ jsonPath: '.spec.size' }] },
    { name: 'v1beta1', served: true, storage: false, schema },
  ],
}
const gadgets: ResourceDefinition = {
  group: 'mlops.dev', scope: 'Cluster', names: { plural: 'gadgets', singular: 'gadget', kind: 'Gadget', listKind: 'GadgetList' },
  versions: [{ name: 'v1', served: true, storage: true, schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }],
}
const secrets: ResourceDefinition = {
  group: '', scope: 'Namespaced', names: { plural: 'secrets', singular: 'secret', kind: 'Secret', listKind: 'SecretList' },
  versions: [{ name: 'v1', served: true, storage: true, schema: { type: 'object', properties: { type: { type: 'string' } } } }],
}
const definitions = [widgets, gadgets, secrets]
const [v1] = widgets.versions
const v3 = openApiV3(definitions, 'mlops.dev', 'v1') as Any
const v2 = openApiV2(definitions) as Any
const META = 'io.k8s.apimachinery.pkg.apis.meta.v1.'

test('v3 keeps the schema as it is written, with the standard fields', () => {
  const published = objectSchema(widgets, v1 as never, 'v3') as Any
  assert.deepEqual(Object.keys(published.properties), ['apiVersion', 'kind', 'spec', 'metadata'])
  assert.match(published.properties.apiVersion.description, /^APIVersion defines the versioned schema/)
  assert.deepEqual(published.properties.metadata, {
    allOf: [{ $ref: `#/components/schemas/${META}ObjectMeta` }],
    description: "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata",
  })
  assert.deepEqual(published['x-kubernetes-group-version-kind'], [{ group: 'mlops.dev', version: 'v1', kind: 'Widget' }])
  assert.deepEqual(published['x-kubernetes-selectable-fields'], [{ fieldPath: 'spec.size' }])
  const { properties, ...spec } = published.properties.spec
  assert.deepEqual(spec, { type: 'object', required: ['size', 'maybe'], 'x-kubernetes-validations': [{ rule: 'self.size != ""' }] })
  const intOrString = [{ type: 'integer' }, { type: 'string' }]
  assert.deepEqual(properties.size, schema.properties?.spec?.properties?.size)
  assert.deepEqual(properties.port, { 'x-kubernetes-int-or-string': true, anyOf: intOrString })
  assert.deepEqual(properties.percent, { 'x-kubernetes-int-or-string': true, anyOf: intOrString, pattern: '%$' })
  assert.deepEqual(properties.both, { 'x-kubernetes-int-or-string': true, allOf: [{ anyOf: intOrString }], anyOf: [{ minimum: 1 }] })
  assert.deepEqual(properties.template.required, ['kind', 'apiVersion'])
  assert.deepEqual(Object.keys(properties.template.properties), ['spec', 'apiVersion', 'kind', 'metadata'])
  assert.deepEqual(properties.ports, schema.properties?.spec?.properties?.ports)
})

test('v2 drops what it cannot say', () => {
  const { properties, required } = (objectSchema(widgets, v1 as never, 'v2') as Any).properties.spec
  assert.deepEqual(required, ['size'])
  assert.deepEqual(properties.size, { type: 'string', enum: ['small', 'large'], description: 'How big.' })
  assert.deepEqual(properties.maybe, {})
  assert.deepEqual(properties.free, { 'x-kubernetes-preserve-unknown-fields': true })
  assert.deepEqual(properties.choice, { type: 'object', properties: { a: { type: 'string' } } })
  assert.deepEqual(properties.ports.items, { type: 'object', required: ['port'], properties: { port: { type: 'integer' } } })
  assert.deepEqual(properties.labels, { type: 'object', additionalProperties: { type: 'string' } })
  assert.deepEqual(properties.template.properties.metadata.$ref, `#/definitions/${META}ObjectMeta`)
  assert.deepEqual(objectSchema(gadgets, gadgets.versions[0] as never, 'v2'), {
    type: 'object', 'x-kubernetes-group-version-kind': [{ group: 'mlops.dev', version: 'v1', kind: 'Gadget' }],
  })
})

test('paths and operations have the names that generated clients have', () => {
  const ids = (document: Any) =>
    Object.entries(document.paths).flatMap(([path, item]: Any) => Object.entries(item).flatMap(([method, operation]: Any) => (operation.operationId ? [`${method} ${path} ${operation.operationId}`] : [])))
  assert.deepEqual(ids(v3).filter((id) => id.includes('Widget') || id.includes('Gadget')), [
    'get /apis/mlops.dev/v1/gadgets listMlopsDevV1Gadget',
    'post /apis/mlops.dev/v1/gadgets createMlopsDevV1Gadget',
    'delete /apis/mlops.dev/v1/gadgets deleteMlopsDevV1CollectionGadget',
    'get /apis/mlops.dev/v1/gadgets/{name} readMlopsDevV1Gadget',
    'put /apis/mlops.dev/v1/gadgets/{name} replaceMlopsDevV1Gadget',
    'delete /apis/mlops.dev/v1/gadgets/{name} deleteMlopsDevV1Gadget',
    'patch /apis/mlops.dev/v1/gadgets/{name} patchMlopsDevV1Gadget',
    'get /apis/mlops.dev/v1/widgets listMlopsDevV1WidgetForAllNamespaces',
    'get /apis/mlops.dev/v1/namespaces/{namespace}/widgets listMlopsDevV1NamespacedWidget',
    'post /apis/mlops.dev/v1/namespaces/{namespace}/widgets createMlopsDevV1NamespacedWidget',
    'delete /apis/mlops.dev/v1/namespaces/{namespace}/widgets deleteMlopsDevV1CollectionNamespacedWidget',
    'get /apis/mlops.dev/v1/namespaces/{namespace}/widgets/{name} readMlopsDevV1NamespacedWidget',
    'put /apis/mlops.dev/v1/namespaces/{namespace}/widgets/{name} replaceMlopsDevV1NamespacedWidget',
    'delete /apis/mlops.dev/v1/namespaces/{namespace}/widgets/{name} deleteMlopsDevV1NamespacedWidget',
    'patch /apis/mlops.dev/v1/namespaces/{namespace}/widgets/{name} patchMlopsDevV1NamespacedWidget',
    'get /apis/mlops.dev/v1/namespaces/{namespace}/widgets/{name}/status readMlopsDevV1NamespacedWidgetStatus',
    'put /apis/mlops.dev/v1/namespaces/{namespace}/widgets/{name}/status replaceMlopsDevV1NamespacedWidgetStatus',
    'patch /apis/mlops.dev/v1/namespaces/{namespace}/widgets/{name}/status patchMlopsDevV1NamespacedWidgetStatus',
    'get /apis/mlops.dev/v1/namespaces/{namespace}/widgets/{name}/scale readMlopsDevV1NamespacedWidgetScale',
    'put /apis/mlops.dev/v1/namespaces/{namespace}/widgets/{name}/scale replaceMlopsDevV1NamespacedWidgetScale',
    'patch /apis/mlops.dev/v1/namespaces/{namespace}/widgets/{name}/scale patchMlopsDevV1NamespacedWidgetScale',
  ])
  const secret = (openApiV3(definitions, '', 'v1') as Any).paths['/api/v1/namespaces/{namespace}/secrets/{name}'].get
  assert.deepEqual([secret.operationId, secret.tags], ['readCoreV1NamespacedSecret', ['core_v1']])
})

test('kubectl finds out that fields are validated', () => {
  const { patch } = v3.paths['/apis/mlops.dev/v1/namespaces/{namespace}/widgets/{name}']
  assert.deepEqual(patch['x-kubernetes-group-version-kind'], { group: 'mlops.dev', version: 'v1', kind: 'Widget' })
  assert.equal(patch['x-kubernetes-action'], 'patch')
  assert.deepEqual(patch.parameters.map((p: Any) => p.name), ['dryRun', 'fieldManager', 'fieldValidation', 'force'])
  assert.deepEqual(Object.keys(patch.requestBody.content), ['application/json-patch+json', 'application/merge-patch+json', 'application/apply-patch+yaml'])
  assert.deepEqual(patch.tags, ['mlopsDev_v1'])
})

test('no reference dangles, and no default or v3 keyword is left in v2', () => {
  for (const [document, types] of [[v3, v3.components.schemas], [v2, v2.definitions]]) {
    const refs = new Set(JSON.stringify(document).match(/"\$ref":"[^"]+"/g) ?? [])
    assert.ok(refs.size > 10)
    for (const ref of refs) assert.ok(Object.hasOwn(types, ref.slice('"$ref":"'.length, -1).replace(/^#\/(components\/schemas|definitions)\//, '')), ref)
  }
  assert.doesNotMatch(JSON.stringify(v2), /"(default|nullable|allOf|anyOf|oneOf)":|#\/components/)
  assert.ok(Object.hasOwn(v3.components.schemas, 'dev.mlops.v1.Widget'))
  assert.deepEqual(v3.components.schemas['dev.mlops.v1.WidgetList'].properties.items, {
    type: 'array', description: 'List of widgets. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md',
    items: { $ref: '#/components/schemas/dev.mlops.v1.Widget' },
  })
})

test('the index and the documents, with tags and caching', () => {
  const openApi = createOpenApi(definitions, { clock: { ...systemClock, now: () => Date.UTC(2026, 0, 1) } })
  const get = (url: string, headers: Record<string, string> = {}) => openApi({ path: url.split('?')[0] ?? '', url, headers })
  const index = get('/openapi/v3')
  const { paths } = JSON.parse(String(index?.body)) as Any
  assert.deepEqual(Object.keys(paths), ['api/v1', 'apis/mlops.dev/v1', 'apis/mlops.dev/v1beta1'])
  const url: string = paths['apis/mlops.dev/v1'].serverRelativeURL
  assert.match(url, /^\/openapi\/v3\/apis\/mlops\.dev\/v1\?hash=[0-9A-F]{128}$/)
  const found = get(url)
  const etag = `"${url.split('=')[1]}"`
  assert.deepEqual(found?.headers, { 'content-type': 'application/json', etag, vary: 'Accept', 'cache-control': 'public, immutable', expires: 'Fri, 01 Jan 2027 00:00:00 GMT' })
  assert.deepEqual(JSON.parse(String(found?.body)), JSON.parse(JSON.stringify(v3)))
  assert.equal(get(url, { 'if-none-match': etag })?.code, 304)
  assert.deepEqual(get('/openapi/v3/apis/mlops.dev/v1?hash=OLD'), { code: 301, headers: { location: url, vary: 'Accept' }, body: '' })
  assert.deepEqual(get('/openapi/v3/apis/mlops.dev/v1')?.headers, { 'content-type': 'application/json', etag, vary: 'Accept' })
  assert.equal(get('/openapi/v3', { 'if-none-match': index?.headers.etag ?? '' })?.code, 304)
  assert.equal(get('/openapi/v2')?.code, 200)
  assert.equal(get('/openapi/v2', { 'if-none-match': get('/openapi/v2')?.headers.etag ?? '' })?.code, 304)
})

test('v3 can be had in JSON only, v2 in protobuf too', () => {
  const openApi = createOpenApi(definitions, { clock: systemClock })
  const code = (path: string, accept: string) => openApi({ path, url: path, headers: { accept } })?.code
  const protobuf = 'application/com.github.proto-openapi.spec.v3.v1.0+protobuf'
  assert.equal(code('/openapi/v3/apis/mlops.dev/v1', protobuf), 406)
  assert.equal(code('/openapi/v3/apis/mlops.dev/v1', `${protobuf}, application/json`), 200)
  assert.equal(code('/openapi/v3/apis/mlops.dev/v1', 'application/json;g=x'), 200)
  assert.equal(code('/openapi/v2', '*/*'), 200)
  const form = (accept: string) => openApi({ path: '/openapi/v2', url: '/openapi/v2', headers: { accept } })?.headers['content-type']
  const protobufV2 = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf'
  for (const accept of [protobufV2, protobufV2.replace('v2.', 'v2@'), `application/json;q=0.5, ${protobufV2}`]) assert.equal(form(accept), protobufV2, accept)
  for (const accept of ['*/*', 'application/*', `application/json, ${protobufV2}`]) assert.equal(form(accept), 'application/json', accept)
  assert.equal(code('/openapi/v2', protobuf), 406)
  const [json, encoded] = ['application/json', protobufV2].map((accept) => openApi({ path: '/openapi/v2', url: '/openapi/v2', headers: { accept } }))
  assert.equal(json?.headers.etag, encoded?.headers.etag)
  assert.equal(encoded?.body.slice(0, 7).toString('latin1'), '\n\x032.0\x12\x20', 'swagger, then info')
  for (const path of ['/openapi', '/openapi/v4', '/openapi/v3/apis/mlops.dev', '/openapi/v3/apis/mlops.dev/v9', '/openapi/v3/__proto__']) assert.equal(code(path, '*/*'), undefined, path)
})
