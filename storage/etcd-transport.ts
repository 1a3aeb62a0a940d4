/**
 * Calls to an etcd of one or more members: which member, how long, and what may be sent a second time. What only reads, or may be done twice,
 * is tried again until the request's time is over; a commit is sent again only when it is certain that it was not carried out.
 */
import type {
  ICompactionRequest, ILeaseKeepAliveResponse, IRangeRequest, IRangeResponse, IStatusResponse, ITxnRequest, ITxnResponse, IWatchCreateRequest, IWatchRequest, IWatchResponse,
} from 'etcd3'
import type { Clock } from '../src/base/clock.ts'
import type { Log } from '../src/base/log.ts'
import { Unavailable, UnknownOutcome } from './backend.ts'
import { failureKind, isRpcFailure } from './etcd-failure.ts'
import type { FailureKind } from './etcd-failure.ts'
import { openMember } from './etcd-member.ts'
import type { EtcdTls, Member } from './etcd-member.ts'

const BACKOFF_MS = 50
const BACKOFF_MAX_MS = 1000

export interface TransportOptions {
  /** "http://host:port" or "https://host:port", at least one. */
  readonly endpoints: readonly string[]
  readonly tls?: EtcdTls
  readonly auth?: EtcdAuth
  /** The time a call has, whatever number of members it tries. */
  readonly requestTimeoutMs: number
  readonly clock: Clock
  readonly log: Log
}

export interface EtcdAuth {
  readonly user: string
  readonly password: string
}

/** Reject with Unavailable when no member answers in time, and with RpcFailure for an answer that is a refusal. */
export interface EtcdTransport {
  range(request: IRangeRequest): Promise<IRangeResponse>
  /** Never sent again once it may have been carried out: then it rejects with UnknownOutcome. */
  txn(request: ITxnRequest): Promise<ITxnResponse>
  compact(request: ICompactionRequest): Promise<void>
  leaseGrant(ttlSeconds: number): Promise<string>
  /** The new time to live in seconds; 0 when the lease is gone. */
  leaseKeepAlive(id: string): Promise<number>
  leaseRevoke(id: string): Promise<void>
  status(): Promise<IStatusResponse>
  /** One watch on a stream of its own. Ends when the signal aborts, throws when the stream breaks. */
  watch(request: IWatchCreateRequest, signal: AbortSignal): AsyncIterable<IWatchResponse>
  close(): void
}

/** The reason to abort a watch with when its member was silent though there was something to tell. */
export class WatchStalled extends Error {}

/** Opens the members' connections lazily; see EtcdTransport. */
export function openTransport({ endpoints, tls, auth, requestTimeoutMs, clock, log }: TransportOptions): EtcdTransport {
  let token: Promise<string> | undefined
  let currentToken: string | undefined
  const members = endpoints.map((endpoint) => openMember(endpoint, tls, () => currentToken))
  // Replicas begin with different members, and stay with one while it answers.
  let preferred = Math.floor(clock.random() * members.length)

  const demote = (member: Member, why: string): void => {
    if (members[preferred] !== member || members.length === 1) return
    preferred = (preferred + 1) % members.length
    log.info('turning to another etcd member', { from: member.endpoint, to: members[preferred]!.endpoint, why })
  }
  const ring: Ring = { clock, requestTimeoutMs, size: members.length, preferred: () => members[preferred]!, demote, authenticate, dropToken }
  const repeat = <T>(call: Call<T>): Promise<T> => exchange(ring, call, { repeatable: true })

  /** Every call waits for the token; it is asked for once for all of them. */
  function authenticate(): Promise<unknown> {
    if (!auth) return Promise.resolve()
    token ??= exchange({ ...ring, authenticate: async () => {} }, (member, options) => member.auth.authenticate({ name: auth.user, password: auth.password }, options), { repeatable: true })
      .then((response) => (currentToken = response.token))
      .catch((err: unknown) => {
        dropToken()
        throw err
      })
    return token
  }
  function dropToken(): void {
    token = undefined
    currentToken = undefined
  }

  return {
    range: (request) => repeat((member, options) => member.kv.range(request, options)),
    txn: (request) => exchange(ring, (member, options) => member.kv.txn(request, options), { repeatable: false }),
    async compact(request) {
      await repeat((member, options) => member.kv.compact(request, options))
    },
    // Granted twice, the lease that nobody knows of ends by itself.
    leaseGrant: async (ttlSeconds) => (await repeat((member, options) => member.lease.leaseGrant({ TTL: ttlSeconds }, options))).ID,
    leaseKeepAlive: (id) => repeat((member, options) => keepAliveOnce(member, id, options)),
    async leaseRevoke(id) {
      await repeat((member, options) => member.lease.leaseRevoke({ ID: id }, options))
    },
    status: () => repeat((member, options) => member.maintenance.status(options)),
    watch: (request, signal) => watchStream(ring, request, signal),
    close: () => {
      for (const member of members) member.close()
    },
  }
}

