/**
 * The embedded store: SQLite in a worker thread, durable when a commit resolves, for one process at a time. Many commits share one
 * transaction; the event loop stays free. See sqlite-worker.ts for the work and sqlite-tables.ts for the layout.
 */
import type { Clock } from '../src/base/clock.ts'
import type { Log } from '../src/base/log.ts'
import type { Backend, CommitRequest, CommitResult, KeyValue, WatchEvent } from './backend.ts'
import { checkCommitRequest } from './commit-request.ts'
import { openFeed } from './event-feed.ts'
import type { EventFeed } from './event-feed.ts'
import { openLeaseTable } from './lease-table.ts'
import type { LeaseTable } from './lease-table.ts'
import { startCompactor } from './sqlite-compactor.ts'
import { openLink } from './sqlite-link.ts'
import type { Link } from './sqlite-link.ts'

export { DirectoryUnusable, StoreLocked } from './sqlite-protocol.ts'

const COMPACT_AFTER_MS = 5 * 60_000
const REVISION_EPOCH = Date.UTC(2020, 0, 1)

export interface SqliteOptions {
  /** Made when it is not there. */
  readonly directory: string
  readonly clock: Clock
  readonly log: Log
  /** History is kept for this long; default 5 minutes. */
  readonly compactAfterMs?: number
  /** On a read-only file system it is opened for reading, as the files are; nobody may change them meanwhile. Else such a directory cannot be used. */
  readonly orReadOnly?: boolean
}

/**
 * Opens the store in a directory. Rejects with StoreLocked when another process has it, with DirectoryUnusable when it cannot be used.
 * Leases of an earlier process end here.
 */
export async function openSqlite({ directory, clock, log, compactAfterMs = COMPACT_AFTER_MS, orReadOnly = false }: SqliteOptions): Promise<Backend> {
  const link = await openLink({
    directory,
    firstRevision: firstRevision(clock),
    orReadOnly,
    onCrash: (cause) => {
      log.error('the store has failed', { err: cause, directory })
      compactor.stop()
      leases.close()
      feed.end(cause)
    },
  })
  const feed = openFeed({ revision: link.revision, read: (request) => link.call('log', request) })
  const leases = openLeaseTable(clock, async (id) => {
    await link.call('endLease', id, { onResult: ({ events, revision }) => feed.publish(events, revision) })
  })
  const backend = createBackend(link, feed, leases, () => compactor.stop())
  const compactor = startCompactor({
    clock,
    log,
    compactAfterMs,
    revision: () => feed.revision,
    compact: (revision) => backend.compact(revision),
    checkpoint: () => link.call('checkpoint', undefined),
  })
  return backend
}

/**
 * The first revision of a new store: hundredths of milliseconds since 2020. A directory that is deleted and made again thus starts
 * above its predecessor, unless that one took 100,000 commits a second all its life, so that no client mistakes an old revision for a
 * new one. It stays a safe integer until the year 4800.
 */
function firstRevision(clock: Clock): number {
  return Math.max(1, Math.floor((clock.now() - REVISION_EPOCH) * 100))
}

function createBackend(link: Link, feed: EventFeed, leases: LeaseTable, stopCompactor: () => void): Backend {
  let compacted = link.compactedRevision
  const backend: Backend = {
    get: (key) => link.call('get', key),
    async range({ start, end, limit, revision, countOnly, uncounted }) {
      const kvs: KeyValue[] = []
      // Part by part: whatever else the caller's object has might not cross the threads.
      const summary = await link.call('range', { start, end, limit, revision, countOnly, uncounted }, { onPage: (page) => kvs.push(...page) })
      return { kvs, ...summary }
    },
    commit: (request) => commit(request, link, feed, leases),
    watch: (request) => feed.watch(request),
    async currentRevision() {
      // Commits resolve after their events are published, so this is linearizable without asking the worker.
      link.check()
      return feed.revision
    },
    async lease(ttlSeconds) {
      link.check()
      return leases.grant(ttlSeconds)
    },
    compact: (revision) =>
      link.call('compact', revision, {
        onResult: () => {
          compacted = Math.max(compacted, revision)
          feed.compact(compacted)
        },
      }),
    async status() {
      const size = await link.call('size', undefined)
      return { engine: 'sqlite', revision: feed.revision, compactedRevision: compacted, ...size }
    },
    async close() {
      stopCompactor()
      leases.close()
      await link.close()
      feed.end()
    },
    [Symbol.asyncDispose]: () => backend.close(),
  }
  return backend
}

async function commit(request: CommitRequest, link: Link, feed: EventFeed, leases: LeaseTable): Promise<CommitResult> {
  checkCommitRequest(request)
  for (const { lease } of request.put ?? []) if (lease !== undefined) leases.check(lease)
  const put = (request.put ?? []).map((item) => ({ ...item, value: exact(item.value) }))
  const { compare, delete: deleted = [], background = false, essential = false } = request
  const outcome = await link.call('commit', { compare, put, delete: deleted, background, essential }, {
    onResult(result) {
      if (result.succeeded && result.events.length > 0) feed.publish(result.events.map((event, i) => withValue(event, put[i]?.value)), result.revision)
    },
  })
  return outcome.succeeded ? { succeeded: true, revision: outcome.revision } : outcome
}

function withValue(event: WatchEvent, value: Uint8Array | undefined): WatchEvent {
  return event.type === 'put' && value ? { ...event, value } : event
}

/** A view of a larger buffer would be cloned with all of it, and keep all of it alive in the events. */
function exact(value: Uint8Array): Uint8Array {
  return value.byteLength === value.buffer.byteLength ? value : new Uint8Array(value)
}
