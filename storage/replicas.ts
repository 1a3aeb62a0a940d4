/**
 * Announcements: what each running program can decode and encode. They live under a lease and only inform: safety rests on the fence, which the
 * registration compares, so that a replica either has seen a change of the fence or makes it fail.
 */
import { LeaseExpired, prefixEnd } from './backend.ts'
import type { Backend, KeyValue } from './backend.ts'
import type { Clock } from '../src/base/clock.ts'
import type { Log } from '../src/base/log.ts'
import { replicaPrefix } from './fence-change.ts'
import { fenceKey } from './fence-record.ts'
import type { LoadedFence } from './fence-record.ts'
import { Refused } from './refused.ts'

/** What a program can do with a resource. */
export interface Announcement {
  /** Of the process, and new with each start. */
  readonly id: string
  /** Name and release of the program. */
  readonly program: string
  readonly decodable: readonly string[]
  readonly encodable: readonly string[]
  readonly served: readonly string[]
  /** Envelope formats that it reads. */
  readonly formats: readonly number[]
  readonly observedEpoch: number
  readonly state: 'Serving' | 'ReadOnly' | 'Unable'
}

/** An announcement with what is known of its process. */
export interface Replica extends Announcement {
  /** False for one whose lease has ended without a good-bye. */
  readonly live: boolean
  /** Milliseconds since the epoch; to about SEEN_EVERY_MS. */
  readonly lastSeen: number
}

const LEASE_SECONDS = 30
const KEEP_ALIVE_MS = 10_000
const SEEN_EVERY_MS = 5 * 60_000
/** How long a replica that has vanished holds up a change of the encoding. */
const MISSED_MS = 2 * SEEN_EVERY_MS

// In this order: `-` is before `/`.
const SEEN = 'meta/replicas-seen/'
const LIVE = 'meta/replicas/'

const seenPrefix = (resource: string): string => `${SEEN}${resource}/`

/** All replicas of a resource, and the revision at which they were listed. */
export async function listReplicas(backend: Backend, resource: string): Promise<{ readonly replicas: readonly Replica[]; readonly revision: number }> {
  const [seen, live] = [seenPrefix(resource), replicaPrefix(resource)]
  // One read of both kinds, which are neighbours: between two reads a replica could come or go.
  const { kvs, revision } = await backend.range({ start: SEEN, end: prefixEnd(LIVE) })
  const found = new Map<string, Replica>()
  for (const kv of kvs) {
    if (!kv.key.startsWith(seen) && !kv.key.startsWith(live)) continue
    const replica = parse(kv)
    const lastSeen = Math.max(replica.lastSeen, found.get(replica.id)?.lastSeen ?? 0)
    found.set(replica.id, { ...replica, lastSeen, live: kv.key.startsWith(live) })
  }
  return { replicas: [...found.values()], revision }
}

function parse(kv: KeyValue): Replica {
  return JSON.parse(Buffer.from(kv.value).toString()) as Replica
}

/**
 * Checks that every replica can decode and encode a version and has seen the present epoch, and returns the revision of that list. Throws Refused; replicas that
 * vanished without a good-bye are refused for ten minutes unless their ids are `dismissed`.
 */
export async function checkReplicas(
  backend: Backend,
  resource: string,
  wanted: { readonly version: string; readonly epoch: number; readonly now: number; readonly dismissed?: readonly string[] },
): Promise<number> {
  const { replicas, revision } = await listReplicas(backend, resource)
  const { version } = wanted
  for (const replica of replicas) {
    const name = `replica ${replica.id} (${replica.program})`
    if (!replica.live) {
      if (wanted.now - replica.lastSeen > MISSED_MS || wanted.dismissed?.includes(replica.id)) continue
      throw new Refused('ReplicaMissing', `${name} has vanished without a good-bye: bring it back, or say with --dismiss ${replica.id} that it will not come back`)
    }
    if (!replica.decodable.includes(version) || !replica.encodable.includes(version)) {
      throw new Refused('ReplicaUnable', `${name} cannot read and write ${resource} at ${version}: replace it by a release that can; ${ifKilled(replica, wanted.now)}`)
    }
    if (replica.observedEpoch < wanted.epoch) {
      throw new Refused('ReplicaUnable', `${name} has not seen epoch ${wanted.epoch} of ${resource} yet: try again; ${ifKilled(replica, wanted.now)}`)
    }
  }
  return revision
}

