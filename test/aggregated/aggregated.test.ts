/** This server behind a real kube-apiserver: who may do what, as the cluster says. */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { sendRequest, type Send } from '../harness.ts'
import { kubectl } from '../kubectl.ts'
import { create, eventually, NAMESPACE, SECRET, SERVICE, startAggregated, tokenOf, type Aggregated, type Served } from './aggregated-server.ts'

const JOBS = '/apis/mlops.dev/v1/namespaces/default/notebookvalidationjobs'
const RBAC = '/apis/rbac.authorization.k8s.io/v1'

const job = (name: string) => ({
  apiVersion: 'mlops.dev/v1', kind: 'NotebookValidationJob', metadata: { name },
  spec: { notebook: { git: { url: 'https://git.example/a.git', revision: 'main' }, path: 'a.ipynb' } },
})

suite('an aggregated server', () => {
  let cluster: Aggregated
  let served: Served
  /** Signs the certificate that the server has made for itself. */
  let ca: string
  const run = (args: readonly string[], input?: string) => kubectl('35', cluster.plane.kubeconfig)(args, input)
  /** Past kube-apiserver, straight to this server. */
  const direct = (method: string, path: string, send: Send = {}, identity = cluster.plane.pki.admin) => sendRequest(served.url, { ca, admin: identity, name: `${SERVICE}.${NAMESPACE}.svc` }, method, path, send)
  const proxied = (headers: Record<string, string>, identity = cluster.plane.frontProxy.admin) => direct('GET', JOBS, { headers }, identity)

  before(async () => {
    cluster = await startAggregated()
    served = await cluster.start([], { ownCertificate: true })
    const secret = await cluster.plane.send('GET', `/api/v1/namespaces/${NAMESPACE}/secrets/${SECRET}`)
    ca = Buffer.from(secret.body.data['ca.crt'], 'base64').toString('utf8')
    await cluster.available()
    await create(cluster.plane, `${RBAC}/clusterroles`, { metadata: { name: 'viewer' }, rules: [{ apiGroups: ['mlops.dev'], resources: ['notebookvalidationjobs'], verbs: ['get', 'list', 'watch'] }] })
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'viewer' }
    const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'alice' }, { kind: 'ServiceAccount', name: 'reader', namespace: 'default' }]
    await create(cluster.plane, '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'reader' } })
    await create(cluster.plane, `${RBAC}/namespaces/default/rolebindings`, { metadata: { name: 'viewer' }, roleRef, subjects })
  })
  after(async () => await cluster?.[Symbol.asyncDispose]())

  test('registers an APIService for each version, v1 preferred', async () => {
    const { body } = await cluster.plane.send('GET', '/apis/mlops.dev')
    assert.equal(body.preferredVersion.version, 'v1')
    assert.deepEqual(body.versions.map(({ version }: { version: string }) => version), ['v1', 'v1beta1', 'v1alpha1'])
  })

  test('is used with kubectl', async () => {
    const created = await run(['create', '-f', '-'], JSON.stringify(job('first')))
    assert.deepEqual([created.code, created.stdout], [0, 'notebookvalidationjob.mlops.dev/first created\n'], created.stderr)
    assert.match((await run(['get', 'nvj', 'first'])).stdout, /^NAME .*\nfirst /)
    const watched = await run(['get', 'nvj', '--watch', '--request-timeout=2s', '-o', 'name'])
    assert.match(watched.stdout, /notebookvalidationjob.mlops.dev\/first/)
    assert.match((await run(['explain', 'nvj.spec.notebook'])).stdout, /KIND: +NotebookValidationJob/)
    const deleted = await run(['delete', 'nvj', 'first'])
    assert.equal(deleted.code, 0, deleted.stderr)
  })

  test('asks the cluster what a user may', async () => {
    const may = async (...args: string[]) => (await run(['auth', 'can-i', ...args])).stdout.trim()
    assert.equal(await may('list', 'nvj', '--as', 'alice'), 'yes')
    assert.equal(await may('create', 'nvj', '--as', 'alice'), 'no')
    assert.equal((await run(['get', 'nvj', '--as', 'alice'])).code, 0)
    const refused = await run(['create', '--as', 'alice', '-f', '-'], JSON.stringify(job('second')))
    assert.match(refused.stderr, /User "alice" cannot create resource "notebookvalidationjobs" in API group "mlops.dev" in the namespace "default"/)
  })

  test('known to the server itself, too: past kube-apiserver a user needs an identity and the right', async () => {
    const nobody = await direct('GET', JOBS, { anonymous: true })
    assert.deepEqual([nobody.status, nobody.body.reason], [401, 'Unauthorized'])
    assert.equal((await direct('GET', '/apis/mlops.dev/v1', { anonymous: true })).status, 200)
    assert.equal((await direct('GET', JOBS)).status, 200)
    const token = await tokenOf(cluster.plane, 'default', 'reader')
    const bearer = (text: string, path = JOBS) => direct('GET', path, { anonymous: true, headers: { authorization: `Bearer ${text}` } })
    assert.equal((await bearer(token)).status, 200)
    assert.equal((await bearer(`${token}x`)).status, 401)
    assert.equal((await bearer(await tokenOf(cluster.plane, 'default', 'reader', ['somebody-else']))).status, 401)
    const elsewhere = await bearer(token, JOBS.replace('/default/', '/kube-system/'))
    assert.deepEqual([elsewhere.status, elsewhere.body.message], [403,
      'notebookvalidationjobs.mlops.dev is forbidden: User "system:serviceaccount:default:reader" cannot list resource "notebookvalidationjobs" in API group "mlops.dev" in the namespace "kube-system"'])
  })

  test('believes the headers of a front proxy only', async () => {
    const alice = { 'X-Remote-User': 'alice' }
    assert.equal((await proxied(alice)).status, 200)
    assert.equal((await proxied({ 'X-Remote-User': 'bob' })).status, 403)
    assert.equal((await proxied({})).status, 401)
    // A certificate of the cluster's authority is that of its owner, who has no rights here.
    const worker = await proxied({ 'X-Remote-User': 'admin', 'X-Remote-Group': 'system:masters' }, { ...cluster.pki.admin })
    assert.equal(worker.status, 401)
  })

  test('refuses what is made in a namespace that is unknown or ends', async () => {
    const at = (namespace: string) => JOBS.replace('/default/', `/${namespace}/`)
    const unknown = await cluster.plane.send('POST', at('nowhere'), { body: job('a') })
    assert.deepEqual([unknown.status, unknown.body.message], [404, 'namespaces "nowhere" not found'])
    await create(cluster.plane, '/api/v1/namespaces', { metadata: { name: 'ending' } })
    assert.equal((await cluster.plane.send('POST', at('ending'), { body: job('a') })).status, 201)
    await cluster.plane.send('DELETE', '/api/v1/namespaces/ending')
    await eventually('the end of the namespace is known', async () => (await cluster.plane.send('POST', at('ending'), { body: job('b') })).status === 403)
    const refused = await cluster.plane.send('POST', at('ending'), { body: job('b') })
    assert.equal(refused.body.message, 'notebookvalidationjobs.mlops.dev "b" is forbidden: unable to create new content in namespace ending because it is being terminated')
  })

  test('keeps its registration right', async () => {
    const { body } = await cluster.plane.send('GET', '/apis/apiregistration.k8s.io/v1/apiservices/v1.mlops.dev')
    assert.deepEqual(body.spec, {
      caBundle: Buffer.from(ca).toString('base64'), group: 'mlops.dev', groupPriorityMinimum: 1000, version: 'v1', versionPriority: 100,
      service: { name: 'api', namespace: NAMESPACE, port: cluster.port },
    })
  })
})
