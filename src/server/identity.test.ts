import assert from 'node:assert/strict'
import express from 'express'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { serveTls } from '../../apiservice/serving.ts'
import { openHttp2 } from '../../test/http-client.ts'
import { systemClock } from '../base/clock.ts'
import { silentLog } from '../base/log.ts'
import { ensurePki } from '../commands/pki.ts'
import { expressBridge } from './express-bridge.ts'
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
