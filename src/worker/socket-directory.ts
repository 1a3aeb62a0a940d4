/**
 * A private directory for the sockets of an attempt's kernel, among the temporary files: the path of a Unix socket may
 * be 103 bytes long, which the directory of an attempt soon is. Its name follows from the attempt's directory, so that
 * a later worker finds what a dead one has left.
 */
import { createHash } from 'node:crypto'
import { chmod, mkdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** sun_path of macOS and the BSDs is the shortest one; the runner appends a name of a few characters. */
const MAX_PATH_BYTES = 103 - '/k-99'.length

const pathOf = (attemptDirectory: string): string => join(tmpdir(), `nvj-${createHash('sha256').update(attemptDirectory).digest('hex').slice(0, 16)}`)

/** Makes the directory, for its owner alone; undefined where the system has no such sockets or somebody else holds the name. */
export async function makeSocketDirectory(attemptDirectory: string): Promise<string | undefined> {
  const path = pathOf(attemptDirectory)
  if (process.platform === 'win32' || Buffer.byteLength(path) > MAX_PATH_BYTES) return undefined
  try {
    await rm(path, { recursive: true, force: true })
    // fails when it exists: never a directory, or a link, of another user
    await mkdir(path, { mode: 0o700 })
    await chmod(path, 0o700)
    return path
  } catch {
    return undefined
  }
}

/** Removes the directory, if there is one. */
export async function removeSocketDirectory(attemptDirectory: string): Promise<void> {
  // of another user, when it cannot be removed
  await rm(pathOf(attemptDirectory), { recursive: true, force: true }).catch(() => {})
}
