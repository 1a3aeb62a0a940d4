/** Files and folders of manifests, as documents with names that a person finds them by. */
import { readdir, readFile, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import type { BodyMediaType } from '../api/decode-object.ts'
import { splitDocuments } from '../api/yaml-documents.ts'

/** One document of a file. `place` is `file.yaml`, or `file.yaml:12` (the line at which it begins) where the file holds several. */
export interface ManifestDocument {
  readonly place: string
  readonly text: string
  readonly mediaType: BodyMediaType
  /** The folder that its file was found in; absent for a file that was named itself. */
  readonly folder?: string
}

const STANDARD_INPUT = '-'
const MANIFEST = /\.(?:ya?ml|json)$/

/**
 * The documents of files, folders and standard input (`-`), in order; of a folder all .yaml, .yml and .json files directly in it, by name, as
 * `kubectl -f` does without `--recursive`. A file that is named twice is read once. What cannot be read or holds no document is a fault: `path: reason`.
 */
export async function readManifests(paths: readonly string[]): Promise<{ documents: ManifestDocument[]; faults: string[] }> {
  const documents: ManifestDocument[] = []
  const faults: string[] = []
  const read = new Set<string>()
  for (const path of paths) {
    try {
      for (const { file, folder } of await filesOf(path)) {
        const identity = file === STANDARD_INPUT ? file : resolve(file)
        if (read.has(identity)) continue
        read.add(identity)
        const found = documentsOf(file, file === STANDARD_INPUT ? await text(process.stdin) : await readFile(file, 'utf8'))
        if (found.length === 0) faults.push(`${file}: holds no document`)
        documents.push(...(folder === undefined ? found : found.map((document) => ({ ...document, folder }))))
      }
    } catch (error) {
      faults.push(`${path}: ${reason(error as NodeJS.ErrnoException)}`)
    }
  }
  return { documents, faults }
}

/** What a message about a folder ends with. */
export const NOT_RECURSIVE = 'its subfolders are not read: name the one that is meant'

async function filesOf(path: string): Promise<{ readonly file: string; readonly folder?: string }[]> {
  if (path === STANDARD_INPUT) return [{ file: path }]
  if (!(await stat(path)).isDirectory()) return [{ file: path }]
  const names = (await readdir(path)).filter((name) => MANIFEST.test(name)).sort()
  if (names.length === 0) throw new Error(`the folder has no .yaml, .yml or .json file; ${NOT_RECURSIVE}`)
  return names.map((name) => ({ file: join(path, name), folder: path }))
}

function documentsOf(file: string, text: string): ManifestDocument[] {
  if (file.endsWith('.json')) return text.trim() === '' ? [] : [{ place: file, text, mediaType: 'application/json' }]
  const documents = splitDocuments(text)
  return documents.map((document) => ({
    place: documents.length === 1 ? file : `${file}:${document.line}`,
    text: document.text,
    mediaType: 'application/yaml',
  }))
}

const REASONS: Record<string, string> = { ENOENT: 'there is no such file or folder', EACCES: 'may not be read', EISDIR: 'is a folder' }

function reason(error: NodeJS.ErrnoException): string {
  return REASONS[error.code ?? ''] ?? error.message
}
