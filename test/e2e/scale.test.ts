/** The scale subresource, as kubectl and controllers use it; the answers to raw requests are those of a kube-apiserver 1.36.3. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { encodeKubeProtobuf } from '../../src/api/protobuf-encode.ts'
import { SCALE_MESSAGE } from '../../src/api/scale-decode.ts'
import type { JsonObject } from '../../src/api/object.ts'
import type { Harness, Send } from '../harness.ts'
import { kubectl, KUBECTL_VERSIONS } from '../kubectl.ts'
import { serveParity } from '../parity/serve.ts'
import { sendBytes } from './send-bytes.ts'

const WIDGETS = '/apis/parity.example/v1/namespaces/default/widgets'
const MERGE = 'application/merge-patch+json'
const APPLY = 'application/apply-patch+yaml'
const UNDECODABLE = 'no kind is registered for the type v1.Scale in scheme "pkg/runtime/scheme.go:111"'

describe('the scale subresource', { concurrency: 1 }, () => {
  let harness: Harness
  before(async () => {
    harness = await serveParity()
  })
  after(() => harness[Symbol.asyncDispose]())

  const createWidget = async (name: string, spec: object = { replicas: 3, size: 'small' }) => {
    const answer = await harness.send('POST', WIDGETS, { body: { apiVersion: 'parity.example/v1', kind: 'Widget', metadata: { name }, spec } })
    assert.equal(answer.status, 201, answer.text)
  }
  const widget = async (name: string) => (await harness.send('GET', `${WIDGETS}/${name}`)).body
  const scale = (name: string, spec?: JsonObject, more: JsonObject = {}): JsonObject => ({ apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { name }, ...(spec ? { spec } : {}), ...more })
  const send = (method: string, path: string, options: Send = {}) => harness.send(method, `${WIDGETS}/${path}`, options)
  const refused = async (name: string, method: string, options: Send, code: number, message: string | RegExp, query = '') => {
    const { status, body } = await send(method, `${name}/scale${query}`, options)
    assert.equal(status, code, JSON.stringify(body))
    if (typeof message === 'string') assert.equal(body.message, message)
    else assert.match(body.message, message)
  }

  test('a write of the Scale is a change of the spec, by a manager of its own', async () => {
    await createWidget('write')
    const { body } = await send('PUT', 'write/scale?fieldManager=hpa', { body: scale('write', { replicas: 5 }, { status: { replicas: 9 } }) })
    assert.deepEqual([body.spec, body.status, Object.keys(body.metadata)], [{ replicas: 5 }, { replicas: 0 }, ['name', 'namespace', 'uid', 'resourceVersion', 'creationTimestamp']])
    const { metadata, spec, status } = await widget('write')
    assert.deepEqual([metadata.generation, metadata.resourceVersion, spec.replicas, spec.size, status], [2, body.metadata.resourceVersion, 5, 'small', undefined])
    const taken = metadata.managedFields.find(({ manager }: { manager: string }) => manager === 'hpa')
    assert.deepEqual(taken, { apiVersion: 'parity.example/v1', fieldsType: 'FieldsV1', fieldsV1: { 'f:spec': { 'f:replicas': {} } }, manager: 'hpa', operation: 'Update', subresource: 'scale' })
    const again = await send('PUT', 'write/scale?fieldManager=hpa', { body: scale('write', { replicas: 5 }) })
    assert.equal(again.body.metadata.resourceVersion, metadata.resourceVersion, 'nothing changed')
    const dry = await send('PUT', 'write/scale?dryRun=All', { body: scale('write', { replicas: 8 }) })
    assert.deepEqual([dry.body.spec, (await widget('write')).spec.replicas], [{ replicas: 8 }, 5])
  })

  test('a Scale without replicas is one with none of them', async () => {
    await createWidget('zero')
    assert.deepEqual((await send('PUT', 'zero/scale', { body: scale('zero') })).body.spec, {})
    assert.equal((await widget('zero')).spec.replicas, 0)
  })

  test('patches are of the Scale', async () => {
    await createWidget('patch')
    const json = (body: unknown) => send('PATCH', 'patch/scale', { type: 'application/json-patch+json', body })
    assert.deepEqual((await json([{ op: 'test', path: '/metadata/managedFields/0/apiVersion', value: 'autoscaling/v1' }, { op: 'replace', path: '/spec/replicas', value: 8 }])).body.spec, { replicas: 8 })
    const warned = await send('PATCH', 'patch/scale', { type: MERGE, body: { spec: { x: 1 }, metadata: { labels: { a: 'b' } } } })
    assert.deepEqual([warned.status, warned.headers.warning, (await widget('patch')).metadata.labels], [200, '299 - "unknown field \\"spec.x\\""', undefined])
    const wrong = (body: unknown, code: number, message: string | RegExp) => refused('patch', 'PATCH', { type: MERGE, body }, code, message)
    await wrong({ spec: { replicas: 'x' } }, 422, /^ "" is invalid: patch: Invalid value: "\{\\"apiVersion\\":.*\}": json: cannot unmarshal string into Go struct field ScaleSpec\.spec\.replicas of type int32$/)
    await wrong({ spec: { replicas: 101 } }, 422, 'Widget.parity.example "patch" is invalid: spec.replicas: Invalid value: 101: spec.replicas in body should be less than or equal to 100')
    await wrong({ metadata: { name: 'b' } }, 400, 'the name of the object (b) does not match the name on the URL (patch)')
    await wrong({ metadata: { resourceVersion: '1' } }, 409, /^Operation cannot be fulfilled on widgets\.parity\.example "patch": the object has been modified/)
    await refused('patch', 'PATCH', { type: MERGE, body: { spec: { x: 1 } } }, 422, /strict decoding error: unknown field "spec\.x"$/, '?fieldValidation=Strict')
  })

  test('bodies that are refused', async () => {
    await createWidget('bodies')
    const put = (body: unknown, code: number, message: string | RegExp) => refused('bodies', 'PUT', { body }, code, message)
    for (const body of [scale('bodies', { replicas: 'x' }), scale('bodies', {}, { kind: 'Foo' }), scale('bodies', {}, { apiVersion: 'apps/v1beta1' }), '', '[]', '{']) await put(body, 400, UNDECODABLE)
    await put({}, 400, 'the name of the object (bodies based on URL) was undeterminable: name must be provided')
    await put(scale('bodies', { replicas: -2147483648 }), 400, 'the spec replicas field ".spec.replicas" cannot be empty')
    await put({ ...scale('bodies', { replicas: 1 }), metadata: { name: 'bodies', uid: 'other' } }, 409, /Precondition failed: UID in precondition: other, UID in object meta: /)
    await put({ ...scale('bodies', { replicas: 1 }), metadata: { name: 'bodies', resourceVersion: '0' } }, 422, /metadata\.resourceVersion: Invalid value: 0: must be specified for an update$/)
    await refused('missing', 'PUT', { body: scale('missing') }, 404, 'widgets.parity.example "missing" not found')
    await refused('bodies', 'PUT', { body: scale('bodies', { x: 1 }) }, 400, UNDECODABLE, '?fieldValidation=Strict')
  })

  // kube-apiserver answers 500 to such an apply of a custom resource, since its conversion does not know the Scale; of a Deployment it takes it.
  test('an apply owns the replicas, conflicts with who owns them, and changes nothing, as upstream cannot', async () => {
    await createWidget('apply')
    const apply = (manager: string, spec: JsonObject, query = '') => send('PATCH', `apply/scale?fieldManager=${manager}${query}`, { type: APPLY, body: scale('apply', spec) })
    const conflict = await apply('one', { replicas: 4 })
    assert.deepEqual([conflict.status, conflict.body.message], [409, 'Apply failed with 1 conflict: conflict with "unknown" using autoscaling/v1: .spec.replicas'])
    await refused('apply', 'PATCH', { type: APPLY, body: scale('apply', { replicas: 4 }) }, 500,
      'failed to convert new object (/apply; autoscaling/v1, Kind=Scale) to proper version: request to convert CR to an invalid group/version: autoscaling/v1', '?fieldManager=one&force=true')
    assert.deepEqual((await apply('one', { replicas: 3 })).body.spec, { replicas: 3 })
    const owner = (await widget('apply')).metadata.managedFields[0]
    assert.deepEqual([owner.manager, owner.operation, owner.subresource, owner.fieldsV1], ['one', 'Apply', 'scale', { 'f:spec': { 'f:replicas': {} } }])
    const main = await send('PATCH', 'apply?fieldManager=two', { type: APPLY, body: { apiVersion: 'parity.example/v1', kind: 'Widget', metadata: { name: 'apply' }, spec: { replicas: 7, size: 'small' } } })
    assert.equal(main.status, 409)
    assert.match(main.body.message, /conflicts? with "one" with subresource "scale"[^]*\.spec\.replicas/)
    await refused('missing', 'PATCH', { type: APPLY, body: scale('missing') }, 404, 'widgets.parity.example "missing" not found', '?fieldManager=one')
    await refused('apply', 'PATCH', { type: APPLY, body: scale('apply', { replicas: 4, x: 1 }) }, 500,
      'failed to create typed patch object (/apply; autoscaling/v1, Kind=Scale): .spec.x: field not declared in schema', '?fieldManager=one')
    await refused('apply', 'PATCH', { type: APPLY, body: scale('apply', {}, { kind: 'Widget' }) }, 400, 'invalid object type: autoscaling/v1, Kind=Widget', '?fieldManager=one')
  })

  test('a Scale comes in protobuf, as kube-controller-manager sends it, and goes as JSON', async () => {
    await createWidget('proto')
    const accept = 'application/vnd.kubernetes.protobuf,application/json'
    const body = encodeKubeProtobuf(scale('proto', { replicas: 6 }), SCALE_MESSAGE)
    const put = await sendBytes(harness, 'PUT', `${WIDGETS}/proto/scale`, { accept, type: 'application/vnd.kubernetes.protobuf', body })
    assert.deepEqual([put.status, put.type, JSON.parse(put.bytes.toString()).spec], [200, 'application/json', { replicas: 6 }])
    const bad = await sendBytes(harness, 'PUT', `${WIDGETS}/proto/scale`, { type: 'application/vnd.kubernetes.protobuf', body: body.subarray(0, 20) })
    assert.deepEqual([bad.status, JSON.parse(bad.bytes.toString()).message], [400, UNDECODABLE])
  })

  test('the other forms', async () => {
    await createWidget('forms')
    const list = await send('GET', 'forms/scale', { headers: { accept: 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io' } })
    assert.deepEqual([list.status, list.body.message], [406, 'you requested PartialObjectMetadataList, but the requested object is not a list (*v1.Scale)'])
    const yaml = await send('GET', 'forms/scale', { headers: { accept: 'application/yaml' } })
    assert.match(yaml.text, /^apiVersion: autoscaling\/v1\nkind: Scale\nmetadata:\n {2}creationTimestamp: /)
    const table = await send('GET', 'forms/scale?includeObject=Object', { headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' } })
    assert.deepEqual([table.body.rows[0].cells.slice(0, 3), table.body.rows[0].object.kind], [['forms', 3, 0], 'Scale'])
  })

  for (const version of KUBECTL_VERSIONS) {
    test(`kubectl 1.${version} scale`, async () => {
      const k = kubectl(version, harness.kubeconfig)
      const name = `kubectl-${version}`
      await createWidget(name)
      assert.equal((await k(['scale', 'widget', name, '--replicas=5'])).stdout, `widget.parity.example/${name} scaled\n`)
      assert.match((await k(['scale', 'widget', name, '--replicas=6', '--current-replicas=4'])).stderr, /Expected replicas to be 4, was 5/)
      assert.match((await k(['scale', 'widget', name, '--replicas=101'])).stderr, /should be less than or equal to 100/)
      assert.equal((await k(['get', 'widget', name, '--subresource=scale', '-o', 'jsonpath={.kind} {.spec.replicas}'])).stdout, 'Scale 5')
      assert.match((await k(['get', 'widget', name, '--subresource=scale'])).stdout, new RegExp(`^NAME +DESIRED +AVAILABLE +AGE\\n${name} +5 +0 +`))
      assert.equal((await k(['patch', 'widget', name, '--subresource=scale', '--type=merge', '-p', '{"spec":{"replicas":7}}'])).code, 0)
      const { spec, metadata } = await widget(name)
      assert.deepEqual([spec.replicas, metadata.generation], [7, 3])
      assert.match((await k(['scale', 'nvj', 'x', '--replicas=1'])).stderr, /could not find the requested resource|not found/)
    })
  }
})
