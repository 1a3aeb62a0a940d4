/** Reads of etcd: keys, ranges in pages at one revision, revisions. */
import type { IKeyValue } from 'etcd3'
import type { Clock } from '../src/base/clock.ts'
import { Compacted, FutureRevision, Unavailable } from './backend.ts'
import type { KeyValue, RangeRequest, RangeResult } from './backend.ts'
import { failureKind, isRpcFailure } from './etcd-failure.ts'
import { toRevision } from './etcd-keyspace.ts'
import type { Keyspace } from './etcd-keyspace.ts'
import { toKeyValue } from './etcd-messages.ts'
import type { EtcdTransport } from './etcd-transport.ts'

/** Keys per request: one answer stays small, and others get their turn. */
const PAGE = 500
/** A list of the present state whose revision is compacted before its last page begins again this often. */
const LIST_ATTEMPTS = 3

export interface EtcdReads {
  get(key: string): Promise<KeyValue | undefined>
  range(request: RangeRequest): Promise<RangeResult>
  currentRevision(): Promise<number>
  /** Every revision below is gone, as far as this process knows. */
  readonly compactedRevision: number
  /** Every revision below this one is gone. */
  noteCompacted(revision: number): void
  /** Asks etcd. */
  learnCompacted(): Promise<number>
}

export interface ReadsOptions {
  readonly transport: EtcdTransport
  readonly keyspace: Keyspace
  readonly clock: Clock
  readonly requestTimeoutMs: number
}

/** See EtcdReads. */
export function openReads({ transport, keyspace, clock, requestTimeoutMs }: ReadsOptions): EtcdReads {
  let compacted = 1

  const currentRevision = async (): Promise<number> => toRevision((await transport.range({ key: keyspace.progressKey, count_only: true })).header.revision)

  const readPages = async (request: RangeRequest): Promise<RangeResult> => {
    const { range_end, ...from } = keyspace.toRange(request)
    const countOnly = request.countOnly === true || request.limit === 0
    const limit = request.limit ?? Infinity
    const kvs: KeyValue[] = []
    let { key } = from
    let { revision } = request
    let count: number | undefined
    for (;;) {
      const size = countOnly ? { count_only: true } : { limit: Math.min(PAGE, limit - kvs.length) }
      const page = await transport.range({ key, range_end, ...size, ...(revision !== undefined && { revision }) })
      revision ??= toRevision(page.header.revision)
      count ??= Number(page.count)
      for (const kv of page.kvs) kvs.push(toOwn(kv, keyspace))
      if (countOnly || !page.more || kvs.length >= limit) return { kvs, more: countOnly ? request.limit === 0 && count > 0 : page.more, count, revision }
      key = Buffer.concat([page.kvs.at(-1)!.key, Buffer.of(0)])
    }
  }

  /** etcd tells its compacted revision only to a watch that asks for too much. */
  const askWatch = async (): Promise<void> => {
    const abort = new AbortController()
    const timer = clock.schedule(requestTimeoutMs, () => abort.abort())
    try {
      for await (const response of transport.watch({ key: keyspace.progressKey, start_revision: 1 }, abort.signal)) {
        if (!response.canceled) continue
        compacted = Math.max(compacted, toRevision(response.compact_revision) + 1)
        return
      }
      throw new Unavailable('etcd does not tell what it has compacted')
    } finally {
      timer.cancel()
      abort.abort()
    }
  }
  const isReadable = async (revision: number): Promise<boolean> => {
    try {
      await transport.range({ key: keyspace.progressKey, revision, count_only: true })
      return true
    } catch (err) {
      if (isRpcFailure(err) && failureKind(err) === 'compacted') return false
      throw err
    }
  }
  const learnCompacted = async (): Promise<number> => {
    // The last one that is known to be compacted at can still be read unless there was another compaction.
    if (!(await isReadable(Math.max(1, compacted - 1)))) await askWatch()
    return compacted
  }
  const explain = async (err: unknown): Promise<unknown> => {
    if (!isRpcFailure(err)) return err
    const kind = failureKind(err)
    if (kind === 'compacted') return new Compacted(await learnCompacted())
    return kind === 'futureRevision' ? new FutureRevision(await currentRevision()) : err
  }

  return {
    async get(key) {
      const kv = (await transport.range({ key: keyspace.toKey(key) })).kvs[0]
      return kv && toKeyValue(key, kv)
    },
    async range(request) {
      if (request.revision !== undefined && request.revision < compacted) throw new Compacted(compacted)
      for (let attempt = 1; ; attempt++) {
        try {
          return await readPages(request)
        } catch (err) {
          const explained = await explain(err)
          if (!(explained instanceof Compacted) || request.revision !== undefined || attempt === LIST_ATTEMPTS) throw explained
        }
      }
    },
    currentRevision,
    get compactedRevision() {
      return compacted
    },
    noteCompacted: (revision) => {
      compacted = Math.max(compacted, revision)
    },
    learnCompacted,
  }
}

/** Ranges that callers can ask for have none of the store's own keys. */
function toOwn(kv: IKeyValue, keyspace: Keyspace): KeyValue {
  return toKeyValue(keyspace.fromKey(kv.key)!, kv)
}
