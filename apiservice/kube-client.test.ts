import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { systemClock } from '../src/base/clock.ts'
import { silentLog } from '../src/base/log.ts'
import { ensurePki } from '../src/commands/pki.ts'
import { openManualClock } from '../test/model/manual-clock.ts'
import { inClusterAccess } from './in-cluster.ts'
import { KubeStatusError, KubeUnreachable, openKubeClient, type ClusterAccess, type KubeClient } from './kube-client.ts'
import { reflect } from './reflect.ts'
import { fakeKubeClient, settle } from './fake-kube-client.fixture.ts'

const directory = mkdtempSync(join(tmpdir(), 'kube-client-'))
after(() => rmSync(directory, { recursive: true }))
const pki = await ensurePki(join(directory, 'pki'), { hosts: ['127.0.0.1'], clock: systemClock })
const other = await ensurePki(join(directory, 'other'), { hosts: ['127.0.0.1'], clock: systemClock })

async function withServer(answer: RequestListener, use: (client: KubeClient, url: string) => Promise<void>, access: Partial<ClusterAccess> = {}, clock = systemClock): Promise<void> {
  const server = createServer({ ...pki.server }, answer).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  const client = openKubeClient({ access: { server: `${url}/clusters/one/`, credentials: async () => ({ ca: pki.ca, token: 'secret' }), ...access }, userAgent: 'test', clock })
  try {
    await use(client, url)
  } finally {
    client.close()
    server.closeAllConnections()
    server.close()
  }
}

