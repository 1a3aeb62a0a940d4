/** Metadata, Statuses and watches in protobuf, as the metadata client of client-go and the garbage collector ask for them. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { JsonObject } from '../../src/api/object.ts'
import { encodeKubeProtobuf } from '../../src/api/protobuf-encode.ts'
import { DELETE_OPTIONS, PARTIAL_OBJECT_METADATA, PARTIAL_OBJECT_METADATA_LIST, STATUS } from '../../src/api/protobuf-meta.ts'
import { openKubeProtobuf, type Message } from '../../src/api/protobuf.ts'
import { startServer, type Harness } from '../harness.ts'
import { sendBytes, type SendBytes } from './send-bytes.ts'

const JOBS = '/apis/mlops.dev/v1/namespaces/default/notebookvalidationjobs'
const PROTOBUF = 'application/vnd.kubernetes.protobuf'
const asking = (form: string) => `${PROTOBUF};as=${form};g=meta.k8s.io;v=v1,application/json;as=${form};g=meta.k8s.io;v=v1,application/json`
const METADATA = asking('PartialObjectMetadata')
const LIST = asking('PartialObjectMetadataList')
const MESSAGES: Readonly<Record<string, Message>> = { PartialObjectMetadata: PARTIAL_OBJECT_METADATA, PartialObjectMetadataList: PARTIAL_OBJECT_METADATA_LIST, Status: STATUS }

// oxlint-disable-next-line typescript/no-explicit-any -- tests look into bodies of any shape
function decode(bytes: Uint8Array): any {
  const { apiVersion, kind, decode } = openKubeProtobuf(bytes)
  return { ...decode(MESSAGES[kind] as Message), apiVersion, kind }
}

function decodeFrames(bytes: Buffer): { type: string; object: ReturnType<typeof decode> }[] {
  const frames = []
  for (let at = 0; at < bytes.length; at += 4 + bytes.readUInt32BE(at)) {
    const event = bytes.subarray(at + 4, at + 4 + bytes.readUInt32BE(at))
    const length = event[1] as number
    frames.push({ type: event.subarray(2, 2 + length).toString(), object: decode(event.subarray(event.indexOf('k8s\0'))) })
  }
  return frames
}

describe('answers in protobuf', { concurrency: 1 }, () => {
  let harness: Harness
  before(async () => {
    harness = await startServer()
  })
  after(() => harness[Symbol.asyncDispose]())

  const create = async (name: string, metadata: JsonObject = {}): Promise<JsonObject> => {
    const spec = { notebook: { git: { url: 'https://git.example/nb.git' }, path: 'a.ipynb' } }
    const { body } = await harness.send('POST', JOBS, { body: { apiVersion: 'mlops.dev/v1', kind: 'NotebookValidationJob', metadata: { name, ...metadata }, spec } })
    return body.metadata
  }
  const send = async (method: string, path: string, options: SendBytes) => {
    const { status, type, bytes } = await sendBytes(harness, method, `${JOBS}${path}`, options)
    return { status, type, bytes, body: type === PROTOBUF ? decode(bytes) : undefined }
  }
  const deleteOptions = (options: JsonObject) => ({ type: PROTOBUF, body: encodeKubeProtobuf({ apiVersion: 'meta.k8s.io/v1', kind: 'DeleteOptions', ...options }, DELETE_OPTIONS) })

  test('the metadata of an object and of a list is that of the JSON form', async () => {
    const metadata = await create('one', { labels: { a: 'b' }, annotations: { text: 'ü' } })
    const one = await send('GET', '/one', { accept: METADATA })
    assert.deepEqual([one.status, one.type, one.body.kind, one.body.apiVersion], [200, PROTOBUF, 'PartialObjectMetadata', 'meta.k8s.io/v1'])
    for (const key of ['name', 'namespace', 'uid', 'resourceVersion', 'generation', 'creationTimestamp', 'labels', 'annotations']) assert.deepEqual(one.body.metadata[key], metadata[key], key)
    assert.deepEqual(one.body.metadata.managedFields[0].fieldsV1, (metadata.managedFields as JsonObject[])[0]?.fieldsV1)
    const list = await send('GET', '?labelSelector=a%3Db', { accept: LIST })
    assert.deepEqual([list.type, list.body.kind, list.body.items.length, list.body.items[0].metadata], [PROTOBUF, 'PartialObjectMetadataList', 1, one.body.metadata])
  })

  test('objects themselves are not in protobuf: JSON when that will do, else 406 in protobuf', async () => {
    assert.equal((await send('GET', '', { accept: `${PROTOBUF},application/json` })).type, 'application/json')
    for (const path of ['', '/one', '?watch=1']) {
      const { status, body } = await send('GET', path, { accept: PROTOBUF })
      assert.deepEqual([status, body.kind, body.reason], [406, 'Status', 'NotAcceptable'])
    }
    const missing = await send('GET', '/missing', { accept: `${PROTOBUF},application/json` })
    assert.deepEqual([missing.status, missing.body.message, missing.body.details.name, missing.body.code], [404, 'notebookvalidationjobs.mlops.dev "missing" not found', 'missing', 404])
    assert.equal((await send('GET', '/missing', { accept: METADATA })).type, 'application/json', 'an error has no other form')
  })

  test('a watch is a stream of frames', async () => {
    const before = await create('watched')
    await harness.send('PATCH', `${JOBS}/watched`, { type: 'application/merge-patch+json', body: { metadata: { labels: { x: 'y' } } } })
    await harness.send('DELETE', `${JOBS}/watched`)
    const { status, type, bytes } = await send('GET', `?watch=1&timeoutSeconds=1&resourceVersion=${Number(before.resourceVersion) - 1}`, { accept: METADATA })
    assert.deepEqual([status, type], [200, `${PROTOBUF};stream=watch`])
    const frames = decodeFrames(bytes)
    assert.deepEqual(frames.map((frame) => [frame.type, frame.object.kind, frame.object.metadata.uid]), ['ADDED', 'MODIFIED', 'DELETED'].map((name) => [name, 'PartialObjectMetadata', before.uid]))
    assert.deepEqual(frames[1]?.object.metadata.labels, { x: 'y' })
  })

  test('the end of the initial events is a bookmark', async () => {
    const query = '?watch=1&timeoutSeconds=1&allowWatchBookmarks=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan'
    const last = decodeFrames((await send('GET', query, { accept: METADATA })).bytes).at(-1)
    assert.deepEqual([last?.type, last?.object.kind, last?.object.metadata.annotations], ['BOOKMARK', 'PartialObjectMetadata', { 'k8s.io/initial-events-end': 'true' }])
    assert.equal((await send('GET', '?watch=1&timeoutSeconds=1', { accept: LIST })).bytes.length, 0, 'an object cannot be written as a list')
  })

  test('a deletion takes its options in protobuf', async () => {
    const { uid } = await create('dependent', { finalizers: ['example.com/hold'] })
    const stale = await send('DELETE', '/dependent', { accept: METADATA, ...deleteOptions({ preconditions: { uid: 'other' } }) })
    assert.deepEqual([stale.status, stale.type], [409, 'application/json'])
    const held = await send('DELETE', '/dependent', { accept: METADATA, ...deleteOptions({ preconditions: { uid: uid as string }, propagationPolicy: 'Foreground' }) })
    assert.deepEqual([held.status, held.body.kind, held.body.metadata.finalizers], [200, 'PartialObjectMetadata', ['example.com/hold', 'foregroundDeletion']])
    await harness.send('PATCH', `${JOBS}/dependent`, { type: 'application/merge-patch+json', body: { metadata: { finalizers: null } } })
    await create('gone')
    const gone = await send('DELETE', '/gone', { accept: METADATA, ...deleteOptions({ propagationPolicy: 'Background' }) })
    assert.deepEqual([gone.status, gone.body.kind, gone.body.status, gone.body.details.name], [200, 'Status', 'Success', 'gone'])
  })

  test('a body that is no DeleteOptions', async () => {
    const texts = [
      [Buffer.from('{}'), 'provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]'],
      [encodeKubeProtobuf({ apiVersion: 'v1', kind: 'Foo' }, {}), 'no kind "Foo" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"'],
      [deleteOptions({ propagationPolicy: 'Orphan' }).body.subarray(0, -9), 'unexpected EOF'],
    ] as const
    for (const [body, message] of texts) {
      const { status, bytes } = await send('DELETE', '/one', { type: PROTOBUF, body })
      assert.deepEqual([status, JSON.parse(bytes.toString()).message], [400, message])
    }
  })
})
