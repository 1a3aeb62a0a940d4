/**
 * Progress on demand. Somebody who knows a revision of etcd waits until the watch has seen everything up to it. When the prefix has etcd to
 * itself the last write under it is that revision. When others write to the same etcd nothing under the prefix will ever tell, and
 * etcd's own progress notices come every ten minutes unless it was told otherwise: then one small write of our own does.
 * (Asking etcd for progress is no way out: before 3.4.25 and 3.5.8 the answer may overtake events, etcd issue 15220.)
 */
import type { Clock, Timer } from '../src/base/clock.ts'
import type { Log } from '../src/base/log.ts'

/** The events of a write that has just been made are on their way for this long, usually. */
const PATIENCE_MS = 50
/** After a write that has failed. */
const RETRY_MS = 1000

export interface ProgressOptions {
  readonly clock: Clock
  readonly log: Log
  /** The revision up to which the watch has seen everything, or will without more ado: something was written at it. */
  readonly revision: () => number
  /** Writes the progress key. */
  readonly write: () => Promise<unknown>
}

export interface Progress {
  /** The watch should come to this revision soon. */
  want(revision: number): void
  /** Writes now, for a watch that may have nothing to tell. */
  stir(): void
  stop(): void
}

/** See the head of this file. At most one write is under way. */
export function openProgress({ clock, log, revision, write }: ProgressOptions): Progress {
  let wanted = 0
  let timer: Timer | undefined
  let writing = false
  let stopped = false

  const attempt = async (): Promise<void> => {
    if (writing || stopped || revision() >= wanted) return
    let pause = PATIENCE_MS
    writing = true
    try {
      await write()
    } catch (err) {
      pause = RETRY_MS
      log.warn('writing the progress key failed, consistent reads may have to wait', { err })
    }
    writing = false
    schedule(pause)
  }
  const schedule = (pause: number): void => {
    if (writing || stopped || revision() >= wanted) return
    // In two steps: after a pause of the whole process the timer comes before what has arrived meanwhile.
    timer ??= clock.schedule(pause / 2, () => {
      timer = clock.schedule(pause / 2, () => {
        timer = undefined
        void attempt()
      })
    })
  }
  return {
    want(target) {
      wanted = Math.max(wanted, target)
      schedule(PATIENCE_MS)
    },
    stir() {
      wanted = Math.max(wanted, revision() + 1)
      void attempt()
    },
    stop() {
      stopped = true
      timer?.cancel()
    },
  }
}
