import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { connect as connectHttp2, type ClientHttp2Session, type IncomingHttpHeaders } from 'node:http2'
import { Agent, request as requestHttps } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { systemClock } from '../src/base/clock.ts'
import { silentLog } from '../src/base/log.ts'
import { ensurePki, type KeyPair } from '../src/commands/pki.ts'
import type { Authenticator } from './auth.ts'
import { clientCertificate } from './client-certificate.ts'
import { serveTls, type HttpHandler, type TlsServer } from './serving.ts'

const root = await mkdtemp(join(tmpdir(), 'serving-'))
after(() => rm(root, { recursive: true }))
const hosts = ['localhost', '127.0.0.1']
const pki = await ensurePki(join(root, 'pki'), { hosts, clock: systemClock })
const otherPki = await ensurePki(join(root, 'other'), { hosts, clock: systemClock })

const start = (handler: HttpHandler, clientCa: string | undefined = pki.ca): Promise<TlsServer> =>
  serveTls({ handler, ...pki.server, ...(clientCa ? { clientCa } : {}), host: '127.0.0.1', port: 0, log: silentLog, clock: systemClock })

interface Answer {
  code: number
  headers: IncomingHttpHeaders
  body: string
}

function viaHttp1(server: TlsServer, options: { path?: string; client?: KeyPair; agent?: Agent; headers?: Record<string, string>; ca?: string } = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { path = '/', client, agent = new Agent({ keepAlive: false }), headers = {}, ca = pki.ca } = options
    const request = requestHttps({ host: '127.0.0.1', port: server.address.port, path, ca, ...client, agent, headers }, (response) => {
      let body = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => (body += chunk))
      response.on('error', reject)
      response.on('end', () => resolve({ code: response.statusCode ?? 0, headers: response.headers, body }))
    })
    request.on('error', reject)
    request.end()
  })
}

function viaSession(session: ClientHttp2Session, path: string, more: Record<string, string> = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ':path': path, ...more })
    let headers: IncomingHttpHeaders = {}
    let code = 0
    let body = ''
    stream.setEncoding('utf8')
    stream.on('response', (got) => {
      headers = got
      code = got[':status'] ?? 0
    })
    stream.on('data', (chunk: string) => (body += chunk))
    stream.on('end', () => resolve({ code, headers, body }))
    stream.on('error', reject)
    stream.on('close', () => reject(new Error('closed')))
    stream.end()
  })
}

const openSession = (server: TlsServer, client?: KeyPair) => connectHttp2(`https://127.0.0.1:${server.address.port}`, { ca: pki.ca, ...client })

async function viaHttp2(server: TlsServer, path = '/', client?: KeyPair, headers?: Record<string, string>): Promise<Answer> {
  const session = openSession(server, client)
  try {
    return await viaSession(session, path, headers)
  } finally {
    session.destroy()
  }
}

const whoAmI =
  (authenticate: Authenticator): HttpHandler =>
  (request, response) => {
    void authenticate({ headers: request.headers, rawHeaders: request.rawHeaders, socket: request.socket }).then((user) => {
      response.setHeader('content-type', 'application/json')
      ;(response as { end(text: string): void }).end(JSON.stringify({ http: request.httpVersionMajor, user: user ?? null }))
    })
  }

test('a client certificate of the authority is a user, over both protocols', async () => {
  const server = await start(whoAmI(clientCertificate({ ca: pki.ca, clock: systemClock })))
  try {
    for (const [http, ask] of [
      [1, (client?: KeyPair) => viaHttp1(server, client ? { client } : {})],
      [2, (client?: KeyPair) => viaHttp2(server, '/', client)],
    ] as const) {
      const admin = JSON.parse((await ask(pki.admin)).body)
      assert.equal(admin.http, http)
      assert.equal(admin.user.name, 'mlops-admin')
      assert.deepEqual(admin.user.groups, ['system:masters', 'system:authenticated'])
      assert.match(admin.user.extra['authentication.kubernetes.io/credential-id'][0], /^X509SHA256=[0-9a-f]{64}$/)
      for (const [what, client] of Object.entries({ none: undefined, 'of another authority': otherPki.admin, 'for servers': pki.server })) {
        assert.equal(JSON.parse((await ask(client)).body).user, null, `${what} over HTTP/${http}`)
      }
    }
  } finally {
    await server.close({ graceMs: 0 })
  }
})

