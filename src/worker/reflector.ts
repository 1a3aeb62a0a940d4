/** Keeps somebody informed of all objects of a kind: list, then watch, resumed after every break. upstream: client-go/tools/cache/reflector.go */
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Job } from './job.ts'
import { isApiError } from './job-client.ts'

/** An event of a watch. */
export type WatchEventOf<T> = { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'; readonly object: T }

/** An object whose changes can be watched. */
type Watched = { readonly metadata: { readonly resourceVersion?: string } }

export interface ReflectorOptions<T extends Watched = Job> {
  readonly client: {
    list(signal?: AbortSignal): Promise<{ items: T[]; resourceVersion: string }>
    /** Throws ApiError 410 when the version is too old. */
    watch(resourceVersion: string, signal: AbortSignal): AsyncIterable<WatchEventOf<T>>
  }
  /** The whole truth, after each list. */
  readonly onList: (objects: readonly T[]) => void
  readonly onChange: (object: T) => void
  readonly onDelete: (object: T) => void
  readonly clock: Clock
  readonly log: Log
  readonly signal: AbortSignal
}

const BACKOFF_MS = 800
const BACKOFF_MAX_MS = 30_000

/** Runs until the signal aborts; never throws. */
export async function reflect<T extends Watched = Job>(options: ReflectorOptions<T>): Promise<void> {
  const { client, log, signal } = options
  let resourceVersion: string | undefined
  let failures = 0
  while (!signal.aborted) {
    try {
      if (resourceVersion === undefined) {
        const list = await client.list(signal)
        options.onList(list.items)
        resourceVersion = list.resourceVersion
      }
      for await (const event of client.watch(resourceVersion, signal)) {
        failures = 0
        resourceVersion = event.object.metadata.resourceVersion ?? resourceVersion
        if (event.type === 'DELETED') options.onDelete(event.object)
        else if (event.type !== 'BOOKMARK') options.onChange(event.object)
      }
      // a server that ends every watch at once must not make us spin
      failures++
      if (failures > 1) await pause(options, failures - 1)
    } catch (error) {
      if (signal.aborted) return
      if (isApiError(error, 410)) {
        resourceVersion = undefined
        log.info('watch is too old, listing again')
      } else {
        log.warn('watch broke off', { err: error })
      }
      await pause(options, ++failures)
    }
  }
}

async function pause({ clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal }, failures: number): Promise<void> {
  const delay = Math.min(BACKOFF_MS * 2 ** (failures - 1), BACKOFF_MAX_MS)
  await clock.sleep(delay * (1 + clock.random()), signal).catch(() => {})
}
