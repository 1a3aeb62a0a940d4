/** Commits to etcd, and the one refusal that has to be looked into: a full database. */
import type { IRequestOp, ITxnRequest, ITxnResponse } from 'etcd3'
import { LeaseExpired, OutOfSpace, UnknownOutcome } from './backend.ts'
import type { CommitRequest, CommitResult } from './backend.ts'
import { checkCommitRequest } from './commit-request.ts'
import { failureKind, FULL, isRpcFailure } from './etcd-failure.ts'
import { toRevision } from './etcd-keyspace.ts'
import type { Keyspace } from './etcd-keyspace.ts'
import { toCommitResult, toTxn } from './etcd-messages.ts'
import type { EtcdTransport } from './etcd-transport.ts'

export interface CommitOptions {
  readonly transport: Pick<EtcdTransport, 'txn'>
  readonly keyspace: Keyspace
  /** A revision that etcd has reached already. */
  readonly revision: () => number
  /** Told the revision of each commit that wrote something. */
  readonly onWritten: (revision: number) => void
}

/** Carries out a commit; see Backend.commit. */
export async function commitToEtcd(options: CommitOptions, request: CommitRequest): Promise<CommitResult> {
  checkCommitRequest(request)
  for (const { lease } of request.put ?? []) if (lease !== undefined && !/^\d+$/.test(lease)) throw new LeaseExpired(`there is no lease ${lease}`)
  const before = options.revision()
  const response = await options.transport.txn(toTxn(request, options.keyspace)).catch(async (err: unknown) => {
    throw isFull(err) ? await afterFull(options, request, before) : err
  })
  const result = toCommitResult(request, response)
  if (result.succeeded && hasWritten(response)) options.onWritten(result.revision)
  return result
}

/** Puts a key of the store's own if its modRevision is as given (any, when it is not). The new revision, or the key as it is. */
export async function putOwnKey(options: CommitOptions, key: Buffer, value: string, modRevision?: number): Promise<{ won: boolean; revision: number; modRevision: number; value: string }> {
  const request: ITxnRequest = {
    compare: modRevision === undefined ? [] : [{ key, target: 'Mod', result: 'Equal', mod_revision: modRevision }],
    success: [{ request_put: { key, value: Buffer.from(value) } }],
    failure: [{ request_range: { key } }],
  }
  const response = await options.transport.txn(request).catch((err: unknown) => {
    throw isFull(err) ? new OutOfSpace(FULL, { cause: err }) : err
  })
  const revision = toRevision(response.header.revision)
  if (response.succeeded) {
    options.onWritten(revision)
    return { won: true, revision, modRevision: revision, value }
  }
  const kv = response.responses[0]?.response_range.kvs[0]
  return { won: false, revision, modRevision: kv ? toRevision(kv.mod_revision) : 0, value: kv?.value.toString() ?? '' }
}

function hasWritten({ responses }: ITxnResponse): boolean {
  return responses.some((response) => response.response_put || Number(response.response_delete_range?.deleted ?? 0) > 0)
}

function isFull(err: unknown): boolean {
  return isRpcFailure(err) && failureKind(err) === 'noSpace'
}

/**
 * The commit that makes the database full is carried out and refused at the same time (etcd: server/etcdserver/apply/apply.go,
 * quotaApplierV3.Txn), so nothing was written only if no key has changed.
 */
async function afterFull({ transport, keyspace }: CommitOptions, request: CommitRequest, before: number): Promise<Error> {
  const reads = (request.put ?? []).map(({ key }): IRequestOp => ({ request_range: { key: keyspace.toKey(key) } }))
  const { responses } = await transport.txn({ compare: [], success: reads, failure: [] }).catch((cause: unknown) => {
    throw new UnknownOutcome(`${FULL}. The commit may have been carried out, or not`, { cause })
  })
  const hasChanged = responses.some(({ response_range: { kvs } }) => kvs[0] !== undefined && toRevision(kvs[0].mod_revision) > before)
  return hasChanged ? new UnknownOutcome(`${FULL}. The commit may have been the last that was carried out`) : new OutOfSpace(FULL)
}
