/** Follows a fence, so that a change is known before a write meets it. */
import type { Backend } from './backend.ts'
import type { Clock } from '../src/base/clock.ts'
import type { Log } from '../src/base/log.ts'
import { FenceUnreadable, UndecodableStoredVersions } from './fence.ts'
import type { Fence } from './fence.ts'

const RETRY_MS = 1000

/** A fence that is followed, until it is closed. */
export interface Following {
  close(): Promise<void>
}

/**
 * Refreshes the fence after each change of its key, and calls `onChange` with what that threw: UndecodableStoredVersions or FenceUnreadable, undefined when the fence is good
 * (again). A watch that breaks is begun anew.
 */
export function followFence(
  backend: Backend, fence: Fence, options: { readonly clock: Clock; readonly log: Log; readonly onChange: (failure: Error | undefined) => Promise<void> },
): Following {
  const { clock, log, onChange } = options
  const stop = new AbortController()
  const { signal } = stop
  const look = async (): Promise<void> => {
    const failure = await fence.refresh().then(
      () => undefined,
      (error: unknown) => {
        if (error instanceof UndecodableStoredVersions || error instanceof FenceUnreadable) return error
        throw error
      },
    )
    if (!signal.aborted) await onChange(failure)
  }
  const follow = async (): Promise<void> => {
    const after = await backend.currentRevision()
    await look()
    for await (const { events } of backend.watch({ start: fence.key, end: `${fence.key}\0`, after, signal })) if (events.length > 0) await look()
  }
  const done = (async () => {
    while (!signal.aborted) {
      await follow().catch((err: unknown) => {
        if (!signal.aborted) log.warn('the fence cannot be followed', { err, fence: fence.key })
      })
      if (!signal.aborted) await clock.sleep(RETRY_MS, signal).catch(() => {})
    }
  })()
  return {
    async close() {
      stop.abort()
      await done
    },
  }
}
