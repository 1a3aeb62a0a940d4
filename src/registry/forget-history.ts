/** History that nobody needs: a command that has a store for itself has no watchers, and lets go of what it would otherwise keep for them. */
import { prefixEnd, type Backend } from '../../storage/backend.ts'
import { replicaPrefix } from '../../storage/fence-change.ts'
import type { Clock, Timer } from '../base/clock.ts'
import type { Log } from '../base/log.ts'

/** All replicas, of whatever resource. */
const REPLICAS = replicaPrefix('').slice(0, -1)
const EVERY_MS = 5000

/** Whether some process has announced that it serves from the store. */
export async function isServed(backend: Backend): Promise<boolean> {
  const { kvs } = await backend.range({ start: REPLICAS, end: prefixEnd(REPLICAS), limit: 1, uncounted: true })
  return kvs.length > 0
}

/** Forgets all history now and every few seconds until it is closed, so that what a migration supersedes gives its room to what it writes. */
export async function forgetHistory({ backend, clock, log }: { readonly backend: Backend; readonly clock: Clock; readonly log: Log }): Promise<{ close(): void }> {
  let closed = false
  let timer: Timer | undefined
  const forget = async (): Promise<void> => await backend.compact(await backend.currentRevision())
  const schedule = (): void => {
    timer = clock.schedule(EVERY_MS, () => {
      void forget()
        .catch((err: unknown) => !closed && log.warn('history could not be forgotten', { err }))
        .finally(() => !closed && schedule())
    })
  }
  await forget()
  schedule()
  return {
    close() {
      closed = true
      timer?.cancel()
    },
  }
}
