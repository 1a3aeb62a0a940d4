/** Migration on an etcd that has little room: it holds still before the quota is reached, says so, raises no alarm, and the same call continues once there is room. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../../src/base/clock.ts'
import { silentLog } from '../../src/base/log.ts'
import { OutOfSpace, UnknownOutcome } from '../../storage/backend.ts'
import { openEtcd } from '../../storage/etcd.ts'
import { contents, fill, name, run, setEncoding } from '../../storage/migrate.fixture.ts'
import { ETCD_VERSIONS } from './etcd-binaries.ts'
import { startCluster } from './etcd-cluster.ts'

const QUOTA = 64 * 1024 * 1024
const OBJECTS = 50
const TEXT_BYTES = 700_000

for (const version of ETCD_VERSIONS) {
  test(`etcd ${version} near its quota`, async () => {
    await using cluster = await startCluster({ version, args: ['--quota-backend-bytes', `${QUOTA}`] })
    await using backend = await openEtcd({ endpoints: cluster.endpoints, prefix: '/room/', requestTimeoutMs: 5000, clock: systemClock, log: silentLog })
    const texts = Object.fromEntries(Array.from({ length: OBJECTS }, (_, i) => [name(i), `${i}`.repeat(TEXT_BYTES / `${i}`.length)]))
    await fill(backend, OBJECTS, { texts })
    await setEncoding(backend, 'v1')
    // etcd tells what is in use once it has written it, a tenth of a second later.
    await sleep(1000)
    const { space } = await backend.status()
    assert.deepEqual([space?.limitBytes, space?.reserveBytes], [QUOTA, Math.ceil(QUOTA * 0.2)])
    assert.ok(space!.freeBytes > QUOTA * 0.3 && space!.freeBytes < QUOTA * 0.7, `${space!.freeBytes} bytes left`)

    const shown: (string | undefined)[] = []
    const paused = await run(backend, { rateLimit: 5, roomMs: 2000, onProgress: ({ limitedBy }) => shown.push(limitedBy) })
    assert.deepEqual([paused.phase, paused.reason], ['Paused', 'NoSpace'])
    assert.match(paused.message ?? '', /^the store \(etcd [\d.]+\) has [\d.]+ MB left of 67\.1 MB, and a migration leaves the last 13\.4 MB to others: .*defrag.*the same command continues$/)
    assert.ok(shown.includes('LowSpace'), shown.join())
    const alarms = async () => (await cluster.client.maintenance.alarm({ action: 'Get' })).alarms
    assert.deepEqual(await alarms(), [], 'no alarm of its making')
    const half = await contents(backend)
    assert.deepEqual([...new Set(half.map((object) => object.version))].toSorted(), ['v1', 'v1beta1'])
    await assert.rejects(run(backend), { reason: 'LowSpace', exitCode: 3 })

    // As the message tells.
    const makeRoom = async (): Promise<void> => {
      await cluster.client.kv.compact({ revision: await backend.currentRevision(), physical: true })
      await cluster.client.maintenance.defragment()
    }
    await makeRoom()
    const done = await run(backend)
    assert.deepEqual([done.phase, done.result?.rewritten, done.rateLimit], ['Succeeded', OBJECTS, 5])
    for (const { key, text } of await contents(backend)) assert.equal(text, texts[key])

    // With the alarm: nothing is begun.
    await makeRoom()
    let refused = false
    for (let i = 0; !refused; i++) {
      refused = await backend.commit({ compare: [], put: [{ key: `other/${i}`, value: Buffer.alloc(1_000_000) }] }).then(
        () => false,
        (error: unknown) => {
          if (error instanceof UnknownOutcome) return false
          assert.ok(error instanceof OutOfSpace, String(error))
          return true
        },
      )
    }
    assert.ok((await alarms()).length > 0)
    assert.equal((await backend.status()).space?.freeBytes, 0)
    await assert.rejects(run(backend), { reason: 'LowSpace', message: /has 0\.0 MB left .*alarm disarm/ })
  })
}
