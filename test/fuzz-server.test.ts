/** Hostile requests to a server: never a 500, always a Status from the API, and the server goes on. Connections that are no HTTP are answered and closed. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect as connectHttp2 } from 'node:http2'
import { connect } from 'node:tls'
import fc from 'fast-check'
import type { Answer, Harness } from './harness.ts'
import { serveParity } from './parity/serve.ts'
import { isLongRunning } from '../src/server/server.ts'
import { fuzzAsync, mutated, textOf } from './fuzz/fuzz.ts'

const WIDGETS = '/apis/parity.example/v1/namespaces/default/widgets'
const PATCHES = ['application/json-patch+json', 'application/merge-patch+json', 'application/apply-patch+yaml']

let harness: Harness
before(async () => {
  harness = await serveParity()
  assert.equal((await harness.send('POST', WIDGETS, { body: widget({}) })).status, 201)
})
after(() => harness[Symbol.asyncDispose]())

const widget = (spec: object, metadata: object = { name: 'w' }): object => ({ apiVersion: 'parity.example/v1', kind: 'Widget', metadata, spec: { size: 'small', ...spec } })

/** Upstream's own 500s: an apply that is not of the type of its object, the form of a list for an object. */
const ALLOWED = /^failed to create typed patch object|^failed to convert|content is not a list/

function holds(answer: Answer, what: string): void {
  const { status, body, text } = answer
  assert.ok(status < 500 || ALLOWED.test(String(body?.message)), `${what}: ${status} ${text.slice(0, 300)}`)
  if (status >= 400 && status !== 404) assert.equal(body?.kind ?? 'Status', 'Status', `${what}: ${text.slice(0, 200)}`)
}

const queries = textOf(['?', '&', 'watch=0', 'limit=', 'limit=-1', '=', '1', 'x', 'resourceVersion=', 'resourceVersionMatch=Exact', 'continue=', 'fieldSelector=', 'labelSelector=', 'a in (b)', 'spec.size=small', 'dryRun=All', 'fieldValidation=Strict', 'fieldManager=m', 'force=true', 'pretty=1', 'propagationPolicy=Orphan', 'includeObject=Object', '%00', '%zz'], 6)
const accepts = textOf(['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf', ';as=Table', ';as=PartialObjectMetadata', ';v=v1', ';g=meta.k8s.io', ',', '*/*', ';q=0'], 5)
const paths = fc.constantFrom(WIDGETS, `${WIDGETS}/w`, `${WIDGETS}/w/status`, `${WIDGETS}/w/scale`, `${WIDGETS}/none`, '/apis/parity.example/v1/widgets', '/api/v1/namespaces/default', '/api/v1/namespaces/default/secrets', '/apis/parity.example/v1/watch/namespaces/default/widgets', '/apis', '/openapi/v3/apis/parity.example/v1')

const pieces = ['"spec"', '"metadata"', '"size"', '"small"', '{', '}', '[', ']', ':', ',', 'null', '1', '"x"', '"labels"', '"free"', '"__proto__"', '"tags"', '"ports"', '"managedFields"', '"op"', '"path"', '"/spec"', '"add"']
const bodies = fc.oneof(
  mutated([JSON.stringify(widget({ tags: ['a'], ports: [{ port: 1 }], free: { a: 1 } })), '[{"op":"add","path":"/spec/free","value":{"a":1}}]', '{"spec":{"free":{"b":[null]}}}', '{"kind":"DeleteOptions","apiVersion":"v1","dryRun":["All"]}'], pieces),
  textOf(pieces),
  fc.jsonValue({ maxDepth: 3 }).map((spec) => JSON.stringify(widget({ free: { x: spec }, opts: spec, labels: spec, tmpl: spec, matrix: spec } as object))),
  fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.stringify(widget({}, { name: 'w', labels: value, annotations: value, ownerReferences: value, finalizers: value, managedFields: value } as object))),
)

