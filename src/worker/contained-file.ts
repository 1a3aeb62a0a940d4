/** Files of a checkout that the job names: they must be there, inside, and of a size that can be read. */
import { open, realpath, stat } from 'node:fs/promises'
import { isAbsolute, join, relative, sep } from 'node:path'
import { AttemptError } from './attempt-failure.ts'
import { quote } from './git-source.ts'

/** Larger notebooks are refused: they are read whole, several times. */
export const MAX_NOTEBOOK_BYTES = 32 * 1024 ** 2

const LFS_POINTER = 'version https://git-lfs.github.com/spec/'

/**
 * The real path of the notebook `path` inside `directory`, links resolved. Throws AttemptError (Final): `reason`
 * when it is missing or leads outside, LFSPointer and NotebookInvalid for what is no notebook.
 */
export async function resolveNotebook(directory: string, path: string, reason: 'NotebookNotFound' | 'GoldenNotFound', commit: string): Promise<string> {
  const what = reason === 'GoldenNotFound' ? 'golden notebook' : 'notebook'
  const escapes = new AttemptError('Final', reason, `the path of the ${what}, ${quote(path)}, leads out of the repository`)
  if (isAbsolute(path) || path.startsWith('-') || path.includes('\0') || path.split(/[/\\]/).includes('..')) throw escapes
  const root = await realpath(directory)
  const found = await realpath(join(root, path)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR' || error.code === 'ELOOP' || error.code === 'ENAMETOOLONG') return undefined
    throw error
  })
  if (found === undefined) throw new AttemptError('Final', reason, `there is no ${what} ${quote(path)} in commit ${commit.slice(0, 12)}`)
  const inside = relative(root, found)
  if (inside === '' || isAbsolute(inside) || inside.split(sep).includes('..')) throw escapes
  // git's own files are not part of the commit
  if (inside.split(sep)[0]?.toLowerCase() === '.git') throw escapes
  const info = await stat(found)
  if (!info.isFile()) throw new AttemptError('Final', reason, `${quote(path)} in commit ${commit.slice(0, 12)} is not a file`)
  if (info.size > MAX_NOTEBOOK_BYTES) throw new AttemptError('Final', 'NotebookInvalid', `the ${what} ${quote(path)} is larger than ${MAX_NOTEBOOK_BYTES / 1024 ** 2} MiB`)
  if (await beginsWith(found, LFS_POINTER)) {
    throw new AttemptError('Final', 'LFSPointer', `the ${what} ${quote(path)} is a pointer of Git LFS and not the file itself; LFS is not fetched`)
  }
  return found
}


async function beginsWith(path: string, text: string): Promise<boolean> {
  const file = await open(path)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(text.length), 0, text.length, 0)
    return buffer.toString('latin1', 0, bytesRead) === text
  } finally {
    await file.close()
  }
}
