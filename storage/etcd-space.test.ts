import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { openManualClock } from '../test/model/manual-clock.ts'
import { openQuota, parseQuota, spaceOf } from './etcd-space.ts'

const MB = 1024 * 1024

test('the quota is read from the metrics, the next member is asked where one says nothing, and not again for minutes', async () => {
  let asked = 0
  const server = createServer((_, response) => {
    asked++
    response.end('# TYPE etcd_server_quota_backend_bytes gauge\netcd_server_quota_backend_bytes 2.147483648e+09\n')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const clock = openManualClock()
  const quota = openQuota({ endpoints: ['http://127.0.0.1:1', `http://127.0.0.1:${(server.address() as AddressInfo).port}`], clock })
  assert.deepEqual([await quota(), await quota(), asked], [2048 * MB, 2048 * MB, 1])
  await clock.advance(6 * 60_000)
  assert.deepEqual([await quota(), asked], [2048 * MB, 2])
  server.close()
  assert.equal(await openQuota({ endpoints: ['http://127.0.0.1:1'], clock })(), undefined)
  for (const text of ['', 'etcd_server_quota_backend_bytes 0\n', 'etcd_server_quota_backend_bytes -1\n', 'etcd_server_quota_backend_bytes NaN\n', 'x_etcd_server_quota_backend_bytes 5\n']) assert.equal(parseQuota(text), undefined, text)
})

test('room is what is not in use, unless the file is at the brim or etcd has given up', () => {
  const space = (size: number, inUse: number, errors: string[] = [], quota: number | undefined = 100) =>
    spaceOf({ dbSize: `${size * MB}`, dbSizeInUse: `${inUse * MB}`, errors }, quota === 0 ? undefined : quota * MB)
  assert.deepEqual(space(60, 40), { limitBytes: 100 * MB, freeBytes: 60 * MB, reserveBytes: 20 * MB })
  assert.equal(space(90, 40)?.freeBytes, 60 * MB)
  assert.equal(space(99, 40)?.freeBytes, MB)
  assert.equal(space(120, 110)?.freeBytes, 0)
  assert.equal(space(60, 40, ['memberID:1 alarm:NOSPACE '])?.freeBytes, 0)
  assert.equal(space(60, 40, ['memberID:1 alarm:CORRUPT '])?.freeBytes, 60 * MB)
  assert.equal(space(60, 40, ['etcdserver: no leader'], 0), undefined)
  assert.equal(space(60, 40, ['memberID:1 alarm:NOSPACE '], 0)?.freeBytes, 0)
})
