import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ResourceDefinition } from '../api/resource.ts'
import { StatusError } from '../api/status.ts'
import { storageVersionHash } from './discovery.ts'
import { createDiscovery } from './discovery-answers.ts'

const schema = { type: 'object' } as const
const VERBS = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch']
const widgets: ResourceDefinition = {
  group: 'parity.example', scope: 'Namespaced',
  names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList', shortNames: ['wd'], categories: ['all', 'parity'] },
  versions: [
    { name: 'v1beta1', served: true, storage: false, schema, subresources: { status: {} } },
    { name: 'v1', served: true, storage: true, schema, subresources: { status: {}, scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' } } },
    { name: 'v1alpha1', served: false, storage: false, schema },
  ],
}
const gadgets: ResourceDefinition = {
  group: 'parity.example', scope: 'Cluster',
  names: { plural: 'gadgets', singular: 'gadget', kind: 'Gadget', listKind: 'GadgetList' },
  versions: [{ name: 'v1', served: true, storage: true, schema }],
}
const core = (kind: string, plural: string): ResourceDefinition => ({
  group: '', scope: 'Namespaced', names: { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
  versions: [{ name: 'v1', served: true, storage: true, schema }],
})
const definitions = [widgets, gadgets, core('Secret', 'secrets')]
const discovery = createDiscovery(definitions)
const get = (path: string, headers: Record<string, string> = {}) => discovery({ path, url: path, headers })
const json = (path: string, headers?: Record<string, string>) => JSON.parse(String(get(path, headers)?.body))

test('hashes of storage versions are those that every cluster shows', () => {
  assert.equal(storageVersionHash(core('Secret', 'secrets')), 'S6u1pOWzb84=')
  assert.equal(storageVersionHash(core('Namespace', 'namespaces')), 'Q3oi5N2YM8M=')
  assert.equal(storageVersionHash(core('Event', 'events')), 'r2yiGXH7wu8=')
  const nvj = { ...widgets, group: 'mlops.dev', names: { ...widgets.names, kind: 'NotebookValidationJob' } }
  assert.equal(storageVersionHash(nvj), '/t9Jy9ZAbeo=')
})

test('groups and versions in kube-aware order', () => {
  const body = {
    name: 'parity.example',
    versions: [{ groupVersion: 'parity.example/v1', version: 'v1' }, { groupVersion: 'parity.example/v1beta1', version: 'v1beta1' }],
    preferredVersion: { groupVersion: 'parity.example/v1', version: 'v1' },
  }
  assert.equal(get('/apis/parity.example')?.body, `${JSON.stringify({ kind: 'APIGroup', apiVersion: 'v1', ...body })}\n`)
  assert.equal(get('/apis')?.body, `${JSON.stringify({ kind: 'APIGroupList', apiVersion: 'v1', groups: [body] })}\n`)
  assert.deepEqual(json('/api', { ':authority': '127.0.0.1:7443' }), {
    kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: '127.0.0.1:7443' }],
  })
})

test('the resources of a version as a real server lists them', () => {
  const expected = {
    kind: 'APIResourceList', apiVersion: 'v1', groupVersion: 'parity.example/v1',
    resources: [
      { name: 'gadgets', singularName: 'gadget', namespaced: false, kind: 'Gadget', verbs: VERBS, storageVersionHash: storageVersionHash(gadgets) },
      { name: 'widgets', singularName: 'widget', namespaced: true, kind: 'Widget', verbs: VERBS, shortNames: ['wd'], categories: ['all', 'parity'], storageVersionHash: storageVersionHash(widgets) },
      { name: 'widgets/status', singularName: '', namespaced: true, kind: 'Widget', verbs: ['get', 'patch', 'update'] },
      { name: 'widgets/scale', singularName: '', namespaced: true, group: 'autoscaling', version: 'v1', kind: 'Scale', verbs: ['get', 'patch', 'update'] },
    ],
  }
  assert.equal(get('/apis/parity.example/v1/')?.body, `${JSON.stringify(expected)}\n`)
  assert.deepEqual(get('/apis/parity.example/v1')?.headers, { 'content-type': 'application/json', 'cache-control': 'no-cache, private' })
  assert.deepEqual(json('/apis/parity.example/v1beta1').resources.map((r: { name: string }) => r.name), ['widgets', 'widgets/status'])
  assert.deepEqual(json('/api/v1').resources.map((r: { name: string }) => r.name), ['secrets'])
  assert.equal(json('/api/v1').groupVersion, 'v1')
})

test('what is not served has no document', () => {
  for (const path of ['/apis/parity.example/v1alpha1', '/apis/parity.example/v2', '/apis/other', '/api/v2', '/apis//v1', '/', '/apix', '/apis/parity.example/v1/widgets', '/apis/constructor']) {
    assert.equal(get(path), undefined, path)
  }
})

const V2 = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
const V2BETA1 = 'application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList'

test('the aggregated form, with entity tag', () => {
  const answer = get('/apis', { accept: `${V2},${V2BETA1},application/json` })
  assert.deepEqual({ ...answer?.headers, etag: '' }, { 'content-type': V2, etag: '', vary: 'Accept', 'cache-control': 'public' })
  const etag = answer?.headers.etag ?? ''
  assert.match(etag, /^"[0-9A-F]{128}"$/)
  assert.deepEqual(JSON.parse(String(answer?.body)), {
    kind: 'APIGroupDiscoveryList', apiVersion: 'apidiscovery.k8s.io/v2', metadata: {},
    items: [{
      metadata: { name: 'parity.example' },
      versions: [
        {
          version: 'v1',
          resources: [
            { resource: 'gadgets', responseKind: { group: 'parity.example', version: 'v1', kind: 'Gadget' }, scope: 'Cluster', singularResource: 'gadget', verbs: VERBS },
            {
              resource: 'widgets', responseKind: { group: 'parity.example', version: 'v1', kind: 'Widget' }, scope: 'Namespaced', singularResource: 'widget', verbs: VERBS,
              shortNames: ['wd'], categories: ['all', 'parity'],
              subresources: [
                { subresource: 'status', responseKind: { group: 'parity.example', version: 'v1', kind: 'Widget' }, verbs: ['get', 'patch', 'update'] },
                { subresource: 'scale', responseKind: { group: 'autoscaling', version: 'v1', kind: 'Scale' }, verbs: ['get', 'patch', 'update'] },
              ],
            },
          ],
          freshness: 'Current',
        },
        {
          version: 'v1beta1',
          resources: [{
            resource: 'widgets', responseKind: { group: 'parity.example', version: 'v1beta1', kind: 'Widget' }, scope: 'Namespaced', singularResource: 'widget', verbs: VERBS,
            shortNames: ['wd'], categories: ['all', 'parity'],
            subresources: [{ subresource: 'status', responseKind: { group: 'parity.example', version: 'v1beta1', kind: 'Widget' }, verbs: ['get', 'patch', 'update'] }],
          }],
          freshness: 'Current',
        },
      ],
    }],
  })
  assert.deepEqual(get('/apis', { accept: V2, 'if-none-match': etag }), { code: 304, headers: { etag, vary: 'Accept', 'cache-control': 'public' }, body: '' })
  assert.equal(get('/apis', { accept: V2, 'if-none-match': '"other"' })?.code, 200)
  assert.equal(get('/apis', { accept: V2BETA1 })?.headers['content-type'], V2BETA1)
  assert.notEqual(get('/apis', { accept: V2BETA1 })?.headers.etag, etag)
  assert.deepEqual(json('/api', { accept: V2 }).items.map((g: { metadata: object }) => g.metadata), [{}])
})

test('only /api and /apis have the aggregated form', () => {
  assert.equal(json('/apis/parity.example/v1', { accept: `${V2},application/json` }).kind, 'APIResourceList')
  assert.throws(() => get('/apis/parity.example/v1', { accept: V2 }), (error) => error instanceof StatusError && error.code === 406)
  assert.equal(json('/apis', { accept: 'application/json;g=apidiscovery.k8s.io;v=v3;as=APIGroupDiscoveryList,application/json' }).kind, 'APIGroupList')
  assert.equal(get('/apis', { accept: 'application/json' })?.headers.vary, 'Accept')
})

test('documents can be YAML, or indented', () => {
  assert.match(String(get('/apis', { accept: 'application/yaml' })?.body), /^apiVersion: v1\ngroups:\n- name: parity.example\n/)
  assert.match(String(get('/apis', { 'user-agent': 'curl/8' })?.body), /^{\n {2}"kind": "APIGroupList",\n/)
})
