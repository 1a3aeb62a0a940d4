/** Leases of a store in this process: the clock ends them. */
import { LeaseExpired } from './backend.ts'
import type { Lease } from './backend.ts'
import type { Clock, Timer } from '../src/base/clock.ts'

/** After a failed deletion of an ended lease's keys (the disk may be full) it is tried again. */
const RETRY_MS = 1000

export interface LeaseTable {
  grant(ttlSeconds: number): Lease
  /** Throws LeaseExpired when the lease is gone. */
  check(id: string): void
  /** Stops every timer; the keys stay. */
  close(): void
}

/** `end` deletes the keys of a lease; it is called once a lease has ended, and again when it fails. */
export function openLeaseTable(clock: Clock, end: (id: string) => Promise<void>): LeaseTable {
  const live = new Set<string>()
  const timers = new Map<string, Timer>()
  let closed = false

  const schedule = (id: string, ms: number, task: () => Promise<void>): void => {
    timers.get(id)?.cancel()
    if (closed) return
    timers.set(id, clock.schedule(ms, () => void task().catch(() => schedule(id, RETRY_MS, task))))
  }
  const endNow = async (id: string): Promise<void> => {
    live.delete(id)
    timers.get(id)?.cancel()
    timers.delete(id)
    await end(id)
  }
  const check = (id: string): void => {
    if (!live.has(id)) throw new LeaseExpired(`lease ${id} has ended`)
  }
  return {
    check,
    grant(ttlSeconds) {
      const id = clock.uuid()
      live.add(id)
      schedule(id, ttlSeconds * 1000, () => endNow(id))
      return {
        id,
        async keepAlive() {
          check(id)
          schedule(id, ttlSeconds * 1000, () => endNow(id))
        },
        async revoke() {
          if (!live.has(id)) return
          await endNow(id).catch((err: unknown) => {
            schedule(id, RETRY_MS, () => endNow(id))
            throw err
          })
        },
      }
    },
    close() {
      closed = true
      for (const timer of timers.values()) timer.cancel()
      timers.clear()
    },
  }
}
