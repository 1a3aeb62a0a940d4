/** Reading what the runner wrote, as hostile input: a line that is no valid record is left out. */
import { getKey, isObject } from '../api/object.ts'
import type { Json, JsonObject } from '../api/object.ts'
import { joinLines, objectItems, stringItems } from './notebook.ts'
import { parsePythonJson } from './parse-python-json.ts'
import type { CellOutcome, CellRecord, EndRecord, NotebookRecord, RunnerRecord } from './records.ts'

const MAX_RECORDS = 50_000
const MAX_CELLS = 10_000
const MAX_OUTPUTS = 10_000
const TYPES = ['Code', 'Markdown', 'Raw'] as const
const OUTCOMES: readonly CellOutcome[] = ['Succeeded', 'Failed', 'TimedOut', 'KernelDied', 'Skipped', 'NotRun']
const ENDINGS: readonly EndRecord['outcome'][] = [
  'Completed',
  'CellTimeout',
  'DeadlineExceeded',
  'KernelDied',
  'OutOfMemory',
  'KernelNotFound',
  'KernelStartFailed',
  'NotebookInvalid',
  'Cancelled',
  'RunnerError',
]

/** The valid records in the order in which they stand, and how many lines were none (a last line may be cut by a kill). */
export function readRecords(text: string): { readonly records: readonly RunnerRecord[]; readonly malformed: number } {
  const lines = text.split('\n', MAX_RECORDS).filter((line) => line.trim() !== '')
  const records = lines.map(readRecord).filter((record) => record !== undefined)
  return { records, malformed: lines.length - records.length }
}

function readRecord(line: string): RunnerRecord | undefined {
  const value = parseLine(line)
  if (!isObject(value)) return undefined
  switch (getKey(value, 'type')) {
    case 'notebook':
      return readNotebook(value)
    case 'cell-start': {
      const index = readCount(getKey(value, 'index'))
      return index === undefined ? undefined : { type: 'cell-start', index }
    }
    case 'cell':
      return readCell(value)
    case 'end':
      return readEnd(value)
    default:
      return undefined
  }
}

function parseLine(line: string): Json | undefined {
  try {
    return parsePythonJson(line)
  } catch {
    return undefined
  }
}

function readNotebook(value: JsonObject): NotebookRecord | undefined {
  const cells = getKey(value, 'cells')
  if (!Array.isArray(cells) || cells.length > MAX_CELLS) return undefined
  const read = cells.map(readNotebookCell).filter((cell) => cell !== undefined)
  if (read.length < cells.length) return undefined
  return {
    type: 'notebook',
    kernelName: readText(value, 'kernelName'),
    language: readText(value, 'language'),
    nbformat: readText(value, 'nbformat'),
    cells: read,
  }
}

function readNotebookCell(value: Json, position: number): NotebookRecord['cells'][number] | undefined {
  if (!isObject(value) || getKey(value, 'index') !== position) return undefined
  const type = TYPES.find((known) => known === getKey(value, 'type'))
  const source = joinLines(getKey(value, 'source'))
  if (type === undefined || source === undefined) return undefined
  const stored = getKey(value, 'storedOutputs')
  return {
    index: position,
    id: readText(value, 'id'),
    type,
    tags: stringItems(getKey(value, 'tags')).slice(0, 100),
    source,
    ...(Array.isArray(stored) ? { storedOutputs: objectItems(stored).slice(0, MAX_OUTPUTS) } : {}),
  }
}

function readCell(value: JsonObject): CellRecord | undefined {
  const index = readCount(getKey(value, 'index'))
  const outcome = OUTCOMES.find((known) => known === getKey(value, 'outcome'))
  if (index === undefined || outcome === undefined) return undefined
  const executionCount = readCount(getKey(value, 'executionCount'))
  const outputs = objectItems(getKey(value, 'outputs'))
  const error = getKey(value, 'error')
  return {
    type: 'cell',
    index,
    outcome,
    ...(executionCount === undefined ? {} : { executionCount }),
    durationMilliseconds: readMilliseconds(getKey(value, 'durationMilliseconds')),
    outputs: outputs.slice(0, MAX_OUTPUTS),
    ...(getKey(value, 'outputsTruncated') === true || outputs.length > MAX_OUTPUTS ? { outputsTruncated: true } : {}),
    ...(isObject(error) ? { error: { name: readText(error, 'name'), value: readText(error, 'value'), traceback: readText(error, 'traceback') } } : {}),
    ...(getKey(value, 'expectsError') === true ? { expectsError: true } : {}),
  }
}

function readEnd(value: JsonObject): EndRecord | undefined {
  const outcome = ENDINGS.find((known) => known === getKey(value, 'outcome'))
  if (outcome === undefined) return undefined
  const cell = readCount(getKey(value, 'cell'))
  return { type: 'end', outcome, message: readText(value, 'message'), ...(cell === undefined ? {} : { cell }) }
}

function readText(object: JsonObject, key: string): string {
  return joinLines(getKey(object, key)) ?? ''
}

/** An int32 that is not negative. */
function readCount(value: Json | undefined): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < 2 ** 31 ? value : undefined
}

function readMilliseconds(value: Json | undefined): number {
  return typeof value === 'number' && value >= 0 && value <= 1e12 ? Math.round(value) : 0
}
