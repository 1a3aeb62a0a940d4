/** Keeps somebody informed of all jobs: list, then watch, resumed after every break. upstream: client-go/tools/cache/reflector.go */
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Job } from './job.ts'
import { isApiError, type JobClient } from './job-client.ts'

export interface ReflectorOptions {
  readonly client: JobClient
  /** The whole truth, after each list. */
  readonly onList: (jobs: readonly Job[]) => void
  readonly onChange: (job: Job) => void
  readonly onDelete: (job: Job) => void
  readonly clock: Clock
  readonly log: Log
  readonly signal: AbortSignal
}

const BACKOFF_MS = 800
const BACKOFF_MAX_MS = 30_000

/** Runs until the signal aborts; never throws. */
export async function reflect(options: ReflectorOptions): Promise<void> {
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
        log.warn('watch of jobs broke off', { err: error })
      }
      await pause(options, ++failures)
    }
  }
}

async function pause({ clock, signal }: ReflectorOptions, failures: number): Promise<void> {
  const delay = Math.min(BACKOFF_MS * 2 ** (failures - 1), BACKOFF_MAX_MS)
  await clock.sleep(delay * (1 + clock.random()), signal).catch(() => {})
}
