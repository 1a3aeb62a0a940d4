/**
 * The distributed store: etcd 3.4 to 3.6, shared by any number of replicas. Reads and commits go to etcd; one watch of everything
 * under the prefix feeds all watchers of this process from memory (event-feed.ts).
 */
import { BackendError, FutureRevision } from './backend.ts'
import type { Backend, BackendStatus, WatchBatch } from './backend.ts'
import { openCalls } from './etcd-calls.ts'
import type { Calls } from './etcd-calls.ts'
import { commitToEtcd, putOwnKey } from './etcd-commits.ts'
import type { CommitOptions } from './etcd-commits.ts'
import { openCompactionKey, startEtcdCompactor } from './etcd-compactor.ts'
import { failureKind, isRpcFailure, toBackendError } from './etcd-failure.ts'
import { openFirstBatches } from './etcd-first-batch.ts'
import { openKeyspace } from './etcd-keyspace.ts'
import type { Keyspace } from './etcd-keyspace.ts'
import { openLeases } from './etcd-leases.ts'
import { readLog } from './etcd-log.ts'
import { openProgress } from './etcd-progress.ts'
import type { Progress } from './etcd-progress.ts'
import { openReads } from './etcd-reads.ts'
import type { EtcdReads } from './etcd-reads.ts'
import { openQuota, spaceOf } from './etcd-space.ts'
import { openTransport } from './etcd-transport.ts'
import type { EtcdTransport, TransportOptions } from './etcd-transport.ts'
import { followAll } from './etcd-watch.ts'
import { openFeed } from './event-feed.ts'
import type { EventFeed } from './event-feed.ts'

const COMPACT_AFTER_MS = 5 * 60_000

export interface EtcdOptions extends TransportOptions {
  /** All keys are under it; a slash is added when it has none at its end. */
  readonly prefix: string
  /** History is kept for this long, up to twice as long; default 5 minutes. It is the whole of etcd that is compacted. */
  readonly compactAfterMs?: number
}

/**
 * Opens the store. Rejects with Unavailable when etcd cannot be reached or refuses access, with BackendError for a version that is too old,
 * with TypeError for options that make no sense.
 */
export async function openEtcd(options: EtcdOptions): Promise<Backend> {
  checkEndpoints(options)
  const keyspace = openKeyspace(options.prefix)
  const transport = openTransport(options)
  try {
    const reads = openReads({ ...options, transport, keyspace })
    const [{ version }, revision] = await Promise.all([transport.status(), reads.currentRevision()])
    checkVersion(version, options)
    return createBackend(options, { transport, keyspace, reads, revision })
  } catch (err) {
    transport.close()
    throw toBackendError(err)
  }
}

function checkEndpoints({ endpoints, tls }: EtcdOptions): void {
  const schemes = new Set(endpoints.map((endpoint) => /^(https?):\/\/[^/]+$/.exec(endpoint)?.[1]))
  if (schemes.size !== 1 || schemes.has(undefined)) throw new TypeError(`etcd endpoints must be all http://host:port or all https://host:port, got ${endpoints.join(', ') || 'none'}`)
  if (tls && !schemes.has('https')) throw new TypeError('certificates for etcd need https:// endpoints')
  if ((tls?.cert === undefined) !== (tls?.key === undefined)) throw new TypeError('a client certificate for etcd needs its key, and the key its certificate')
}

function checkVersion(version: string, { log }: EtcdOptions): void {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number)
  if (major !== 3 || minor < 4) throw new BackendError(`etcd ${version} is not supported, it must be 3.4 or a later 3.x`)
  if (minor === 5 && patch < 3) log.warn('this version of etcd can lose data in a crash, use 3.5.3 or later', { version })
}

interface Parts {
  readonly transport: EtcdTransport
  readonly keyspace: Keyspace
  readonly reads: EtcdReads
  /** etcd's revision when the store was opened. */
  readonly revision: number
}

