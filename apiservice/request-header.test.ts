import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:http2'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import fc from 'fast-check'
import { systemClock } from '../src/base/clock.ts'
import { silentLog } from '../src/base/log.ts'
import { ensurePki, type KeyPair } from '../src/commands/pki.ts'
import { requestHeader, userOf, type RequestHeaderTrust } from './request-header.ts'
import { serveTls, type HttpResponse } from './serving.ts'
import type { ServerResponse } from 'node:http'
import type { Http2ServerRequest } from 'node:http2'

const HEADERS = { usernameHeaders: ['X-Remote-User'], uidHeaders: ['X-Remote-Uid'], groupHeaders: ['X-Remote-Group'], extraHeaderPrefixes: ['X-Remote-Extra-'] }
const raw = (...pairs: readonly (readonly [string, string])[]): string[] => pairs.flat()

suite('the headers of a front proxy', () => {
  test('tell user, uid, groups and extra values', () => {
    const headers = raw(['x-remote-user', 'alice'], ['X-Remote-Uid', '7'], ['X-Remote-Group', 'a, b'], ['X-REMOTE-GROUP', 'c'], ['x-remote-group', ''],
      ['X-Remote-Extra-Example.com%2fScope', 'one'], ['x-remote-extra-example.com%2Fscope', 'two'], ['X-Remote-Extra-Bad%zz', 'x'], ['X-Remote-Other', 'no'])
    assert.deepEqual(userOf(headers, HEADERS), {
      name: 'alice', uid: '7', groups: ['a, b', 'c', 'system:authenticated'], extra: { 'example.com/scope': ['one', 'two'], 'bad%zz': ['x'] },
    })
  })

  test('tell nobody without a name', () => {
    assert.equal(userOf(raw(['X-Remote-Group', 'system:masters']), HEADERS), undefined)
    assert.equal(userOf(raw(['X-Remote-User', ' '], ['X-Remote-Group', 'system:masters']), HEADERS), undefined)
    assert.equal(userOf(raw(['X-Remote-User', 'alice']), { ...HEADERS, usernameHeaders: [] }), undefined)
  })

  test('count in the order of the configuration, the first value of each', () => {
    const headers = raw(['X-User', 'second'], ['X-Remote-User', 'first'], ['X-Remote-User', 'other'])
    assert.equal(userOf(headers, { ...HEADERS, usernameHeaders: ['X-Absent', 'X-Remote-User', 'X-User'] })?.name, 'first')
  })

  test('that are not configured change nothing', () => {
    assert.deepEqual(userOf(raw(['X-Remote-User', 'alice'], ['X-Remote-Uid', '7'], ['X-Remote-Group', 'a'], ['X-Remote-Extra-A', 'b']), { ...HEADERS, uidHeaders: [], groupHeaders: [], extraHeaderPrefixes: [] }), { name: 'alice', groups: ['system:authenticated'] })
  })

  test('of an anonymous user make no authenticated one', () => {
    assert.deepEqual(userOf(raw(['X-Remote-User', 'system:anonymous'], ['X-Remote-Group', 'system:unauthenticated']), HEADERS), { name: 'system:anonymous', groups: ['system:unauthenticated'] })
  })

  test('give any key of extra values back as it was escaped, also those that objects have by themselves', () => {
    fc.assert(fc.property(fc.oneof(fc.string({ unit: 'grapheme', minLength: 1 }), fc.constantFrom('__proto__', 'constructor')), (key) => {
      const lower = key.toLowerCase()
      fc.pre(lower.isWellFormed() && encodeURIComponent(lower).toLowerCase() !== '')
      const user = userOf(raw(['X-Remote-User', 'a'], [`X-Remote-Extra-${encodeURIComponent(lower)}`, 'v']), HEADERS)
      assert.deepEqual(Object.entries(user?.extra ?? {}), [[lower, ['v']]])
    }))
  })
})

suite('a front proxy', () => {
  const directory = mkdtempSync(join(tmpdir(), 'request-header-'))
  after(() => rmSync(directory, { recursive: true }))
  const pki = (name: string) => ensurePki(join(directory, name), { hosts: ['127.0.0.1'], clock: systemClock })

  test('is believed under its own authority and name only, over both protocols', async () => {
    const [proxy, cluster] = await Promise.all([pki('proxy'), pki('cluster')])
    const serve = async (trust: Partial<RequestHeaderTrust>, use: (ask: (client?: KeyPair) => Promise<string[]>) => Promise<void>): Promise<void> => {
      const authenticate = requestHeader({ ca: proxy.ca, allowedNames: [], ...HEADERS, ...trust }, { clock: systemClock })
      const tls = await serveTls({
        ...cluster.server, clientCa: proxy.ca + cluster.ca, host: '127.0.0.1', port: 0, log: silentLog, clock: systemClock,
        handler: (req, res: HttpResponse) => {
          const socket = req.httpVersionMajor === 2 ? ((req as Http2ServerRequest).stream.session?.socket ?? req.socket) : req.socket
          void authenticate({ headers: req.headers, rawHeaders: req.rawHeaders, socket }).then((user) => (res as ServerResponse).end(user?.name ?? 'nobody'))
        },
      })
      try {
        await use(async (client) => await Promise.all([viaHttp1, viaHttp2].map((via) => via(tls.address.port, { ca: cluster.ca, ...client }))))
      } finally {
        await tls.close({ graceMs: 0 })
      }
    }
    await serve({}, async (ask) => {
      assert.deepEqual(await ask(proxy.admin), ['alice', 'alice'])
      assert.deepEqual(await ask(cluster.admin), ['nobody', 'nobody'], 'a certificate of the authority of users')
      assert.deepEqual(await ask(), ['nobody', 'nobody'])
    })
    await serve({ allowedNames: ['mlops-admin'] }, async (ask) => {
      assert.deepEqual(await ask(proxy.admin), ['alice', 'alice'])
      assert.deepEqual(await ask(proxy.worker), ['nobody', 'nobody'])
    })
  })
})

function viaHttp1(port: number, tls: { ca: string; cert?: string; key?: string }): Promise<string> {
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, ...tls, agent: false, headers: { 'X-Remote-User': 'alice' } }, (res) => {
      res.setEncoding('utf8')
      res.once('data', resolve)
    }).on('error', reject).end()
  })
}

function viaHttp2(port: number, tls: { ca: string; cert?: string; key?: string }): Promise<string> {
  const session = connect(`https://127.0.0.1:${port}`, tls)
  return new Promise<string>((resolve, reject) => {
    session.on('error', reject)
    const stream = session.request({ ':path': '/', 'x-remote-user': 'alice' })
    stream.setEncoding('utf8')
    stream.once('data', resolve)
    stream.on('error', reject)
  }).finally(() => session.destroy())
}
