/** The contract of a store, on every version of etcd and on a cluster of three. */
import { after, before } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe } from 'node:test'
import { systemClock } from '../../src/base/clock.ts'
import { silentLog } from '../../src/base/log.ts'
import { describeBackend } from '../../storage/backend.suite.ts'
import { openEtcd } from '../../storage/etcd.ts'
import { ETCD_VERSIONS } from './etcd-binaries.ts'
import { startCluster } from './etcd-cluster.ts'
import type { ClusterOptions, EtcdCluster } from './etcd-cluster.ts'

const clusters: readonly ClusterOptions[] = ETCD_VERSIONS.flatMap((version) => [{ version, members: 1 }, { version, members: 3 }])

for (const options of clusters) {
  describe(`etcd ${options.version}, ${options.members} member(s)`, () => {
    let cluster: EtcdCluster
    before(async () => {
      cluster = await startCluster(options)
    })
    after(() => cluster[Symbol.asyncDispose]())
    const open = () => openEtcd({ endpoints: cluster.endpoints, prefix: '/contract', requestTimeoutMs: 10_000, clock: systemClock, log: silentLog })
    describeBackend(
      'backend',
      async () => {
        let backend = await open()
        return {
          backend,
          advance: (ms) => sleep(ms),
          async reopen() {
            await backend.close()
            backend = await open()
            return backend
          },
        }
      },
      { durable: true },
    )
  })
}
