import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { fakeKubeClient } from './fake-kube-client.fixture.ts'
import { KubeStatusError, type KubeJson, type KubeRequest } from './kube-client.ts'
import { NameTaken, refuseDefinitions, register } from './register.ts'
import { apiServices } from './registration.ts'

const service = { namespace: 'mlops-system', name: 'api', port: 443 }
const groups = [{ group: 'mlops.dev', versions: ['v1', 'v1beta1', 'v1alpha1'] }, { group: 'admin.mlops.dev', versions: ['v1alpha1'] }]
const [wanted] = apiServices(groups, { service, ca: 'PEM' })
assert.ok(wanted)
const missing = new KubeStatusError(404, 'NotFound', 'not found')

// Holds one object, as kube-apiserver would.
const holding = (live: KubeJson | undefined, fail: (request: KubeRequest) => Error | undefined = () => undefined) => fakeKubeClient((request) => {
  const failure = fail(request)
  if (failure) throw failure
  if (request.method === 'GET' && !live) throw missing
  if (request.method !== 'GET') live = request.body as KubeJson
  return live as KubeJson
})
const writes = (client: ReturnType<typeof holding>) => client.requests.filter(({ method }) => method !== 'GET').map(({ method, body }) => [method, body])

suite('registration', () => {
  test('is one APIService for each version, the first preferred', () => {
    assert.deepEqual(apiServices(groups, { service }).map(({ metadata, spec }) => [metadata.name, spec.groupPriorityMinimum, spec.versionPriority, spec.caBundle]), [
      ['v1.mlops.dev', 1000, 100, undefined], ['v1beta1.mlops.dev', 1000, 99, undefined], ['v1alpha1.mlops.dev', 1000, 98, undefined], ['v1alpha1.admin.mlops.dev', 1000, 100, undefined],
    ])
    assert.equal(wanted.spec.caBundle, Buffer.from('PEM').toString('base64'))
  })

  test('creates what is missing and leaves what is right', async () => {
    const client = holding(undefined)
    assert.equal(await register(client, wanted), 'created')
    assert.equal(await register(client, wanted), 'unchanged')
    assert.deepEqual(writes(client), [['POST', wanted]])
  })

  test('updates in place what is another, and takes it from the controller of definitions', async () => {
    const labels = { 'kube-aggregator.kubernetes.io/automanaged': 'true' }
    const live = { apiVersion: wanted.apiVersion, kind: wanted.kind, metadata: { name: 'v1.mlops.dev', uid: '7', resourceVersion: '3', labels }, spec: { group: 'mlops.dev', version: 'v1', groupPriorityMinimum: 1000, versionPriority: 100 }, status: { conditions: [] } }
    const client = holding(live)
    assert.equal(await register(client, wanted), 'updated')
    assert.deepEqual(writes(client), [['PUT', { ...live, metadata: { name: 'v1.mlops.dev', uid: '7', resourceVersion: '3' }, spec: wanted.spec }]])
  })

  test('keeps the caBundle of somebody else when none is known, and ends insecurity when one is', async () => {
    const [without] = apiServices(groups, { service })
    const live = (more: object) => ({ metadata: { name: 'v1.mlops.dev', labels: { app: 'x' } }, spec: { ...without?.spec, ...more } })
    assert.ok(without)
    assert.equal(await register(holding(live({ caBundle: 'b3RoZXI=' })), without), 'unchanged')
    assert.equal(await register(holding(live({ insecureSkipTLSVerify: true })), without), 'unchanged')
    const client = holding(live({ insecureSkipTLSVerify: true }))
    assert.equal(await register(client, wanted), 'updated')
    assert.deepEqual(writes(client), [['PUT', { metadata: { name: 'v1.mlops.dev', labels: { app: 'x' } }, spec: wanted.spec }]])
  })

  test('looks again when another replica was quicker', async () => {
    const conflicts = [new KubeStatusError(409, 'AlreadyExists', 'exists')]
    const client = holding(undefined, ({ method }) => (method === 'POST' ? conflicts.shift() : undefined))
    assert.equal(await register(client, wanted), 'created')
    const forbidden = new KubeStatusError(403, 'Forbidden', 'no')
    await assert.rejects(register(holding(undefined, () => forbidden), wanted), forbidden)
  })

  test('is refused where a definition has the name', async () => {
    await refuseDefinitions(holding(undefined), ['jobs.mlops.dev'])
    await assert.rejects(refuseDefinitions(holding({ metadata: { name: 'jobs.mlops.dev' } }), ['jobs.mlops.dev']), NameTaken)
  })
})
