import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { JsonObject } from './object.ts'
import { openKubeProtobuf, type Message } from './protobuf.ts'
import { encodeKubeProtobuf, encodeWatchFrame } from './protobuf-encode.ts'
import { PARTIAL_OBJECT_METADATA, PARTIAL_OBJECT_METADATA_LIST, STATUS } from './protobuf-meta.ts'

// Answers of a kube-apiserver 1.36.3.
const OBJECT = [
  'azhzAAonCg5tZXRhLms4cy5pby92MRIVUGFydGlhbE9iamVjdE1ldGFkYXRhEt0ECtoECgFhEgAaB2RlZmF1bHQiACokZjk0MWFiMGQtNDBmNC00NDM4LTgxNWYtMzM1OTNmMzdmZmFjMgI1NjgVQg',
  'gIpOi22AYQAEoICKfottgGEABQAFoGCgFhEgFiYgYKAWESATJiBgoBehIBMWoPCgFYGgF4IgF1KgJ2MTABcgV4LnkvenIGb3JwaGFuigF5Cgd1bmtub3duEgZVcGRhdGUaEXBhcml0eS5leGFtcGxl',
  'L3YxIggIpei22AYQADIIRmllbGRzVjE6Nwo1eyJmOnN0YXR1cyI6eyIuIjp7fSwiZjpyZXBsaWNhcyI6e30sImY6c2VsZWN0b3IiOnt9fX1CBnN0YXR1c4oB0AIKB3Vua25vd24SBlVwZGF0ZRoRcG',
  'FyaXR5LmV4YW1wbGUvdjEiCAin6LbYBhAAMghGaWVsZHNWMTqTAgqQAnsiZjptZXRhZGF0YSI6eyJmOmFubm90YXRpb25zIjp7Ii4iOnt9LCJmOmEiOnt9LCJmOnoiOnt9fSwiZjpmaW5hbGl6ZXJz',
  'Ijp7Ii4iOnt9LCJ2OlwieC55L3pcIiI6e319LCJmOmxhYmVscyI6eyIuIjp7fSwiZjphIjp7fX0sImY6b3duZXJSZWZlcmVuY2VzIjp7Ii4iOnt9LCJrOntcInVpZFwiOlwidVwifSI6e319fSwiZj',
  'pzcGVjIjp7Ii4iOnt9LCJmOmVuYWJsZWQiOnt9LCJmOm1heWJlIjp7fSwiZjpuZXN0ZWQiOnsiLiI6e30sImY6bGV2ZWwiOnt9fSwiZjpzaXplIjp7fX19QgAaACIA',
].join('')
const LIST = [
  'azhzAAorCg5tZXRhLms4cy5pby92MRIZUGFydGlhbE9iamVjdE1ldGFkYXRhTGlzdBKKBApMCgASAjU0GkJleUoySWpvaWJXVjBZUzVyT0hNdWFXOHZkakVpTENKeWRpSTZOVFFzSW5OMFlYSjBJam',
  '9pTDJGY2RUQXdNREFpZlEgARK5Awq2AwoBYRIAGgdkZWZhdWx0IgAqJGY5NDFhYjBkLTQwZjQtNDQzOC04MTVmLTMzNTkzZjM3ZmZhYzICNTQ4E0IICKTottgGEACKAVMKBXRocmVlEgVBcHBseRoR',
  'cGFyaXR5LmV4YW1wbGUvdjEiCAil6LbYBhAAMghGaWVsZHNWMToaChh7ImY6c3BlYyI6eyJmOnNpemUiOnt9fX1CAIoBmgEKB3Vua25vd24SBlVwZGF0ZRoRcGFyaXR5LmV4YW1wbGUvdjEiCAik6L',
  'bYBhAAMghGaWVsZHNWMTpeClx7ImY6c3BlYyI6eyIuIjp7fSwiZjplbmFibGVkIjp7fSwiZjptYXliZSI6e30sImY6bmVzdGVkIjp7Ii4iOnt9LCJmOmxldmVsIjp7fX0sImY6c2l6ZSI6e319fUIA',
  'igF5Cgd1bmtub3duEgZVcGRhdGUaEXBhcml0eS5leGFtcGxlL3YxIggIpei22AYQADIIRmllbGRzVjE6Nwo1eyJmOnN0YXR1cyI6eyIuIjp7fSwiZjpyZXBsaWNhcyI6e30sImY6c2VsZWN0b3IiOn',
  't9fX1CBnN0YXR1cxoAIgA=',
].join('')
const EMPTY_LIST = [
  'azhzAAorCg5tZXRhLms4cy5pby92MRIZUGFydGlhbE9iamVjdE1ldGFkYXRhTGlzdBIKCggKABICNTQaABoAIgA=',
].join('')
const NOT_FOUND = [
  'azhzAAoMCgJ2MRIGU3RhdHVzEnIKBgoAEgAaABIHRmFpbHVyZRoqd2lkZ2V0cy5wYXJpdHkuZXhhbXBsZSAibWlzc2luZyIgbm90IGZvdW5kIghOb3RGb3VuZComCgdtaXNzaW5nEg5wYXJpdHkuZX',
  'hhbXBsZRoHd2lkZ2V0cygAMgAwlAMaACIA',
].join('')
const DELETED = [
  'azhzAAoMCgJ2MRIGU3RhdHVzEmAKBgoAEgAaABIHU3VjY2VzcxoAIgAqRwoEbm9uZRIOcGFyaXR5LmV4YW1wbGUaB3dpZGdldHMoADIkZmFhMGU4YTEtODNjYi00M2E0LWI2ZjctYTVjMzJiMzU2N2',
  'Q1MAAaACIA',
].join('')
const EXPIRED_FRAME = [
  'AAAAYQoFRVJST1ISWApWazhzAAoMCgJ2MRIGU3RhdHVzEj4KBgoAEgAaABIHRmFpbHVyZRofdG9vIG9sZCByZXNvdXJjZSB2ZXJzaW9uOiAxICg0KSIHRXhwaXJlZDCaAxoAIgA=',
].join('')

