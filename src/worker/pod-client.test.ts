import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, beforeEach, test } from 'node:test'
import { IN_CLUSTER, jobClientOf, openTransport, type Transport } from './api-client.ts'
import { isApiError } from './job-client.ts'
import { openLeaseClient } from './lease-client.ts'
import { openPodClient } from './pod-client.ts'

const work = mkdtempSync(join(tmpdir(), 'nvj-pods-'))
const signal = new AbortController().signal
let seen: string[] = []
let answer: { status?: number; body?: unknown } = {}
let transport: Transport
const server = http.createServer((request, response) => {
  void text(request).then((body) => {
    seen.push([request.method, request.url, ...(body === '' ? [] : [body])].join(' '))
    response.writeHead(answer.status ?? 200)
    response.end(typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body ?? {}))
  })
})

before(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const config = { clusters: [{ name: 'c', cluster: { server: url } }], users: [{ name: 'c', user: {} }], contexts: [{ name: 'c', context: { cluster: 'c', user: 'c' } }], 'current-context': 'c' }
  writeFileSync(join(work, 'kubeconfig'), JSON.stringify(config))
  transport = openTransport(join(work, 'kubeconfig'), 'test')
})

beforeEach(() => {
  seen = []
  answer = {}
})

after(() => {
  transport.close()
  server.close()
  rmSync(work, { recursive: true, force: true })
})

test('pods of the worker alone are listed and watched, everywhere or in one namespace', async () => {
  await openPodClient(transport).list()
  await openPodClient(transport, 'ns').list()
  await openPodClient(transport, 'ns').watch('7', signal)[Symbol.asyncIterator]().next()
  await jobClientOf(transport, 'ns').list()
  assert.deepEqual(seen, [
    'GET /api/v1/pods?labelSelector=mlops.dev%2Fjob-uid&limit=500',
    'GET /api/v1/namespaces/ns/pods?labelSelector=mlops.dev%2Fjob-uid&limit=500',
    'GET /api/v1/namespaces/ns/pods?labelSelector=mlops.dev%2Fjob-uid&watch=true&allowWatchBookmarks=true&resourceVersion=7&timeoutSeconds=300',
    'GET /apis/mlops.dev/v1/namespaces/ns/notebookvalidationjobs?limit=500',
  ])
})

test('what is done to a pod is done to this very pod', async () => {
  const pods = openPodClient(transport)
  await pods.admit('ns', 'p', 'u')
  await pods.delete('ns', 'p', 'u')
  answer = { body: 'line 1\nline 2\n' }
  assert.equal(await pods.readLog('ns', 'p', 'report', 5), 'line 1\nline 2\n')
  assert.deepEqual(seen, [
    'PATCH /api/v1/namespaces/ns/pods/p {"metadata":{"uid":"u"},"spec":{"schedulingGates":null}}',
    'DELETE /api/v1/namespaces/ns/pods/p {"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"u"}}',
    'GET /api/v1/namespaces/ns/pods/p/log?container=report&limitBytes=5',
  ])
  for (const status of [404, 409]) {
    answer = { status, body: { reason: 'Conflict' } }
    await pods.delete('ns', 'p', 'u')
    await assert.rejects(pods.admit('ns', 'p', 'u'), (error) => isApiError(error, status))
  }
  answer = { status: 404, body: { reason: 'NotFound' } }
  assert.equal(await pods.read('ns', 'p'), undefined)
  assert.equal(await pods.readJob('ns', 'j'), undefined)
  await assert.rejects(pods.readLog('ns', 'p', 'report', 5), (error) => isApiError(error, 404))
})

test('a Lease is created once, and written over what was read', async () => {
  const leases = openLeaseClient(transport, 'ns', 'l')
  answer = { body: { metadata: { resourceVersion: '3' }, spec: { holderIdentity: 'a' } } }
  assert.deepEqual(await leases.write({ holderIdentity: 'a' }, undefined, signal), { resourceVersion: '3', spec: { holderIdentity: 'a' } })
  await leases.write({ holderIdentity: 'a' }, '3', signal)
  answer = { status: 404, body: {} }
  assert.equal(await leases.read(signal), undefined)
  const body = '{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"namespace":"ns","name":"l"'
  const collection = '/apis/coordination.k8s.io/v1/namespaces/ns/leases'
  assert.deepEqual(seen, [`POST ${collection} ${body}},"spec":{"holderIdentity":"a"}}`, `PUT ${collection}/l ${body},"resourceVersion":"3"},"spec":{"holderIdentity":"a"}}`, `GET ${collection}/l`])
})

test('outside of a pod there is no service account', { skip: process.env.KUBERNETES_SERVICE_HOST === undefined ? false : 'runs in a pod' }, () => {
  assert.throws(() => openTransport(IN_CLUSTER, 'test'), /not in a pod: KUBERNETES_SERVICE_HOST/)
})
