/** Files and folders of manifests, as documents with names that a person finds them by. */
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { BodyMediaType } from '../api/decode-object.ts'
import { splitDocuments } from '../api/yaml-documents.ts'

/** One document of a file. `place` is `file.yaml`, or `file.yaml:12` (the line at which it begins) where the file holds several. */
export interface ManifestDocument {
  readonly place: string
  readonly text: string
  readonly mediaType: BodyMediaType
}

const STANDARD_INPUT = '-'
const MANIFEST = /\.(?:ya?ml|json)$/

/**
 * The documents of files, folders and standard input (`-`), in order; of a folder all .yaml, .yml and .json files directly in it, by name. What cannot be read
 * or holds no document is a fault: `path: reason`.
 */
export async function readManifests(paths: readonly string[]): Promise<{ documents: ManifestDocument[]; faults: string[] }> {
  const documents: ManifestDocument[] = []
  const faults: string[] = []
  for (const path of paths) {
    try {
      for (const file of await filesOf(path)) {
        const found = documentsOf(file, file === STANDARD_INPUT ? await text(process.stdin) : await readFile(file, 'utf8'))
        if (found.length === 0) faults.push(`${file}: holds no document`)
        documents.push(...found)
      }
    } catch (error) {
      faults.push(`${path}: ${reason(error as NodeJS.ErrnoException)}`)
    }
  }
  return { documents, faults }
}

async function filesOf(path: string): Promise<string[]> {
  if (path === STANDARD_INPUT) return [path]
  if (!(await stat(path)).isDirectory()) return [path]
  const names = (await readdir(path)).filter((name) => MANIFEST.test(name)).sort()
  if (names.length === 0) throw new Error('the folder has no .yaml, .yml or .json file')
  return names.map((name) => join(path, name))
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