function createBackend(options: EtcdOptions, parts: Parts): Backend {
  const { clock, log, compactAfterMs = COMPACT_AFTER_MS } = options
  const { transport, keyspace, reads } = parts
  const calls = openCalls()
  const watching = openWatching(options, parts, calls)
  const { commits, progress } = watching
  const leases = openLeases(transport, calls.run)
  const quota = openQuota(options)
  const compact = async (to: number): Promise<void> => {
    const current = await reads.currentRevision()
    if (to > current) throw new FutureRevision(current)
    // etcd would keep serving the revision that it compacts at, but not always the deletions made there.
    if (to > Math.max(1, reads.compactedRevision)) await transport.compact({ revision: to - 1 }).catch(ignoreCompacted)
    watching.noteCompacted(to)
  }
  const compactor = startEtcdCompactor({ clock, log, intervalMs: compactAfterMs, revision: reads.currentRevision, compact, key: openCompactionKey(commits, transport, keyspace) })
  const close = async (): Promise<void> => {
    compactor.stop()
    progress.stop()
    await calls.close()
    await leases.revokeAll()
    await watching.stop()
    transport.close()
  }
  let closing: Promise<void> | undefined
  const backend: Backend = {
    get: (key) => calls.run(() => reads.get(key)),
    range: (request) => calls.run(() => reads.range(request)),
    commit: (request) => calls.run(() => commitToEtcd(commits, request)),
    watch: watching.watch,
    currentRevision: () =>
      calls.run(async () => {
        const current = await reads.currentRevision()
        progress.want(current)
        return current
      }),
    lease: (ttlSeconds) => calls.run(() => leases.grant(ttlSeconds)),
    compact: (to) => calls.run(() => compact(to)),
    status: () => calls.run(() => readStatus(transport, reads, quota)),
    close: () => (closing ??= close()),
    [Symbol.asyncDispose]: () => backend.close(),
  }
  return backend
}

interface Watching {
  readonly watch: Backend['watch']
  readonly commits: CommitOptions
  readonly progress: Progress
  /** Everything before this revision is gone. */
  noteCompacted(revision: number): void
  stop(): Promise<void>
}

/** The one watch of etcd, what feeds on it, and the writes that it has to show. */
function openWatching({ clock, log, requestTimeoutMs }: EtcdOptions, { transport, keyspace, reads, revision }: Parts, calls: Calls): Watching {
  const source = { transport, keyspace, clock, log }
  const feed: EventFeed = openFeed({
    revision,
    read: (request) => readLog({ ...source, revision: () => feed.revision, compactedRevision: () => reads.compactedRevision, stir: progress.stir, signal: calls.closed }, request),
  })
  const firstBatches = openFirstBatches(feed)
  const publish = ({ events, revision: upTo }: WatchBatch): void => {
    feed.publish(events, upTo)
    firstBatches.advance()
  }
  const noteCompacted = (compacted: number): void => {
    reads.noteCompacted(compacted)
    feed.compact(reads.compactedRevision)
  }
  const following = followAll({
    ...source,
    after: revision,
    stallMs: requestTimeoutMs,
    publish,
    onCompacted(compacted) {
      noteCompacted(compacted)
      publish({ events: [], revision: compacted - 1 })
    },
  })
  const commits: CommitOptions = {
    transport,
    keyspace,
    revision: () => Math.max(feed.revision, firstBatches.written),
    onWritten(written) {
      firstBatches.expect(written)
      following.expect(written)
    },
  }
  const progress = openProgress({ clock, log, revision: commits.revision, write: () => putOwnKey(commits, keyspace.progressKey, '') })
  return {
    watch: firstBatches.watch,
    commits,
    progress,
    noteCompacted,
    async stop() {
      await following.stop()
      feed.end()
      firstBatches.end()
    },
  }
}

async function readStatus(transport: EtcdTransport, reads: EtcdReads, readQuota: () => Promise<number | undefined>): Promise<BackendStatus> {
  const [status, revision, compactedRevision, quota] = await Promise.all([transport.status(), reads.currentRevision(), reads.learnCompacted(), readQuota()])
  const space = spaceOf(status, quota)
  return { engine: `etcd ${status.version}`, revision, compactedRevision, bytes: Number(status.dbSize), term: Number(status.raftTerm), ...(space && { space }) }
}

function ignoreCompacted(err: unknown): void {
  if (!isRpcFailure(err) || failureKind(err) !== 'compacted') throw err
}