const decode = (base64: string, message: Message): JsonObject => {
  const { apiVersion, kind, decode } = openKubeProtobuf(Buffer.from(base64, 'base64'))
  return { ...decode(message), apiVersion, kind }
}

test('what a kube-apiserver wrote is written alike', () => {
  for (const [base64, message] of [[OBJECT, PARTIAL_OBJECT_METADATA], [LIST, PARTIAL_OBJECT_METADATA_LIST], [EMPTY_LIST, PARTIAL_OBJECT_METADATA_LIST], [NOT_FOUND, STATUS], [DELETED, STATUS]] as const) {
    assert.equal(encodeKubeProtobuf(decode(base64, message), message).toString('base64'), base64)
  }
  const { metadata } = decode(OBJECT, PARTIAL_OBJECT_METADATA) as { metadata: JsonObject }
  assert.deepEqual([metadata.name, metadata.generation, metadata.deletionGracePeriodSeconds, metadata.annotations], ['a', 21, 0, { a: '2', z: '1' }])
  assert.deepEqual(metadata.ownerReferences, [{ kind: 'X', name: 'x', uid: 'u', apiVersion: 'v1', controller: true }])
})

test('what an object leaves out is written as its zero value, or not at all when Go has a pointer', () => {
  const status = { apiVersion: 'v1', kind: 'Status', metadata: {}, status: 'Failure', message: 'widgets.parity.example "missing" not found', reason: 'NotFound', details: { name: 'missing', group: 'parity.example', kind: 'widgets' }, code: 404 }
  assert.equal(encodeKubeProtobuf(status, STATUS).toString('base64'), NOT_FOUND)
  const list = { apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadataList', metadata: { resourceVersion: '54' }, items: null }
  assert.equal(encodeKubeProtobuf(list, PARTIAL_OBJECT_METADATA_LIST).toString('base64'), EMPTY_LIST)
})

test('the frame of an event', () => {
  const status = { apiVersion: 'v1', kind: 'Status', metadata: {}, status: 'Failure', message: 'too old resource version: 1 (4)', reason: 'Expired', code: 410 }
  assert.equal(encodeWatchFrame('ERROR', encodeKubeProtobuf(status, STATUS)).toString('base64'), EXPIRED_FRAME)
})

const INNER: Message = { 1: { name: 'text', type: 'string', pointer: true } }
const ALL: Message = {
  1: { name: 'string', type: 'string', pointer: true },
  2: { name: 'bytes', type: 'bytes', pointer: true },
  3: { name: 'bool', type: 'bool', pointer: true },
  4: { name: 'int', type: 'int', pointer: true },
  5: { name: 'time', type: 'time', pointer: true },
  6: { name: 'microTime', type: 'microTime', pointer: true },
  7: { name: 'json', type: 'rawJson', pointer: true },
  8: { name: 'strings', type: 'stringMap' },
  9: { name: 'data', type: 'bytesMap' },
  20: { name: 'list', type: INNER, repeated: true },
}

test('what is written is read again', () => {
  const text = fc.string({ unit: 'grapheme' })
  const bytes = fc.uint8Array().map((array) => Buffer.from(array).toString('base64'))
  const seconds = fc.integer({ min: -62_135_596_799, max: 253_402_300_799 }).map((second) => new Date(second * 1000).toISOString().slice(0, 19))
  const filled = <T>(arbitrary: fc.Arbitrary<T>, isEmpty: (value: T) => boolean) => arbitrary.filter((value) => !isEmpty(value))
  const object = fc.record(
    {
      string: text, bytes, bool: fc.boolean(), int: fc.maxSafeInteger(), time: seconds.map((time) => `${time}Z`),
      microTime: fc.tuple(seconds, fc.nat(999_999)).map(([time, micros]) => `${time}.${String(micros).padStart(6, '0')}Z`),
      json: fc.dictionary(text, fc.oneof(text, fc.integer(), fc.constant(null)), { noNullPrototype: true }),
      strings: filled(fc.dictionary(text, text, { noNullPrototype: true }), (map) => Object.keys(map).length === 0),
      data: filled(fc.dictionary(text, bytes, { noNullPrototype: true }), (map) => Object.keys(map).length === 0),
      list: fc.array(fc.record({ text }, { requiredKeys: [], noNullPrototype: true }), { minLength: 1 }),
    },
    { requiredKeys: [], noNullPrototype: true },
  )
  fc.assert(
    fc.property(object, (value) => {
      const { decode, ...envelope } = openKubeProtobuf(encodeKubeProtobuf({ ...value, apiVersion: 'a/v1', kind: 'K' }, ALL))
      assert.deepEqual({ ...decode(ALL), ...envelope }, { ...value, apiVersion: 'a/v1', kind: 'K' })
    }),
    { seed: 1, numRuns: 500 },
  )
})
