/** Which of several mistakes a request is told of: the first in upstream's order of checks. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Answer, Harness, Send } from './harness.ts'
import { serveParity } from './parity/serve.ts'

const WIDGETS = '/apis/parity.example/v1/namespaces/default/widgets'
const MERGE = 'application/merge-patch+json'
const NO_FORM = { accept: 'text/html' }

type Fields = Record<string, unknown>
const widget = (name: string, metadata: Fields = {}, spec: Fields = {}) => ({ apiVersion: 'parity.example/v1', kind: 'Widget', metadata: { name, ...metadata }, spec: { size: 'small', ...spec } })

let harness: Harness
before(async () => {
  harness = await serveParity()
  await harness.send('POST', WIDGETS, { body: widget('there') })
})
after(() => harness[Symbol.asyncDispose]())

/** Method, path, request, then the status and the text that the answer's message holds. Each request has the mistakes of the rows below it too. */
type Row = readonly [string, string, Send, number, string]

async function check(rows: readonly Row[]): Promise<void> {
  for (const [method, path, send, code, text] of rows) {
    const { status, body } = await harness.send(method, path, send)
    const message = String(body?.message ?? body)
    assert.ok(status === code && message.includes(text), `${method} ${path} ${JSON.stringify(send).slice(0, 200)}: ${status} ${message}`)
  }
}

test('create', () => check([
  ['POST', `${WIDGETS}?dryRun=x`, { body: '{', type: 'text/plain', headers: NO_FORM }, 406, 'only the following media types are accepted'],
  ['POST', `${WIDGETS}?dryRun=x`, { body: '{', type: 'text/plain' }, 415, 'unknown format'],
  ['POST', `${WIDGETS}?dryRun=x`, { body: ' '.repeat(3_145_729) }, 413, 'limit is 3145728'],
  ['POST', `${WIDGETS}?dryRun=x`, { body: '{' }, 422, 'CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["x"]'],
  ['POST', WIDGETS, { body: { ...widget('a', { namespace: 'other' }), apiVersion: 'v2', more: 1 } }, 400, 'the API version in the data (v2) does not match'],
  ['POST', WIDGETS, { body: widget('a', { namespace: 'other' }, { size: 1 }) }, 400, 'the namespace of the provided object does not match'],
  ['POST', WIDGETS.replace('default', 'none'), { body: widget('a', {}, { size: 1 }) }, 404, 'namespaces "none" not found'],
  ['POST', WIDGETS, { body: widget('there', { resourceVersion: '5' }, { size: 1 }) }, 422, 'spec.size: Invalid value'],
  ['POST', WIDGETS, { body: widget('there', { resourceVersion: '5' }) }, 500, 'resourceVersion should not be set on objects to be created'],
  ['POST', `${WIDGETS}?dryRun=All`, { body: widget('there', { resourceVersion: '5' }) }, 409, 'already exists'],
  ['POST', WIDGETS, { body: widget('there', { generateName: 'x-' }) }, 409, 'was not able to generate a unique name'],
]))

test('update', () => check([
  ['PUT', `${WIDGETS}?dryRun=x`, { body: '{', type: 'text/plain', headers: NO_FORM }, 400, 'name must be provided'],
  ['PUT', `${WIDGETS}/there?dryRun=x`, { body: '{', type: 'text/plain', headers: NO_FORM }, 406, 'only the following media types are accepted'],
  ['PUT', `${WIDGETS}/there?dryRun=x`, { body: '{', type: 'text/plain' }, 422, 'UpdateOptions.meta.k8s.io'],
  ['PUT', `${WIDGETS}/there`, { body: '{', type: 'text/plain' }, 415, 'unknown format'],
  ['PUT', `${WIDGETS}/none`, { body: widget('other', { namespace: 'other' }) }, 400, 'the namespace of the provided object does not match'],
  ['PUT', `${WIDGETS}/none`, { body: widget('other') }, 400, 'the name of the object (other) does not match the name on the URL (none)'],
  ['PUT', `${WIDGETS}/none`, { body: widget('none', { uid: 'x', resourceVersion: 'x' }, { size: 1 }) }, 404, '"none" not found'],
  ['PUT', `${WIDGETS}/there`, { body: widget('there', { uid: 'x', resourceVersion: 'x' }, { size: 1 }) }, 409, 'Precondition failed: UID in precondition: x'],
  ['PUT', `${WIDGETS}/there`, { body: widget('there', { resourceVersion: 'x' }, { size: 1 }) }, 500, 'strconv.ParseUint: parsing "x": invalid syntax'],
  ['PUT', `${WIDGETS}/there`, { body: widget('there', {}, { size: 1 }) }, 422, 'metadata.resourceVersion: Invalid value: 0: must be specified for an update'],
  ['PUT', `${WIDGETS}/there`, { body: widget('there', { resourceVersion: '1' }, { size: 1 }) }, 409, 'the object has been modified'],
]))

