/** What a cluster goes through while this server runs: certificates change, kube-apiserver is away, the server stops. */
import assert from 'node:assert/strict'
import { cp, mkdtemp, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../../src/base/clock.ts'
import { ensurePki, type Pki } from '../../src/commands/pki.ts'
import { openHttp2 } from '../http-client.ts'
import { sendRequest, type Send } from '../harness.ts'
import { create, eventually, NAMESPACE, SERVICE, startAggregated, tokenOf, type Aggregated, type Served } from './aggregated-server.ts'

const JOBS = '/apis/mlops.dev/v1/namespaces/default/notebookvalidationjobs'
const RBAC = '/apis/rbac.authorization.k8s.io/v1'

suite('around an aggregated server', () => {
  let cluster: Aggregated
  let served: Served
  let serving: Pki
  const direct = (path: string, send: Send = {}, identity = cluster.plane.pki.admin) => sendRequest(served.url, { ca: serving.ca, admin: identity }, 'GET', path, send)
  const through = () => cluster.plane.send('GET', JOBS)

  before(async () => {
    cluster = await startAggregated()
    serving = cluster.pki
    served = await cluster.start(['--shutdown-delay-seconds', '3'])
    await cluster.available()
    await create(cluster.plane, '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'reader' } })
    await create(cluster.plane, `${RBAC}/clusterroles`, { metadata: { name: 'reader' }, rules: [{ apiGroups: ['mlops.dev'], resources: ['*'], verbs: ['list'] }] })
    await create(cluster.plane, `${RBAC}/clusterrolebindings`, {
      metadata: { name: 'reader' }, roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'reader' }, subjects: [{ kind: 'ServiceAccount', name: 'reader', namespace: 'default' }],
    })
  })
  after(async () => await cluster?.[Symbol.asyncDispose]())

  test('a serving certificate of another authority is used without a restart, and kube-apiserver is told', async () => {
    serving = await replacePki(join(cluster.directory, 'pki'), [`${SERVICE}.${NAMESPACE}.svc`, '127.0.0.1'])
    await eventually('the new certificate is served', async () => (await direct('/readyz')).status === 200)
    const caBundle = Buffer.from(serving.ca).toString('base64')
    await eventually('the caBundle is that of the new authority', async () => (await cluster.plane.send('GET', '/apis/apiregistration.k8s.io/v1/apiservices/v1.mlops.dev')).body.spec.caBundle === caBundle)
    await cluster.available()
    await eventually('requests arrive', async () => (await through()).status === 200)
  })

  test('another authority of front proxies is trusted as soon as the cluster says so, and the one before no more', async () => {
    const before = cluster.plane.frontProxy
    using session = openHttp2(served.url, { ca: serving.ca, ...before.admin })
    const headers = { 'x-remote-user': 'somebody', 'x-remote-group': 'system:masters' }
    assert.equal((await session.send('GET', JOBS, { headers })).status, 200)
    const next = await replacePki(join(cluster.plane.directory, 'front-proxy'), [])
    await eventually('the new front proxy is believed', async () => (await direct(JOBS, { headers }, next.admin)).status === 200)
    await eventually('kube-apiserver speaks as the new one', async () => (await through()).status === 200)
    // kube-apiserver itself lets the old authority stand beside the new one; an operator takes it away.
    const path = '/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication'
    const { body: config } = await cluster.plane.send('GET', path)
    assert.equal(config.data['requestheader-client-ca-file'].match(/BEGIN/g).length, 2)
    assert.equal((await session.send('GET', JOBS, { headers })).status, 200)
    await cluster.plane.send('PUT', path, { body: { ...config, data: { ...config.data, 'requestheader-client-ca-file': next.ca } } })
    await eventually('the old one is believed no more', async () => (await session.send('GET', JOBS, { headers })).status === 401)
    assert.equal((await direct(JOBS, { headers }, before.admin)).status, 401)
    assert.equal((await through()).status, 200)
  })

  test('without kube-apiserver known answers hold for their time, and then nobody gets in', async () => {
    const authorization = `Bearer ${await tokenOf(cluster.plane, 'default', 'reader')}`
    const ask = (path = JOBS) => direct(path, { anonymous: true, headers: { authorization } })
    assert.equal((await ask()).status, 200)
    const refused = await ask(`${JOBS}/a`)
    assert.equal(refused.status, 403)
    await cluster.plane.stopServer()
    assert.equal((await ask()).status, 200)
    assert.equal((await direct(JOBS)).status, 200, 'system:masters needs nobody')
    const unknown = await ask('/apis/mlops.dev/v1/notebookvalidationjobs')
    assert.deepEqual([unknown.status, unknown.body.reason], [500, 'InternalError'])
    await eventually('the answers are over', async () => (await ask()).status === 503)
    assert.match((await ask()).body.message, /^who is calling cannot be found out: Post "https:\/\/.*tokenreviews": connect ECONNREFUSED/)
    assert.equal((await direct('/readyz')).status, 200)
    await cluster.plane.startServer()
    assert.equal((await ask()).status, 200)
    await cluster.available()
  })

  test('a stop fails readiness first, serves on, ends watches in order and then goes', async () => {
    const session = openHttp2(served.url, { ca: serving.ca, ...cluster.plane.pki.admin })
    let goneAway: number | undefined
    session.session.once('goaway', (code) => (goneAway = code))
    const watch = session.watch(`${JOBS}?watch=true`)
    await watch.headers
    const watched = (async () => {
      for await (const _ of watch);
    })()
    const stopped = served.stop()
    await eventually('readiness fails', async () => (await direct('/readyz')).status === 500)
    for (let i = 0; i < 10; i++, await sleep(100)) {
      assert.equal((await session.send('GET', JOBS)).status, 200)
      assert.equal((await through()).status, 200)
      assert.equal((await direct('/livez')).status, 200)
    }
    await watched
    const { code, stderr } = await stopped
    assert.equal(code, 0, stderr)
    assert.equal(goneAway, 0)
  })

  test('a CustomResourceDefinition of the same name is a refusal', async () => {
    for (const { metadata } of (await cluster.plane.send('GET', '/apis/apiregistration.k8s.io/v1/apiservices')).body.items) {
      if (metadata.name.endsWith('mlops.dev')) await cluster.plane.send('DELETE', `/apis/apiregistration.k8s.io/v1/apiservices/${metadata.name}`)
    }
    await create(cluster.plane, '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
      apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', metadata: { name: 'notebookvalidationjobs.mlops.dev' },
      spec: {
        group: 'mlops.dev', scope: 'Namespaced', names: { plural: 'notebookvalidationjobs', singular: 'notebookvalidationjob', kind: 'NotebookValidationJob', listKind: 'NotebookValidationJobList' },
        versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
      },
    })
    await assert.rejects(cluster.start(), /mlops-apiserver: the cluster has a CustomResourceDefinition notebookvalidationjobs.mlops.dev: its objects would be out of sight/)
  })
})

// As an operator changes them: file by file.
async function replacePki(directory: string, hosts: readonly string[]): Promise<Pki> {
  const scratch = await mkdtemp(`${directory}-`)
  const pki = await ensurePki(scratch, { hosts, clock: systemClock })
  for (const name of ['ca.crt', 'server.key', 'server.crt', 'admin.key', 'admin.crt']) {
    await cp(join(scratch, name), join(directory, `${name}.next`))
    await rename(join(directory, `${name}.next`), join(directory, name))
  }
  await rm(scratch, { recursive: true })
  return pki
}
