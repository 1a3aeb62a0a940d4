/**
 * One call to an etcd of one or more members: which member, how long, and whether it may be sent a second time. What only reads, or may be
 * done twice, is tried again until the request's time is over; a commit is sent again only when it is certain that it was not carried out.
 */
import type { Clock } from '../src/base/clock.ts'
import { Unavailable, UnknownOutcome } from './backend.ts'
import { failureKind, isRpcFailure } from './etcd-failure.ts'
import type { FailureKind } from './etcd-failure.ts'
import type { Member } from './etcd-member.ts'

const BACKOFF_MS = 50
const BACKOFF_MAX_MS = 1000

/** One attempt with one member. `deadline`: milliseconds since the epoch. */
export type Call<T> = (member: Member, options: { readonly deadline: number }) => Promise<T>

/** A watch under way. */
export interface OpenStream {
  readonly member: Member
  cancel(): void
}

/** The members, one of which goes first. */
export interface Ring {
  readonly clock: Clock
  readonly requestTimeoutMs: number
  /** Number of members. */
  readonly size: number
  readonly streams: Set<OpenStream>
  preferred(): Member
  /** Others go first from now on. */
  demote(member: Member, why: string): void
  authenticate(): Promise<unknown>
  dropToken(): void
}

/**
 * Makes a call. Rejects with Unavailable when no member answers in time, with UnknownOutcome for a call that may not be repeated and may have been
 * carried out, and with RpcFailure for an answer that is a refusal.
 */
export async function exchange<T>(ring: Ring, call: Call<T>, { repeatable }: { repeatable: boolean }): Promise<T> {
  const { clock, requestTimeoutMs } = ring
  const end = clock.monotonic() + requestTimeoutMs
  let failure: unknown
  for (let failures = 0; ; failures++) {
    const left = end - clock.monotonic()
    if (left <= 0) throw new Unavailable(`etcd does not answer: ${reason(failure)}`, { cause: failure })
    await ring.authenticate()
    const member = ring.preferred()
    // A member that hangs must leave time for the others. Once a commit is sent, though, all that is left to do is wait.
    const share = Math.min(left, requestTimeoutMs / ring.size)
    try {
      const settled = await member.settled(clock.now() + share)
      const rest = end - clock.monotonic()
      if (!settled || rest <= 0) throw new NotConnected(member.endpoint)
      return await call(member, { deadline: clock.now() + (repeatable ? Math.min(share, rest) : rest) })
    } catch (err) {
      const kind = kindOf(err)
      if (kind === 'interrupted' || kind === 'unsent') ring.demote(member, reason(err))
      else if (kind === 'token') ring.dropToken()
      else throw err
      if (kind === 'interrupted' && !repeatable) throw new UnknownOutcome(`etcd may have carried out the commit, or not: ${reason(err)}`, { cause: err })
      // The first failure says most, unless grpc-js did not know yet why it has no connection: later ones may only be the end of the time.
      if (failure === undefined || reason(failure).includes('Last error: null')) failure = err
    }
    // Every member has had its turn.
    if ((failures + 1) % ring.size === 0) await clock.sleep(Math.min(backoffMs(failures / ring.size, clock), Math.max(0, end - clock.monotonic())))
  }
}

/** No connection was made in time. */
export class NotConnected extends Error {
  constructor(endpoint: string) {
    super(`no connection to ${endpoint}`)
  }
}

/** The kind of a failed attempt. */
export function kindOf(err: unknown): FailureKind {
  if (err instanceof NotConnected) return 'unsent'
  return isRpcFailure(err) ? failureKind(err) : 'refused'
}

/** The pause after a number of failures: doubling, with jitter. */
export function backoffMs(failures: number, clock: Clock): number {
  return Math.min(BACKOFF_MAX_MS, BACKOFF_MS * 2 ** Math.min(failures, 16)) * (0.5 + clock.random())
}

/** Why an attempt failed. */
export function reason(err: unknown): string {
  // grpc-js ends with the beginning of a note where it has none.
  return isRpcFailure(err) ? err.details.replace(/\.? Resolution note: $/, '') : err instanceof Error ? err.message : 'no member was tried in time'
}