test('patch', () => check([
  ['PATCH', `${WIDGETS}?dryRun=x`, { body: '{', type: 'application/strategic-merge-patch+json', headers: NO_FORM }, 415, 'application/json-patch+json, application/merge-patch+json'],
  ['PATCH', `${WIDGETS}?dryRun=x`, { body: '{', type: MERGE, headers: NO_FORM }, 400, 'name must be provided'],
  ['PATCH', `${WIDGETS}/none?dryRun=x`, { body: '{', type: MERGE, headers: NO_FORM }, 406, 'only the following media types are accepted'],
  ['PATCH', `${WIDGETS}/none?dryRun=x&force=true`, { body: '{', type: MERGE }, 422, 'PatchOptions.meta.k8s.io "" is invalid: [force: Forbidden'],
  ['PATCH', `${WIDGETS}/none`, { body: '{', type: MERGE }, 404, '"none" not found'],
  ['PATCH', `${WIDGETS}/there`, { body: '{', type: MERGE }, 400, 'error decoding patch: unexpected end of JSON input'],
  ['PATCH', `${WIDGETS}/there`, { body: { metadata: { namespace: 'x', name: 'x', resourceVersion: '1' }, spec: { size: 1 } }, type: MERGE }, 400, 'the namespace of the provided object'],
  ['PATCH', `${WIDGETS}/there`, { body: { metadata: { name: 'x', resourceVersion: '1' }, spec: { size: 1 } }, type: MERGE }, 400, 'does not match the name on the URL'],
  ['PATCH', `${WIDGETS}/there`, { body: { metadata: { resourceVersion: '1' }, spec: { size: 1 } }, type: MERGE }, 409, 'the object has been modified'],
]))

test('delete', () => check([
  ['DELETE', `${WIDGETS}/a%25b`, { body: '{', type: 'text/plain', headers: NO_FORM }, 400, `Name parameter invalid: "a%b": may not contain '%'`],
  ['DELETE', `${WIDGETS}/none`, { body: '{', type: 'text/plain', headers: NO_FORM }, 406, 'only the following media types are accepted'],
  ['DELETE', `${WIDGETS}/none`, { body: '{', type: 'text/plain' }, 415, 'unknown format'],
  ['DELETE', `${WIDGETS}/none`, { body: '{' }, 400, "couldn't get version/kind; json parse error: unexpected end of JSON input"],
  ['DELETE', `${WIDGETS}/none`, { body: '{"kind":"Pod"}' }, 400, 'no kind "Pod" is registered for version "meta.k8s.io/v1"'],
  ['DELETE', `${WIDGETS}/none`, { body: { dryRun: 'All' } }, 400, 'json: cannot unmarshal string into Go struct field DeleteOptions.dryRun of type []string'],
  ['DELETE', `${WIDGETS}/none`, { body: { dryRun: [1] } }, 400, 'json: cannot unmarshal number into Go struct field DeleteOptions.dryRun of type string'],
  ['DELETE', `${WIDGETS}/none`, { body: { gracePeriodSeconds: 1.5 } }, 400, 'json: cannot unmarshal number 1.5 into Go struct field DeleteOptions.gracePeriodSeconds of type int64'],
  ['DELETE', `${WIDGETS}/none`, { body: { preconditions: { uid: 1 } } }, 400, 'json: cannot unmarshal number into Go struct field Preconditions.preconditions.uid of type types.UID'],
  ['DELETE', `${WIDGETS}/none?dryRun=x`, {}, 422, 'DeleteOptions.meta.k8s.io "" is invalid: dryRun'],
  ['DELETE', `${WIDGETS}/none?dryRun=x`, { body: '{}' }, 404, '"none" not found'],
  ['DELETE', `${WIDGETS}/there?uid=x&resourceVersion=1`, {}, 409, 'on Widget.parity.example "there": the UID in the precondition (x)'],
  ['DELETE', `${WIDGETS}/there?resourceVersion=1`, {}, 409, 'the ResourceVersion in the precondition (1)'],
  ['DELETE', `${WIDGETS}?limit=x&labelSelector=!!&dryRun=x`, {}, 400, 'strconv.ParseInt: parsing "x"'],
  ['DELETE', `${WIDGETS}?resourceVersionMatch=Exact&dryRun=x`, {}, 422, 'ListOptions.meta.k8s.io'],
  ['DELETE', `${WIDGETS}?dryRun=x`, {}, 422, 'DeleteOptions.meta.k8s.io'],
  ['DELETE', WIDGETS.replace('namespaces/default/', ''), {}, 404, '404 page not found'],
]))

