/**
 * The room of the embedded store on its disk: which writes there is room for. Work that can wait leaves a part of the disk to others, and they leave the last of it to what
 * is essential. A file of that size is kept beside the database, so that a disk that others have filled has room for it too.
 */
import { rmSync, statfsSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import type { BackendStatus } from './backend.ts'
import type { Write } from './sqlite-writes.ts'

export interface Room {
  /** Bytes of the file system, bytes that are left, and how many of those work that can wait leaves to others. */
  measure(): NonNullable<BackendStatus['space']>
  /** For each of the writes, to be carried out in this order, whether there is room for it. */
  admit(writes: readonly Write[]): boolean[]
  /** Gives the kept file's room away; false: it is given away already. */
  release(): boolean
  /** Keeps the file again, where there is room for it. */
  keep(): void
}

/** Of the disk, and bytes, what work that can wait leaves to others. */
const [RESERVE, MOST_RESERVED] = [0.05, 256 * 1024 * 1024]
/** The same of all but what is essential. */
const [LAST, LEAST_LAST, MOST_LAST] = [0.0125, 64 * 1024, 1024 * 1024]
const KEPT = 'store.reserve'
const PAGE = 4096
/** Pages that a row touches beside its value: leaves of the table and of its indexes, and what splits of them take. */
const ROW_PAGES = 6

/** The room of an open database. Nothing is kept before `keep`. */
export function openRoom(database: DatabaseSync, file: string): Room {
  const directory = dirname(file)
  const kept = join(directory, KEPT)
  const pageCount = database.prepare('PRAGMA page_count')
  const measure = (): NonNullable<BackendStatus['space']> => {
    const { blocks, bavail, bsize } = statfsSync(directory)
    const limitBytes = blocks * bsize
    // What is in the write-ahead log alone will make the database grow.
    const { page_count: pages } = pageCount.get() as { page_count: number }
    const growth = Math.max(0, pages * PAGE - statSync(file).size)
    return { limitBytes, freeBytes: Math.max(0, bavail * bsize - growth), reserveBytes: Math.min(limitBytes * RESERVE, MOST_RESERVED) }
  }
  const release = (): boolean => {
    const there = statSync(kept, { throwIfNoEntry: false }) !== undefined
    rmSync(kept, { force: true })
    return there
  }
  return {
    measure,
    admit(writes) {
      if (writes.every(isEssential)) return writes.map(() => true)
      const space = measure()
      let left = space.freeBytes
      return writes.map((write) => {
        const need = needOf(write)
        const fits = isEssential(write) || left - need >= floorOf(write, space)
        if (fits) left -= need
        return fits
      })
    },
    release,
    keep() {
      const { limitBytes, freeBytes, reserveBytes } = measure()
      const bytes = lastOf(limitBytes)
      if (statSync(kept, { throwIfNoEntry: false }) || freeBytes < reserveBytes + bytes) return
      try {
        writeFileSync(kept, new Uint8Array(bytes), { mode: 0o600 })
      } catch {
        // Somebody else was faster: then there is no room for it.
        release()
      }
    },
  }
}

/** Whether a write may take the last of the room. The deletion of a key makes room in the end. */
export function isEssential(write: Write): boolean {
  return 'endLease' in write || write.commit.essential === true || (write.commit.put ?? []).length === 0
}

// Work that can wait is told to by what `measure` says, and stopped here before it has taken all of that; the second is for what it does between two looks.
function floorOf(write: Write, { limitBytes, reserveBytes }: NonNullable<BackendStatus['space']>): number {
  return 'commit' in write && write.commit.background ? reserveBytes / 2 : lastOf(limitBytes)
}

function lastOf(limitBytes: number): number {
  return Math.round(Math.min(MOST_LAST, Math.max(LEAST_LAST, limitBytes * LAST)))
}

/** Bytes that a write takes at most: in the write-ahead log, and then once more in the database. */
function needOf(write: Write): number {
  if (!('commit' in write)) return 0
  const { put = [], delete: deleted = [] } = write.commit
  const values = put.reduce((sum, { value }) => sum + Math.ceil(value.length / PAGE) * PAGE, 0)
  return 2 * values + (put.length + deleted.length) * ROW_PAGES * PAGE
}
