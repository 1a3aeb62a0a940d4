/** What a client may not do to the server: too large, too deep, too many, too slow, too long. Each limit over the wire, with its text. */
import assert from 'node:assert/strict'
import type { ClientHttp2Stream } from 'node:http2'
import { request } from 'node:https'
import type { Socket } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { gunzipSync } from 'node:zlib'
import { startServer, type Answer, type Harness } from '../harness.ts'
import { openHttp2, type Http2Client } from '../http-client.ts'
import { alphaJob, job, jobsPath } from '../jobs.ts'
import { openManualClock } from '../model/manual-clock.ts'

const MIB = 1024 * 1024
const PATH = jobsPath('v1')

/** Both protocols, for what must be the same. */
type Send = (method: string, path: string, options?: { readonly headers?: Record<string, string>; readonly body?: unknown; readonly type?: string }) => Promise<Answer>

function identityOf(harness: Harness) {
  return { ca: harness.pki.ca, cert: harness.pki.admin.cert, key: harness.pki.admin.key }
}

async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let i = 0; i < 500; i++) {
    if (await holds()) return
    await sleep(20)
  }
  assert.fail(`never came: ${what}`)
}

/** Sends a body in pieces without a content-length. */
function sendChunked(harness: Harness, body: readonly Buffer[]): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const req = request(`${harness.server.url}${PATH}`, { ...identityOf(harness), method: 'POST', agent: false, headers: { 'content-type': 'application/json', 'transfer-encoding': 'chunked' } }, (res) => {
      const chunks: Buffer[] = []
      res.on('data', (chunk: Buffer) => chunks.push(chunk))
      res.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        resolve({ status: res.statusCode ?? 0, headers: res.headers, text, body: JSON.parse(text) })
      })
    })
    // The server may stop reading once it has answered.
    req.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE' && error.code !== 'ECONNRESET') reject(error)
    })
    for (const chunk of body) req.write(chunk)
    req.end()
  })
}

function sendStreamed(client: Http2Client, body: readonly Buffer[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const stream = client.open({ ':method': 'POST', ':path': PATH, 'content-type': 'application/json' })
    stream.on('response', (headers) => resolve(headers[':status'] ?? 0))
    stream.on('error', reject)
    stream.resume()
    for (const chunk of body) stream.write(chunk)
    stream.end()
  })
}

