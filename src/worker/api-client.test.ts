import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, test } from 'node:test'
import { openApiClient } from './api-client.ts'
import { isApiError, type JobClient } from './job-client.ts'

const work = mkdtempSync(join(tmpdir(), 'nvj-client-'))
type Seen = { line: string; type: string | undefined; body: unknown }
type Answer = { status?: number; body?: unknown; lines?: unknown[] }
let answer: (line: string) => Answer = () => ({})
let seen: Seen[] = []
let client: JobClient
const server = http.createServer((request, response) => {
  const line = `${request.method} ${request.url}`
  void text(request).then((body) => {
    seen.push({ line, type: request.headers['content-type'], body: body === '' ? undefined : JSON.parse(body) })
    const { status = 200, body: out = {}, lines } = answer(line)
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(lines ? lines.map((event) => `${JSON.stringify(event)}\n`).join('') : JSON.stringify(out))
  })
})

before(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/prefix`
  const config = { apiVersion: 'v1', kind: 'Config', clusters: [{ name: 'c', cluster: { server: url } }], users: [{ name: 'c', user: {} }], contexts: [{ name: 'c', context: { cluster: 'c', user: 'c' } }], 'current-context': 'c' }
  writeFileSync(join(work, 'kubeconfig'), JSON.stringify(config))
  client = openApiClient(join(work, 'kubeconfig'))
})

after(() => {
  server.close()
  server.closeAllConnections()
  rmSync(work, { recursive: true, force: true })
})

test('a list is read page by page', async () => {
  seen = []
  answer = (line) => ({ body: line.includes('continue=more') ? { metadata: { resourceVersion: '7' }, items: [{ metadata: { name: 'b' } }] } : { metadata: { resourceVersion: '7', continue: 'more' }, items: [{ metadata: { name: 'a' } }] } })
  const { items, resourceVersion } = await client.list()
  assert.deepEqual([items.map(({ metadata }) => metadata.name), resourceVersion], [['a', 'b'], '7'])
  assert.deepEqual(seen.map(({ line }) => line), ['GET /prefix/apis/mlops.dev/v1/notebookvalidationjobs?limit=500', 'GET /prefix/apis/mlops.dev/v1/notebookvalidationjobs?limit=500&continue=more'])
})

test('a watch gives its events, and its error as an error', async () => {
  answer = () => ({ lines: [{ type: 'ADDED', object: { metadata: { resourceVersion: '8' } } }, { type: 'BOOKMARK', object: { metadata: { resourceVersion: '9' } } }, { type: 'ERROR', object: { code: 410, reason: 'Expired', message: 'too old' } }] })
  const types: string[] = []
  const reading = (async () => {
    for await (const { type } of client.watch('7', new AbortController().signal)) types.push(type)
  })()
  await assert.rejects(reading, (error) => isApiError(error, 410))
  assert.deepEqual(types, ['ADDED', 'BOOKMARK'])
  answer = () => ({ status: 410, body: { kind: 'Status', reason: 'Expired', message: 'too old' } })
  await assert.rejects(client.watch('7', new AbortController().signal)[Symbol.asyncIterator]().next(), (error) => isApiError(error, 410))
})

test('writes carry what they must', async () => {
  seen = []
  answer = () => ({ body: { metadata: { name: 'a' } } })
  await client.patchStatus('ns', 'a', { status: { phase: 'Running' } })
  await client.delete('ns', 'a', { uid: 'u', resourceVersion: '3' })
  await client.createEvent('ns', { kind: 'Event' })
  assert.deepEqual(seen, [
    { line: 'PATCH /prefix/apis/mlops.dev/v1/namespaces/ns/notebookvalidationjobs/a/status', type: 'application/merge-patch+json', body: { status: { phase: 'Running' } } },
    { line: 'DELETE /prefix/apis/mlops.dev/v1/namespaces/ns/notebookvalidationjobs/a', type: 'application/json', body: { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: 'Background', preconditions: { uid: 'u', resourceVersion: '3' } } },
    { line: 'POST /prefix/api/v1/namespaces/ns/events', type: 'application/json', body: { kind: 'Event' } },
  ])
})

test('a Secret that is not there is undefined, other failures are errors with their text', async () => {
  answer = () => ({ body: { data: { username: 'dQ==', odd: 5 } } })
  assert.deepEqual(await client.readSecret('ns', 's'), { username: 'dQ==' })
  answer = () => ({ status: 404, body: { kind: 'Status', reason: 'NotFound', message: 'secrets "s" not found' } })
  assert.equal(await client.readSecret('ns', 's'), undefined)
  answer = () => ({ status: 403, body: { kind: 'Status', reason: 'Forbidden', message: 'not allowed' } })
  await assert.rejects(client.readSecret('ns', 's'), { code: 403, reason: 'Forbidden', message: 'not allowed' })
})
