/** Directories, made with their parents. */
import { mkdirSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/**
 * Makes a directory and what is missing above it, all with mode 0700; returns the topmost one that was made, undefined when it was there.
 * Throws what the file system says of the first that cannot be made. Not mkdir's own `recursive`: where a parent is there and takes no
 * directory that says ENOENT, and in /proc it tries for ever.
 */
export function makeDirectories(path: string): string | undefined {
  const directory = resolve(path)
  try {
    mkdirSync(directory, { mode: 0o700 })
    return directory
  } catch (error) {
    if (isDirectory(directory)) return undefined
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
    const first = makeDirectories(dirname(directory))
    if (first === undefined) throw error
    // Somebody else may have been faster.
    return makeDirectories(directory) === undefined ? undefined : first
  }
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}
