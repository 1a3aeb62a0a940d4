/** What standalone mode does by itself: garbage, deleted namespaces, expired events. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { systemClock } from '../../src/base/clock.ts'
import { silentLog } from '../../src/base/log.ts'
import { collectGarbage } from '../../src/registry/garbage-collector.ts'
import { emptyNamespaces } from '../../src/registry/empty-namespaces.ts'
import { expireOnce } from '../../src/registry/expire-objects.ts'
import { startServer, type Harness } from '../harness.ts'

const JOBS = '/apis/mlops.dev/v1/namespaces/default/notebookvalidationjobs'
const SECRETS = '/api/v1/namespaces/default/secrets'

describe('controllers of standalone mode', { concurrency: 1 }, () => {
  let harness: Harness
  const stop = new AbortController()
  let running: Promise<unknown>

  before(async () => {
    harness = await startServer()
    const around = { signal: stop.signal, clock: systemClock, log: silentLog }
    const namespaced = harness.server.stores.filter(({ definition }) => definition.scope === 'Namespaced')
    running = Promise.all([collectGarbage(harness.server.stores, around), emptyNamespaces(harness.server.store('Namespace'), namespaced, around)])
  })
  after(async () => {
    stop.abort()
    await running
    await harness[Symbol.asyncDispose]()
  })

  const send = async (method: string, path: string, body?: unknown) => {
    const answer = await harness.send(method, path, body === undefined ? {} : { body })
    assert.ok(answer.status < 300, answer.text)
    return answer.body
  }
  const job = (name: string, metadata: object = {}) => ({
    apiVersion: 'mlops.dev/v1', kind: 'NotebookValidationJob', metadata: { name, ...metadata },
    spec: { notebook: { git: { url: 'https://git.example/nb.git' }, path: 'a.ipynb' } },
  })
  const secret = (name: string, metadata: object = {}) => ({ apiVersion: 'v1', kind: 'Secret', metadata: { name, ...metadata } })
  const owned = (owner: { metadata: { name: string; uid: string } }, more: object = {}) => ({
    ownerReferences: [{ apiVersion: 'mlops.dev/v1', kind: 'NotebookValidationJob', name: owner.metadata.name, uid: owner.metadata.uid, ...more }],
  })
  const status = async (path: string) => (await harness.send('GET', path)).status
  const until = async (what: string, holds: () => Promise<boolean>) => {
    for (let i = 0; i < 100; i++) {
      if (await holds()) return
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    assert.fail(`not in time: ${what}`)
  }

  test('dependants of a deleted owner go, those of a living one stay', async () => {
    const owner = await send('POST', JOBS, job('owner'))
    const other = await send('POST', JOBS, job('other'))
    await send('POST', SECRETS, secret('mine', owned(owner)))
    await send('POST', SECRETS, secret('shared', { ownerReferences: [...owned(owner).ownerReferences, ...owned(other).ownerReferences] }))
    await send('DELETE', `${JOBS}/owner`)
    await until('the dependant is gone', async () => (await status(`${SECRETS}/mine`)) === 404)
    await until('the other one has lost its reference', async () => {
      const { metadata } = await send('GET', `${SECRETS}/shared`)
      return metadata.ownerReferences.length === 1 && metadata.ownerReferences[0].uid === other.metadata.uid
    })
  })

  test('an owner that was never there is an owner that is gone; a kind that is not served is left alone', async () => {
    await send('POST', SECRETS, secret('dangling', owned({ metadata: { name: 'nobody', uid: 'f7b9c2b0-0000-4000-8000-000000000000' } })))
    await send('POST', SECRETS, secret('foreign', { ownerReferences: [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'd', uid: 'f7b9c2b0-0000-4000-8000-000000000001' }] }))
    await until('the dangling one is gone', async () => (await status(`${SECRETS}/dangling`)) === 404)
    assert.equal(await status(`${SECRETS}/foreign`), 200)
  })

  test('Orphan keeps the dependants and takes their references away', async () => {
    const owner = await send('POST', JOBS, job('parent'))
    await send('POST', SECRETS, secret('orphan', owned(owner)))
    await send('DELETE', `${JOBS}/parent`, { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: 'Orphan' })
    await until('the owner is gone', async () => (await status(`${JOBS}/parent`)) === 404)
    const { metadata } = await send('GET', `${SECRETS}/orphan`)
    assert.equal(metadata.ownerReferences, undefined)
  })

  test('Foreground waits for a dependant that blocks, and for its finalizer', async () => {
    const owner = await send('POST', JOBS, job('front'))
    await send('POST', SECRETS, secret('blocker', { ...owned(owner, { blockOwnerDeletion: true }), finalizers: ['mlops.dev/hold'] }))
    await send('DELETE', `${JOBS}/front`, { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: 'Foreground' })
    await until('the dependant terminates', async () => (await send('GET', `${SECRETS}/blocker`)).metadata.deletionTimestamp !== undefined)
    assert.ok((await send('GET', `${JOBS}/front`)).metadata.finalizers.includes('foregroundDeletion'))
    const released = await harness.send('PATCH', `${SECRETS}/blocker`, { type: 'application/merge-patch+json', body: { metadata: { finalizers: null } } })
    assert.equal(released.status, 200)
    await until('both are gone', async () => (await status(`${SECRETS}/blocker`)) === 404 && (await status(`${JOBS}/front`)) === 404)
  })

  test('a deleted namespace is emptied, refuses new content, and then goes', async () => {
    await send('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } })
    const jobs = JOBS.replace('default', 'team')
    await send('POST', jobs, job('held', { finalizers: ['mlops.dev/hold'] }))
    await send('POST', SECRETS.replace('default', 'team'), secret('inside'))
    const deleting = await send('DELETE', '/api/v1/namespaces/team')
    assert.equal(deleting.status.phase, 'Terminating')
    await until('the secret is gone', async () => (await status(`${SECRETS.replace('default', 'team')}/inside`)) === 404)
    const refused = await harness.send('POST', jobs, { body: job('late') })
    assert.equal(refused.status, 403)
    assert.equal(refused.body.message, 'notebookvalidationjobs.mlops.dev "late" is forbidden: unable to create new content in namespace team because it is being terminated')
    // A label may still be set, and does not let it go.
    await harness.send('PATCH', '/api/v1/namespaces/team', { type: 'application/merge-patch+json', body: { metadata: { labels: { a: 'b' } } } })
    assert.equal(await status('/api/v1/namespaces/team'), 200)
    await harness.send('PATCH', `${jobs}/held`, { type: 'application/merge-patch+json', body: { metadata: { finalizers: null } } })
    await until('the namespace is gone', async () => (await status('/api/v1/namespaces/team')) === 404)
    await send('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } })
    assert.equal((await send('GET', jobs)).items.length, 0)
  })

  test('an event is gone an hour after it was last seen', async () => {
    const events = '/api/v1/namespaces/default/events'
    const event = (name: string, lastTimestamp: string) => ({
      apiVersion: 'v1', kind: 'Event', metadata: { name }, involvedObject: { kind: 'NotebookValidationJob', name: 'x', namespace: 'default' }, reason: 'R', lastTimestamp,
    })
    await send('POST', events, event('old', '2026-01-01T10:00:00Z'))
    await send('POST', events, event('new', '2026-01-01T11:30:00Z'))
    const store = harness.server.store('Event')
    assert.equal(await expireOnce(store, Date.parse('2026-01-01T11:00:01Z')), 1)
    assert.equal(await status(`${events}/old`), 404)
    assert.equal((await send('GET', `${events}?fieldSelector=involvedObject.name%3Dx%2CinvolvedObject.kind%3DNotebookValidationJob`)).items.length, 1)
    assert.equal((await send('GET', `${events}?fieldSelector=involvedObject.name%3Dy`)).items.length, 0)
  })
})