test('a certificate that TLS accepts for another purpose proves no user', async () => {
  const server = await start(whoAmI(clientCertificate({ ca: pki.ca, clock: systemClock })), `${pki.ca}${otherPki.ca}`)
  const expired = { ...systemClock, now: () => Date.now() + 400 * 86_400_000 }
  const late = await start(whoAmI(clientCertificate({ ca: pki.ca, clock: expired })))
  const unasked = await serveTls({
    handler: whoAmI(clientCertificate({ ca: pki.ca, clock: systemClock })),
    ...pki.server, host: '127.0.0.1', port: 0, log: silentLog, clock: systemClock,
  })
  try {
    assert.equal(JSON.parse((await viaHttp2(server, '/', otherPki.admin)).body).user, null)
    assert.equal(JSON.parse((await viaHttp2(server, '/', pki.admin)).body).user.name, 'mlops-admin')
    assert.equal(JSON.parse((await viaHttp2(late, '/', pki.admin)).body).user, null)
    assert.equal(JSON.parse((await viaHttp2(unasked, '/', pki.admin)).body).user, null)
  } finally {
    await Promise.all([server, late, unasked].map((s) => s.close({ graceMs: 0 })))
  }
})

test('a port in use is named', async () => {
  const server = await start((_, response) => void response.end())
  try {
    await assert.rejects(
      serveTls({ handler: () => {}, ...pki.server, host: '127.0.0.1', port: server.address.port, log: silentLog, clock: systemClock }),
      new RegExp(`^Error: port ${server.address.port} is in use by another program on 127\\.0\\.0\\.1`),
    )
  } finally {
    await server.close({ graceMs: 0 })
  }
})

test('header lists over 60 KiB are refused with 431, over both protocols', async () => {
  const server = await start((_, response) => void response.end())
  const big = { 'x-big': 'a'.repeat(62_000) }
  try {
    assert.equal((await viaHttp1(server, { headers: big })).code, 431)
    assert.equal((await viaHttp2(server, '/', undefined, big)).code, 431)
    assert.equal((await viaHttp1(server, { headers: { 'x-big': 'a'.repeat(59_000) } })).code, 200)
    assert.equal((await viaHttp2(server, '/', undefined, { 'x-big': 'a'.repeat(59_000) })).code, 200)
    const groups = Object.fromEntries(Array.from({ length: 900 }, (_, i) => [`x-remote-extra-${i}`, 'v']))
    assert.equal((await viaHttp2(server, '/', undefined, groups)).code, 200)
  } finally {
    await server.close({ graceMs: 0 })
  }
})

test('a handler that throws answers 500 and the server goes on', async () => {
  const server = await start((request, response) => {
    if (request.url === '/bad') throw new Error('bad')
    response.end()
  })
  try {
    for (const ask of [(path: string) => viaHttp1(server, { path }), (path: string) => viaHttp2(server, path)]) {
      assert.deepEqual([(await ask('/bad')).code, (await ask('/good')).code], [500, 200])
    }
  } finally {
    await server.close({ graceMs: 0 })
  }
})

test('new certificates serve new connections', async () => {
  const server = await start((_, response) => void response.end())
  try {
    await assert.rejects(viaHttp1(server, { ca: otherPki.ca }))
    server.setCertificates({ ...otherPki.server, clientCa: otherPki.ca })
    assert.equal((await viaHttp1(server, { ca: otherPki.ca })).code, 200)
  } finally {
    await server.close({ graceMs: 0 })
  }
})

