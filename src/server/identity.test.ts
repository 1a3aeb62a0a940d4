import assert from 'node:assert/strict'
import express from 'express'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { InvalidCredentials, TrustUnavailable, type Authenticator, type Authorizer } from '../../apiservice/auth.ts'
import { serveTls } from '../../apiservice/serving.ts'
import { openHttp2 } from '../../test/http-client.ts'
import { systemClock } from '../base/clock.ts'
import { silentLog } from '../base/log.ts'
import { ensurePki } from '../commands/pki.ts'
import { expressBridge } from './express-bridge.ts'
import { StatusError } from '../api/status.ts'
import { identify } from './identity.ts'

test('an authenticator sees one connection for all requests of an HTTP/2 session, so that it can remember', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'identity-'))
  const { ca, server, admin } = await ensurePki(directory, { hosts: ['127.0.0.1'], clock: systemClock })
  const seen: unknown[] = []
  const app = express()
  app.use(identify(async ({ socket }) => {
    seen.push(socket)
    return { name: 'somebody', groups: [] }
  }, async () => ({ allowed: true })))
  app.use((_req, res) => void res.end('ok'))
  const tls = await serveTls({ handler: expressBridge(app), ...server, clientCa: ca, host: '127.0.0.1', port: 0, clock: systemClock, log: silentLog })
  try {
    const url = `https://127.0.0.1:${tls.address.port}`
    for (const expected of [1, 2]) {
      using client = openHttp2(url, { ca, ...admin })
      for (let i = 0; i < 3; i++) assert.equal((await client.send('GET', '/api/v1/secrets')).text, 'ok')
      assert.equal(new Set(seen).size, expected)
    }
    assert.equal(seen.length, 6)
  } finally {
    await tls.close({ graceMs: 100 })
    rmSync(directory, { recursive: true })
  }
})

test('what nobody can tell lets nobody in', async () => {
  const fail = (error: Error) => async () => {
    throw error
  }
  const ask = async (path: string, authenticate: Authenticator, authorize: Authorizer = async () => ({ allowed: true })): Promise<unknown> => {
    const req = { method: 'GET', originalUrl: path, headers: {}, rawHeaders: [], httpVersionMajor: 1, socket: {} }
    try {
      await identify(authenticate, authorize)(req as never, {} as never, () => {})
      return 'served'
    } catch (error) {
      return error instanceof StatusError ? [error.code, error.reason, error.message] : error
    }
  }
  const alice: Authenticator = async () => ({ name: 'alice', groups: [] })
  assert.deepEqual(await ask('/api/v1/secrets', fail(new InvalidCredentials())), [401, 'Unauthorized', 'Unauthorized'])
  assert.deepEqual(await ask('/apis', fail(new InvalidCredentials())), [401, 'Unauthorized', 'Unauthorized'])
  assert.deepEqual(await ask('/api/v1/secrets', fail(new TrustUnavailable('authentication', 'away'))), [503, 'ServiceUnavailable', 'who is calling cannot be found out: away'])
  assert.deepEqual(await ask('/api/v1/secrets', alice, fail(new TrustUnavailable('authorization', 'away'))), [500, 'InternalError', 'Internal error occurred: away'])
  assert.equal(await ask('/apis', alice, fail(new TrustUnavailable('authorization', 'away'))), 'served')
  const programError = new Error('a mistake')
  assert.equal(await ask('/api/v1/secrets', fail(programError)), programError)
})
