/** The worker of a standalone server has the rights that it needs, and no others: the answers are those of a kube-apiserver with such a role. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sendRequest, startServer, type Send } from './harness.ts'
import { alphaJob, jobsPath } from './jobs.ts'

const ADMIN = '/apis/admin.mlops.dev/v1alpha1'
const MERGE = 'application/merge-patch+json'

test('of the worker', async () => {
  await using server = await startServer()
  assert.equal((await server.send('POST', jobsPath('v1alpha1'), { body: alphaJob('a') })).status, 201)
  assert.equal((await server.send('POST', '/api/v1/namespaces/default/secrets', { body: { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' } } })).status, 201)
  const send = (method: string, path: string, options: Send = {}) => sendRequest(server.server.url, { ...server.pki, admin: server.pki.worker }, method, path, options)

  const event = { apiVersion: 'v1', kind: 'Event', metadata: { name: 'e' }, involvedObject: { namespace: 'default' }, reason: 'R', type: 'Normal' }
  const allowed: readonly (readonly [string, string, Send?])[] = [
    ['GET', '/apis/mlops.dev/v1/notebookvalidationjobs'], ['GET', `${jobsPath('v1')}/a`], ['GET', '/api/v1/namespaces/default/secrets/s'],
    ['PATCH', `${jobsPath('v1')}/a/status`, { type: MERGE, body: { status: { phase: 'Pending' } } }],
    ['POST', '/api/v1/namespaces/default/events', { body: event }], ['PATCH', '/api/v1/namespaces/default/events/e', { type: MERGE, body: { count: 2 } }],
    ['DELETE', `${jobsPath('v1')}/a`], ['GET', '/apis'],
  ]
  for (const [method, path, options] of allowed) assert.ok((await send(method, path, options)).status < 300, `${method} ${path}`)

  const core = 'in API group "" in the namespace "default"'
  const whole = 'in API group "admin.mlops.dev" at the cluster scope'
  const resource = 'notebookvalidationjobs.mlops.dev'
  const refused: readonly (readonly [string, string, string, Send?])[] = [
    ['GET', '/api/v1/namespaces/default/secrets', `secrets is forbidden: User "mlops-worker" cannot list resource "secrets" ${core}`],
    ['DELETE', '/api/v1/namespaces/default/secrets/s', `secrets "s" is forbidden: User "mlops-worker" cannot delete resource "secrets" ${core}`],
    ['POST', jobsPath('v1alpha1'), `${resource} is forbidden: User "mlops-worker" cannot create resource "notebookvalidationjobs" in API group "mlops.dev" in the namespace "default"`, { body: alphaJob('b') }],
    ['GET', `${ADMIN}/storagebackups/current`, `storagebackups.admin.mlops.dev "current" is forbidden: User "mlops-worker" cannot get resource "storagebackups" ${whole}`],
    ['PATCH', `${ADMIN}/storages/${resource}`, `storages.admin.mlops.dev "${resource}" is forbidden: User "mlops-worker" cannot patch resource "storages" ${whole}`, { type: MERGE, body: { spec: { version: 'v1' } } }],
    ['GET', '/metrics', 'forbidden: User "mlops-worker" cannot get path "/metrics"'],
    ['GET', '/apis', 'users "mlops-worker" is forbidden: User "mlops-worker" cannot impersonate resource "users" in API group "" at the cluster scope', { headers: { 'impersonate-user': 'mlops-worker', 'impersonate-group': 'system:masters' } }],
  ]
  for (const [method, path, message, options] of refused) {
    const { status, body } = await send(method, path, options)
    assert.deepEqual([status, body.reason], [403, 'Forbidden'], `${method} ${path}`)
    assert.equal(body.message, message)
  }
})
