/** What a failed call to etcd means: above all, whether the request may have been carried out. */
import { BackendError, LeaseExpired, OutOfSpace, TooLarge, Unavailable } from './backend.ts'

/** What an operator has to do about a full database. */
export const FULL =
  "etcd's database is full: compact it, defragment every member (etcdctl defrag), then clear the alarm (etcdctl alarm disarm); or give it more room with --quota-backend-bytes"

/** A failed call as gRPC tells it. */
export interface RpcFailure {
  readonly code: number
  readonly details: string
}

/**
 * - `unsent`: it never left, or etcd refused it before it did anything: it can go to another member.
 * - `token`: refused because the token is no longer good: it can go again with a new one.
 * - `interrupted`: nobody can say whether it was carried out.
 * - `refused`: a final answer, nothing was written.
 */
export type FailureKind = 'unsent' | 'token' | 'compacted' | 'futureRevision' | 'noSpace' | 'tooLarge' | 'noLease' | 'interrupted' | 'refused'

/**
 * etcd's texts (api/v3rpc/rpctypes/error.go), grpc-js' for a call that found no connection, or none in time, and gRPC's for a message that is too long. Only what
 * etcd says before it proposes a request may be `unsent`: "request timed out" or "server stopped" can come after.
 */
const TEXTS: readonly (readonly [RegExp, FailureKind])[] = [
  [/No connection established|Waiting for LB pick|waiting for (name resolution|metadata filters)/, 'unsent'],
  [/etcdserver: no leader/, 'unsent'],
  [/etcdserver: too many requests/, 'unsent'],
  [/etcdserver: not capable/, 'unsent'],
  [/etcdserver: rpc not supported for learner/, 'unsent'],
  [/etcdserver: invalid auth token/, 'token'],
  [/etcdserver: revision of auth store is old/, 'token'],
  [/required revision has been compacted/, 'compacted'],
  [/required revision is a future revision/, 'futureRevision'],
  [/database space exceeded/, 'noSpace'],
  [/etcdserver: request is too large/, 'tooLarge'],
  [/etcdserver: too many operations in txn request/, 'tooLarge'],
  [/message larger than max/, 'tooLarge'],
  [/etcdserver: requested lease not found/, 'noLease'],
  [/etcdserver: corrupt cluster/, 'refused'],
]

/** InvalidArgument, NotFound, AlreadyExists, PermissionDenied, FailedPrecondition, OutOfRange, Unimplemented, Unauthenticated. */
const FINAL_CODES = new Set([3, 5, 6, 7, 9, 11, 12, 16])

/** True for an error that gRPC made. */
export function isRpcFailure(error: unknown): error is RpcFailure {
  return error instanceof Error && 'code' in error && typeof error.code === 'number' && 'details' in error && typeof error.details === 'string'
}

/** The kind of a failed call. */
export function failureKind({ code, details }: RpcFailure): FailureKind {
  return TEXTS.find(([text]) => text.test(details))?.[1] ?? (FINAL_CODES.has(code) ? 'refused' : 'interrupted')
}

/** The contract's error for a final answer that needs no more looking into; anything else comes back as it is. */
export function toBackendError(error: unknown): unknown {
  if (!isRpcFailure(error)) return error
  const options = { cause: error }
  switch (failureKind(error)) {
    case 'tooLarge':
      return new TooLarge(`etcd refuses a request of this size, see its --max-request-bytes and --max-txn-ops: ${error.details}`, options)
    case 'noSpace':
      return new OutOfSpace(FULL, options)
    case 'noLease':
      return new LeaseExpired(error.details, options)
    case 'refused':
      return isAccess(error) ? new Unavailable(`etcd refuses access: ${error.details}`, options) : new BackendError(error.details, options)
    case 'unsent':
    case 'token':
    case 'interrupted':
      return new Unavailable(error.details, options)
    default:
      return new BackendError(error.details, options)
  }
}

/** PermissionDenied, Unauthenticated, and what etcd says under other codes. */
function isAccess({ code, details }: RpcFailure): boolean {
  return code === 7 || code === 16 || /authentication|user name is empty/.test(details)
}
