import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { suite, test } from 'node:test'
import { openManualClock } from '../test/model/manual-clock.ts'
import { InvalidCredentials, TrustUnavailable } from './auth.ts'
import { fakeKubeClient } from './fake-kube-client.fixture.ts'
import { KubeUnreachable, type KubeJson, type KubeRequest } from './kube-client.ts'
import { tokenReview } from './token-review.ts'

const alice = { username: 'alice', uid: '7', groups: ['devs'], extra: { scope: ['a'] } }
const open = (answer: (request: KubeRequest) => KubeJson, audiences?: readonly string[]) => {
  const clock = openManualClock()
  const client = fakeKubeClient(answer)
  const authenticate = tokenReview({ client, clock, ...(audiences ? { audiences } : {}) })
  return { clock, client, ask: (authorization?: string) => authenticate({ headers: authorization === undefined ? {} : { authorization }, rawHeaders: [], socket: {} as Socket }) }
}
const authenticated = { status: { authenticated: true, user: alice } }

suite('bearer tokens', () => {
  test('are those of the user that kube-apiserver names', async () => {
    const { ask, client } = open(() => authenticated)
    assert.deepEqual(await ask('Bearer secret'), { name: 'alice', uid: '7', groups: ['devs', 'system:authenticated'], extra: { scope: ['a'] } })
    assert.deepEqual(client.requests[0]?.body, { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token: 'secret' } })
  })

  test('are read as upstream reads the header', async () => {
    const { ask, client } = open(() => authenticated)
    for (const header of [undefined, '', 'Bearer', 'Bearer ', 'Basic abc', 'Bearertoken', 'Bearer  two-spaces']) assert.equal(await ask(header), undefined)
    for (const header of ['bearer a', 'BEARER a', ' Bearer a ', 'Bearer a b']) assert.equal((await ask(header))?.name, 'alice')
    assert.equal(client.requests.length, 1)
  })

  test('are asked about once for ten seconds, also when they are refused', async () => {
    for (const answer of [authenticated, { status: { authenticated: false } }]) {
      const { ask, client, clock } = open(() => answer)
      const count = async () => {
        await Promise.allSettled(Array.from({ length: 5 }, () => ask('Bearer a')))
        return client.requests.length
      }
      assert.equal(await count(), 1)
      await clock.advance(9999)
      assert.equal(await count(), 1)
      await clock.advance(1)
      assert.equal(await count(), 2)
    }
  })

  test('without a user are no identity', async () => {
    for (const status of [{}, { authenticated: false, user: alice }, { authenticated: 'true', user: alice }, { authenticated: true }, { authenticated: true, user: { username: '' } }, { authenticated: true, user: { username: 5 } }]) {
      await assert.rejects(open(() => ({ status })).ask('Bearer a'), InvalidCredentials)
    }
  })

  test('that cannot be reviewed are an error of this side, and are asked about again', async () => {
    const { ask, client } = open(() => {
      throw new KubeUnreachable('away')
    })
    for (let i = 0; i < 2; i++) await assert.rejects(ask('Bearer a'), (error: Error) => error instanceof TrustUnavailable && error.question === 'authentication')
    assert.equal(client.requests.length, 2)
  })

  test('must be for one of the audiences, where some are asked for', async () => {
    const of = (audiences: unknown) => open(() => ({ status: { authenticated: true, user: alice, audiences } }), ['mlops', 'api'])
    assert.equal((await of(['api']).ask('Bearer a'))?.name, 'alice')
    for (const audiences of [undefined, [], ['other'], 'api']) await assert.rejects(of(audiences).ask('Bearer a'), InvalidCredentials)
  })
})
