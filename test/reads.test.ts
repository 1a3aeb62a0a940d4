/** Pages of lists, forms of answers and the beginning of watches, beyond what the recorded conversations show. */
import assert from 'node:assert/strict'
import { request } from 'node:https'
import { after, before, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import type { Harness } from './harness.ts'
import { serveParity } from './parity/serve.ts'

const WIDGETS = '/apis/parity.example/v1/namespaces/default/widgets'
const TABLE = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' }

type Fields = Record<string, unknown>
const widget = (name: string, metadata: Fields = {}, spec: Fields = {}) => ({ apiVersion: 'parity.example/v1', kind: 'Widget', metadata: { name, ...metadata }, spec: { size: 'small', ...spec } })

let harness: Harness
before(async () => {
  harness = await serveParity()
  for (const name of ['a', 'b', 'c', 'd', 'e']) await harness.send('POST', WIDGETS, { body: widget(name, name < 'd' ? { labels: { early: 'yes' } } : {}) })
})
after(() => harness[Symbol.asyncDispose]())

const get = async (query: string, headers: Record<string, string> = {}) => (await harness.send('GET', `${WIDGETS}${query}`, { headers })).body
const names = (list: { items: { metadata: { name: string } }[] }): string => list.items.map(({ metadata }) => metadata.name).join('')
const decode = (token: string): unknown => JSON.parse(Buffer.from(token, 'base64url').toString())

test('the pages of a list are one state, whatever happens between them', async () => {
  const first = await get('?limit=2')
  const { resourceVersion, continue: token, remainingItemCount } = first.metadata
  assert.equal(names(first), 'ab')
  assert.equal(remainingItemCount, 3)
  assert.deepEqual(decode(token), { v: 'meta.k8s.io/v1', rv: Number(resourceVersion), start: 'b\0' })

  await harness.send('DELETE', `${WIDGETS}/c`)
  await harness.send('POST', WIDGETS, { body: widget('f') })
  const second = await get(`?limit=2&continue=${token}`)
  assert.equal(names(second), 'cd')
  assert.equal(second.metadata.resourceVersion, resourceVersion)
  const last = await get(`?limit=2&continue=${second.metadata.continue}`)
  assert.equal(names(last), 'e')
  assert.deepEqual(last.metadata, { continue: '', resourceVersion })
  assert.equal(names(await get(`?resourceVersion=${resourceVersion}&resourceVersionMatch=Exact`)), 'abcde')
  assert.equal(names(await get(`?resourceVersion=${resourceVersion}&limit=3`)), 'abc')
  assert.equal(names(await get(`?resourceVersion=${resourceVersion}&limit=3&resourceVersionMatch=NotOlderThan`)), 'abd')
})

test('what a page tells of the rest', async () => {
  assert.deepEqual(Object.keys((await get('?limit=1&labelSelector=early')).metadata), ['continue', 'resourceVersion'])
  const any = await get('?limit=1&resourceVersion=0')
  assert.equal(any.metadata.continue, '')
  assert.ok(any.items.length > 1)
  // A token is read before the one object that a selector names, as a live kube-apiserver does.
  const refused = await get('?limit=1&continue=nonsense&fieldSelector=metadata.name=b')
  assert.match(refused.message, /^invalid continue token: continue key is not valid: /)
  assert.equal(names(await get('?limit=1&fieldSelector=metadata.name=b')), 'b')
  const table = await get('?limit=1', TABLE)
  assert.deepEqual(Object.keys(table.metadata), ['resourceVersion', 'continue', 'remainingItemCount'])
  const { body } = await harness.send('GET', '/apis/parity.example/v1/widgets?limit=1')
  assert.equal((decode(body.metadata.continue) as { start: string }).start, 'default/a\0')
  assert.equal(names(await get('?fieldSelector=metadata.namespace=other')), '')
})

test('empty lists', async () => {
  assert.deepEqual((await get('?labelSelector=none')).items, [])
  assert.deepEqual((await get('?labelSelector=none', TABLE)).rows, [])
  assert.equal((await get('?labelSelector=none', { accept: 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io' })).items, null)
})

test('deletecollection deletes one page and answers with it as it was', async () => {
  for (const name of ['x1', 'x2', 'x3']) await harness.send('POST', WIDGETS, { body: widget(name, { labels: { doomed: 'yes' }, finalizers: name === 'x2' ? ['example.com/f'] : [] }) })
  const remove = async (query: string) => (await harness.send('DELETE', `${WIDGETS}?labelSelector=doomed${query}`)).body
  assert.equal(names(await remove('&dryRun=All')), 'x1x2x3')
  const page = await remove('&limit=1')
  assert.equal(names(page), 'x1')
  assert.notEqual(page.metadata.continue, '')
  const rest = await remove('')
  assert.equal(names(rest), 'x2x3')
  assert.equal(rest.items[0].metadata.deletionTimestamp, undefined)
  assert.equal(names(await get('?labelSelector=doomed')), 'x2')
})

test('answers are indented for people, compressed when they are long, and without body for HEAD', async () => {
  const send = (path: string, headers: Record<string, string>) => harness.send('GET', `${WIDGETS}${path}`, { headers })
  for (const [path, headers, pretty] of [['/a?pretty=t', {}, true], ['?pretty=1', {}, true], ['/a', { 'user-agent': 'curl/8.5' }, true], ['/a?pretty=0', { 'user-agent': 'curl/8.5' }, false]] as const) {
    const { text } = await send(path, headers)
    assert.equal(text.startsWith('{\n  "apiVersion"'), pretty, path)
    assert.equal(text.endsWith('\n'), !pretty, path)
  }
  await harness.send('POST', WIDGETS, { body: widget('long', {}, { free: { x: 'y'.repeat(140_000) } }) })
  for (const path of ['/long', '', '?pretty=1']) {
    assert.equal((await send(path, { 'accept-encoding': 'br, gzip;q=1' })).headers['content-encoding'], undefined)
    const { headers, bytes } = await fetchBytes(`${WIDGETS}${path}`, { 'accept-encoding': 'br, gzip' })
    assert.equal(headers['content-encoding'], 'gzip')
    assert.equal(headers.vary, 'Accept-Encoding')
    assert.equal(gunzipSync(bytes).toString(), (await send(path, {})).text)
  }
  assert.equal((await send('/a', { 'accept-encoding': 'gzip' })).headers['content-encoding'], undefined)
  const head = await harness.send('HEAD', `${WIDGETS}/a`)
  assert.deepEqual([head.status, head.text, head.headers['content-length']], [200, '', String((await send('/a', {})).text.length)])
  assert.equal((await harness.send('HEAD', `${WIDGETS}/none`)).status, 404)
})

function fetchBytes(path: string, headers: Record<string, string>): Promise<{ headers: Record<string, unknown>; bytes: Buffer }> {
  const { ca, admin } = harness.pki
  return new Promise((resolve, reject) => {
    request(`${harness.server.url}${path}`, { ca, cert: admin.cert, key: admin.key, agent: false, headers }, (res) => {
      const chunks: Buffer[] = []
      res.on('data', (chunk: Buffer) => chunks.push(chunk))
      res.on('end', () => resolve({ headers: res.headers, bytes: Buffer.concat(chunks) }))
    }).on('error', reject).end()
  })
}

test('how watches begin', async () => {
  const watch = async (query: string, headers: Record<string, string> = {}) => {
    const { text } = await harness.send('GET', `${WIDGETS}?watch=1&timeoutSeconds=1&fieldSelector=metadata.name=b${query}`, { headers })
    return text.split('\n').filter(Boolean).map((line) => JSON.parse(line))
  }
  const [plain, marked, silent, future, partial, table, list, old] = await Promise.all([
    watch(''), watch('&allowWatchBookmarks=1'), watch('&sendInitialEvents=0&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=1'), watch('&resourceVersion=999999'),
    watch('&allowWatchBookmarks=1', { accept: 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io' }), watch('&allowWatchBookmarks=1&includeObject=None', TABLE),
    watch('', { accept: 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io' }), watch('&resourceVersion=1'),
  ])
  const types = (events: { type: string }[]) => events.map(({ type }) => type).join()
  const END = { 'k8s.io/initial-events-end': 'true' }
  assert.equal(types(plain), 'ADDED')
  assert.equal(types(marked), 'ADDED,BOOKMARK')
  assert.deepEqual(Object.keys(marked[1].object), ['kind', 'apiVersion', 'metadata'])
  assert.deepEqual(marked[1].object.metadata.annotations, END)
  assert.equal(types(silent), '')
  assert.equal(types(future), '')
  assert.deepEqual(partial[1].object.metadata.annotations, END)
  assert.equal(partial[0].object.kind, 'PartialObjectMetadata')
  assert.ok(table[0].object.columnDefinitions.length > 1)
  assert.equal(table[0].object.rows[0].object, null)
  assert.equal(table[1].object.columnDefinitions, null)
  assert.deepEqual(table[1].object.rows[0].object.metadata.annotations, END)
  // An object cannot be made a list: a live kube-apiserver ends the stream without a word.
  assert.deepEqual(list, [])
  assert.equal(types(old), 'ERROR')
  assert.equal(old[0].object.code, 410)
  assert.match(old[0].object.message, /^too old resource version: 1 \(\d+\)$/)
})

test('a watch tells progress two seconds before its end', async () => {
  const { text } = await harness.send('GET', `${WIDGETS}?watch=1&timeoutSeconds=3&resourceVersion=${(await get('')).metadata.resourceVersion}&allowWatchBookmarks=1`)
  const events = text.split('\n').filter(Boolean).map((line) => JSON.parse(line))
  assert.deepEqual(events.map(({ type, object }) => [type, Object.keys(object.metadata)]), [['BOOKMARK', ['resourceVersion']]])
})

test('texts of warnings arrive as UTF-8', async () => {
  const { status, headers } = await harness.send('POST', WIDGETS, { body: { ...widget('warned'), 'ключ 日本': 1 } })
  assert.equal(status, 201)
  assert.equal(Buffer.from(String(headers.warning), 'latin1').toString(), '299 - "unknown field \\"ключ 日本\\""')
})

test('an object without namespace may be sent with one', async () => {
  const { status, body } = await harness.send('POST', '/apis/parity.example/v1/gadgets', { body: { apiVersion: 'parity.example/v1', kind: 'Gadget', metadata: { name: 'g', namespace: 'default' } } })
  assert.equal(status, 201)
  assert.equal(body.metadata.namespace, undefined)
  const named = await harness.send('PATCH', '/api/v1/namespaces/default', { body: { metadata: { labels: { a: 'b' } } }, type: 'application/merge-patch+json' })
  assert.equal(named.body.metadata.namespace, undefined)
})

test('a resourceVersion that no number holds is named as it was sent', async () => {
  // Each waits three seconds for it to come.
  await Promise.all(['?resourceVersion=99999999999999999', '?resourceVersion=99999999999999999&resourceVersionMatch=Exact', '/a?resourceVersion=99999999999999999'].map(async (query) => {
    assert.match((await get(query)).message, /^Timeout: Too large resource version: 99999999999999999, current: \d+$/, query)
  }))
})

test('parameters that Go drops are dropped, and a watch of no time ends with an error', async () => {
  assert.ok((await get('?labelSelector=none;x')).items.length > 0)
  assert.equal(names(await get('?labelSelector=%zz&limit=1')), 'a')
  const { status, text } = await harness.send('GET', `${WIDGETS}?watch=1&timeoutSeconds=-1`)
  assert.equal(status, 200)
  const object = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message: 'context deadline exceeded', reason: 'InternalError', code: 500 }
  assert.equal(text, `${JSON.stringify({ type: 'ERROR', object })}\n`)
  assert.equal(names(await get('?timeoutSeconds=-1&limit=1')), 'a')
})

test('the version is indented for people, whoever asks', async () => {
  const { text, headers } = await harness.send('GET', '/version')
  assert.equal(headers['content-type'], 'application/json')
  assert.match(text, /^\{\n {2}"major": "1",\n {2}"minor": "36",\n[^]*\n\}$/)
})
