/** The report step of an attempt: files in, one file out. */
import { rename, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { getKey, isObject } from '../api/object.ts'
import type { JsonObject } from '../api/object.ts'
import { parsePythonJson } from './parse-python-json.ts'
import { readCapped } from './read-capped.ts'
import { readRecords } from './read-records.ts'
import { buildReport } from './report.ts'
import type { Failure, ReportInput, ReportSpec } from './report-types.ts'

const MEBIBYTE = 1024 * 1024
const MAX_JOB_BYTES = 4 * MEBIBYTE
const MAX_NOTEBOOK_BYTES = 64 * MEBIBYTE
const MAX_RECORDS_BYTES = 64 * MEBIBYTE
const REASON = /^[A-Z][A-Za-z]{1,63}$/
const LFS_POINTER = 'version https://git-lfs.github.com/spec/v1'

/**
 * Reads from the attempt's directory job.json (`{spec}`), source.json (`{golden?}`: the path of the golden notebook,
 * from the directory), records.ndjson and, where who ran the attempt knows why it was cut short, failure.json
 * (`{reason, message}`); writes report.json (a Report) there, whole or not at all. What is wrong with the records or
 * the golden notebook goes into the report; throws when job.json cannot be read or report.json cannot be written.
 */
export async function reportAttempt(directory: string): Promise<void> {
  const job = await readJson(join(directory, 'job.json'))
  const spec = job && getKey(job, 'spec')
  if (!isObject(spec)) throw new Error(`${join(directory, 'job.json')} holds no spec`)
  const [records, golden, failure] = await Promise.all([loadRecords(directory), loadGolden(directory), loadFailure(directory)])
  const lost = records.failure ?? failure
  // The spec was validated by the API server.
  const report = buildReport({ spec: spec as ReportSpec, records: records.records, ...golden, ...(lost ? { failure: lost } : {}) })
  const path = join(directory, 'report.json')
  await writeFile(`${path}.tmp`, JSON.stringify(report))
  await rename(`${path}.tmp`, path)
}

async function loadRecords(directory: string): Promise<{ records: ReportInput['records']; failure?: Failure }> {
  const file = await readCapped(join(directory, 'records.ndjson'), MAX_RECORDS_BYTES).catch(() => undefined)
  if (!file) return { records: [], failure: { reason: 'ResultsUnavailable', message: 'the run left no results that can be read' } }
  const { records } = readRecords(file.text)
  if (file.complete) return { records }
  return { records, failure: { reason: 'ResultsUnavailable', message: `the results of the run are larger than ${MAX_RECORDS_BYTES / MEBIBYTE} MiB` } }
}

async function loadGolden(directory: string): Promise<Pick<ReportInput, 'golden' | 'goldenError'>> {
  const source = await readJson(join(directory, 'source.json'))
  const path = source && getKey(source, 'golden')
  if (typeof path !== 'string') return {}
  const file = await readCapped(resolve(directory, path), MAX_NOTEBOOK_BYTES).catch(() => undefined)
  if (!file) return { goldenError: { reason: 'GoldenNotFound', message: 'the golden notebook cannot be read' } }
  if (!file.complete) return invalid(`is larger than ${MAX_NOTEBOOK_BYTES / MEBIBYTE} MiB`)
  if (file.text.startsWith(LFS_POINTER)) {
    return { goldenError: { reason: 'LFSPointer', message: 'the golden notebook is a Git LFS pointer; its content was not fetched' } }
  }
  try {
    return { golden: parsePythonJson(file.text.replace(/^\ufeff/, '')) }
  } catch (error) {
    return invalid(`is not JSON: ${error instanceof Error ? error.message : String(error)}`)
  }
}

function invalid(problem: string): Pick<ReportInput, 'goldenError'> {
  return { goldenError: { reason: 'NotebookInvalid', message: `the golden notebook ${problem}` } }
}

async function loadFailure(directory: string): Promise<Failure | undefined> {
  const value = await readJson(join(directory, 'failure.json'))
  const [reason, message] = value ? [getKey(value, 'reason'), getKey(value, 'message')] : []
  return typeof reason === 'string' && REASON.test(reason) && typeof message === 'string' ? { reason, message } : undefined
}

async function readJson(path: string): Promise<JsonObject | undefined> {
  const file = await readCapped(path, MAX_JOB_BYTES)
  if (!file) return undefined
  try {
    const value: unknown = JSON.parse(file.text)
    return isObject(value) ? value : undefined
  } catch (error) {
    throw new Error(`${path} is not JSON`, { cause: error })
  }
}
