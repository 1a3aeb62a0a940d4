/** An etcd that only watches, for tests of the watch: it plays the streams it was given, one after the other. */
import { setImmediate as turn } from 'node:timers/promises'
import type { IEvent, IResponseHeader, IWatchCreateRequest, IWatchResponse } from 'etcd3'
import type { EtcdTransport } from './etcd-transport.ts'
import { openKeyspace } from './etcd-keyspace.ts'

export const keyspace = openKeyspace('/test')

export const header = (revision: number): IResponseHeader => ({ cluster_id: '18446744073709551615', member_id: '1', revision: String(revision), raft_term: '2' })

/** A failure as grpc-js throws it. */
export const rpcError = (code: number, details: string): Error => Object.assign(new Error(details), { code, details })

/** A put as etcd sends it; `before`: the value and modRevision that the key had. */
export function putEvent(key: string, revision: number, before?: number): IEvent {
  const kv = (mod: number) => ({ key: keyspace.toKey(key), value: Buffer.from(`${mod}`), mod_revision: `${mod}`, create_revision: `${before ?? revision}`, version: '1', lease: '0' })
  return { type: 'Put', kv: kv(revision), ...(before !== undefined && { prev_kv: kv(before) }) } as IEvent
}

/** A deletion, with the pair that was deleted when `before` (its modRevision) is given. */
export function deleteEvent(key: string, revision: number, before?: number): IEvent {
  const { kv } = putEvent(key, revision)
  const gone = { ...kv, value: Buffer.alloc(0), create_revision: '0' }
  return { type: 'Delete', kv: gone, ...(before !== undefined && { prev_kv: putEvent(key, before).kv }) } as IEvent
}

const answer = (revision: number, rest: Partial<IWatchResponse>): IWatchResponse => ({
  header: header(revision), watch_id: '0', created: false, canceled: false, compact_revision: '0', cancel_reason: '', fragment: false, events: [], ...rest,
})

/** `revision` is that of the header: etcd's current one. */
export const created = (revision: number): IWatchResponse => answer(revision, { created: true })
export const told = (revision: number, ...events: IEvent[]): IWatchResponse => answer(revision, { events })
export const fragment = (revision: number, ...events: IEvent[]): IWatchResponse => answer(revision, { events, fragment: true })
export const compacted = (compactRevision: number): IWatchResponse => answer(compactRevision + 10, { canceled: true, compact_revision: `${compactRevision}` })
export const refused = (reason: string): IWatchResponse => answer(5, { created: true, canceled: true, cancel_reason: reason })

export interface FakeWatches {
  readonly transport: Pick<EtcdTransport, 'watch' | 'range'>
  /** The start revision that each stream was asked for. */
  readonly starts: number[]
}

/** Each script is a stream: answers, and at its end an error that breaks it, or silence until it is aborted. */
export function fakeWatches(scripts: readonly (readonly (IWatchResponse | Error)[])[], compactRevision = 0): FakeWatches {
  const starts: number[] = []
  return {
    starts,
    transport: {
      async range({ revision }) {
        if (Number(revision) < compactRevision) throw rpcError(11, 'etcdserver: mvcc: required revision has been compacted')
        return { header: header(1000), kvs: [], more: false, count: '0' }
      },
      async *watch(request: IWatchCreateRequest, signal: AbortSignal) {
        const script = scripts[starts.length] ?? []
        starts.push(Number(request.start_revision))
        for (const step of script) {
          await turn()
          if (step instanceof Error) throw step
          yield step
        }
        if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
      },
    },
  }
}
