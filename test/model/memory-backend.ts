/** The contract of storage/backend.ts in memory, for tests: the simplest thing that passes the suite. */
import { compareKeys, Compacted, FutureRevision, Unavailable } from '../../storage/backend.ts'
import type {
  Backend, BackendStatus, CommitRequest, CommitResult, Compare, KeyValue, Lease, RangeRequest, RangeResult, WatchBatch, WatchEvent, WatchRequest,
} from '../../storage/backend.ts'
import { checkCommitRequest } from '../../storage/commit-request.ts'
import { openFeed } from '../../storage/event-feed.ts'
import type { LogRequest } from '../../storage/event-feed.ts'
import { openLeaseTable } from '../../storage/lease-table.ts'
import type { LeaseTable } from '../../storage/lease-table.ts'
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
  const store = new MemoryStore(options.clock ?? systemClock)
  // Own functions, so that a test can spread it and replace one.
  return {
    get: (key) => store.get(key),
    range: (request) => store.range(request),
    commit: (request) => store.commit(request),
    watch: (request) => store.watch(request),
    currentRevision: () => store.currentRevision(),
    lease: (ttlSeconds) => store.lease(ttlSeconds),
    compact: (revision) => store.compact(revision),
    status: () => store.status(),
    close: () => store.close(),
    [Symbol.asyncDispose]: () => store.close(),
  }
}

class MemoryStore {
  #revision = 1
  #compacted = 1
  #closed = false
  /** The state before the oldest event of the log. */
  #base: State = new Map()
  #log: WatchEvent[] = []
  readonly #current: State = new Map()
  readonly #leaseOf = new Map<string, string>()
  readonly #feed = openFeed({ revision: 1, read: (request) => this.#readLog(request) })
  readonly #leases: LeaseTable

  constructor(clock: Clock) {
    this.#leases = openLeaseTable(clock, async (id) => this.#endLease(id))
  }

  async get(key: string): Promise<KeyValue | undefined> {
    this.#checkOpen()
    return this.#current.get(key)
  }

  async range(request: RangeRequest): Promise<RangeResult> {
    this.#checkOpen()
    const at = request.revision ?? this.#revision
    if (at > this.#revision) throw new FutureRevision(this.#revision)
    if (at < this.#compacted) throw new Compacted(this.#compacted)
    return rangeOf(this.#stateAt(at), request, at)
  }

  async commit(request: CommitRequest): Promise<CommitResult> {
    this.#checkOpen()
    checkCommitRequest(request)
    for (const { lease } of request.put ?? []) if (lease !== undefined) this.#leases.check(lease)
    if (!request.compare.every((compare) => holds(this.#current, compare))) {
      const keys = request.compare.flatMap((compare) => ('key' in compare ? [compare.key] : []))
      return { succeeded: false, revision: this.#revision, current: new Map(keys.map((key) => [key, this.#current.get(key)])) }
    }
    this.#write(request)
    return { succeeded: true, revision: this.#revision }
  }

  watch(request: WatchRequest): AsyncIterable<WatchBatch> {
    return this.#feed.watch(request)
  }

  async currentRevision(): Promise<number> {
    this.#checkOpen()
    return this.#revision
  }

  async lease(ttlSeconds: number): Promise<Lease> {
    this.#checkOpen()
    return this.#leases.grant(ttlSeconds)
  }

  async compact(oldest: number): Promise<void> {
    this.#checkOpen()
    if (oldest > this.#revision) throw new FutureRevision(this.#revision)
    if (oldest <= this.#compacted) return
    this.#base = new Map(this.#stateAt(oldest - 1))
    this.#log = this.#log.filter((event) => event.revision >= oldest)
    this.#compacted = oldest
    this.#feed.compact(oldest)
  }

  async status(): Promise<BackendStatus> {
    this.#checkOpen()
    const bytes = [...this.#current.values()].reduce((sum, kv) => sum + kv.value.byteLength, 0)
    return { engine: 'memory', revision: this.#revision, compactedRevision: this.#compacted, bytes }
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#leases.close()
    this.#feed.end()
  }

  #checkOpen(): void {
    if (this.#closed) throw new Unavailable('the store is closed')
  }

  #stateAt(revision: number): State {
    if (revision === this.#revision) return this.#current
    const state = new Map(this.#base)
    for (const event of this.#log) if (event.revision <= revision) apply(state, event)
    return state
  }

  async #readLog({ after, ...range }: LogRequest): Promise<WatchBatch> {
    if (after + 1 < this.#compacted) throw new Compacted(this.#compacted)
    return { events: this.#log.filter((event) => event.revision > after && inRange(event.key, range)), revision: this.#revision }
  }

  #write(request: CommitRequest): void {
    const events = eventsOf(this.#current, request, this.#revision + 1)
    if (events.length === 0) return
    this.#revision++
    for (const event of events) {
      apply(this.#current, event)
      this.#leaseOf.delete(event.key)
    }
    for (const { key, lease } of request.put ?? []) if (lease !== undefined) this.#leaseOf.set(key, lease)
    this.#log.push(...events)
    this.#feed.publish(events, this.#revision)
  }

  #endLease(id: string): void {
    const keys = [...this.#leaseOf].flatMap(([key, lease]) => (lease === id ? [key] : []))
    this.#write({ compare: [], delete: keys })
  }
}