// An announcement outlives a process that had no time to say good-bye, and nobody can tell until it ends.
function ifKilled({ id }: Replica, now: number): string {
  const end = new Date(now + LEASE_SECONDS * 1000).toISOString()
  return `if it was killed, its announcement ends by itself at ${end} at the latest, and --dismiss ${id} says then that it will not come back`
}

/** A registered announcement, kept alive until it is closed. */
export interface Registration {
  readonly id: string
  /** Announces again, with these fields changed. */
  update(change: Partial<Pick<Announcement, 'observedEpoch' | 'state'>>): Promise<void>
  /** Says good-bye. */
  close(): Promise<void>
}

export interface RegisterOptions {
  readonly backend: Backend
  readonly resource: string
  readonly announcement: Announcement
  readonly clock: Clock
  readonly log: Log
  /** The store is this process's alone, so what others left behind is theirs no more. */
  readonly exclusive: boolean
}

/** Announces a replica on the condition that the fence is still the one it has checked itself against; undefined when it is not, or the store took too long. */
export async function register(options: RegisterOptions, fence: LoadedFence): Promise<Registration | undefined> {
  const { backend, resource } = options
  const state: RegistrationState = { announcement: options.announcement, lease: await backend.lease(LEASE_SECONDS) }
  if (options.exclusive) await forgetOthers(backend, resource)
  try {
    const result = await backend.commit({ compare: [{ key: fenceKey(resource), modRevision: fence.modRevision }], put: announce(options, state), essential: true })
    if (result.succeeded) return keepRegistered(options, state)
  } catch (error) {
    if (!(error instanceof LeaseExpired)) throw error
  }
  await state.lease.revoke()
  return undefined
}

interface RegistrationState {
  announcement: Announcement
  lease: { readonly id: string; keepAlive(): Promise<void>; revoke(): Promise<void> }
}

function announce({ resource, clock }: RegisterOptions, { announcement, lease }: RegistrationState): { key: string; value: Uint8Array; lease?: string }[] {
  const value = Buffer.from(JSON.stringify({ ...announcement, lastSeen: clock.now() }))
  return [
    { key: replicaPrefix(resource) + announcement.id, value, lease: lease.id },
    { key: seenPrefix(resource) + announcement.id, value },
  ]
}

async function forgetOthers(backend: Backend, resource: string): Promise<void> {
  const { kvs } = await backend.range({ start: seenPrefix(resource), end: prefixEnd(seenPrefix(resource)) })
  if (kvs.length > 0) await backend.commit({ compare: [], delete: kvs.map(({ key }) => key) })
}

function keepRegistered(options: RegisterOptions, state: RegistrationState): Registration {
  const { backend, resource, clock, log } = options
  let closed = false
  let timer = clock.schedule(KEEP_ALIVE_MS, tick)
  let seen = clock.monotonic()

  async function keepAlive(): Promise<void> {
    try {
      await state.lease.keepAlive()
    } catch (error) {
      if (!(error instanceof LeaseExpired)) throw error
      state.lease = await backend.lease(LEASE_SECONDS)
      seen = Number.NEGATIVE_INFINITY
    }
    if (closed || clock.monotonic() - seen < SEEN_EVERY_MS) return
    await backend.commit({ compare: [], put: announce(options, state), essential: true })
    seen = clock.monotonic()
  }
  function tick(): void {
    keepAlive()
      .catch((err: unknown) => log.warn('the announcement could not be kept alive', { err, resource }))
      .finally(() => {
        if (!closed) timer = clock.schedule(KEEP_ALIVE_MS, tick)
      })
  }
  return {
    id: state.announcement.id,
    async update(change) {
      state.announcement = { ...state.announcement, ...change }
      if (!closed) await backend.commit({ compare: [], put: announce(options, state), essential: true })
    },
    async close() {
      if (closed) return
      closed = true
      timer.cancel()
      await backend.commit({ compare: [], delete: [seenPrefix(resource) + state.announcement.id] })
      await state.lease.revoke()
    },
  }
}