fuzzAsync('any request gets a Status or what it asks for', 500, fc.record({ method: fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'), path: paths, query: queries, accept: accepts, type: fc.constantFrom('application/json', 'application/yaml', ...PATCHES, 'text/plain', ''), body: bodies }), async ({ method, path, query, accept, type, body }) => {
  // oxlint-disable-next-line no-control-regex -- what the client itself refuses
  const clean = (text: string) => text.toWellFormed().replaceAll(/[^\x21-\x7e]/gu, (c) => encodeURIComponent(c))
  const target = `${path}${clean(query).replaceAll('#', '')}`
  // A watch does not end.
  if (isLongRunning(target)) return
  const mutating = method === 'POST' || method === 'PUT' || method === 'PATCH' || method === 'DELETE'
  const dry = mutating ? `${target.includes('?') ? '&' : '?'}dryRun=All` : ''
  const answer = await Promise.race([harness.send(method, target + dry, { headers: { accept: clean(accept) }, ...(mutating ? { body, type } : {}) }), sleep(30_000, undefined, { ref: false })])
  assert.ok(answer, `${method} ${target}: no answer`)
  holds(answer, `${method} ${target}`)
})

/** All that a server says to these bytes, until it closes the connection. */
function say(bytes: string | Uint8Array, { admin = true } = {}): Promise<string> {
  const { hostname, port } = new URL(harness.server.url)
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port), ca: harness.pki.ca, ...(admin ? harness.pki.admin : {}), ALPNProtocols: ['http/1.1'] })
    let said = ''
    socket.setTimeout(30_000, () => {
      socket.destroy()
      reject(new Error(`still open: ${JSON.stringify(bytes).slice(0, 100)}: ${said.slice(0, 100)}`))
    })
    socket.on('data', (chunk: Buffer) => (said += chunk.toString('latin1')))
    socket.on('error', () => {})
    socket.on('close', () => resolve(said))
    socket.on('secureConnect', () => socket.write(bytes))
  })
}

const answers = (said: string): string[] => said.match(/^HTTP\/1\.1 \d+/gm) ?? []
const LIST = `${WIDGETS}?limit=1`
const second = `GET ${LIST} HTTP/1.1\r\nHost: x\r\n\r\n`

