/** Puts objects that reads find undecodable into quarantine, where an operator looks for them, without holding up the reads. */
import type { Backend } from '../../storage/backend.ts'
import type { ObjectCodec } from '../../storage/object-codec.ts'
import { recordUndecodable } from '../../storage/quarantine.ts'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'

/** See `openQuarantineRecorder`. */
export interface QuarantineRecorder {
  /** Takes an object by its key, relative to the resource's prefix, and its revision. */
  readonly report: (object: { readonly key: string; readonly revision: number }) => void
  /** Resolves when nothing is written any more; what waits is left for the next read or scan. */
  close(): Promise<void>
}

/** Objects that are remembered as reported. When a whole store is damaged a scan tells of the others. */
const REMEMBERED = 1000

/** Opens a recorder. It writes one record after another; a failure is logged, and the next read tries again. */
export function openQuarantineRecorder(options: {
  readonly backend: Backend
  readonly resource: string
  readonly codec: ObjectCodec
  readonly clock: Clock
  readonly log: Log
}): QuarantineRecorder {
  const { backend, resource, codec, clock, log } = options
  const reported = new Map<string, number>()
  let closed = false
  let last = Promise.resolve()
  const record = async (key: string): Promise<void> => {
    if (closed) return
    try {
      if (await recordUndecodable(backend, resource, key, codec, clock.now())) log.warn('an object that cannot be used is in quarantine', { resource, key })
    } catch (err) {
      reported.delete(key)
      log.warn('an object that cannot be used could not be put into quarantine', { err, resource, key })
    }
  }
  return {
    report({ key, revision }) {
      if (closed || reported.get(key) === revision || (reported.size >= REMEMBERED && !reported.has(key))) return
      reported.set(key, revision)
      last = last.then(() => record(key))
    },
    async close() {
      closed = true
      await last
    },
  }
}
