import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite, test, after } from 'node:test'
import { systemClock } from '../src/base/clock.ts'
import { silentLog } from '../src/base/log.ts'
import { ensurePki } from '../src/commands/pki.ts'
import { openManualClock } from '../test/model/manual-clock.ts'
import { readAuthenticationConfig } from './authentication-config.ts'
import { delegateAuthentication } from './delegated-authentication.ts'
import { fakeKubeClient, settle } from './fake-kube-client.fixture.ts'
import { KubeUnreachable } from './kube-client.ts'

const directory = mkdtempSync(join(tmpdir(), 'delegated-'))
after(() => rmSync(directory, { recursive: true }))
const [one, two] = await Promise.all(['one', 'two'].map((name) => ensurePki(join(directory, name), { hosts: [], clock: systemClock })))
assert.ok(one && two)

const configMap = (data: object) => ({ metadata: { name: 'extension-apiserver-authentication', resourceVersion: '5' }, data })

suite('whom a cluster tells to trust', () => {
  test('is read from its ConfigMap', () => {
    const config = readAuthenticationConfig({
      'client-ca-file': one.ca, 'requestheader-client-ca-file': two.ca, 'requestheader-allowed-names': '["front-proxy-client"]', 'requestheader-username-headers': '["X-Remote-User"]',
      'requestheader-group-headers': '["X-Remote-Group"]', 'requestheader-extra-headers-prefix': '["X-Remote-Extra-"]',
    })
    assert.deepEqual(config, {
      clientCa: one.ca,
      requestHeader: { ca: two.ca, allowedNames: ['front-proxy-client'], usernameHeaders: ['X-Remote-User'], uidHeaders: [], groupHeaders: ['X-Remote-Group'], extraHeaderPrefixes: ['X-Remote-Extra-'] },
    })
    assert.deepEqual(readAuthenticationConfig({}), {})
  })

  test('is not read by halves', () => {
    const bad: [object, RegExp][] = [
      [{ 'client-ca-file': 'nothing' }, /client-ca-file holds no certificate/],
      [{ 'client-ca-file': '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----' }, /client-ca-file cannot be read/],
      [{ 'client-ca-file': 5 }, /client-ca-file is no text/],
      [{ 'requestheader-client-ca-file': one.ca, 'requestheader-allowed-names': '{}' }, /requestheader-allowed-names is no list/],
      [{ 'requestheader-client-ca-file': one.ca, 'requestheader-allowed-names': '[' }, /requestheader-allowed-names cannot be read/],
      [{ 'requestheader-client-ca-file': one.ca, 'requestheader-extra-headers-prefix': '[""]' }, /requestheader-extra-headers-prefix is no list/],
    ]
    for (const [data, message] of bad) assert.throws(() => readAuthenticationConfig(data as never), message)
  })

  test('is followed: changed when it changes, and kept when it is damaged, deleted, or kube-apiserver is away', async () => {
    const clock = openManualClock()
    const stop = new AbortController()
    const client = fakeKubeClient(() => ({ metadata: { resourceVersion: '5' }, items: [configMap({ 'client-ca-file': one.ca })] }))
    const told: string[] = []
    const delegated = delegateAuthentication({ client, clock, log: silentLog, signal: stop.signal, onClientCa: (ca) => told.push(ca) })
    assert.equal(delegated.clientCa(), '')
    await delegated.synced
    assert.equal(delegated.clientCa(), one.ca)
    await settle()
    await client.send({ type: 'MODIFIED', object: configMap({ 'client-ca-file': two.ca, 'requestheader-client-ca-file': one.ca }) })
    assert.equal(delegated.clientCa(), one.ca + two.ca)
    await client.send({ type: 'MODIFIED', object: configMap({ 'client-ca-file': 'damaged' }) })
    await client.send({ type: 'DELETED', object: configMap({}) })
    await client.cut(new KubeUnreachable('away'))
    assert.equal(delegated.clientCa(), one.ca + two.ca)
    await clock.advance(60_000)
    await settle()
    await client.send({ type: 'MODIFIED', object: configMap({ 'client-ca-file': one.ca }) })
    assert.deepEqual(told, [one.ca, one.ca + two.ca, one.ca])
    stop.abort()
  })
})
