import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { openManualClock } from '../test/model/manual-clock.ts'
import { accessReview, reviewSpec } from './access-review.ts'
import { TrustUnavailable, type Attributes } from './auth.ts'
import { fakeKubeClient, settle } from './fake-kube-client.fixture.ts'
import { KubeStatusError, KubeUnreachable, type KubeJson, type KubeRequest } from './kube-client.ts'

const attributes = (more: Partial<Attributes> = {}): Attributes => ({
  user: { name: 'alice', groups: ['devs', 'system:authenticated'] }, verb: 'list', group: 'mlops.dev', version: 'v1', resource: 'jobs', subresource: '', namespace: 'a', name: '', path: '/x', ...more,
})
const open = (answer: (request: KubeRequest) => KubeJson | Promise<KubeJson>) => {
  const clock = openManualClock()
  const client = fakeKubeClient(answer)
  return { clock, client, authorize: accessReview({ client, clock }) }
}
const yes = { status: { allowed: true, reason: 'RBAC: allowed' } }

suite('access reviews', () => {
  test('tell all of a request, as upstream does', () => {
    const user = { name: 'alice', uid: '7', groups: ['devs'], extra: { 'example.com/scope': ['a', 'b'] } }
    assert.deepEqual(reviewSpec(attributes({ user, name: 'x', subresource: 'status', labelSelector: [{ key: 'app', operator: 'In', values: ['a'] }] })), {
      resourceAttributes: {
        namespace: 'a', verb: 'list', group: 'mlops.dev', version: 'v1', resource: 'jobs', subresource: 'status', name: 'x', labelSelector: { requirements: [{ key: 'app', operator: 'In', values: ['a'] }] },
      },
      user: 'alice', groups: ['devs'], extra: { 'example.com/scope': ['a', 'b'] }, uid: '7',
    })
    assert.deepEqual(reviewSpec(attributes({ resource: '', verb: 'get', path: '/metrics' })), { nonResourceAttributes: { path: '/metrics', verb: 'get' }, user: 'alice', groups: ['devs', 'system:authenticated'] })
  })

  test('are asked once for ten seconds, whoever asks meanwhile', async () => {
    const { authorize, client, clock } = open(() => yes)
    const decisions = await Promise.all(Array.from({ length: 20 }, () => authorize(attributes())))
    assert.deepEqual(new Set(decisions.map(({ allowed }) => allowed)), new Set([true]))
    await clock.advance(9_999)
    await authorize(attributes())
    assert.equal(client.requests.length, 1)
    await clock.advance(1)
    await authorize(attributes())
    assert.equal(client.requests.length, 2)
  })

  test('differ in every attribute', async () => {
    const { authorize, client } = open(() => yes)
    const different: Partial<Attributes>[] = [
      {}, { verb: 'get' }, { group: 'b' }, { version: 'v2' }, { resource: 'b' }, { subresource: 'status' }, { namespace: 'b' }, { name: 'b' }, { resource: '' }, { resource: '', path: '/y' },
      { user: { name: 'bob', groups: [] } }, { user: { name: 'alice', groups: [] } }, { user: { name: 'alice', groups: [], uid: '1' } }, { user: { name: 'alice', groups: [], extra: { a: ['b'] } } },
      { fieldSelector: [{ key: 'a', operator: 'In', values: ['b'] }] }, { labelSelector: [{ key: 'a', operator: 'In', values: ['b'] }] },
    ]
    for (const more of different) await authorize(attributes(more))
    for (const more of different) await authorize(attributes(more))
    assert.equal(client.requests.length, different.length)
  })

  test('of what is refused are kept too, with the reason', async () => {
    const { authorize, client } = open(() => ({ status: { allowed: false, reason: 'no' } }))
    assert.deepEqual([await authorize(attributes()), await authorize(attributes())], [{ allowed: false, reason: 'no' }, { allowed: false, reason: 'no' }])
    assert.equal(client.requests.length, 1)
  })

  test('let nobody in whose answer is anything but a plain yes', async () => {
    for (const status of [{}, { allowed: 'true' }, { allowed: 1 }, { allowed: true, denied: true }, null, [], undefined]) {
      assert.equal((await open(() => ({ status })).authorize(attributes())).allowed, false)
    }
  })

  test('are not asked for system:masters', async () => {
    const { authorize, client } = open(() => ({ status: { allowed: false } }))
    assert.deepEqual(await authorize(attributes({ user: { name: 'root', groups: ['system:masters'] } })), { allowed: true })
    assert.equal(client.requests.length, 0)
  })

  test('that fail are errors, are not kept, and what is known goes on for its time', async () => {
    let away = false
    const { authorize, client, clock } = open(() => {
      if (away) throw new KubeUnreachable('Post "https://k": connect ECONNREFUSED')
      return yes
    })
    await authorize(attributes())
    away = true
    assert.equal((await authorize(attributes())).allowed, true)
    await clock.advance(10_000)
    for (let i = 0; i < 2; i++) await assert.rejects(authorize(attributes()), (error: Error) => error instanceof TrustUnavailable && error.question === 'authorization' && /ECONNREFUSED/.test(error.message))
    assert.equal(client.requests.length, 3)
    away = false
    assert.equal((await authorize(attributes())).allowed, true)
  })

  test('are asked again when kube-apiserver has too much to do, or the kept connection was closed', async () => {
    const failures: Error[] = [new KubeUnreachable('reset', { cause: Object.assign(new Error(), { code: 'ECONNRESET' }) }), new KubeStatusError(429, 'TooManyRequests', 'later')]
    const { authorize, client, clock } = open(() => {
      const failure = failures.shift()
      if (failure) throw failure
      return yes
    })
    const decision = authorize(attributes())
    for (let i = 0; i < 3; i++) {
      await settle()
      await clock.advance(1000)
    }
    assert.equal((await decision).allowed, true)
    assert.equal(client.requests.length, 3)
  })

  test('of requests that are very long are not kept', async () => {
    const { authorize, client } = open(() => yes)
    for (let i = 0; i < 2; i++) await authorize(attributes({ name: 'x'.repeat(10_000) }))
    assert.equal(client.requests.length, 2)
  })
})
