/** The data directory of the embedded store: made, locked against a second process, and let go again. */
import { chmodSync, closeSync, copyFileSync, fsyncSync, mkdtempSync, openSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { makeDirectories } from '../src/base/make-directories.ts'
import { StoreLocked } from './sqlite-protocol.ts'
import { openRoom } from './sqlite-room.ts'
import type { Room } from './sqlite-room.ts'

/** An open directory. */
export interface Directory {
  readonly database: DatabaseSync
  readonly room: Room
  /** Nothing can be written, and the lock is not held. */
  readonly readOnly: boolean
  /** Bytes of the database and its write-ahead log. */
  size(): number
  /** Writes everything into the database file, closes it and gives the lock back. */
  close(): void
}

const DATABASE = 'store.db'
const OWNER = 'store.pid'
const BUSY = 5
const FULL = 13

/** SQLite's primary result code of an error, undefined for any other error. */
export function sqliteCode(err: unknown): number | undefined {
  return err instanceof Error && 'errcode' in err && typeof err.errcode === 'number' ? err.errcode & 0xff : undefined
}

/** Whether SQLite says that the disk, or the database's page limit, is full. */
export function isFull(err: unknown): boolean {
  return sqliteCode(err) === FULL
}

/**
 * Opens the directory, made with mode 0700 (files 0600) when it is not there. The lock is SQLite's own, so it ends with the process; the file
 * with the owner's pid only informs. Throws StoreLocked, or what the file system or SQLite throws. With `orReadOnly` a store on a read-only file system is opened for reading.
 */
export function openDirectory(directory: string, orReadOnly = false): Directory {
  try {
    return openWritable(directory)
  } catch (err) {
    if (orReadOnly && isReadOnly(err)) return openReadOnly(directory)
    throw err
  }
}

function openWritable(directory: string): Directory {
  const firstMade = makeDirectories(directory)
  const file = join(directory, DATABASE)
  const database = new DatabaseSync(file)
  try {
    // Before the first access, which makes the write-ahead log with the same mode. The file is never opened but by SQLite: closing it again
    // would end every lock that this process has on it.
    chmodSync(file, 0o600)
    lock(database, directory)
    syncDirectories(directory, firstMade)
    writeOwner(directory)
  } catch (err) {
    database.close()
    throw err
  }
  return {
    database,
    room: openRoom(database, file),
    readOnly: false,
    size: () => fileSize(file) + fileSize(`${file}-wal`),
    close() {
      // Before the lock goes: afterwards the file may be that of the next owner.
      rmSync(join(directory, OWNER), { force: true })
      database.close()
    },
  }
}

// Without a write-ahead log the file is all there is, and SQLite is told that nobody changes it. With one, as in a snapshot of a store at work, SQLite must write to
// read it: it does so in a copy, which is gone with this process.
function openReadOnly(directory: string): Directory {
  const file = join(directory, DATABASE)
  const database = fileSize(`${file}-wal`) === 0 ? openImmutable(file) : openCopy(file)
  return { database, room: openRoom(database, file), readOnly: true, size: () => fileSize(file) + fileSize(`${file}-wal`), close: () => database.close() }
}

function openImmutable(file: string): DatabaseSync {
  const url = pathToFileURL(file)
  url.search = '?immutable=1'
  return new DatabaseSync(url, { readOnly: true })
}

function openCopy(file: string): DatabaseSync {
  const copy = mkdtempSync(join(tmpdir(), 'mlops-apiserver-'))
  try {
    for (const suffix of ['', '-wal']) copyFileSync(file + suffix, join(copy, DATABASE + suffix))
    const database = new DatabaseSync(join(copy, DATABASE))
    database.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; COMMIT')
    return database
  } finally {
    // Its files are open, and need no names.
    rmSync(copy, { recursive: true, force: true })
  }
}

/** A new file is there after a power cut only when its directory is synced too, and so on up to the first one that was there before. */
function syncDirectories(directory: string, firstMade: string | undefined): void {
  const last = firstMade === undefined ? resolve(directory) : dirname(resolve(firstMade))
  for (let path = resolve(directory); ; path = dirname(path)) {
    syncDirectory(path)
    if (path === last || path === dirname(path)) return
  }
}

function syncDirectory(directory: string): void {
  const fd = openSync(directory, 'r')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

function lock(database: DatabaseSync, directory: string): void {
  try {
    // Exclusive before the first access: no other connection gets in, and no shared-memory file is needed.
    database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; BEGIN IMMEDIATE; COMMIT')
  } catch (err) {
    if (sqliteCode(err) === BUSY) throw new StoreLocked(directory, readOwner(directory))
    throw err
  }
}

function writeOwner(directory: string): void {
  const file = join(directory, OWNER)
  const draft = `${file}.new`
  try {
    writeFileSync(draft, `${process.pid}\n`, { mode: 0o600 })
    renameSync(draft, file)
  } catch (err) {
    // A full disk can still be read, and the lock does not need the file; but it must not name another process.
    for (const stale of [draft, file]) rmSync(stale, { force: true })
    if (!isNoSpace(err)) throw err
  }
}

function isNoSpace(err: unknown): boolean {
  return err instanceof Error && 'code' in err && (err.code === 'ENOSPC' || err.code === 'EDQUOT')
}

function isReadOnly(err: unknown): boolean {
  return err instanceof Error && 'code' in err && err.code === 'EROFS'
}

function readOwner(directory: string): number | undefined {
  try {
    const pid = Number.parseInt(readFileSync(join(directory, OWNER), 'utf8'), 10)
    return pid > 0 ? pid : undefined
  } catch {
    return undefined
  }
}

function fileSize(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}
