/** Reading a notebook and its outputs as hostile JSON: only known fields of the right type are looked at. */
import { getKey, isObject } from '../api/object.ts'
import type { Json, JsonObject } from '../api/object.ts'

/** A cell as far as it is compared. */
export type NotebookCell = {
  /** 0-based in its notebook, all cell types counted. */
  readonly index: number
  /** "" when the notebook has none. */
  readonly id: string
  readonly type: 'Code' | 'Markdown' | 'Raw'
  readonly tags: readonly string[]
  readonly source: string
  readonly outputs: readonly JsonObject[]
}

/** An output of a code cell, in the four types of nbformat 4. */
export type Output =
  | { readonly type: 'stream'; readonly name: string; readonly text: string }
  | { readonly type: 'display_data' | 'execute_result'; readonly data: JsonObject }
  | { readonly type: 'error'; readonly name: string; readonly value: string }

const TYPES = new Map<unknown, NotebookCell['type']>([
  ['code', 'Code'],
  ['markdown', 'Markdown'],
  ['raw', 'Raw'],
])
const MAX_CELLS = 10_000
const MAX_TAGS = 100

/** The cells of an nbformat 4 notebook, or what is wrong with it, in words that follow "the notebook". */
export function parseNotebook(value: unknown): { readonly cells: readonly NotebookCell[] } | { readonly problem: string } {
  if (!isObject(value)) return { problem: 'is not a JSON object' }
  const major = getKey(value, 'nbformat')
  if (typeof major !== 'number') return { problem: 'has no nbformat version' }
  if (major !== 4) return { problem: `has nbformat ${major}; convert it to nbformat 4` }
  const cells = getKey(value, 'cells')
  if (!Array.isArray(cells)) return { problem: 'has no list of cells' }
  if (cells.length > MAX_CELLS) return { problem: `has more than ${MAX_CELLS} cells` }
  const parsed = cells.map(parseCell)
  const broken = parsed.indexOf(undefined)
  return broken < 0 ? { cells: parsed.filter((cell) => cell !== undefined) } : { problem: `has a malformed cell at index ${broken}` }
}

function parseCell(value: Json, index: number): NotebookCell | undefined {
  if (!isObject(value)) return undefined
  const type = TYPES.get(getKey(value, 'cell_type'))
  if (type === undefined) return undefined
  const metadata = getKey(value, 'metadata')
  const id = getKey(value, 'id')
  return {
    index,
    id: typeof id === 'string' ? id : '',
    type,
    tags: isObject(metadata) ? stringItems(getKey(metadata, 'tags')).slice(0, MAX_TAGS) : [],
    source: joinLines(getKey(value, 'source')) ?? '',
    outputs: objectItems(getKey(value, 'outputs')),
  }
}

/** The outputs that can be read; what has no known type is left out, at its place as undefined. */
export function parseOutput(value: JsonObject): Output | undefined {
  const type = getKey(value, 'output_type')
  if (type === 'stream') {
    const name = getKey(value, 'name')
    return { type, name: typeof name === 'string' ? name : 'stdout', text: joinLines(getKey(value, 'text')) ?? '' }
  }
  if (type === 'error') return { type, name: joinLines(getKey(value, 'ename')) ?? '', value: joinLines(getKey(value, 'evalue')) ?? '' }
  if (type !== 'display_data' && type !== 'execute_result') return undefined
  const data = getKey(value, 'data')
  return { type, data: isObject(data) ? data : {} }
}

/** Outputs as text for the status, each beginning a line: what it says, else what it is; of an error its name and value. */
export function describeOutputs(outputs: readonly JsonObject[]): string {
  const texts = outputs.map(describeOutput).filter((text) => text !== '')
  return texts.map((text, i) => (i < texts.length - 1 && !text.endsWith('\n') ? `${text}\n` : text)).join('')
}

function describeOutput(value: JsonObject): string {
  const output = parseOutput(value)
  if (!output) return ''
  if (output.type === 'stream') return output.text
  if (output.type === 'error') return `${output.name}: ${output.value}`
  const mimeTypes = Object.keys(output.data).slice(0, 10)
  return joinLines(getKey(output.data, 'text/plain')) ?? mimeTypes.map((mimeType) => `[${mimeType.slice(0, 100)}]`).join(' ')
}

/** nbformat's multi-line text: a string or a list of strings to be joined. Undefined for anything else. */
export function joinLines(value: Json | undefined): string | undefined {
  if (typeof value === 'string') return value
  return Array.isArray(value) && value.every((item) => typeof item === 'string') ? value.join('') : undefined
}

/** The strings of a list; [] for anything else. */
export function stringItems(value: Json | undefined): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
}

/** The objects of a list; [] for anything else. */
export function objectItems(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

const MARKER = /^[ \t]*#[ \t]*NBVAL_([A-Z_]{1,40})[ \t]*$/

/** The tags of a cell, with nbval's comment markers (`# NBVAL_IGNORE_OUTPUT`) as the tags they stand for. */
export function effectiveTags(cell: { readonly tags: readonly string[]; readonly source: string }): ReadonlySet<string> {
  if (!cell.source.includes('NBVAL_')) return new Set(cell.tags)
  const markers = cell.source.split('\n').map((line) => (line.length < 200 ? MARKER.exec(line.trimEnd())?.[1] : undefined))
  const names = markers.filter((name) => name !== undefined).map((name) => `nbval-${name.toLowerCase().replaceAll('_', '-')}`)
  return new Set([...cell.tags, ...names])
}
