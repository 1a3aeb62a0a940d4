/** Reading files that a notebook may have tampered with. */
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'

/**
 * The first `maxBytes` of a regular file as text; bytes that are not UTF-8 become U+FFFD. Undefined when there is no such
 * file. A pipe or a device is refused, and never waited for.
 */
export async function readCapped(path: string, maxBytes: number): Promise<{ readonly text: string; readonly complete: boolean } | undefined> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined
    throw error
  })
  if (!file) return undefined
  try {
    const stat = await file.stat()
    if (!stat.isFile()) throw new Error(`${path} is not a regular file`)
    const bytes = Buffer.alloc(Math.min(stat.size, maxBytes))
    let length = 0
    while (length < bytes.length) {
      const { bytesRead } = await file.read(bytes, length, bytes.length - length, length)
      if (bytesRead === 0) break
      length += bytesRead
    }
    return { text: bytes.toString('utf8', 0, length), complete: stat.size <= maxBytes }
  } finally {
    await file.close()
  }
}
