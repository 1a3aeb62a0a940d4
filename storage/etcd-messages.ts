/** The contract's values as etcd's messages, and back. */
import type { ICompare, IEvent, IKeyValue, IRequestOp, ITxnRequest, ITxnResponse } from 'etcd3'
import type { CommitRequest, CommitResult, Compare, KeyValue, WatchEvent } from './backend.ts'
import { toRevision } from './etcd-keyspace.ts'
import type { Keyspace } from './etcd-keyspace.ts'

/** A pair under the caller's key. The value is a copy: etcd's is a view that would keep the whole message alive. */
export function toKeyValue(key: string, kv: IKeyValue): KeyValue {
  return { key, value: new Uint8Array(kv.value), modRevision: toRevision(kv.mod_revision), createRevision: toRevision(kv.create_revision) }
}

/**
 * An event under the caller's key; undefined when it needs the value before and etcd did not send it, as it does once
 * that is compacted (etcd: server/etcdserver/api/v3rpc/watch.go, sendLoop).
 */
export function toWatchEvent(key: string, { type, kv, prev_kv }: IEvent): WatchEvent | undefined {
  const revision = toRevision(kv.mod_revision)
  const previous = prev_kv ? toKeyValue(key, prev_kv) : undefined
  if (type === 'Delete') return previous && { type: 'delete', key, previous, createRevision: previous.createRevision, revision }
  const createRevision = toRevision(kv.create_revision)
  if (!previous && createRevision !== revision) return undefined
  return { type: 'put', key, value: new Uint8Array(kv.value), createRevision, revision, ...(previous && { previous }) }
}

/**
 * A commit as one transaction: when a condition fails it reads every single key that was compared. One that writes nothing reads
 * as well: etcd answers a transaction without any operation from what the member happens to have.
 */
export function toTxn(request: CommitRequest, keyspace: Keyspace): ITxnRequest {
  const puts = (request.put ?? []).map(({ key, value, lease }): IRequestOp => ({
    request_put: { key: keyspace.toKey(key), value: Buffer.from(value.buffer, value.byteOffset, value.byteLength), ...(lease !== undefined && { lease }) },
  }))
  const deletes = (request.delete ?? []).map((key): IRequestOp => ({ request_delete_range: { key: keyspace.toKey(key) } }))
  const writes = [...puts, ...deletes]
  const reads = comparedKeys(request).map((key): IRequestOp => ({ request_range: { key: keyspace.toKey(key) } }))
  const nothing: IRequestOp = { request_range: { key: keyspace.progressKey, count_only: true } }
  return {
    compare: request.compare.map((compare) => toCompare(compare, keyspace)),
    success: writes.length > 0 ? writes : [nothing],
    failure: reads.length > 0 ? reads : [nothing],
  }
}

/** The outcome of a transaction made by `toTxn`. */
export function toCommitResult(request: CommitRequest, response: ITxnResponse): CommitResult {
  const revision = toRevision(response.header.revision)
  if (response.succeeded) return { succeeded: true, revision }
  const current = comparedKeys(request).map((key, i): [string, KeyValue | undefined] => {
    const kv = response.responses[i]?.response_range.kvs[0]
    return [key, kv && toKeyValue(key, kv)]
  })
  return { succeeded: false, revision, current: new Map(current) }
}

function comparedKeys({ compare }: CommitRequest): string[] {
  return [...new Set(compare.flatMap((condition) => ('key' in condition ? [condition.key] : [])))]
}

function toCompare(compare: Compare, keyspace: Keyspace): ICompare {
  if ('key' in compare) return { key: keyspace.toKey(compare.key), target: 'Mod', result: 'Equal', mod_revision: compare.modRevision }
  // An empty range compares as a key with modRevision 0, so that the condition must be at least 1 to hold for it.
  return { ...keyspace.toRange(compare), target: 'Mod', result: 'Less', mod_revision: Math.max(1, compare.modRevisionBelow) }
}