describe('limits', { concurrency: 1 }, () => {
  let harness: Harness
  let client: Http2Client
  let protocols: readonly (readonly [string, Send])[]
  before(async () => {
    harness = await startServer()
    client = openHttp2(harness.server.url, identityOf(harness))
    protocols = [['HTTP/1.1', harness.send], ['HTTP/2', client.send]]
  })
  after(async () => {
    client[Symbol.dispose]()
    await harness[Symbol.asyncDispose]()
  })

  test('a body over 3 MiB is refused, with or without a length, and the server goes on', async () => {
    const body = JSON.stringify(job('large', { spec: { note: 'x'.repeat(5 * MIB) } }))
    for (const [name, send] of protocols) {
      const { status, body: refused } = await send('POST', PATH, { body })
      assert.equal(status, 413, name)
      assert.equal(refused.reason, 'RequestEntityTooLarge')
      assert.equal(refused.message, 'Request entity too large: limit is 3145728')
      assert.equal((await send('GET', PATH)).status, 200, name)
    }
    const pieces = Array.from({ length: 5 * 16 }, () => Buffer.alloc(MIB / 16, ' '))
    assert.equal((await sendChunked(harness, pieces)).body.message, 'Request entity too large: limit is 3145728')
    assert.equal(await sendStreamed(client, pieces), 413)
    // A body of just the limit is read: what it holds is another matter.
    const object = JSON.stringify(job('padded'))
    for (const [name, send] of protocols) assert.equal((await send('POST', `${PATH}?dryRun=All`, { body: object.padEnd(3 * MIB) })).status, 201, name)
    assert.equal((await client.send('GET', `${PATH}/large`)).status, 404)
  })

  test('an object over 1.5 MiB is refused when it is stored', async () => {
    assert.equal((await client.send('POST', PATH, { body: job('cells') })).status, 201)
    const cells = Array.from({ length: 120 }, (_, index) => ({ index, outcome: 'Succeeded', output: { text: 'x'.repeat(15_000) } }))
    const status = { status: { cells } }
    const { status: code, body } = await client.send('PATCH', `${PATH}/cells/status`, { type: 'application/merge-patch+json', body: status })
    assert.equal(code, 413, JSON.stringify(body).slice(0, 500))
    assert.match(body.message, /the object takes 18\d{5} bytes in storage, limit is 1572864/)
    const kept = await client.send('GET', `${PATH}/cells`)
    assert.equal(kept.body.status, undefined)
  })

  test('JSON and YAML that nest too deep are refused', async () => {
    const nested = (depth: number) => `{"apiVersion":"mlops.dev/v1","kind":"NotebookValidationJob","metadata":{"name":"deep"},"spec":{"x":${'['.repeat(depth)}${']'.repeat(depth)}}}`
    const deep = await client.send('POST', PATH, { body: nested(200_000) })
    assert.equal(deep.status, 400)
    assert.match(deep.body.message, /exceeded max depth/)
    const yaml = await client.send('POST', PATH, { type: 'application/yaml', body: `a: ${'['.repeat(50_000)}` })
    assert.equal(yaml.status, 400, yaml.text)
    assert.match(yaml.body.message, /depth/)
    const patch = await client.send('PATCH', `${PATH}/cells`, { type: 'application/merge-patch+json', body: `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}` })
    assert.equal(patch.status, 400, patch.text.slice(0, 300))
    assert.match(patch.body.message, /exceeded max depth/)
    assert.equal((await client.send('GET', '/readyz')).status, 200)
  })

  test('too large a header is refused with 431', async () => {
    for (const [name, send] of protocols) {
      const { status } = await send('GET', PATH, { headers: { 'x-large': 'x'.repeat(62_000) } })
      assert.equal(status, 431, name)
      assert.equal((await send('GET', PATH, { headers: { 'x-large': 'x'.repeat(50 * 1024) } })).status, 200, name)
    }
  })

  test('more than 200 writes at once get 429 with Retry-After; watches do not count', async () => {
    const watches = Array.from({ length: 450 }, () => client.watch(`${PATH}?watch=true`))
    await Promise.all(watches.map((watch) => watch.headers))
    assert.equal((await client.send('GET', PATH)).status, 200)
    const held = Array.from({ length: 200 }, () => {
      const stream = client.open({ ':method': 'POST', ':path': PATH, 'content-type': 'application/json' })
      stream.on('error', () => {})
      stream.write('{')
      return stream
    })
    const inFlight = async (count: number) => (await client.send('GET', '/metrics')).text.includes(`apiserver_current_inflight_requests{request_kind="mutating"} ${count}\n`)
    await until('200 writes under way', () => inFlight(200))
    for (const [name, send] of protocols) {
      const { status, headers, text } = await send('POST', PATH, { body: job('one-more') })
      assert.equal(status, 429, name)
      assert.equal(headers['retry-after'], '1')
      assert.equal(text, 'Too many requests, please try again later.\n')
      assert.equal((await send('GET', PATH)).status, 200, name)
    }
    // NO_ERROR and CANCEL: both are a client that has gone.
    for (const [i, stream] of held.entries()) stream.close(i % 2 ? 8 : 0)
    await until('no write under way', () => inFlight(0))
    assert.equal((await client.send('POST', PATH, { body: job('one-more') })).status, 201)
    for (const [i, watch] of watches.entries()) watch.close(i % 2 ? 8 : 0)
    await until('no watch left', () => harness.server.store('NotebookValidationJob').cache.watchers === 0)
  })

  test('a client that leaves in the middle of a request costs nothing', async () => {
    const body = JSON.stringify(job('never'))
    const stream = client.open({ ':method': 'POST', ':path': PATH, 'content-type': 'application/json', 'content-length': body.length })
    stream.on('error', () => {})
    stream.write(body.slice(0, 50))
    const socket = await openSocket(harness, `POST ${PATH} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 50)}`)
    const busy = async (count: number) => (await client.send('GET', '/metrics')).text.includes(`inflight_requests{request_kind="mutating"} ${count}\n`)
    await until('both under way', () => busy(2))
    stream.close(8)
    socket.destroy()
    await until('none under way', () => busy(0))
    assert.equal((await client.send('GET', `${PATH}/never`)).status, 404)
  })
})

