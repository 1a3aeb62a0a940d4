/**
 * Accidents of other API servers, each as a test that would fail here if we had the weakness. What cannot happen here is printed with its
 * reason.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { connect as connectHttp2 } from 'node:http2'
import { connect } from 'node:tls'
import { gzipSync } from 'node:zlib'
import { DecodeError, decodeYaml } from '../src/api/codec.ts'
import { encodeContinue } from '../src/api/continue-token.ts'
import { matchesPattern } from '../src/api/pattern.ts'
import { serveParity } from './parity/serve.ts'
import { sendBytes } from './e2e/send-bytes.ts'
import type { Harness } from './harness.ts'
import { openHttp2 } from './http-client.ts'

const WIDGETS = '/apis/parity.example/v1/namespaces/default/widgets'
const MERGE = 'application/merge-patch+json'
const JSON_PATCH = 'application/json-patch+json'

let harness: Harness
before(async () => {
  harness = await serveParity()
  assert.equal((await harness.send('POST', WIDGETS, { body: widget('w') })).status, 201)
  assert.equal((await harness.send('POST', '/api/v1/namespaces/default/secrets', { body: { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' } } })).status, 201)
})
after(() => harness[Symbol.asyncDispose]())

const widget = (name: string, spec: object = {}): object => ({ apiVersion: 'parity.example/v1', kind: 'Widget', metadata: { name }, spec: { size: 'small', ...spec } })

/** CPU seconds of some work. */
async function cost(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1e6
}

/** All that the server says to these bytes over HTTP/1.1, until it closes. */
function say(bytes: string, { admin = true } = {}): Promise<string> {
  const { hostname, port } = new URL(harness.server.url)
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port), ca: harness.pki.ca, ...(admin ? harness.pki.admin : {}), ALPNProtocols: ['http/1.1'] })
    let said = ''
    socket.on('data', (chunk: Buffer) => (said += chunk.toString('latin1')))
    socket.on('error', () => {})
    socket.on('close', () => resolve(said))
    socket.on('secureConnect', () => socket.write(bytes))
  })
}

test('CVE-2018-1002105, upgrade proxy: no upgrade, and nothing behind one is a request', async () => {
  for (const upgrade of ['websocket', 'SPDY/3.1', 'h2c', 'TLS/1.2, HTTP/1.1', 'x']) {
    for (const admin of [true, false]) {
      const said = await say(`GET ${WIDGETS} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: ${upgrade}\r\n\r\nDELETE ${WIDGETS}/w HTTP/1.1\r\nHost: x\r\n\r\n`, { admin })
      assert.deepEqual(said.match(/^HTTP\/1\.1 \d+/gm), ['HTTP/1.1 400'], upgrade)
    }
  }
  assert.equal((await harness.send('GET', `${WIDGETS}/w`)).status, 200)
})

