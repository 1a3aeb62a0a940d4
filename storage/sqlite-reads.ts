/** Reads of the embedded store at a revision, in small steps between which writes go on. */
import type { DatabaseSync } from 'node:sqlite'
import { Compacted, FutureRevision } from './backend.ts'
import type { KeyValue, RangeRequest, WatchBatch, WatchEvent } from './backend.ts'
import type { LogRequest } from './event-feed.ts'
import type { RangeSummary } from './sqlite-protocol.ts'

/** A step ends at whichever comes first: so many rows, or so many bytes of values. */
const PAGE_ROWS = 256
const PAGE_BYTES = 512 * 1024
const COUNT_ROWS = 4096

export interface Reads {
  /** A range at `revision`: yields pages, one a step (empty ones while it counts), and returns the rest of the answer. */
  range(request: RangeRequest, revision: number): Generator<readonly KeyValue[], RangeSummary>
  /** Whole revisions of the log after one, at least one if there is any; `revision` is the current one. */
  log(request: LogRequest, revision: number): WatchBatch
}

/** The lowest string above `key`. */
const after = (key: string): string => `${key}\0`

/** Throws Compacted or FutureRevision unless the revision can be read. */
export function checkReadable(revision: number, compacted: number, current: number): void {
  if (revision < compacted) throw new Compacted(compacted)
  if (revision > current) throw new FutureRevision(current)
}

/** Prepares the statements; see Reads. */
export function prepareReads(database: DatabaseSync): Reads {
  const live = `FROM log AS l INDEXED BY log_key WHERE key >= ? AND key < ? AND revision <= ? AND deleted = 0
    AND NOT EXISTS (SELECT 1 FROM log AS n WHERE n.key = l.key AND n.revision > l.revision AND n.revision <= ?) ORDER BY key LIMIT ?`
  const values = database.prepare(`SELECT key, value, revision, created ${live}`)
  const counted = database.prepare(`SELECT count(*) AS count, max(key) AS last FROM (SELECT key ${live})`)

  const page = (start: string, end: string, revision: number, limit: number): KeyValue[] => {
    const kvs: KeyValue[] = []
    let bytes = 0
    for (const row of values.iterate(start, end, revision, revision, Math.min(limit, PAGE_ROWS)) as Iterable<ValueRow>) {
      kvs.push({ key: row.key, value: row.value, modRevision: row.revision, createRevision: row.created })
      bytes += row.value.byteLength
      if (bytes >= PAGE_BYTES) break
    }
    return kvs
  }

  function* range(request: RangeRequest, revision: number): Generator<readonly KeyValue[], RangeSummary> {
    const limit = request.countOnly ? 0 : (request.limit ?? Infinity)
    let start = request.start
    let found = 0
    while (found < limit) {
      const kvs = page(start, request.end, revision, limit - found)
      if (kvs.length === 0) return { more: false, count: found, revision }
      found += kvs.length
      start = after(kvs.at(-1)!.key)
      yield kvs
    }
    if (request.uncounted && !request.countOnly) {
      const { count } = counted.get(start, request.end, revision, revision, 1) as { count: number }
      return { more: count > 0, count: found + count, revision }
    }
    let rest = 0
    for (;;) {
      const { count, last } = counted.get(start, request.end, revision, revision, COUNT_ROWS) as { count: number; last: string | null }
      rest += count
      if (count < COUNT_ROWS || last === null) return { more: !request.countOnly && rest > 0, count: found + rest, revision }
      start = after(last)
      yield []
    }
  }
  return { range, log: prepareLog(database) }
}

interface ValueRow {
  key: string
  value: Uint8Array
  revision: number
  created: number
}

interface LogRow {
  revision: number
  key: string
  created: number
  deleted: number
  value: Uint8Array | null
  previousRevision: number | null
  previousCreated: number | null
  previousValue: Uint8Array | null
}

function prepareLog(database: DatabaseSync): Reads['log'] {
  const bound = database.prepare('SELECT revision FROM log INDEXED BY log_revision WHERE revision > ? ORDER BY revision LIMIT 1 OFFSET ?')
  const rows = database.prepare(`
    SELECT l.revision, l.key, l.created, l.deleted, l.value,
      p.revision AS previousRevision, p.created AS previousCreated, p.value AS previousValue
    FROM log AS l INDEXED BY log_revision LEFT JOIN log AS p ON p.key = l.key AND p.revision = l.previous
    WHERE l.revision > ? AND l.revision <= ? AND l.key >= ? AND l.key < ? ORDER BY l.revision, l.seq`)

  return ({ start, end, after: from }, revision) => {
    const limit = (bound.get(from, PAGE_ROWS) as { revision: number } | undefined)?.revision ?? revision
    const events: WatchEvent[] = []
    let bytes = 0
    for (const row of rows.iterate(from, limit, start, end) as Iterable<LogRow>) {
      const last = events.at(-1)?.revision
      if (bytes >= PAGE_BYTES && last !== undefined && row.revision > last) return { events, revision: last }
      events.push(toEvent(row))
      bytes += (row.value?.byteLength ?? 0) + (row.previousValue?.byteLength ?? 0)
    }
    return { events, revision: limit }
  }
}

function toEvent(row: LogRow): WatchEvent {
  const { key, revision, previousRevision, previousCreated, previousValue } = row
  return {
    type: row.deleted ? 'delete' : 'put',
    key,
    ...(row.value && { value: row.value }),
    ...(previousValue && { previous: { key, value: previousValue, modRevision: previousRevision!, createRevision: previousCreated! } }),
    createRevision: row.created,
    revision,
  }
}
