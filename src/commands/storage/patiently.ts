/** Calls that wait for a kube-apiserver, or for the conversion webhook behind it, that will be there again. */
import { Unavailable } from '../../../storage/backend.ts'
import type { Clock } from '../../base/clock.ts'
import { ApiError } from '../../worker/job-client.ts'

/** What waiting needs. `say` tells the person why nothing happens. */
export interface Waiting {
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly say: (line: string) => void
}

/** A webhook whose certificate is new to the server may fail for a minute and a half. */
const PATIENCE_MS = 180_000
const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 10_000

/** Calls until it succeeds or fails for good, at most three minutes; then rejects with Unavailable. */
export async function patiently<T>({ clock, signal, say }: Waiting, call: () => Promise<T>): Promise<T> {
  const begun = clock.monotonic()
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    try {
      return await call()
    } catch (error) {
      if (!passes(error)) throw error
      if (clock.monotonic() - begun > PATIENCE_MS) throw new Unavailable(error.message, { cause: error })
      if (pause === LONGEST_PAUSE_MS) say(`waiting: ${error.message}`)
      await clock.sleep(pause, signal)
    }
  }
}

// upstream: a webhook that cannot be called is told as the failure of a Post; one that refuses an object says so in its own words.
function passes(error: unknown): error is ApiError {
  return error instanceof ApiError && ([429, 503, 504].includes(error.code) || (error.code === 500 && / failed: Post |etcdserver|leader changed/.test(error.message)))
}
