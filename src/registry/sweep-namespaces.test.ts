import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startServer } from '../../test/harness.ts'
import { openManualClock } from '../../test/model/manual-clock.ts'
import { silentLog } from '../base/log.ts'
import { systemClock } from '../base/clock.ts'
import { sweepNamespaces } from './sweep-namespaces.ts'

const MINUTES = 60_000
const SECRETS = '/api/v1/namespaces/default/secrets'

test('what is left of a namespace that is gone is removed, when it is missing twice and the answers can be believed', async () => {
  await using harness = await startServer()
  const clock = openManualClock()
  const stop = new AbortController()
  const there = new Set(['kube-system', 'default'])
  let away = false
  const find = async (name: string) => {
    if (away) throw new Error('kube-apiserver is away')
    return there.has(name) ? { terminating: false } : undefined
  }
  const sweeping = sweepNamespaces(harness.server.stores, find, { signal: stop.signal, clock, log: silentLog })
  const round = async (): Promise<number> => {
    await clock.advance(5 * MINUTES)
    // Objects are removed beside the clock.
    await systemClock.sleep(50)
    return (await harness.send('GET', SECRETS)).body.items.length
  }
  for (const metadata of [{ name: 'a' }, { name: 'b', finalizers: ['example.com/x'] }]) {
    assert.equal((await harness.send('POST', SECRETS, { body: { apiVersion: 'v1', kind: 'Secret', metadata } })).status, 201)
  }
  assert.equal(await round(), 2)
  there.delete('default')
  assert.equal(await round(), 2)
  there.add('default')
  assert.equal(await round(), 2)
  there.clear()
  for (let i = 0; i < 3; i++) assert.equal(await round(), 2, 'a cluster without kube-system is none')
  there.add('kube-system')
  assert.equal(await round(), 2)
  away = true
  assert.equal(await round(), 2)
  away = false
  assert.equal(await round(), 2)
  assert.equal(await round(), 1)
  assert.notEqual((await harness.send('GET', `${SECRETS}/b`)).body.metadata.deletionTimestamp, undefined)
  stop.abort()
  await sweeping
})
