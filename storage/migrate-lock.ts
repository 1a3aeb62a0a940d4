/** Who runs a migration: a key under a lease. It only keeps two from working at once; that an old owner writes nothing is the compare of its revision. */
import { LeaseExpired } from './backend.ts'
import type { Backend } from './backend.ts'
import type { Clock } from '../src/base/clock.ts'
import { commitOnce } from './commit-once.ts'
import { lockKey } from './migrate-job.ts'
import { Refused } from './refused.ts'

const LEASE_SECONDS = 15
const KEEP_ALIVE_MS = 5000

export interface JobLock {
  /** The condition of everything that the owner writes. Its revision never changes, and is greater than that of every earlier owner. */
  readonly compare: { readonly key: string; readonly modRevision: number }
  release(): Promise<void>
}

/** Takes the lock of a resource's migrations. Throws Refused while another process has it. `onLost`: the lease could not be kept. */
export async function takeLock(backend: Backend, resource: string, owner: string, clock: Clock, onLost: () => void): Promise<JobLock> {
  const key = lockKey(resource)
  const lease = await backend.lease(LEASE_SECONDS)
  const value = Buffer.from(JSON.stringify({ owner, lease: lease.id }))
  const result = await commitOnce(backend, { compare: [{ key, modRevision: 0 }], put: [{ key, value, lease: lease.id }] }, key).catch((error: unknown) => {
    if (error instanceof LeaseExpired) throw new Refused('LostOwnership', `the store took too long to begin the migration of ${resource}: try again`, { cause: error })
    throw error
  })
  if (!result.succeeded) {
    await lease.revoke()
    const other = result.current.get(key)
    const name = other ? (JSON.parse(Buffer.from(other.value).toString()) as { owner: string }).owner : 'another process'
    throw new Refused('LostOwnership', `${name} is migrating ${resource} already: wait for it, or stop it first`)
  }
  let released = false
  let timer = clock.schedule(KEEP_ALIVE_MS, tick)
  function tick(): void {
    void lease.keepAlive().then(
      () => {
        if (!released) timer = clock.schedule(KEEP_ALIVE_MS, tick)
      },
      (error: unknown) => {
        // While the store is away nobody can take the lock either; and whatever is written compares it.
        if (error instanceof LeaseExpired) onLost()
        else if (!released) timer = clock.schedule(KEEP_ALIVE_MS, tick)
      },
    )
  }
  return {
    compare: { key, modRevision: result.revision },
    async release() {
      released = true
      timer.cancel()
      await lease.revoke()
    },
  }
}
