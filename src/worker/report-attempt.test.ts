import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtemp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import { reportAttempt } from './report-attempt.ts'
import { goldenNotebook, recordsOf, result } from './report.fixture.ts'
import type { Report } from './report-types.ts'

let directory: string

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'report-attempt-'))
  await write('job.json', { spec: { golden: { path: 'golden.ipynb' } } })
  await write('records.ndjson', recordsOf([{ outputs: [result('43')] }]).map((record) => JSON.stringify(record)).join('\n'))
})

afterEach(() => rm(directory, { recursive: true }))

async function write(name: string, value: unknown): Promise<void> {
  await writeFile(join(directory, name), typeof value === 'string' ? value : JSON.stringify(value))
}

async function report(): Promise<Report> {
  await reportAttempt(directory)
  return JSON.parse(await readFile(join(directory, 'report.json'), 'utf8')) as Report
}

test('the files of an attempt become a report, and nothing else is left', async () => {
  await mkdir(join(directory, 'golden'))
  await write('golden/golden.ipynb', `\ufeff${JSON.stringify(goldenNotebook([{ outputs: [result('42')] }]))}`)
  for (const golden of ['golden/golden.ipynb', join(directory, 'golden/golden.ipynb')]) {
    await write('source.json', { golden })
    const { verdict, summary } = await report()
    assert.equal(verdict.message, '1 of 1 compared cell differs from the golden notebook: cell 1 (index 0): expected "42", got "43"')
    assert.equal(summary.mismatched, 1)
  }
  assert.deepEqual((await readdir(directory)).toSorted(), ['golden', 'job.json', 'records.ndjson', 'report.json', 'source.json'])
})

test('what is wrong with the golden notebook is in the report', async () => {
  await write('source.json', { golden: 'golden.ipynb' })
  assert.equal((await report()).verdict.reason, 'GoldenNotFound')
  await write('golden.ipynb', 'not JSON')
  assert.deepEqual((await report()).verdict, { succeeded: false, reason: 'NotebookInvalid', message: 'the golden notebook is not JSON: expected a value at offset 0' })
  await write('golden.ipynb', 'version https://git-lfs.github.com/spec/v1\noid sha256:0\n')
  assert.equal((await report()).verdict.reason, 'LFSPointer')
})

test('without records, or with a pipe in their place, there is no success', async () => {
  await rm(join(directory, 'records.ndjson'))
  assert.deepEqual((await report()).verdict, { succeeded: false, reason: 'ResultsUnavailable', message: 'the run left no results that can be read' })
  execFileSync('mkfifo', [join(directory, 'records.ndjson')])
  assert.equal((await report()).verdict.reason, 'ResultsUnavailable')
})

test('who ran the attempt may know why it was cut short', async () => {
  await write('job.json', { spec: {} })
  await write('records.ndjson', recordsOf([{}, { record: null }], null).map((record) => JSON.stringify(record)).join('\n'))
  await write('failure.json', { reason: 'DeadlineExceeded', message: 'stopped after 60 s' })
  const { verdict, cells } = await report()
  assert.deepEqual(verdict, { succeeded: false, reason: 'DeadlineExceeded', message: 'stopped after 60 s' })
  assert.deepEqual(cells.map((cell) => cell.outcome), ['Succeeded', 'NotRun'])
})

test('an attempt without a readable job is refused, and no report is left', async () => {
  await write('job.json', '{')
  await assert.rejects(reportAttempt(directory), /job\.json is not JSON/)
  await rm(join(directory, 'job.json'))
  await assert.rejects(reportAttempt(directory), /job\.json holds no spec/)
  assert.deepEqual(await readdir(directory), ['records.ndjson'])
})

test('a reason that is none is not taken from a file', async () => {
  await write('records.ndjson', '')
  await write('failure.json', { reason: 'not a reason\n', message: 'x' })
  assert.equal((await report()).verdict.reason, 'ResultsUnavailable')
})
