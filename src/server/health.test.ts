import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../base/clock.ts'
import { silentLog } from '../base/log.ts'
import { createHealth, ping, type HealthCheck } from './health.ts'

const broken: HealthCheck = {
  name: 'storage',
  check() {
    throw new Error('disk is gone')
  },
}
const hanging: HealthCheck = { name: 'hanging', check: () => new Promise(() => {}) }
const around = { clock: { ...systemClock, sleep: (_ms: number, signal?: AbortSignal) => systemClock.sleep(5, signal) }, log: silentLog }
const health = createHealth({ healthz: [ping, { name: 'storage', check: async () => {} }], livez: [ping, broken], readyz: [ping, hanging] }, around)
const get = async (path: string, query = '') => {
  const answer = await health(path, new URLSearchParams(query))
  return answer && [answer.code, answer.body]
}

test('a healthy endpoint says ok, and more when asked', async () => {
  assert.deepEqual(await get('/healthz'), [200, 'ok'])
  assert.deepEqual(await get('/healthz', 'verbose'), [200, '[+]ping ok\n[+]storage ok\nhealthz check passed\n'])
  assert.deepEqual(await get('/healthz/storage'), [200, 'ok'])
  assert.deepEqual((await health('/healthz', new URLSearchParams()))?.headers, { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' })
})

test('a failing check is named, its reason withheld', async () => {
  assert.deepEqual(await get('/livez'), [500, '[+]ping ok\n[-]storage failed: reason withheld\nlivez check failed\n'])
  assert.deepEqual(await get('/livez/storage'), [500, 'internal server error: disk is gone\n'])
  assert.deepEqual(await get('/livez/ping/'), [200, 'ok'])
  assert.deepEqual(await get('/readyz'), [500, '[+]ping ok\n[-]hanging failed: reason withheld\nreadyz check failed\n'])
})

test('checks can be left out', async () => {
  assert.deepEqual(await get('/livez', 'exclude=storage'), [200, 'ok'])
  assert.deepEqual(await get('/livez', 'verbose&exclude=storage&exclude=b&exclude=a'), [
    200,
    '[+]ping ok\n[+]storage excluded: ok\nwarn: some health checks cannot be excluded: no matches for "a","b"\nlivez check passed\n',
  ])
})

test('other paths are not answered', async () => {
  for (const path of ['/', '/healthzz', '/readyz/nothing', '/api', '/livez/ping/x']) assert.equal(await get(path), undefined, path)
})
