/** The calls and streams that the store makes, over the members of an etcd. See etcd-exchange.ts for what may be sent again. */
import type {
  ICompactionRequest, ILeaseKeepAliveResponse, IRangeRequest, IRangeResponse, IStatusResponse, ITxnRequest, ITxnResponse, IWatchCreateRequest, IWatchRequest, IWatchResponse,
} from 'etcd3'
import type { Clock } from '../src/base/clock.ts'
import type { Log } from '../src/base/log.ts'
import { Unavailable } from './backend.ts'
import { exchange, kindOf, NotConnected, reason } from './etcd-exchange.ts'
import type { Call, OpenStream, Ring } from './etcd-exchange.ts'
import { openMember } from './etcd-member.ts'
import type { EtcdTls, Member } from './etcd-member.ts'

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
export function openTransport(options: TransportOptions): EtcdTransport {
  const { members, ring } = openRing(options)
  const repeat = <T>(call: Call<T>): Promise<T> => exchange(ring, call, { repeatable: true })
  return {
    range: (request) => repeat((member, limits) => member.kv.range(request, limits)),
    txn: (request) => exchange(ring, (member, limits) => member.kv.txn(request, limits), { repeatable: false }),
    async compact(request) {
      await repeat((member, limits) => member.kv.compact(request, limits))
    },
    // Granted twice, the lease that nobody knows of ends by itself.
    leaseGrant: async (ttlSeconds) => (await repeat((member, limits) => member.lease.leaseGrant({ TTL: ttlSeconds }, limits))).ID,
    leaseKeepAlive: (id) => repeat((member, limits) => keepAliveOnce(member, id, limits)),
    async leaseRevoke(id) {
      await repeat((member, limits) => member.lease.leaseRevoke({ ID: id }, limits))
    },
    status: () => repeat((member, limits) => member.maintenance.status(limits)),
    watch: (request, signal) => watchStream(ring, request, signal),
    close: () => {
      for (const member of members) member.close()
    },
  }
}

function openRing({ endpoints, tls, auth, requestTimeoutMs, clock, log }: TransportOptions): { members: readonly Member[]; ring: Ring } {
  let asked: Promise<unknown> | undefined
  let token: string | undefined
  const members = endpoints.map((endpoint) => openMember(endpoint, tls, () => token))
  // Replicas begin with different members, and stay with one while it answers.
  let first = Math.floor(clock.random() * members.length)
  const streams = new Set<OpenStream>()
  const ring: Ring = {
    clock,
    requestTimeoutMs,
    size: members.length,
    streams,
    preferred: () => members[first]!,
    demote(member, why) {
      if (members[first] !== member || members.length === 1) return
      first = (first + 1) % members.length
      // Its watches may be as silent as it is; they go on elsewhere without a loss.
      for (const stream of streams) if (stream.member === member) stream.cancel()
      log.info('turning to another etcd member', { from: member.endpoint, to: members[first]!.endpoint, why })
    },
    // Every call waits for the token; it is asked for once for all of them.
    authenticate: () => (auth ? (asked ??= authenticate(auth)) : Promise.resolve()),
    dropToken() {
      asked = undefined
      token = undefined
    },
  }
  const authenticate = async ({ user, password }: EtcdAuth): Promise<void> => {
    try {
      const response = await exchange({ ...ring, authenticate: async () => {} }, (member, limits) => member.auth.authenticate({ name: user, password }, limits), { repeatable: true })
      token = response.token
    } catch (err) {
      ring.dropToken()
      throw err
    }
  }
  return { members, ring }
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
  const open: OpenStream = { member, cancel: () => stream.cancel() }
  ring.streams.add(open)
  signal.addEventListener('abort', open.cancel, { once: true })
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
    signal.removeEventListener('abort', open.cancel)
    ring.streams.delete(open)
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