describe('bytes on a connection', { concurrency: 4 }, () => {
  for (const [name, text, status] of [
    ['an absolute URL', `GET https://other.example${LIST} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`, 200],
    ['an absolute URL of another scheme', `GET ftp://other.example${LIST} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`, 200],
    ['a header in pieces', `GET ${LIST} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-A: ${'a'.repeat(20_000)}\r\n\r\n`, 200],
    ['CONNECT', `CONNECT x.example:443 HTTP/1.1\r\nHost: x\r\n\r\n${second}`, 405],
    ['an upgrade to WebSocket', `GET ${LIST} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n${second}`, 400],
    ['an upgrade to h2c', `GET ${LIST} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n${second}`, 400],
    ['an upgrade to SPDY with a body', `POST ${WIDGETS} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nContent-Length: ${second.length}\r\n\r\n${second}`, 400],
    ['an expectation that is unknown', `POST ${WIDGETS} HTTP/1.1\r\nHost: x\r\nExpect: coffee\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}`, 417],
    ['a length and chunks', `POST ${WIDGETS} HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${second}`, 400],
    ['two lengths', `POST ${WIDGETS} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}${second}`, 400],
    ['a length that is no number', `POST ${WIDGETS} HTTP/1.1\r\nHost: x\r\nContent-Length: +2\r\n\r\n{}${second}`, 400],
    ['chunks that are not last', `POST ${WIDGETS} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n${second}`, 400],
    ['an unknown transfer encoding', `POST ${WIDGETS} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${second}`, 400],
    ['a blank before the colon', `GET ${LIST} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n${second}`, 400],
    ['a folded header', `GET ${LIST} HTTP/1.1\r\nHost: x\r\nX-Remote-User: a\r\n b\r\n\r\n${second}`, 400],
    ['line feeds alone', `GET ${LIST} HTTP/1.1\nHost: x\n\n`, 400],
    ['a NUL in a header', `GET ${LIST} HTTP/1.1\r\nHost: x\r\nA: b\0c\r\n\r\n`, 400],
    ['chunks of garbage', `POST ${WIDGETS} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n{}\r\n0\r\n\r\n`, 400],
    ['a long chunk extension', `POST ${WIDGETS} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2;${'a'.repeat(100_000)}\r\n{}\r\n0\r\n\r\n`, 400],
    ['a long URL', `GET /${'a'.repeat(70_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 431],
    ['a long header', `GET ${LIST} HTTP/1.1\r\nHost: x\r\nX-A: ${'a'.repeat(500_000)}\r\n\r\n`, 431],
    ['no host', `GET ${LIST} HTTP/1.1\r\n\r\n`, 400],
    ['an unknown method', `FOO ${LIST} HTTP/1.1\r\nHost: x\r\n\r\n`, 400],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
    ['the start of TLS again', Buffer.from([0x16, 3, 1, 2, 0, 1, 0]), 400],
    ['another version', `GET ${LIST} HTTP/3.0\r\nHost: x\r\n\r\n`, 400],
  ] as const) {
    test(`${name}: ${status}, once, and closed`, async () => assert.deepEqual(answers(await say(text)), [`HTTP/1.1 ${status}`]))
  }
})

test('a header list over HTTP/2 that is too long is answered with 431', async () => {
  const session = connectHttp2(harness.server.url, { ca: harness.pki.ca, ...harness.pki.admin, maxSendHeaderBlockLength: 1024 * 1024 })
  const status = (headers: object) => new Promise<number | undefined>((resolve, reject) => {
    session.request({ ':path': LIST, ...headers }).on('response', (answered) => resolve(answered[':status'])).on('error', reject).resume()
  })
  try {
    assert.equal(await status(Object.fromEntries(Array.from({ length: 3 }, (_, i) => [`x-${i}`, 'x'.repeat(40_000)]))), 431)
    assert.equal(await status({}), 200)
  } finally {
    session.destroy()
  }
})

const count = (n: number, member: (i: number) => [string, unknown]): object => Object.fromEntries(Array.from({ length: n }, (_, i) => member(i)))
const long = 'k'.repeat(400_000)

describe('bodies that ask for much to be said', { concurrency: 1 }, () => {
  for (const [name, path, body, status] of [
    ['20,000 bad labels', '', widget({}, { name: 'x', labels: count(20_000, (i) => [`!${i}`, '!']) }), 422],
    ['20,000 bad annotations', '', widget({}, { name: 'x', annotations: count(20_000, (i) => [`!${i}`, '']) }), 422],
    ['200,000 bad finalizers', '', widget({}, { name: 'x', finalizers: Array.from({ length: 200_000 }, (_, i) => `!${i}`) }), 422],
    ['20,000 controllers', '', widget({}, { name: 'x', ownerReferences: Array.from({ length: 20_000 }, (_, i) => ({ apiVersion: 'v1', kind: 'A', name: `n${i}`, uid: 'u', controller: true })) }), 422],
    ['200,000 wrong items', '', widget({ matrix: [Array.from({ length: 200_000 }, () => 'x')] }), 422],
    ['unknown fields below a long key', '&fieldValidation=Strict', widget({ opts: { [long]: count(20_000, (i) => [`u${i}`, 1]) } }), 400],
    ['the same, told as warnings', '', widget({ opts: { [long]: count(20_000, (i) => [`u${i}`, 1]) } }), 201],
    ['a field manager of control characters', `&fieldManager=${'%00'.repeat(15_000)}`, widget({}), 422],
    ['managed fields of such a one', '', widget({}, { name: 'x', managedFields: [{ manager: '\u0001'.repeat(100_000), operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1', fieldsV1: {} }] }), 201],
  ] as const) {
    test(name, async () => {
      const before = process.cpuUsage()
      const answer = await harness.send('POST', `${WIDGETS}?dryRun=All${path}`, { body: path === '' && typeof body === 'object' ? { ...body, metadata: { ...(body as { metadata: object }).metadata, name: 'x' } } : body })
      assert.equal(answer.status, status, answer.text.slice(0, 300))
      assert.ok(answer.text.length < 8e6, `${answer.text.length} characters`)
      assert.ok(process.cpuUsage(before).user < 5e6, `${process.cpuUsage(before).user / 1000} ms`)
    })
  }

  test('conflicts, and repeated items, below a long key', async () => {
    const apply = (manager: string, spec: object) => harness.send('PATCH', `${WIDGETS}/c?fieldManager=${manager}`, { type: 'application/apply-patch+yaml', body: widget(spec, { name: 'c' }) })
    assert.equal((await apply('a', { free: { [long]: count(3000, (i) => [`k${i}`, 1]) } })).status, 201)
    const conflict = await apply('b', { free: { [long]: count(3000, (i) => [`k${i}`, 2]) } })
    assert.equal(conflict.status, 409)
    assert.match(conflict.body.message, /^Apply failed with 3000 conflicts: /)
    assert.ok(conflict.text.length < 8e6)
    const repeated = await apply('a', { tags: Array.from({ length: 100_000 }, (_, i) => `t${i % 7}`) })
    assert.match(repeated.body.message, /^failed to create typed patch object/)
    assert.ok(repeated.text.length < 8e6)
  })
})
