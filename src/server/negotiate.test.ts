import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StatusError } from '../api/status.ts'
import { checkStreamable, isPretty, negotiate, negotiateError, negotiatePlain, parseAccept, PROTOBUF } from './negotiate.ts'

const request = { url: '/', headers: {} }
const JSON_PLAIN = { mediaType: 'application/json', pretty: false }
const YAML_PLAIN = { mediaType: 'application/yaml', pretty: false }
const THREE = 'only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf'

function refused(run: () => unknown, message: string): void {
  assert.throws(run, (error) => error instanceof StatusError && error.code === 406 && error.reason === 'NotAcceptable' && error.message === message)
}

test('plain forms', () => {
  for (const accept of [undefined, '', '*/*', '*', 'application/*', 'application/json', 'application/json; charset=utf-8', 'text/html, */*', 'application/json;stream=watch',
    'application/json;sv=v1', 'application/vnd.kubernetes.protobuf, application/json', 'application/vnd.kubernetes.protobuf,*/*;q=0.1']) {
    assert.deepEqual(negotiate(accept, request), JSON_PLAIN, accept)
  }
  assert.deepEqual(negotiate('application/yaml', request), YAML_PLAIN)
  assert.deepEqual(negotiate('application/json;q=0.5,application/yaml', request), YAML_PLAIN)
  // q=0 excludes nothing, and a concrete type beats a wildcard of higher quality that stands before it.
  assert.deepEqual(negotiate('application/yaml;q=0', request), YAML_PLAIN)
  assert.deepEqual(negotiate('*/*;q=1, application/yaml;q=0.1', request), YAML_PLAIN)
})

test('what nothing can serve is refused with the list of media types', () => {
  for (const accept of ['text/html', 'garbage', 'application/cbor', 'application/vnd.kubernetes.protobuf', 'a/b/c', 'application/json;sv=v2', 'application/yaml;stream=watch',
    'application/json;as=Table', 'application/json;as=Table;v=v2;g=meta.k8s.io', 'application/json;as=Pod;v=v1;g=meta.k8s.io', 'application/json;v=v1']) {
    refused(() => negotiate(accept, request), THREE)
  }
})

test('other forms of an object', () => {
  const kubectl = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json'
  assert.deepEqual(negotiate(kubectl, request), { mediaType: 'application/json', as: 'Table', asVersion: 'v1', pretty: false })
  const old = 'application/json;as=Table;v=v1beta1;g=meta.k8s.io'
  assert.deepEqual(negotiate(old, request), { mediaType: 'application/json', as: 'Table', asVersion: 'v1beta1', pretty: false })
  const informer = 'application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json'
  assert.deepEqual(negotiate(informer, request), { mediaType: PROTOBUF, as: 'PartialObjectMetadataList', asVersion: 'v1', pretty: false })
  const table = `${PROTOBUF};as=Table;v=v1;g=meta.k8s.io,${PROTOBUF},${old}`
  assert.equal(negotiate(table, request).mediaType, 'application/json', 'only metadata is written in protobuf')
  assert.deepEqual(negotiate('application/yaml;as=Table;v=v1;g=meta.k8s.io', request).mediaType, 'application/yaml')
  // Unknown parameters do not count, one without a value or with two signs neither.
  assert.deepEqual(negotiate('application/json;profile=x;foo=bar;as;v=a=b', request), JSON_PLAIN)
})

test('watches', () => {
  const negotiateWatch = (accept: string) => {
    const negotiated = negotiate(accept, request)
    checkStreamable(negotiated)
    return negotiated
  }
  assert.deepEqual(negotiateWatch('application/vnd.kubernetes.protobuf;stream=watch,application/json;stream=watch'), JSON_PLAIN)
  refused(() => negotiateWatch('application/yaml'),
    'only the following media types are accepted: application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch')
  refused(() => negotiateWatch('application/vnd.kubernetes.protobuf'), THREE)
  refused(() => negotiateWatch('application/vnd.kubernetes.protobuf;stream=watch'), THREE)
  assert.equal(negotiateWatch(`${PROTOBUF};stream=watch;as=PartialObjectMetadata;v=v1;g=meta.k8s.io`).mediaType, PROTOBUF)
})

test('errors and documents have one form', () => {
  assert.deepEqual(negotiateError('application/json;as=Table;v=v1;g=meta.k8s.io,application/json', request), JSON_PLAIN)
  assert.deepEqual(negotiateError('application/json;as=Table;v=v1;g=meta.k8s.io', request), { mediaType: 'application/json', pretty: true })
  assert.deepEqual(negotiateError('text/html', request), { mediaType: 'application/json', pretty: true })
  assert.deepEqual(negotiateError('application/yaml', request), YAML_PLAIN)
  assert.deepEqual(negotiateError('application/json;stream=watch', request), JSON_PLAIN)
  for (const accept of [PROTOBUF, `${PROTOBUF},application/json`, `${PROTOBUF};stream=watch`]) {
    assert.deepEqual(negotiateError(accept, request), { mediaType: PROTOBUF, pretty: false })
  }
  assert.deepEqual(negotiateError(`${PROTOBUF};as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json`, request), JSON_PLAIN)
  assert.deepEqual(negotiatePlain(`${PROTOBUF},application/json`, request), JSON_PLAIN)
  refused(() => negotiatePlain('application/json;sv=v1', request), THREE)
  assert.deepEqual(negotiatePlain('application/yaml', request), YAML_PLAIN)
})

test('indentation is for people', () => {
  const by = (url: string, agent?: string) => isPretty({ url, headers: agent === undefined ? {} : { 'user-agent': agent } })
  assert.equal(by('/?pretty=1'), true)
  assert.equal(by('/?pretty=True&x=1'), true)
  assert.equal(by('/?pretty=yes', 'curl/8'), false)
  assert.equal(by('/?pretty=false', 'curl/8'), false)
  assert.equal(by('/?pretty=', 'curl/8'), true)
  assert.equal(by('/', 'Mozilla/5.0 (X11)'), true)
  assert.equal(by('/', 'Wget/1.21'), true)
  assert.equal(by('/', 'kubectl/v1.36'), false)
  assert.equal(by('/pretty'), false)
  assert.equal(negotiate('application/json;pretty=1', request).pretty, true)
  assert.equal(negotiate('application/yaml;pretty=1', { url: '/?pretty=1', headers: {} }).pretty, false)
})

test('a hostile header is parsed in a moment', () => {
  const start = performance.now()
  const header = Array.from({ length: 5000 }, (_, i) => `a${i}/*;q=${i / 5000},*/*`).join(',')
  assert.equal(parseAccept(header).length, 10_000)
  assert.ok(performance.now() - start < 1000)
})
