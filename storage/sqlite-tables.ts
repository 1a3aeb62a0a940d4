/**
 * The tables of the embedded store. As in kine, there is one log: a row per key and revision, and the newest row of a key is its
 * current state. Everything here is synchronous and runs in the worker thread.
 */
import type { DatabaseSync } from 'node:sqlite'
import { DirectoryUnusable } from './sqlite-protocol.ts'

/** Marks the file as ours ("NVJS") and says which layout it has. */
const APPLICATION_ID = 0x4e564a53
const LAYOUT = 1

const SCHEMA = `
  CREATE TABLE log (
    seq      INTEGER PRIMARY KEY,  -- order of the events, also within a revision
    revision INTEGER NOT NULL,
    key      TEXT    NOT NULL,
    created  INTEGER NOT NULL,     -- createRevision
    previous INTEGER NOT NULL,     -- revision of the row that this one supersedes, 0 when the key was absent
    deleted  INTEGER NOT NULL,
    lease    TEXT,
    value    BLOB                  -- last, so that the rest is read without it
  ) STRICT;
  CREATE UNIQUE INDEX log_key ON log (key, revision, deleted);
  CREATE INDEX log_revision ON log (revision);
  CREATE INDEX log_lease ON log (lease) WHERE lease IS NOT NULL;
  CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
`

/** Numbers that are kept beside the log. compacted: every revision below is gone. swept: the compaction has seen all rows up to this seq. */
export type MetaName = 'first' | 'compacted' | 'swept'

/** Makes the tables in a new file, with `firstRevision` as its revision; checks those of an old one. */
export function createTables(database: DatabaseSync, directory: string, firstRevision: number): void {
  const { application_id: application } = database.prepare('PRAGMA application_id').get() as { application_id: number }
  const { user_version: layout } = database.prepare('PRAGMA user_version').get() as { user_version: number }
  if (application === APPLICATION_ID && layout === LAYOUT) return
  if (application === APPLICATION_ID) throw new DirectoryUnusable(directory, `it has layout ${layout}, this program reads ${LAYOUT}`)
  const { tables } = database.prepare('SELECT count(*) AS tables FROM sqlite_schema').get() as { tables: number }
  if (application !== 0 || tables > 0) throw new DirectoryUnusable(directory, 'the database in it belongs to another program')
  transaction(database, () => {
    database.exec(`${SCHEMA} PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${LAYOUT}`)
    for (const name of ['first', 'compacted'] satisfies MetaName[]) writeMeta(database, name, firstRevision)
    writeMeta(database, 'swept', 0)
  })
}

/** Runs `work` in one transaction: durable when this returns, nothing of it when it throws. */
export function transaction<T>(database: DatabaseSync, work: () => T): T {
  database.exec('BEGIN IMMEDIATE')
  try {
    const result = work()
    database.exec('COMMIT')
    return result
  } catch (err) {
    // SQLite has already rolled back after some errors, a full disk among them.
    if (database.isTransaction) database.exec('ROLLBACK')
    throw err
  }
}

/** Reads a number kept beside the log. */
export function readMeta(database: DatabaseSync, name: MetaName): number {
  return (database.prepare('SELECT value FROM meta WHERE name = ?').get(name) as { value: number }).value
}

/** Writes a number kept beside the log. */
export function writeMeta(database: DatabaseSync, name: MetaName, value: number): void {
  database.prepare('INSERT OR REPLACE INTO meta VALUES (?, ?)').run(name, value)
}

/** The store's revision: that of the newest row, which is never removed, or the first one. */
export function readRevision(database: DatabaseSync): number {
  const { newest } = database.prepare('SELECT max(revision) AS newest FROM log').get() as { newest: number | null }
  return newest ?? readMeta(database, 'first')
}