/** A connection over HTTP/1.1 that has sent `text` and reads nothing. */
async function openSocket(harness: Harness, text: string): Promise<Socket> {
  const { hostname, port } = new URL(harness.server.url)
  const socket = connectTls({ host: hostname, port: Number(port), ...identityOf(harness), ALPNProtocols: ['http/1.1'] })
  await new Promise<void>((resolve, reject) => socket.once('secureConnect', resolve).once('error', reject))
  socket.on('error', () => {})
  socket.pause()
  socket.write(text)
  return socket
}

test('a watch whose client does not read is cut off, its memory is bounded, and the others see everything', async () => {
  await using harness = await startServer()
  const { cache } = harness.server.store('NotebookValidationJob')
  using client = openHttp2(harness.server.url, identityOf(harness))
  assert.equal((await client.send('POST', PATH, { body: job('busy') })).status, 201)
  const from = `${PATH}?watch=true&resourceVersion=${cache.revision}`
  const slow1 = await openSocket(harness, `GET ${from} HTTP/1.1\r\nHost: x\r\n\r\n`)
  using other = openHttp2(harness.server.url, identityOf(harness))
  const slow2 = other.open({ ':path': from })
  await new Promise((resolve) => slow2.once('response', resolve))
  slow2.pause()
  const seen: string[] = []
  const watch = client.watch(from)
  const reading = (async () => {
    for await (const { object } of watch) seen.push(object.metadata.resourceVersion)
  })()
  await until('three watches', () => cache.watchers === 3)

  const cells = (round: number) => Array.from({ length: 100 }, (_, index) => ({ index, outcome: 'Succeeded', output: { text: `${round}`.repeat(10_000) } }))
  const written: string[] = []
  for (let round = 0; round < 300 && cache.watchers > 1; round++) {
    const { status, body } = await client.send('PATCH', `${PATH}/busy/status`, { type: 'application/merge-patch+json', body: { status: { cells: cells(round % 10) } } })
    assert.equal(status, 200)
    written.push(body.metadata.resourceVersion)
  }
  assert.equal(cache.watchers, 1, 'the slow ones are cut off')
  // 64 MiB may wait, and what the connection holds.
  assert.ok(written.length > 50 && written.length < 200, `after ${written.length} events of 1 MB`)
  await until('the other has seen all', () => seen.length === written.length)
  assert.deepEqual(seen, written)
  watch.close()
  await reading.catch(() => {})
  slow1.resume()
  slow2.resume()
  await Promise.all([slow1, slow2].map((stream: Socket | ClientHttp2Stream) => stream.closed || new Promise((resolve) => stream.once('close', resolve))))
})

test('60 seconds for every request but a watch', async () => {
  const clock = openManualClock()
  await using harness = await startServer({ clock })
  using client = openHttp2(harness.server.url, identityOf(harness))
  const watch = client.watch(`${PATH}?watch=true`)
  await watch.headers
  const stream = client.open({ ':method': 'POST', ':path': PATH, 'content-type': 'application/json' })
  stream.write('{')
  const answered = new Promise<{ status: number; text: string }>((resolve, reject) => {
    stream.on('error', reject)
    stream.on('response', async (headers) => {
      let text = ''
      for await (const chunk of stream) text += String(chunk)
      resolve({ status: headers[':status'] ?? 0, text })
    })
  })
  await until('under way', async () => (await client.send('GET', '/metrics')).text.includes('inflight_requests{request_kind="mutating"} 1\n'))
  await clock.advance(59_000)
  assert.equal(stream.closed, false)
  await clock.advance(1000)
  const { status, text } = await answered
  assert.equal(status, 504)
  assert.equal(JSON.parse(text).reason, 'Timeout')
  assert.match(JSON.parse(text).message, /request did not complete within the allotted timeout/)
  assert.equal((await client.send('POST', PATH, { body: job('after') })).status, 201)
  for await (const { object } of watch) {
    assert.equal(object.metadata.name, 'after')
    break
  }
})

