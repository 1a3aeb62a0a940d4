import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { KubeStatusError, type KubeClient, type KubeJson } from '../../apiservice/kube-client.ts'
import { systemClock, type Clock } from '../base/clock.ts'
import { silentLog } from '../base/log.ts'
import { openManualClock } from '../../test/model/manual-clock.ts'
import { firstCertificate, keepCertificate, refreshCertificate, type KeepOptions } from './webhook-certificate.ts'

const SECRET = '/api/v1/namespaces/mlops-system/secrets/certificate'
const DEFINITION = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.example.com'
const DAY = 86_400_000

// Objects by path, with optimistic locking; `away` makes every call fail.
function cluster() {
  const objects = new Map<string, { readonly value: Record<string, unknown>; readonly revision: number }>([
    [SECRET, { value: { kind: 'Secret', metadata: { name: 'certificate', labels: { kept: 'yes' } } }, revision: 1 }],
    [DEFINITION, { value: { kind: 'CustomResourceDefinition', metadata: { name: 'things.example.com' }, spec: { group: 'example.com', conversion: { strategy: 'Webhook', webhook: { clientConfig: { service: { name: 'webhook' } } } } } }, revision: 1 }],
  ])
  const state = { away: false, writes: 0 }
  const client: KubeClient = {
    async request({ method, path, body }): Promise<KubeJson> {
      await new Promise((resolve) => setImmediate(resolve))
      if (state.away) throw new Error('connect ECONNREFUSED')
      const found = objects.get(path)
      if (!found) throw new KubeStatusError(404, 'NotFound', `${path} not found`)
      if (method === 'GET') return { ...found.value, metadata: { ...(found.value.metadata as object), resourceVersion: String(found.revision) } }
      const sent = structuredClone(body) as { metadata: { resourceVersion?: string } }
      if (sent.metadata.resourceVersion !== String(found.revision)) throw new KubeStatusError(409, 'Conflict', 'the object has been modified')
      state.writes++
      objects.set(path, { value: sent as Record<string, unknown>, revision: found.revision + 1 })
      return sent
    },
    // oxlint-disable-next-line require-yield -- nothing is watched here
    async *watch() {
      throw new Error('not watched')
    },
    close() {},
  }
  const secret = (): Record<string, string> => Object.fromEntries(Object.entries(objects.get(SECRET)!.value.data as Record<string, string>).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]))
  // oxlint-disable-next-line typescript/no-explicit-any -- a test looks into it
  const caBundle = (): string => Buffer.from((objects.get(DEFINITION)!.value as any).spec.conversion.webhook.clientConfig.caBundle ?? '', 'base64').toString()
  return { client, state, secret, caBundle, objects }
}

const options = (client: KubeClient, clock: Clock = systemClock): KeepOptions => ({
  client, service: { namespace: 'mlops-system', name: 'webhook', port: 443 }, secret: 'certificate', definitions: ['things.example.com'], clock, log: silentLog,
})

test('replicas that begin together end up with one authority, which the definition names', async () => {
  const { client, secret, caBundle, state, objects } = cluster()
  const pairs = await Promise.all([1, 2, 3].map(() => firstCertificate(options(client), new AbortController().signal)))
  const { 'ca.crt': ca, 'tls.crt': cert } = secret()
  assert.deepEqual(pairs.map((pair) => pair.cert), [cert, cert, cert])
  assert.equal(caBundle(), ca)
  const leaf = new X509Certificate(cert!)
  assert.ok(leaf.checkIssued(new X509Certificate(ca!)))
  for (const host of ['webhook.mlops-system.svc', 'webhook.mlops-system.svc.cluster.local']) assert.equal(leaf.checkHost(host), host)
  assert.deepEqual((objects.get(SECRET)!.value.metadata as { labels: object }).labels, { kept: 'yes' })
  const { writes } = state
  await refreshCertificate(options(client))
  assert.equal(state.writes, writes, 'what is right is not written again')
})

test('a certificate near its end is renewed by the same authority, one of another Service or a broken one too', async () => {
  const { client, secret, objects } = cluster()
  await refreshCertificate(options(client))
  const first = secret()
  await refreshCertificate(options(client, { ...systemClock, now: () => Date.now() + 340 * DAY }))
  const second = secret()
  assert.notEqual(second['tls.crt'], first['tls.crt'])
  await refreshCertificate({ ...options(client), service: { namespace: 'mlops-system', name: 'other', port: 443 } })
  assert.equal(new X509Certificate(secret()['tls.crt']!).checkHost('other.mlops-system.svc'), 'other.mlops-system.svc')
  const found = objects.get(SECRET)!
  objects.set(SECRET, { ...found, value: { ...found.value, data: { ...(found.value.data as object), 'tls.key': Buffer.from('nonsense').toString('base64') } } })
  await refreshCertificate(options(client))
  assert.match(secret()['tls.key']!, /PRIVATE KEY/)
  assert.deepEqual([second['ca.crt'], secret()['ca.crt']], [first['ca.crt'], first['ca.crt']])
})

test('without its key an authority is replaced, and the definition told', async () => {
  const { client, secret, caBundle, objects } = cluster()
  await refreshCertificate(options(client))
  const { 'ca.crt': before } = secret()
  const found = objects.get(SECRET)!
  const { 'ca.key': _, ...data } = found.value.data as Record<string, string>
  objects.set(SECRET, { ...found, value: { ...found.value, data } })
  await refreshCertificate(options(client))
  assert.notEqual(secret()['ca.crt'], before)
  assert.equal(caBundle(), secret()['ca.crt'])
})

test('a kube-apiserver that is away is waited for at first, and later changes nothing; what another replica renews is used', async () => {
  const { client, state, secret } = cluster()
  const clock = openManualClock(Date.now())
  state.away = true
  const stop = new AbortController()
  const waiting = firstCertificate(options(client, clock), stop.signal)
  await clock.advance(10_000)
  state.away = false
  await clock.advance(10_000)
  const first = await waiting
  assert.equal(first.cert, secret()['tls.crt'])
  const used: string[] = []
  const keeping = keepCertificate(options(client, clock), first, { use: ({ cert }) => void used.push(cert), signal: stop.signal })
  state.away = true
  await clock.advance(120_000)
  assert.deepEqual(used, [])
  state.away = false
  await refreshCertificate({ ...options(client), clock: { ...systemClock, now: () => Date.now() + 340 * DAY } })
  for (let i = 0; i < 50 && used.length === 0; i++) {
    await clock.advance(60_000)
    await systemClock.sleep(5)
  }
  assert.deepEqual(used, [secret()['tls.crt']])
  stop.abort()
  await keeping
})
