/**
 * One of several workers leads: it holds a Lease and renews it. Clocks of machines are not compared: whether another
 * one's Lease has run out is measured from when a change of it was last seen. A leader that was paused may go on for a
 * moment after its Lease has passed to another; that does no harm because of how pods are made and status is written.
 * upstream: client-go/tools/leaderelection/leaderelection.go
 */
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { isApiError } from './job-client.ts'
import type { Lease, LeaseClient } from './lease-client.ts'

export interface LeaderElectionOptions {
  readonly leases: LeaseClient
  /** Of this process alone. */
  readonly identity: string
  /** Leads until its signal aborts; called again for each term. When it ends or throws before, so does the election. */
  readonly lead: (signal: AbortSignal) => Promise<void>
  readonly clock: Clock
  readonly log: Log
  readonly signal: AbortSignal
}

/** upstream: client-go's recommended values, as kube-controller-manager has them. */
const LEASE_SECONDS = 15
const RENEW_DEADLINE_MS = 10_000
const RETRY_MS = 2_000
const JITTER = 1.2
const RELEASE_MS = 3_000

/** Waits for its turn and leads, until the signal aborts; then gives the Lease back. Rejects with what `lead` throws. */
export async function runLeaderElection(options: LeaderElectionOptions): Promise<void> {
  const { signal, log, identity } = options
  const election = new Election(options)
  while (!signal.aborted) {
    if (!(await election.acquire())) return
    log.info('this worker leads', { identity })
    const ended = await serveTerm(options, election)
    if (ended) return
    log.warn('this worker leads no more: the Lease could not be renewed', { identity })
  }
}

/** True when leading has ended by itself, or the signal has aborted: the Lease was given back. */
async function serveTerm({ lead, signal }: LeaderElectionOptions, election: Election): Promise<boolean> {
  const term = new AbortController()
  const led = new AbortController()
  const leading = lead(AbortSignal.any([signal, term.signal])).finally(() => led.abort())
  // awaited below, after the Lease
  leading.catch(() => {})
  // renewed while it stops, too: what it still does is done as the leader
  const lost = await election.hold(led.signal)
  term.abort(new Error('another worker leads'))
  try {
    await leading
  } finally {
    if (!lost) await election.release()
  }
  return !lost
}

class Election {
  private readonly options: LeaderElectionOptions
  private lease: Lease | undefined
  /** When a change of the Lease was last seen, by our own clock. */
  private seenAt = 0
  private renewedAt = 0

  constructor(options: LeaderElectionOptions) {
    this.options = options
  }

  /** False when the signal has aborted before. */
  async acquire(): Promise<boolean> {
    const { clock, signal, log } = this.options
    while (!signal.aborted) {
      try {
        if (await this.within(RENEW_DEADLINE_MS, signal)) return true
      } catch (error) {
        if (!signal.aborted) log.warn('the Lease cannot be had, trying again', { err: error })
      }
      await clock.sleep(RETRY_MS * (1 + JITTER * clock.random()), signal).catch(() => {})
    }
    return false
  }

  /** Renews until `enough`; true when that was not possible for too long. */
  async hold(enough: AbortSignal): Promise<boolean> {
    const { clock, log } = this.options
    while (!enough.aborted) {
      await clock.sleep(RETRY_MS, enough).catch(() => {})
      if (enough.aborted) return false
      const left = this.renewedAt + RENEW_DEADLINE_MS - clock.monotonic()
      if (left <= 0) return true
      try {
        if (!(await this.within(left, enough)) && this.lease?.spec.holderIdentity !== this.options.identity) return true
      } catch (error) {
        if (!enough.aborted) log.warn('the Lease was not renewed, trying again', { err: error })
      }
    }
    return false
  }

  /** Lets the next worker in at once. */
  async release(): Promise<void> {
    const { leases, clock, log } = this.options
    if (!this.lease) return
    const limit = new AbortController()
    const timer = clock.schedule(RELEASE_MS, () => limit.abort(new Error('no answer')))
    try {
      const { acquireTime: _, ...spec } = this.lease.spec
      await leases.write({ ...spec, holderIdentity: '', leaseDurationSeconds: 1, renewTime: microTime(clock.now()) }, this.lease.resourceVersion, limit.signal)
    } catch (error) {
      log.warn('the Lease was not given back; it runs out', { err: error })
    } finally {
      timer.cancel()
    }
  }

  private async within(milliseconds: number, enough: AbortSignal): Promise<boolean> {
    const limit = new AbortController()
    const timer = this.options.clock.schedule(milliseconds, () => limit.abort(new Error('no answer')))
    try {
      return await this.tryOnce(AbortSignal.any([enough, limit.signal]))
    } finally {
      timer.cancel()
    }
  }

  /** Takes or renews the Lease; false when it is another one's. */
  private async tryOnce(signal: AbortSignal): Promise<boolean> {
    const { leases, identity, clock } = this.options
    const lease = await leases.read(signal)
    if (lease?.resourceVersion !== this.lease?.resourceVersion) this.see(lease)
    const { holderIdentity = '', leaseDurationSeconds = LEASE_SECONDS, leaseTransitions = 0, acquireTime } = lease?.spec ?? {}
    const mine = holderIdentity === identity
    if (!mine && holderIdentity !== '' && clock.monotonic() < this.seenAt + leaseDurationSeconds * 1000) return false
    // taken before the request: the answer may be late
    const at = clock.monotonic()
    const now = microTime(clock.now())
    try {
      const spec = {
        holderIdentity: identity,
        leaseDurationSeconds: LEASE_SECONDS,
        acquireTime: mine && acquireTime !== undefined ? acquireTime : now,
        renewTime: now,
        leaseTransitions: mine || !lease ? leaseTransitions : leaseTransitions + 1,
      }
      this.see(await leases.write(spec, lease?.resourceVersion, signal))
      this.renewedAt = at
      return true
    } catch (error) {
      if (isApiError(error, 409)) return false
      throw error
    }
  }

  private see(lease: Lease | undefined): void {
    this.lease = lease
    this.seenAt = this.options.clock.monotonic()
  }
}

/** upstream: apimachinery/pkg/apis/meta/v1 MicroTime */
function microTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace('Z', '000Z')
}
