import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { chmod, copyFile, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { decodeYaml } from '../api/yaml.ts'
import { systemClock, type Clock } from '../base/clock.ts'
import { formatKubeconfig, writeKubeconfig } from './kubeconfig.ts'
import { ensurePki } from './pki.ts'

const root = await mkdtemp(join(tmpdir(), 'pki-'))
after(() => rm(root, { recursive: true }))
const hosts = ['localhost', '127.0.0.1', '::1']
const later = (days: number): Clock => ({ ...systemClock, now: () => Date.now() + days * 86_400_000 })
const serial = (pem: string) => new X509Certificate(pem).serialNumber

test('makes an authority, a server certificate and two client certificates, readable by the owner only', async () => {
  const directory = join(root, 'new', 'pki')
  const pki = await ensurePki(directory, { hosts, clock: systemClock })
  const ca = new X509Certificate(pki.ca)
  assert.equal(ca.ca, true)
  assert.ok(ca.validToDate.getTime() - Date.now() > 3600 * 86_400_000)
  const server = new X509Certificate(pki.server.cert)
  assert.deepEqual(server.subjectAltName, 'DNS:localhost, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1')
  assert.deepEqual({ ...new X509Certificate(pki.admin.cert).toLegacyObject().subject }, { CN: 'mlops-admin', O: 'system:masters' })
  assert.deepEqual({ ...new X509Certificate(pki.worker.cert).toLegacyObject().subject }, { CN: 'mlops-worker' })
  assert.deepEqual(new X509Certificate(pki.admin.cert).keyUsage, ['1.3.6.1.5.5.7.3.2'])
  for (const { cert } of [pki.server, pki.admin, pki.worker]) assert.ok(new X509Certificate(cert).verify(ca.publicKey))
  assert.equal((await stat(directory)).mode & 0o777, 0o700)
  const files = await readdir(directory)
  assert.deepEqual(files.sort(), ['admin.crt', 'admin.key', 'ca.crt', 'ca.key', 'server.crt', 'server.key', 'worker.crt', 'worker.key'])
  for (const file of files) assert.equal((await stat(join(directory, file))).mode & 0o777, 0o600, file)
})

test('the second start reads what the first made, and closes an opened directory', async () => {
  const directory = join(root, 'twice')
  const first = await ensurePki(directory, { hosts, clock: systemClock })
  await chmod(directory, 0o755)
  const start = performance.now()
  assert.deepEqual(await ensurePki(directory, { hosts, clock: systemClock }), first)
  assert.ok(performance.now() - start < 200)
  assert.equal((await stat(directory)).mode & 0o777, 0o700)
})

test('completes a half-made set without touching the rest', async () => {
  const directory = join(root, 'half')
  const first = await ensurePki(directory, { hosts, clock: systemClock })
  await rm(join(directory, 'admin.crt'))
  await writeFile(join(directory, 'worker.key'), '')
  const second = await ensurePki(directory, { hosts, clock: systemClock })
  assert.equal(second.ca, first.ca)
  assert.deepEqual(second.server, first.server)
  assert.notEqual(second.admin.cert, first.admin.cert)
  assert.notEqual(second.worker.cert, first.worker.cert)
})

test('a set that was interrupted after a new authority is made whole', async () => {
  const directory = join(root, 'interrupted')
  const first = await ensurePki(directory, { hosts, clock: systemClock })
  const other = await ensurePki(join(root, 'other'), { hosts, clock: systemClock })
  await writeFile(join(directory, 'ca.crt'), other.ca)
  await writeFile(join(directory, 'ca.key'), await readFile(join(root, 'other', 'ca.key')))
  const second = await ensurePki(directory, { hosts, clock: systemClock })
  assert.equal(second.ca, other.ca)
  assert.notEqual(second.server.cert, first.server.cert)
  assert.ok(new X509Certificate(second.admin.cert).verify(new X509Certificate(other.ca).publicKey))
})

test('an authority without its key serves while nothing has to be signed, then is replaced with all it signed', async () => {
  const directory = join(root, 'keyless')
  const first = await ensurePki(directory, { hosts, clock: systemClock })
  await rm(join(directory, 'ca.key'))
  assert.deepEqual(await ensurePki(directory, { hosts, clock: systemClock }), first)
  await rm(join(directory, 'server.crt'))
  const second = await ensurePki(directory, { hosts, clock: systemClock })
  assert.notEqual(second.ca, first.ca)
  assert.ok(new X509Certificate(second.worker.cert).verify(new X509Certificate(second.ca).publicKey))
})

test('renews what is near its end, and the server certificate when a host is added', async () => {
  const directory = join(root, 'renew')
  const first = await ensurePki(directory, { hosts, clock: systemClock })
  const soon = await ensurePki(directory, { hosts, clock: later(300) })
  assert.equal(serial(soon.server.cert), serial(first.server.cert))
  const renewed = await ensurePki(directory, { hosts, clock: later(340) })
  assert.equal(renewed.ca, first.ca)
  assert.notEqual(serial(renewed.server.cert), serial(first.server.cert))
  const more = await ensurePki(directory, { hosts: [...hosts, 'mlops.example'], clock: later(340) })
  assert.notEqual(serial(more.server.cert), serial(renewed.server.cert))
  assert.equal(serial(more.admin.cert), serial(renewed.admin.cert))
  const decade = await ensurePki(directory, { hosts, clock: later(3640) })
  assert.notEqual(decade.ca, first.ca)
})

test('a certificate of an earlier release, whose name says more than it may, is made anew', async () => {
  const directory = join(root, 'rights')
  const first = await ensurePki(directory, { hosts, clock: systemClock })
  for (const end of ['crt', 'key']) await copyFile(join(directory, `admin.${end}`), join(directory, `worker.${end}`))
  const second = await ensurePki(directory, { hosts, clock: systemClock })
  assert.equal(new X509Certificate(second.worker.cert).subject, 'CN=mlops-worker')
  assert.deepEqual([second.ca, second.admin, second.server], [first.ca, first.admin, first.server])
})

test('a damaged authority is not replaced in silence', async () => {
  const directory = join(root, 'damaged')
  await ensurePki(directory, { hosts, clock: systemClock })
  await writeFile(join(directory, 'ca.crt'), 'garbage')
  await assert.rejects(ensurePki(directory, { hosts, clock: systemClock }), /cannot read the certificate authority .*ca\.crt: .* Restore it, or remove /)
})

test('a kubeconfig embeds the certificates and is readable by the owner only', async () => {
  const options = { server: 'https://127.0.0.1:7443', ca: 'CA', cert: 'CERT', key: 'KEY', name: 'mlops' }
  const path = join(root, 'kubeconfig')
  await writeKubeconfig(path, options)
  assert.equal((await stat(path)).mode & 0o777, 0o600)
  const text = await readFile(path, 'utf8')
  assert.equal(text, formatKubeconfig(options))
  assert.deepEqual(decodeYaml(text).value, {
    apiVersion: 'v1', kind: 'Config', 'current-context': 'mlops', preferences: {},
    clusters: [{ name: 'mlops', cluster: { server: 'https://127.0.0.1:7443', 'certificate-authority-data': 'Q0E=' } }],
    contexts: [{ name: 'mlops', context: { cluster: 'mlops', namespace: 'default', user: 'mlops' } }],
    users: [{ name: 'mlops', user: { 'client-certificate-data': 'Q0VSVA==', 'client-key-data': 'S0VZ' } }],
  })
})