test('list and watch', () => check([
  ['GET', `${WIDGETS}?limit=x&labelSelector=!!`, { headers: NO_FORM }, 406, 'only the following media types are accepted'],
  ['GET', `${WIDGETS}?timeoutSeconds=x&limit=y`, {}, 400, 'strconv.ParseInt: parsing "x"'],
  ['GET', `${WIDGETS}?sendInitialEvents=1&fieldSelector=spec.none=1`, {}, 422, 'sendInitialEvents is forbidden for list'],
  ['GET', `${WIDGETS}?watch=1&sendInitialEvents=1&fieldSelector=spec.none=1`, { headers: { accept: 'application/yaml' } }, 422, 'sendInitialEvents requires setting resourceVersionMatch'],
  ['GET', `${WIDGETS}?watch=1&fieldSelector=spec.none=1`, {}, 400, 'field label not supported: spec.none'],
  ['GET', `${WIDGETS}?watch=1&resourceVersion=x`, {}, 500, 'resourceVersion: Invalid value: "x"'],
  ['GET', `${WIDGETS}?watch=1&includeObject=x`, { headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' } }, 400, 'Unable to convert to Table as requested'],
  ['GET', `${WIDGETS}?watch=1`, { headers: { accept: 'application/yaml' } }, 406, 'application/json;stream=watch'],
  ['GET', '/apis/parity.example/v1/watch/namespaces/default/widgets/there?fieldSelector=metadata.name=x', {}, 400, "fieldSelector metadata.name doesn't match requested name"],
]))

test('a form that the result cannot have is refused after the write', async () => {
  const list = { accept: 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io' }
  const refused: Answer = await harness.send('POST', WIDGETS, { body: widget('written'), headers: list })
  // The text and code of a live kube-apiserver, which finds out only when it asks the object for its items.
  assert.deepEqual([refused.status, refused.body.message], [500, 'content is not a list'])
  assert.equal((await harness.send('GET', `${WIDGETS}/written`)).status, 200)
})

test('every answer of a deprecated version warns', async () => {
  const old = WIDGETS.replace('v1', 'v1beta1')
  for (const [method, path, send] of [
    ['GET', `${old}/none`, {}], ['POST', old, { body: '{', type: 'text/plain' }], ['OPTIONS', old, {}], ['GET', `${old}/there/scale`, {}], ['GET', `${old}?watch=1&timeoutSeconds=1`, {}],
  ] as const) {
    assert.equal((await harness.send(method, path, send)).headers.warning, '299 - "parity.example/v1beta1 Widget is deprecated; use v1"', `${method} ${path}`)
  }
})
