/** Removal of the rows that a compaction has made unreadable, in small steps. */
import type { DatabaseSync } from 'node:sqlite'
import { readMeta, transaction, writeMeta } from './sqlite-tables.ts'

/** Rows looked at in one step. */
const STEP_ROWS = 256

export interface Sweep {
  /**
   * One step: looks at the next rows below revision `below` and removes what they superseded, and those that are deletions.
   * Returns whether rows are left to look at. Every row is looked at once in its life.
   */
  step(below: number): boolean
}

/** Prepares the statements; see Sweep. */
export function prepareSweep(database: DatabaseSync): Sweep {
  const next = database.prepare('SELECT seq, key, revision, previous, deleted FROM log WHERE seq > ? ORDER BY seq LIMIT ?')
  const remove = database.prepare('DELETE FROM log WHERE key = ? AND revision = ?')

  return {
    step(below) {
      const looked = next.all(readMeta(database, 'swept'), STEP_ROWS) as unknown as SweptRow[]
      // Revisions rise with seq; asking SQLite for those below would read the whole rest of the log to find no more.
      const rows = looked.filter((row) => row.revision < below)
      if (rows.length === 0) return false
      transaction(database, () => {
        for (const { key, revision, previous, deleted } of rows) {
          if (previous > 0) remove.run(key, previous)
          if (deleted) remove.run(key, revision)
        }
        writeMeta(database, 'swept', rows.at(-1)!.seq)
      })
      return rows.length === STEP_ROWS
    },
  }
}

interface SweptRow {
  seq: number
  key: string
  revision: number
  previous: number
  deleted: number
}