/** `deadline`: milliseconds since the epoch. */
type Call<T> = (member: Member, options: { readonly deadline: number }) => Promise<T>

interface Ring {
  readonly clock: Clock
  readonly requestTimeoutMs: number
  /** Number of members. */
  readonly size: number
  preferred(): Member
  /** Others go first from now on. */
  demote(member: Member, why: string): void
  authenticate(): Promise<unknown>
  dropToken(): void
}

async function exchange<T>(ring: Ring, call: Call<T>, { repeatable }: { repeatable: boolean }): Promise<T> {
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
      if (!(await member.settled(clock.now() + share))) throw new NotConnected(member.endpoint)
      return await call(member, { deadline: clock.now() + (repeatable ? share : end - clock.monotonic()) })
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

class NotConnected extends Error {
  constructor(endpoint: string) {
    super(`no connection to ${endpoint}`)
  }
}

function kindOf(err: unknown): FailureKind {
  if (err instanceof NotConnected) return 'unsent'
  return isRpcFailure(err) ? failureKind(err) : 'refused'
}

/** The pause after a number of failures: doubling, with jitter. */
export function backoffMs(failures: number, clock: Clock): number {
  return Math.min(BACKOFF_MAX_MS, BACKOFF_MS * 2 ** Math.min(failures, 16)) * (0.5 + clock.random())
}

function reason(err: unknown): string {
  return isRpcFailure(err) ? err.details : err instanceof Error ? err.message : 'no member was tried in time'
}

/** A stream as grpc-js makes it; etcd3's types do not tell that it is a Node stream. */
type Stream<Request, Response> = AsyncIterable<Response> & { write(request: Request): void; cancel(): void; on(event: 'error', listener: () => void): unknown }

async function* watchStream(ring: Ring, request: IWatchCreateRequest, signal: AbortSignal): AsyncGenerator<IWatchResponse, void, undefined> {
  await ring.authenticate()
  const member = ring.preferred()
  const { clock, requestTimeoutMs, size } = ring
  if (!(await member.settled(clock.now() + requestTimeoutMs / size))) {
    ring.demote(member, 'no connection')
    throw new NotConnected(member.endpoint)
  }
  const stream = (await member.watch.watch()) as unknown as Stream<IWatchRequest, IWatchResponse>
  // Cancelling is an error event too, which may come when nobody iterates any more.
  stream.on('error', () => {})
  const cancel = (): void => stream.cancel()
  signal.addEventListener('abort', cancel, { once: true })
  try {
    if (signal.aborted) return
    stream.write({ create_request: request })
    for await (const response of stream) {
      // A token that is no longer good is only told as a text here.
      if (response.canceled && /permission denied|auth/.test(response.cancel_reason)) ring.dropToken()
      yield response
    }
    throw new Unavailable(`etcd has ended a watch`)
  } catch (err) {
    if (signal.reason instanceof WatchStalled) ring.demote(member, signal.reason.message)
    if (signal.aborted) return
    if (kindOf(err) === 'token') ring.dropToken()
    else ring.demote(member, reason(err))
    throw err
  } finally {
    signal.removeEventListener('abort', cancel)
    stream.cancel()
  }
}

async function keepAliveOnce(member: Member, id: string, options: { readonly deadline: number }): Promise<number> {
  const stream = (await member.lease.leaseKeepAlive(options)) as unknown as Stream<{ ID: string }, ILeaseKeepAliveResponse>
  stream.on('error', () => {})
  try {
    stream.write({ ID: id })
    for await (const response of stream) return Number(response.TTL)
    throw new Unavailable('etcd has ended the stream of a lease')
  } finally {
    stream.cancel()
  }
}

