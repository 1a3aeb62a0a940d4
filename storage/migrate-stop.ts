/** The conditions under which a migration holds still: it leaves the last of a store's room, and a store that has just lost its leader, to others. */
import type { Clock } from '../src/base/clock.ts'
import type { BackendStatus } from './backend.ts'

/** What a look at the store says: hold still for this reason; or, where waiting has not helped, give up for now, with what to do. */
export interface Stop {
  readonly hold?: 'LowSpace' | 'LeaderChange'
  readonly giveUp?: string
}

/** Compactions come every five minutes and leave as much history: by then they have made the room that they can make. */
const ROOM_MS = 15 * 60_000
const LEADER_MS = 30_000
/** Having held still, it goes on with some room more, so that it does not stop at once. */
const GOES_ON = 1.5

/** Follows a store's status through the looks at it, and whether it has refused writes for lack of room since the last one; `roomMs` is how long it waits for room. */
export function openStopConditions(clock: Clock, roomMs = ROOM_MS): (status: BackendStatus, refused?: boolean) => Stop {
  let term: number | undefined
  let held = false
  let [shortSince, newLeaderAt] = [undefined as number | undefined, Number.NEGATIVE_INFINITY]
  return (status, refused = false) => {
    const now = clock.monotonic()
    if (term !== undefined && status.term !== undefined && status.term !== term) newLeaderAt = now
    term = status.term
    const message = lackOfRoom(status, held ? GOES_ON : 1) ?? (refused ? describeRoom(status) : undefined)
    if (message !== undefined) shortSince ??= now
    // What was held had nothing refused: only a stretch of work shows that there is room again.
    else if (!held) shortSince = undefined
    held = message !== undefined
    if (message !== undefined && now - shortSince! >= roomMs) return { giveUp: message }
    if (message !== undefined) return { hold: 'LowSpace' }
    return now - newLeaderAt < LEADER_MS ? { hold: 'LeaderChange' } : {}
  }
}

/** What is the matter with a store's room and what to do about it; undefined while there is room for `reserves` times what is left to others, or nobody can tell. */
export function lackOfRoom({ engine, space }: Pick<BackendStatus, 'engine' | 'space'>, reserves = 1): string | undefined {
  return space && space.freeBytes < reserves * space.reserveBytes ? describeRoom({ engine, space }) : undefined
}

function describeRoom({ engine, space }: Pick<BackendStatus, 'engine' | 'space'>): string {
  const remedy = engine.startsWith('etcd')
    ? 'history goes with the compactions, some minutes from now; where that is not enough, defragment every member (etcdctl defrag) and clear the alarm if there is one ' +
      '(etcdctl alarm disarm), or give it more room with --quota-backend-bytes'
    : 'make room on its disk'
  if (!space) return `the store (${engine}) has no room: ${remedy}. Then the same command continues`
  const { freeBytes, limitBytes, reserveBytes } = space
  return `the store (${engine}) has ${megabytes(freeBytes)} left of ${megabytes(limitBytes)}, and a migration leaves the last ${megabytes(reserveBytes)} to others: ${remedy}. Then the same command continues`
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`
}