describe('both protocols', { concurrency: 1 }, () => {
  let harness: Harness
  let client: Http2Client
  before(async () => {
    harness = await startServer()
    client = openHttp2(harness.server.url, identityOf(harness))
    for (let i = 0; i < 400; i++) assert.equal((await client.send('POST', PATH, { body: job(`job-${i}`) })).status, 201)
  })
  after(async () => {
    client[Symbol.dispose]()
    await harness[Symbol.asyncDispose]()
  })

  const headersOf = ({ headers }: Answer) => Object.fromEntries(Object.entries(headers).filter(([name]) => !['date', 'connection', 'keep-alive', 'transfer-encoding', 'audit-id'].includes(name) && !name.startsWith(':')))

  test('the same answers over HTTP/1.1 and HTTP/2', async () => {
    for (const [method, path, options] of [
      ['GET', `${PATH}/job-1`, {}],
      ['GET', PATH, {}],
      ['GET', `${PATH}?limit=3`, { headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' } }],
      ['GET', `${jobsPath('v1alpha1')}/job-1`, { headers: { accept: 'application/yaml' } }],
      ['GET', `${PATH}/missing`, {}],
      ['POST', PATH, { body: job('job-1') }],
      ['POST', `${jobsPath('v1alpha1')}?dryRun=All`, { body: alphaJob('Bad_Name') }],
      ['PUT', `${PATH}/job-1`, { body: '{' }],
      ['PATCH', `${PATH}/job-1`, { body: '{}', type: 'text/plain' }],
      ['OPTIONS', PATH, {}],
      ['GET', '/apis/mlops.dev/v1', {}],
      ['GET', '/nothing', {}],
      ['GET', '/readyz?verbose', {}],
    ] as const) {
      const [one, two] = [await harness.send(method, path, options), await client.send(method, path, options)]
      const ageless = (text: string) => text.replaceAll(/"\d+m?s"/g, '"age"')
      assert.equal(one.status, two.status, `${method} ${path}`)
      assert.equal(ageless(one.text), ageless(two.text), `${method} ${path}`)
      const without = (answer: Answer) => ({ ...headersOf(answer), 'content-length': undefined })
      assert.deepEqual(without(one), without(two), `${method} ${path}`)
    }
  })

  test('HEAD has the headers of GET and no body', async () => {
    for (const path of [`${PATH}/job-1`, PATH, `${PATH}/missing`, '/readyz', '/version', '/apis/mlops.dev/v1']) {
      for (const send of [harness.send, client.send]) {
        const [head, get] = [await send('HEAD', path), await send('GET', path)]
        assert.equal(head.status, get.status, path)
        assert.equal(head.text, '', path)
        assert.equal(head.headers['content-type'], get.headers['content-type'], path)
      }
    }
  })

  test('large answers are compressed for those who take gzip', async () => {
    for (const accept of ['application/json', 'application/json;as=Table;v=v1;g=meta.k8s.io', 'application/yaml']) {
      const plain = await client.send('GET', PATH, { headers: { accept } })
      assert.equal(plain.headers['content-encoding'], undefined)
      const { headers, bytes } = await raw(client, PATH, { accept, 'accept-encoding': 'gzip' })
      assert.equal(headers['content-encoding'], 'gzip', accept)
      assert.equal(headers.vary, 'Accept-Encoding')
      assert.ok(bytes.length < plain.text.length / 5)
      const ageless = (text: string) => text.replaceAll(/"?\d+m?s"?/g, 'age')
      assert.equal(ageless(gunzipSync(bytes).toString()), ageless(plain.text))
    }
    for (const encoding of ['identity', 'br', 'gzip;q=0']) {
      assert.equal((await raw(client, PATH, { 'accept-encoding': encoding })).headers['content-encoding'], undefined, encoding)
    }
    assert.equal((await raw(client, `${PATH}/job-1`, { 'accept-encoding': 'gzip' })).headers['content-encoding'], undefined)
  })

  test('a client that leaves in the middle of a list', async () => {
    const stream = client.open({ ':path': PATH })
    await new Promise((resolve) => stream.once('data', resolve))
    stream.close(8)
    const reading = async () => (await client.send('GET', '/metrics')).text
    // The request that asks is one itself.
    await until('no other read', async () => (await reading()).includes('inflight_requests{request_kind="readOnly"} 1\n'))
    assert.equal((await client.send('GET', PATH)).body.items.length, 400)
  })
})

function raw(client: Http2Client, path: string, headers: Record<string, string>): Promise<{ headers: Readonly<Record<string, unknown>>; bytes: Buffer }> {
  return new Promise((resolve, reject) => {
    const stream = client.open({ ':path': path, ...headers })
    const chunks: Buffer[] = []
    let answered = {}
    stream.on('response', (got) => (answered = got))
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.on('end', () => resolve({ headers: answered, bytes: Buffer.concat(chunks) }))
    stream.on('error', reject)
  })
}