test('CVE-2020-8559, CVE-2022-3172, CVE-2018-1002102, CVE-2020-8561, redirects: no path is answered with one', async () => {
  const parts = ['//', '/..', '/.', '/%2e%2e', '/%2f', '/%5c', '\\', '/apis', '/api', '//evil.example', '/;x', '/?x=//e', '/%0d%0aLocation:%20x', '/proxy', '/redirect']
  for (const first of parts) {
    for (const second of parts) {
      const { status, headers } = await harness.send('GET', encodeURI(`/${first}${second}`).replaceAll('%25', '%').replace(/^\/\/\//, '//'))
      assert.ok(status < 300 || status >= 400, `${first}${second}: ${status}`)
      assert.equal(headers.location, undefined)
    }
  }
})

test('kubernetes#119631, front-proxy headers: nobody is who a header says', async () => {
  const names = ['X-Remote-User', 'x-remote-user', 'X-REMOTE-USER', 'X_Remote_User', 'X-Remote-Group', 'X-Remote-Uid', 'X-Remote-Extra-Scopes', 'Impersonate-User', 'Impersonate-Group', 'X-Forwarded-User', 'X-Forwarded-Client-Cert', 'X-Client-Cert', 'Forwarded']
  for (const name of names) {
    for (const value of ['system:admin', 'system:masters', 'mlops-admin']) {
      const anonymous = await harness.send('GET', WIDGETS, { anonymous: true, headers: { 'X-Remote-Group': 'system:masters', [name]: value } })
      // To impersonate a group without a user is a bad request.
      assert.equal(anonymous.status, name === 'Impersonate-Group' ? 400 : 401, name)
    }
  }
  for (const authorization of ['Bearer x', 'Basic c3lzdGVtOmFkbWluOng=', 'Negotiate x']) assert.equal((await harness.send('GET', WIDGETS, { anonymous: true, headers: { authorization } })).status, 401)
  using client = openHttp2(harness.server.url, { ca: harness.pki.ca, cert: '', key: '' })
  assert.equal((await client.send('GET', WIDGETS, { headers: { 'x-remote-user': 'admin', 'x-remote-group': 'system:masters' } })).status, 401)
})

test('CVE-2022-3162, path traversal in lists: no name, namespace or token leads out of its resource', async () => {
  for (const name of ['..', '.', '%2e%2e', '..%2f..%2fsecrets', '..%2fsecrets%2fs', '%00', 's%00', 'a%2fb', '.%2e', `${'x'.repeat(5000)}`]) {
    for (const path of [`/apis/parity.example/v1/namespaces/${name}/widgets`, `${WIDGETS}/${name}`, `/apis/parity.example/v1/namespaces/${name}/widgets/s`]) {
      const { status, text } = await harness.send('GET', path)
      assert.ok(status >= 400 || JSON.parse(text).items?.length === 0 || JSON.parse(text).kind !== 'Secret', `${path}: ${text.slice(0, 200)}`)
      assert.ok(!text.includes('"Secret"'), path)
    }
  }
  for (const start of ['../secrets/default/s', 'default/../../secrets', '/../secrets', './x', 'a//b', '\0', '..']) {
    const token = encodeContinue(start, 30_000)
    const { status, text } = await harness.send('GET', `${WIDGETS}?limit=1&continue=${token}`)
    assert.ok(status === 400 || status === 410 || status === 200 || status === 504, `${start}: ${status}`)
    assert.ok(!text.includes('"Secret"'), start)
  }
  const { status } = await harness.send('POST', WIDGETS, { body: widget('../x') })
  assert.equal(status, 422)
})

test('CVE-2019-11247, objects of a namespace through a cluster-wide path: not found, and the other way round', async () => {
  for (const method of ['GET', 'PUT', 'PATCH', 'DELETE']) {
    const options = method === 'GET' || method === 'DELETE' ? {} : { body: widget('w'), ...(method === 'PATCH' ? { type: MERGE } : {}) }
    assert.equal((await harness.send(method, '/apis/parity.example/v1/widgets/w', options)).status, 404, method)
    assert.equal((await harness.send(method, '/apis/parity.example/v1/namespaces/default/gadgets/g', method === 'GET' || method === 'DELETE' ? {} : { ...options, body: { apiVersion: 'parity.example/v1', kind: 'Gadget', metadata: { name: 'g' } } })).status, 404, method)
  }
  assert.equal((await harness.send('GET', `${WIDGETS}/w`)).status, 200)
})

describe('CVE-2019-11253, CVE-2019-11254, YAML and JSON bombs', () => {
  test('aliases that multiply are refused, by values and by text', () => {
    const level = (i: number): string => `l${i}: &l${i} [${Array.from({ length: 10 }, () => `*l${i - 1}`).join(', ')}]`
    const lists = ['l0: &l0 [x]', ...Array.from({ length: 9 }, (_, i) => level(i + 1))].join('\n')
    const maps = ['a: &a {k: v}', ...Array.from({ length: 20 }, (_, i) => `m${i}: &m${i} {<<: [${i === 0 ? '*a, *a' : `*m${i - 1}, *m${i - 1}`}], x: ${i === 0 ? '*a' : `*m${i - 1}`}, y: ${i === 0 ? '*a' : `*m${i - 1}`}}`)].join('\n')
    const text = `a: &a ${'x'.repeat(100_000)}\nb: [${Array.from({ length: 90 }, () => '*a').join(', ')}]`
    for (const bomb of [lists, maps, text]) assert.throws(() => decodeYaml(bomb), new DecodeError('yaml: document contains excessive aliasing'))
  })

  test('three megabytes in any shape cost little, and the others are served meanwhile', async () => {
    for (const [body, type] of [
      [`{"a":${'['.repeat(1_500_000)}`, 'application/json'],
      [`[${'{},'.repeat(900_000)}1]`, 'application/json'],
      [`{${'"a":1,'.repeat(500_000)}"b":1}`, 'application/json'],
      [`"${'\\u0041'.repeat(500_000)}"`, 'application/json'],
      ['9'.repeat(3_000_000), 'application/json'],
      [`a: ${'{a: '.repeat(2000)}`, 'application/yaml'],
    ] as const) {
      const seconds = await cost(async () => assert.equal((await harness.send('POST', WIDGETS, { body, type })).status, 400, body.slice(0, 20)))
      assert.ok(seconds < 3, `${body.slice(0, 20)}: ${seconds} s`)
    }
  })
})

test('CVE-2019-1002100, JSON patches: at most 10,000 operations and 3 MiB of copies', async () => {
  const patch = (operations: unknown[]) => harness.send('PATCH', `${WIDGETS}/w?dryRun=All`, { body: operations, type: JSON_PATCH })
  const many = await patch(Array.from({ length: 10_001 }, () => ({ op: 'test', path: '/kind', value: 'Widget' })))
  assert.deepEqual([many.status, many.body.message], [413, 'Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001'])
  const doubling = [{ op: 'add', path: '/spec/free', value: { a: 'x'.repeat(1000) } }, ...Array.from({ length: 30 }, (_, i) => ({ op: 'copy', from: '/spec/free', path: `/spec/free/c${i}` }))]
  const shifting = [{ op: 'add', path: '/spec/free', value: { l: Array.from({ length: 50_000 }, () => 0) } }, ...Array.from({ length: 9000 }, () => ({ op: 'add', path: '/spec/free/l/0', value: 1 }))]
  for (const bomb of [doubling, shifting]) {
    const seconds = await cost(async () => assert.equal((await patch(bomb)).status, 422))
    assert.ok(seconds < 3, `${seconds} s`)
  }
  assert.equal((await patch([{ op: 'add', path: '/a'.repeat(500_000), value: 1 }])).status, 422)
})

test('CVE-2020-8552, floods of requests: bodies and headers have limits, and many at once get 429 (test/e2e/limits.test.ts)', async () => {
  const { body } = await harness.send('POST', WIDGETS, { body: JSON.stringify(widget('big', { name: 'x'.repeat(4_000_000) })) })
  assert.equal(body.code, 413)
  assert.equal((await harness.send('GET', WIDGETS, { headers: { 'x-large': 'x'.repeat(62_000) } })).status, 431)
})

test('metrics have no label that a client can choose', async () => {
  for (let i = 0; i < 30; i++) await harness.send('GET', `/apis/group-${i}.example/v1/things-${i}/name-${i}?q=${i}`, { headers: { 'user-agent': `agent-${i}` } })
  const { text } = await harness.send('GET', '/metrics')
  assert.doesNotMatch(text, /group-\d|things-\d|name-\d|agent-\d/)
})

test('gzip bombs: a body is not inflated', async () => {
  const bomb = gzipSync(Buffer.alloc(100 * 1024 * 1024))
  const seconds = await cost(async () => {
    const { status } = await sendBytes(harness, 'POST', WIDGETS, { type: 'application/json', body: bomb })
    assert.equal(status, 400)
    const encoded = await harness.send('POST', WIDGETS, { body: bomb.toString('latin1'), headers: { 'content-encoding': 'gzip' } })
    assert.ok([400, 415].includes(encoded.status))
  })
  assert.ok(seconds < 2, `${seconds} s`)
})

test('CVE-2023-44487, rapid reset: it leaves nothing behind, and the server goes on', async () => {
  const session = connectHttp2(harness.server.url, { ca: harness.pki.ca, ...harness.pki.admin })
  session.on('error', () => {})
  await new Promise((resolve) => session.once('connect', resolve))
  const before = process.memoryUsage().rss
  for (let i = 0; i < 3_000 && !session.destroyed && !session.closed; i++) {
    const stream = session.request({ ':path': WIDGETS })
    stream.on('error', () => {})
    stream.close(8)
    if (i % 100 === 99) await new Promise((resolve) => setImmediate(resolve))
  }
  session.destroy()
  assert.ok(process.memoryUsage().rss - before < 500 * 1024 * 1024)
  assert.equal((await harness.send('GET', '/readyz')).status, 200)
  const { text } = await harness.send('GET', '/metrics')
  assert.match(text, /inflight_requests\{request_kind="readOnly"\} [1-9]\n/)
})

test('expressions that backtrack: patterns of schemas and of CEL take linear time', async () => {
  const hostile = `${'a'.repeat(50_000)}!`
  for (const pattern of ['(a+)+$', '(a|a)*$', '(a|aa)+$', '^(([a-z])+.)+[A-Z]([a-z])+$', '(.*)*x', '(a*)*b']) {
    const seconds = await cost(async () => assert.equal(typeof matchesPattern(pattern, hostile), 'boolean'))
    assert.ok(seconds < 5, `${pattern}: ${seconds} s`)
  }
  const formats = Object.fromEntries(['link', 'mail', 'addr', 'id', 'took', 'when', 'day', 'blob', 'cidr', 'shortName', 'name'].map((field) => [field, hostile]))
  const seconds = await cost(async () => assert.equal((await harness.send('POST', `${WIDGETS}?dryRun=All`, { body: widget('x', formats) })).status, 422))
  assert.ok(seconds < 5, `${seconds} s`)
})

test('prototype pollution: names of Object.prototype are names like others', async () => {
  const keys = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'valueOf']
  const free = `{${keys.map((key) => `"${key}":{"polluted":true,"__proto__":{"polluted":true}}`).join(',')}}`
  const body = JSON.stringify(widget('p', { free: 'FREE' })).replace('"FREE"', free)
  for (const [method, path, text, type] of [
    ['POST', WIDGETS, body, 'application/json'],
    ['PATCH', `${WIDGETS}/p`, `{"spec":{"free":${free}},"__proto__":{"polluted":true}}`, MERGE],
    ['PATCH', `${WIDGETS}/p`, JSON.stringify(keys.map((key) => ({ op: 'add', path: `/spec/free/${key}/polluted`, value: true }))), JSON_PATCH],
    ['PATCH', `${WIDGETS}/p`, '[{"op":"add","path":"/__proto__/polluted","value":true}]', JSON_PATCH],
    ['PATCH', `${WIDGETS}/p`, '[{"op":"add","path":"/constructor/prototype/polluted","value":true}]', JSON_PATCH],
    ['PATCH', `${WIDGETS}/p?fieldManager=m&force=true`, body, 'application/apply-patch+yaml'],
    ['POST', `${WIDGETS}?dryRun=All`, `apiVersion: parity.example/v1\nkind: Widget\nmetadata: {name: q, labels: {__proto__: a}}\nspec: {size: small, free: {<<: {__proto__: {polluted: true}}}}\n`, 'application/yaml'],
  ] as const) {
    const { status, text: answer } = await harness.send(method, path, { body: text, type })
    assert.ok(status < 500, answer.slice(0, 300))
    assert.equal(({} as { polluted?: boolean }).polluted, undefined)
    assert.deepEqual(Object.keys(Object.prototype), [])
  }
  const { text } = await harness.send('GET', `${WIDGETS}/p`)
  for (const key of keys) assert.ok(text.includes(`"${key}":`), key)
})

test('not applicable: what we do not have', (t) => {
  for (const [accident, reason] of [
    ['CVE-2018-1002100, kubectl cp', 'no files go through the server'],
    ['CVE-2020-8554, external addresses of Services', 'there are no Services'],
    ['CVE-2021-25735, admission sees another object than is stored', 'admission is a function of the object that is stored, not a webhook'],
    ['CVE-2020-8557, CVE-2020-8558, kubelet and node', 'there is no kubelet'],
    ['CVE-2020-8561, redirects of webhooks', 'the server calls no webhook'],
  ]) t.diagnostic(`${accident}: ${reason}`)
})
