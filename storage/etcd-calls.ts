/** The calls that are under way, so that a store can finish them before it closes. */
import { Unavailable } from './backend.ts'
import { toBackendError } from './etcd-failure.ts'

export interface Calls {
  /** Makes a call and translates its errors; refuses it once the store is closed. */
  run<T>(call: () => Promise<T>): Promise<T>
  /** Refuses new calls and waits for those that are under way. */
  close(): Promise<void>
  /** Aborts when the store is closed. */
  readonly closed: AbortSignal
}

/** See Calls. */
export function openCalls(): Calls {
  const running = new Set<Promise<unknown>>()
  const closed = new AbortController()
  return {
    closed: closed.signal,
    async run(call) {
      if (closed.signal.aborted) throw new Unavailable('the store is closed')
      const result = call()
      running.add(result)
      try {
        return await result
      } catch (err) {
        throw toBackendError(err)
      } finally {
        running.delete(result)
      }
    },
    async close() {
      closed.abort()
      await Promise.allSettled(running)
    },
  }
}
