/**
 * The contract of backend.ts as a suite: every implementation calls `describeBackend` in a test file of its own. Tests of one group share
 * a store and keep to keys of their own, so that a store that is slow to make is made only a few times.
 */
import { after, before, describe } from 'node:test'
import type { OpenStore, SuiteStore } from './backend.suite-fixture.ts'
import { closeTests, reopenTests } from './backend.suite-close.ts'
import { commitTests, valueTests } from './backend.suite-commit.ts'
import { leaseTests } from './backend.suite-lease.ts'
import { modelTests } from './backend.suite-model.ts'
import { compactionTests, rangeTests } from './backend.suite-range.ts'
import { watchTests } from './backend.suite-watch.ts'

export type { OpenStore, SuiteStore } from './backend.suite-fixture.ts'

/** Describes a backend as the contract does. `durable`: the store can be reopened. */
export function describeBackend(name: string, open: OpenStore, { durable }: { durable: boolean }): void {
  describe(name, () => {
    const groups = { commit: commitTests, values: valueTests, range: rangeTests, watch: watchTests, leases: leaseTests, model: modelTests, compaction: compactionTests }
    for (const [group, tests] of Object.entries(groups)) {
      describe(group, () => {
        let store: SuiteStore | undefined
        before(async () => {
          store = await open()
        })
        after(async () => {
          await store?.backend.close()
          await store?.dispose?.()
        })
        tests(() => store!)
      })
    }
    describe('close', () => closeTests(open))
    if (durable) describe('reopen', () => reopenTests(open))
  })
}