suite('the client of kube-apiserver', () => {
  test('sends JSON with its token, below the path of the server', async () => {
    const seen: unknown[] = []
    await withServer((req, res) => {
      let text = ''
      req.on('data', (chunk) => (text += chunk)).on('end', () => {
        seen.push([req.method, req.url, req.headers.authorization, req.headers['user-agent'], text])
        res.end('{"kind":"Answer"}')
      })
    }, async (client) => {
      assert.deepEqual(await client.request({ method: 'POST', path: '/api/v1/x?y=1', body: { a: 1 } }), { kind: 'Answer' })
    })
    assert.deepEqual(seen, [['POST', '/clusters/one/api/v1/x?y=1', 'Bearer secret', 'test', '{"a":1}']])
  })

  test('throws what the server says, or that it says nothing', async () => {
    await withServer((req, res) => {
      if (req.url?.endsWith('/status')) res.writeHead(403).end('{"kind":"Status","reason":"Forbidden","message":"no rights"}')
      else if (req.url?.endsWith('/text')) res.writeHead(502).end('bad gateway')
      else if (req.url?.endsWith('/list')) res.end('[1]')
      else if (req.url?.endsWith('/cut')) req.socket.destroy()
    }, async (client, url) => {
      const get = (path: string) => client.request({ method: 'GET', path, timeoutMs: 200 })
      await assert.rejects(get('/status'), (error: KubeStatusError) => error instanceof KubeStatusError && error.code === 403 && error.reason === 'Forbidden' && error.message === 'no rights')
      await assert.rejects(get('/text'), (error: KubeStatusError) => error instanceof KubeStatusError && error.code === 502 && error.message === 'HTTP status 502')
      await assert.rejects(get('/list'), KubeStatusError)
      await assert.rejects(get('/cut'), (error: Error) => error instanceof KubeUnreachable && error.message === `Get "${url}/clusters/one/cut": socket hang up`)
      await assert.rejects(get('/never'), (error: Error) => error instanceof KubeUnreachable && error.message === `Get "${url}/clusters/one/never": no answer in 200 ms`)
    })
  })

  test('speaks with nobody whose certificate is of another authority', async () => {
    let asked = 0
    await withServer(() => void asked++, async (client) => {
      await assert.rejects(client.request({ method: 'GET', path: '/' }), /unable to verify|self-signed|signature failure/i)
    }, { credentials: async () => ({ ca: other.ca }) })
    assert.equal(asked, 0)
  })

  test('reads its credentials again after a minute, and at once when they were refused', async () => {
    const clock = openManualClock()
    let [reads, valid] = [0, 'token-1']
    await withServer((req, res) => {
      if (req.headers.authorization === `Bearer ${valid}`) res.end('{}')
      else res.writeHead(401).end('{"kind":"Status","reason":"Unauthorized","message":"Unauthorized"}')
    }, async (client) => {
      const get = () => client.request({ method: 'GET', path: '/' })
      await get()
      await get()
      assert.equal(reads, 1)
      await clock.advance(60_000)
      valid = 'token-2'
      await get()
      valid = 'token-3'
      await assert.rejects(get(), KubeStatusError)
      await get()
      assert.equal(reads, 3)
    }, { credentials: async () => ({ ca: pki.ca, token: `token-${++reads}` }) }, clock)
  })

  test('reads a watch line by line, its errors too, and hears when nothing comes', async () => {
    await withServer((req, res) => {
      res.write('{"type":"ADDED","object":{"metadata":{"name":"a"}}}\n{"type":"MOD')
      if (req.url?.endsWith('/whole')) setImmediate(() => res.end('IFIED","object":{"metadata":{"name":"ä"}}}\n'))
      else if (req.url?.endsWith('/error')) setImmediate(() => res.end('IFIED","object":{}}\n{"type":"ERROR","object":{"code":410,"reason":"Expired","message":"too old"}}\n'))
    }, async (client) => {
      const read = async (path: string) => {
        const types: string[] = []
        for await (const { type } of client.watch(path, { signal: AbortSignal.timeout(5000), idleMs: 300 })) types.push(type)
        return types
      }
      assert.deepEqual(await read('/whole'), ['ADDED', 'MODIFIED'])
      await assert.rejects(read('/error'), (error: KubeStatusError) => error.code === 410 && error.message === 'too old')
      await assert.rejects(read('/silent'), /nothing was heard in 300 ms/)
    })
  })

  test('of a pod takes the address from the environment, and token and authority from files', async () => {
    writeFileSync(join(directory, 'token'), 'abc\n')
    writeFileSync(join(directory, 'ca.crt'), pki.ca)
    const access = inClusterAccess({ KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' }, directory)
    assert.equal(access.server, 'https://[fd00::1]:443')
    assert.deepEqual(await access.credentials(), { token: 'abc', ca: pki.ca })
    assert.throws(() => inClusterAccess({}), /not in a pod/)
  })
})

suite('following a collection', () => {
  test('lists page by page, watches from there, and lists again when that is too old', async () => {
    const clock = openManualClock()
    const stop = new AbortController()
    const item = (name: string) => ({ metadata: { name, resourceVersion: '9' } })
    const client = fakeKubeClient(({ path }) => (path.includes('continue=more') ? { metadata: { resourceVersion: '7' }, items: [item('b')] } : { metadata: { resourceVersion: '7', continue: 'more' }, items: [item('a')] }))
    const told: unknown[] = []
    const name = (object: object) => (object as ReturnType<typeof item>).metadata.name
    const following = reflect({ path: '/x', fieldSelector: 'metadata.name=a', replace: (objects) => told.push(objects.map(name)), change: (object, gone) => told.push([name(object), gone]) }, { client, clock, log: silentLog, signal: stop.signal })
    await settle()
    await client.send({ type: 'MODIFIED', object: item('a') })
    await client.send({ type: 'BOOKMARK', object: item('') })
    await client.send({ type: 'DELETED', object: item('a') })
    assert.deepEqual(told.splice(0), [['a', 'b'], ['a', false], ['a', true]])
    await client.cut(new KubeUnreachable('away'))
    await clock.advance(10_000)
    assert.equal(client.requests.length, 2, 'goes on from where it was')
    await client.cut(new KubeStatusError(410, 'Expired', 'too old'))
    await clock.advance(10_000)
    await settle()
    assert.deepEqual(told, [['a', 'b']])
    assert.ok(client.requests.every(({ path }) => path.includes('fieldSelector=metadata.name%3Da')))
    stop.abort()
    await client.cut(new Error('over'))
    await following
  })
})
