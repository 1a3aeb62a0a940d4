/** Reviews of oneself, as `kubectl auth can-i` and `kubectl auth whoami` ask for them, on a server that decides by itself. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { startServer, type Harness } from './harness.ts'
import { kubectlPath, KUBECTL_VERSIONS } from './kubectl.ts'

const ACCESS = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'
const IDENTITY = '/apis/authentication.k8s.io/v1/selfsubjectreviews'
const BOB = { 'impersonate-user': 'bob' }

let harness: Harness
before(async () => {
  harness = await startServer()
})
after(() => harness[Symbol.asyncDispose]())

const review = (spec: object) => ({ apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec })
const jobs = { verb: 'delete', group: 'mlops.dev', resource: 'notebookvalidationjobs', namespace: 'default' }

test('what a caller may is what the authorizer says', async () => {
  const spec = { resourceAttributes: jobs }
  const { status, body } = await harness.send('POST', ACCESS, { body: review(spec) })
  assert.equal(status, 201)
  assert.deepEqual(body, { ...review(spec), metadata: {}, status: { allowed: true } })
  const others = await harness.send('POST', ACCESS, { body: review(spec), headers: BOB })
  assert.deepEqual(others.body.status, { allowed: false })
  const path = { nonResourceAttributes: { verb: 'get', path: '/metrics' } }
  assert.deepEqual((await harness.send('POST', ACCESS, { body: review(path) })).body.status, { allowed: true })
  assert.equal((await harness.send('POST', ACCESS, { body: review(spec), anonymous: true })).status, 401)
})

test('a review that asks for nothing, or for both, is refused as upstream refuses it', async () => {
  const none = await harness.send('POST', ACCESS, { body: review({}) })
  assert.equal(none.status, 422)
  assert.equal(
    none.body.message,
    '.authorization.k8s.io "" is invalid: spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified',
  )
  assert.equal((await harness.send('POST', ACCESS, { body: review({ resourceAttributes: jobs, nonResourceAttributes: { verb: 'get', path: '/' } }) })).status, 422)
  for (const body of ['{', '[]', '{"kind":"Pod"}']) assert.equal((await harness.send('POST', ACCESS, { body })).status, 400, body)
  assert.equal((await harness.send('POST', ACCESS, { body: 'a: 1', type: 'application/yaml' })).status, 415)
  assert.equal((await harness.send('POST', ACCESS, { body: 'k8s\0\xff', type: 'application/vnd.kubernetes.protobuf' })).status, 400)
  assert.equal((await harness.send('GET', ACCESS)).status, 405)
})

test('who a caller is', async () => {
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }
  const bob = await harness.send('POST', IDENTITY, { body, headers: BOB })
  assert.equal(bob.status, 201)
  assert.deepEqual(bob.body.status, { userInfo: { username: 'bob', groups: ['system:authenticated'] } })
  assert.match(bob.body.metadata.creationTimestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
})

test('kubectl asks for both', async () => {
  for (const version of KUBECTL_VERSIONS) {
    const ask = async (...args: string[]): Promise<string> => {
      const run = promisify(execFile)(kubectlPath(version), ['--kubeconfig', harness.kubeconfig, 'auth', ...args])
      return (await run.catch((error: { readonly stdout: string }) => error)).stdout
    }
    assert.equal(await ask('can-i', 'get', 'nvj'), 'yes\n')
    assert.equal(await ask('can-i', 'get', 'nvj', '--as', 'bob'), 'no\n')
    assert.match(await ask('whoami', '--as', 'bob'), /Username +bob\nGroups +\[system:authenticated\]/)
  }
})
