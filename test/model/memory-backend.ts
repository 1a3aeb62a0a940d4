/** The contract of storage/backend.ts in memory, for tests: the simplest thing that passes the suite. */
import { compareKeys, Compacted, FutureRevision, Unavailable } from '../../storage/backend.ts'
import type { Backend, CommitRequest, CommitResult, Compare, KeyValue, RangeRequest, RangeResult, WatchBatch, WatchEvent } from '../../storage/backend.ts'
import { checkCommitRequest } from '../../storage/commit-request.ts'
import { openFeed } from '../../storage/event-feed.ts'
import type { LogRequest } from '../../storage/event-feed.ts'
import { openLeaseTable } from '../../storage/lease-table.ts'
import { systemClock } from '../../src/base/clock.ts'
import type { Clock } from '../../src/base/clock.ts'

type State = Map<string, KeyValue>

const inRange = (key: string, { start, end }: { start: string; end: string }): boolean => compareKeys(key, start) >= 0 && compareKeys(key, end) < 0

function apply(state: State, event: WatchEvent): void {
  const { key, value, revision, createRevision } = event
  if (value) state.set(key, { key, value, modRevision: revision, createRevision })
  else state.delete(key)
}

function holds(state: State, compare: Compare): boolean {
  if ('key' in compare) return (state.get(compare.key)?.modRevision ?? 0) === compare.modRevision
  return [...state.values()].every((kv) => !inRange(kv.key, compare) || kv.modRevision < compare.modRevisionBelow)
}

/** The events of a commit whose conditions hold, all at `revision`. */
function eventsOf(state: State, request: CommitRequest, revision: number): WatchEvent[] {
  const puts = (request.put ?? []).map(({ key, value }): WatchEvent => {
    const previous = state.get(key)
    return { type: 'put', key, value: new Uint8Array(value), createRevision: previous?.createRevision ?? revision, revision, ...(previous && { previous }) }
  })
  const deletes = (request.delete ?? []).flatMap((key): WatchEvent[] => {
    const previous = state.get(key)
    return previous ? [{ type: 'delete', key, previous, createRevision: previous.createRevision, revision }] : []
  })
  return [...puts, ...deletes]
}

function rangeOf(state: State, request: RangeRequest, revision: number): RangeResult {
  const found = [...state.values()].filter((kv) => inRange(kv.key, request)).sort((a, b) => compareKeys(a.key, b.key))
  const limit = request.countOnly ? 0 : (request.limit ?? Infinity)
  return { kvs: found.slice(0, limit), more: !request.countOnly && found.length > limit, count: found.length, revision }
}

/** Opens an empty store whose current revision is 1. `clock` ends the leases; default: the real one. */
export function openMemoryBackend(options: { clock?: Clock } = {}): Backend {
  let base: State = new Map()
  let log: WatchEvent[] = []
  let compacted = 1
  let revision = 1
  let closed = false
  const current: State = new Map()
  const leaseOf = new Map<string, string>()

  const checkOpen = (): void => {
    if (closed) throw new Unavailable('the store is closed')
  }
  const stateAt = (at: number): State => {
    if (at === revision) return current
    const state = new Map(base)
    for (const event of log) if (event.revision <= at) apply(state, event)
    return state
  }
  const readLog = async ({ after, ...range }: LogRequest): Promise<WatchBatch> => {
    if (after + 1 < compacted) throw new Compacted(compacted)
    return { events: log.filter((event) => event.revision > after && inRange(event.key, range)), revision }
  }
  const feed = openFeed({ revision, read: readLog })
  const write = (request: CommitRequest): void => {
    const events = eventsOf(current, request, revision + 1)
    if (events.length === 0) return
    revision++
    for (const event of events) {
      apply(current, event)
      leaseOf.delete(event.key)
    }
    for (const { key, lease } of request.put ?? []) if (lease !== undefined) leaseOf.set(key, lease)
    log.push(...events)
    feed.publish(events, revision)
  }
  const endLease = async (id: string): Promise<void> => write({ compare: [], delete: [...leaseOf].flatMap(([key, lease]) => (lease === id ? [key] : [])) })
  const leases = openLeaseTable(options.clock ?? systemClock, endLease)

  const backend: Backend = {
    async get(key) {
      checkOpen()
      return current.get(key)
    },
    async range(request) {
      checkOpen()
      const at = request.revision ?? revision
      if (at > revision) throw new FutureRevision(revision)
      if (at < compacted) throw new Compacted(compacted)
      return rangeOf(stateAt(at), request, at)
    },
    async commit(request): Promise<CommitResult> {
      checkOpen()
      checkCommitRequest(request)
      for (const { lease } of request.put ?? []) if (lease !== undefined) leases.check(lease)
      if (!request.compare.every((compare) => holds(current, compare))) {
        const keys = request.compare.flatMap((compare) => ('key' in compare ? [compare.key] : []))
        return { succeeded: false, revision, current: new Map(keys.map((key) => [key, current.get(key)])) }
      }
      write(request)
      return { succeeded: true, revision }
    },
    watch: (request) => feed.watch(request),
    async currentRevision() {
      checkOpen()
      return revision
    },
    async lease(ttlSeconds) {
      checkOpen()
      return leases.grant(ttlSeconds)
    },
    async compact(oldest) {
      checkOpen()
      if (oldest > revision) throw new FutureRevision(revision)
      if (oldest <= compacted) return
      base = new Map(stateAt(oldest - 1))
      log = log.filter((event) => event.revision >= oldest)
      compacted = oldest
      feed.compact(oldest)
    },
    async status() {
      checkOpen()
      const bytes = [...current.values()].reduce((sum, kv) => sum + kv.value.byteLength, 0)
      return { engine: 'memory', revision, compactedRevision: compacted, bytes }
    },
    async close() {
      closed = true
      leases.close()
      feed.end()
    },
    [Symbol.asyncDispose]: () => backend.close(),
  }
  return backend
}
