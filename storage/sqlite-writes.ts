/** Commits of the embedded store, many in one transaction. */
import type { DatabaseSync } from 'node:sqlite'
import { OutOfSpace } from './backend.ts'
import type { CommitRequest, Compare, KeyValue, WatchEvent } from './backend.ts'
import { isFull } from './sqlite-directory.ts'
import type { CommitOutcome } from './sqlite-protocol.ts'
import { readMeta, readRevision, transaction } from './sqlite-tables.ts'

/** A write: a commit, or the end of a lease. */
export type Write = { readonly commit: CommitRequest } | { readonly endLease: string }

export interface Writes {
  /** The store's revision. */
  readonly revision: number
  get(key: string): KeyValue | undefined
  /**
   * Carries out writes, each on what the ones before it left, durable when it returns. Where the disk has no room for all of them, those
   * that fit are written; for the others there is an OutOfSpace. Anything thrown means that nobody knows what is on the disk.
   */
  run(writes: readonly Write[]): (CommitOutcome | OutOfSpace)[]
  /** Ends every lease: those of an earlier process. Throws when there is no room for that. */
  endLeases(): void
  /** Empties the write-ahead log into the database: most of its pages are there already, so this may give room. */
  relieve(): void
}

/** A row of the log, as the newest of its key. */
interface Row {
  revision: number
  created: number
  deleted: number
  value: Uint8Array | null
}

/** Prepares the statements; see Writes. */
export function prepareWrites(database: DatabaseSync): Writes {
  const newest = database.prepare('SELECT revision, created, deleted, value FROM log WHERE key = ? ORDER BY revision DESC LIMIT 1')
  // From the index alone: the values of the keys that are compared are mostly not wanted.
  const newestRevision = database.prepare('SELECT revision, deleted FROM log INDEXED BY log_key WHERE key = ? ORDER BY revision DESC LIMIT 1')
  const insert = database.prepare('INSERT INTO log (revision, key, created, previous, deleted, lease, value) VALUES (?, ?, ?, ?, ?, ?, ?)')
  const leaseKeys = database.prepare(`SELECT key FROM log AS l WHERE lease = ? AND ${NEWEST} ORDER BY key`)
  const leases = database.prepare(`SELECT DISTINCT lease FROM log AS l WHERE lease IS NOT NULL AND ${NEWEST}`)
  const someAtOrAbove = prepareRangeCompare(database)
  let revision = readRevision(database)

  const get = (key: string): KeyValue | undefined => {
    const row = newest.get(key) as Row | undefined
    if (!row || row.deleted) return undefined
    return { key, value: row.value!, modRevision: row.revision, createRevision: row.created }
  }
  const modRevision = (key: string): number => {
    const row = newestRevision.get(key) as { revision: number; deleted: number } | undefined
    return !row || row.deleted ? 0 : row.revision
  }
  const holds = (compare: Compare): boolean =>
    'key' in compare ? modRevision(compare.key) === compare.modRevision : !someAtOrAbove(compare.start, compare.end, compare.modRevisionBelow)

  const apply = (request: CommitRequest): readonly WatchEvent[] => {
    const next = revision + 1
    const events: WatchEvent[] = []
    for (const { key, value, lease } of request.put ?? []) {
      const previous = get(key)
      const created = previous?.createRevision ?? next
      insert.run(next, key, created, previous?.modRevision ?? 0, 0, lease ?? null, value)
      events.push({ type: 'put', key, createRevision: created, revision: next, ...(previous && { previous }) })
    }
    for (const key of request.delete ?? []) {
      const previous = get(key)
      if (!previous) continue
      insert.run(next, key, previous.createRevision, previous.modRevision, 1, null, null)
      events.push({ type: 'delete', key, createRevision: previous.createRevision, revision: next, previous })
    }
    if (events.length > 0) revision = next
    return events
  }
  const runOne = (write: Write): CommitOutcome => {
    const request = 'commit' in write ? write.commit : { compare: [], delete: leaseKeys.all(write.endLease).map((row) => row.key as string) }
    if (request.compare.every(holds)) {
      const events = apply(request)
      return { succeeded: true, revision, events }
    }
    const keys = request.compare.flatMap((compare) => ('key' in compare ? [compare.key] : []))
    return { succeeded: false, revision, current: new Map(keys.map((key) => [key, get(key)])) }
  }
  const runTogether = (writes: readonly Write[]): CommitOutcome[] => {
    const before = revision
    try {
      return transaction(database, () => writes.map(runOne))
    } catch (err) {
      revision = before
      throw err
    }
  }
  const runAlone = (write: Write): CommitOutcome | OutOfSpace => {
    try {
      return runTogether([write])[0]!
    } catch (err) {
      if (isFull(err)) return new OutOfSpace('the disk is full, nothing was written')
      throw err
    }
  }
  return {
    get revision() {
      return revision
    },
    get,
    run(writes) {
      try {
        return runTogether(writes)
      } catch (err) {
        if (!isFull(err)) throw err
        relieve(database)
        return writes.map(runAlone)
      }
    },
    endLeases() {
      const ended = leases.all().map((row): Write => ({ endLease: row.lease as string }))
      if (ended.length > 0) runTogether(ended)
    },
    relieve: () => relieve(database),
  }
}

function relieve(database: DatabaseSync): void {
  try {
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  } catch (err) {
    if (!isFull(err)) throw err
  }
}

const NEWEST = 'NOT EXISTS (SELECT 1 FROM log AS n WHERE n.key = l.key AND n.revision > l.revision)'

/** Whether some key of a range has a modRevision at or above a revision. */
function prepareRangeCompare(database: DatabaseSync): (start: string, end: string, revision: number) => boolean {
  const query = (index: string): string =>
    `SELECT 1 FROM log AS l INDEXED BY ${index} WHERE key >= ? AND key < ? AND revision >= ? AND deleted = 0 AND ${NEWEST} LIMIT 1`
  const byKey = database.prepare(query('log_key'))
  const byRevision = database.prepare(query('log_revision'))
  return (start, end, revision) => {
    // What is new is found faster by revision; for an old revision that would be the whole log.
    const statement = revision > readMeta(database, 'compacted') ? byRevision : byKey
    return statement.get(start, end, revision) !== undefined
  }
}
