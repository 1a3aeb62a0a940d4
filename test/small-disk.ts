/** A file system of a few megabytes, for a disk that is full. Linux, and root for the mount. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Mounts a tmpfs; `options` as of mount(8). Returns the reason, as a text, where that is not possible. */
export function mountSmallDisk(options: string): (Disposable & { readonly path: string }) | string {
  const path = mkdtempSync(join(tmpdir(), 'small-disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', path], { stdio: 'pipe' })
  } catch (error) {
    rmSync(path, { recursive: true })
    return `cannot mount a tmpfs: ${error instanceof Error ? error.message.trim() : String(error)}`
  }
  return {
    path,
    [Symbol.dispose]() {
      execFileSync('umount', ['-l', path])
      rmSync(path, { recursive: true })
    },
  }
}