// A handler that answers when `release` is called.
function held(): { handler: HttpHandler; release(): void; started: Promise<void>[] } {
  const waiting: (() => void)[] = []
  const marks: (() => void)[] = []
  const started = [0, 1].map(() => new Promise<void>((resolve) => marks.push(resolve)))
  const handler: HttpHandler = (request, response) => {
    if (request.url !== '/held') return void response.end('now')
    response.setHeader('content-type', 'text/plain')
    ;(response as { write(text: string): boolean }).write('first ')
    waiting.push(() => (response as { end(text: string): void }).end('last'))
    marks.shift()?.()
  }
  return { handler, started, release: () => waiting.forEach((answer) => answer()) }
}

test('a stop lets requests end, refuses new ones and closes idle connections', async () => {
  const { handler, release, started } = held()
  const server = await start(handler)
  const session = openSession(server)
  const idleSession = openSession(server)
  const agent = new Agent({ keepAlive: true })
  const idleAgent = new Agent({ keepAlive: true })
  await viaSession(idleSession, '/')
  await viaHttp1(server, { agent: idleAgent })
  const answers = [viaSession(session, '/held'), viaHttp1(server, { path: '/held', agent })]
  await Promise.all(started)
  const goaway = new Promise((resolve) => session.once('goaway', resolve))
  const idleGone = new Promise((resolve) => idleSession.once('close', resolve))
  const closed = server.close({ graceMs: 10_000 })
  await goaway
  await idleGone
  await assert.rejects(viaHttp1(server))
  release()
  assert.deepEqual((await Promise.all(answers)).map(({ code, body }) => [code, body]), [[200, 'first last'], [200, 'first last']])
  await closed
  agent.destroy()
  idleAgent.destroy()
})

test('what has not ended after the grace time is cut', async () => {
  const { handler, started } = held()
  const server = await start(handler)
  const session = openSession(server)
  session.on('error', () => {})
  const cut = [viaSession(session, '/held').then((a) => a.body, () => 'cut'), viaHttp1(server, { path: '/held' }).then((a) => a.body, () => 'cut')]
  await Promise.all(started)
  const silent = connectTls({ host: '127.0.0.1', port: server.address.port, ca: pki.ca, ALPNProtocols: ['http/1.1'] }) as TLSSocket
  silent.on('error', () => {})
  await new Promise((resolve) => silent.once('secureConnect', resolve))
  await server.close({ graceMs: 50 })
  assert.ok(!(await Promise.all(cut)).includes('first last'))
  silent.destroy()
  session.destroy()
})

test('a stop tells connections before it ends them, and what they have sent by then is answered', async () => {
  const held: (() => void)[] = []
  const server = await start((_request, response) => void held.push(() => void (response as ServerResponse).end('answered')))
  const session = openSession(server)
  const gone = once(session, 'goaway')
  const answer = viaSession(session, '/')
  while (held.length === 0) await systemClock.sleep(5)
  let told = false
  const closed = server.close({ graceMs: 5000, told: () => (told = true) })
  assert.equal((await gone)[0], 0)
  assert.equal(told, true)
  held[0]?.()
  assert.equal((await answer).body, 'answered')
  await closed
})

test('who was refused for its authority is asked to come again when that counts, and nobody else', async () => {
  const server = await start((_request, response) => void (response as ServerResponse).end('ok'))
  const [known, refused, none] = [openSession(server, pki.admin), openSession(server, otherPki.admin), openSession(server)]
  try {
    for (const session of [known, refused, none]) await viaSession(session, '/')
    const ended = once(refused, 'close')
    server.setCertificates({ ...pki.server, clientCa: pki.ca + otherPki.ca })
    await ended
    assert.deepEqual([known.closed, none.closed], [false, false])
    for (const session of [known, none]) assert.equal((await viaSession(session, '/')).body, 'ok')
  } finally {
    for (const session of [known, refused, none]) session.destroy()
    await server.close({ graceMs: 0 })
  }
})
