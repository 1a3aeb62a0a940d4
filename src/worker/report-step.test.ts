import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { systemClock } from '../base/clock.ts'
import { failureOf } from './attempt-failure.ts'
import { makeJob, makeReport as report } from './job.fixture.ts'
import { makeReport, readReport } from './report-step.ts'

const work = mkdtempSync(join(tmpdir(), 'nvj-report-'))
after(() => rmSync(work, { recursive: true, force: true }))

async function read(text: string | undefined): Promise<string> {
  const path = join(work, 'report.json')
  rmSync(path, { force: true })
  if (text !== undefined) writeFileSync(path, text)
  try {
    await readReport(path)
    return 'read'
  } catch (error) {
    const failure = failureOf(error)
    assert.deepEqual([failure.reason, failure.class], ['ResultsUnavailable', 'Result'])
    return failure.message
  }
}

test('a report that cannot be read is never a success', async () => {
  assert.equal(await read(JSON.stringify(report())), 'read')
  assert.match(await read(undefined), /cannot be read: ENOENT/)
  assert.match(await read(''), /not JSON/)
  assert.match(await read('{"verdict": {"succeeded": true'), /not JSON/)
  assert.match(await read('{}'), /form/)
  assert.match(await read(JSON.stringify({ ...report(), cells: 'x' })), /form/)
  assert.match(await read(JSON.stringify({ ...report(), verdict: { succeeded: true, reason: 'NotebookFailed', message: '' } })), /form/)
  assert.match(await read(JSON.stringify({ ...report(), verdict: { succeeded: 'yes', reason: 'Validated', message: '' } })), /form/)
  assert.match(await read(`"${'x'.repeat(3 * 1024 ** 2)}"`), /too large/)
})

test('the step is a process: without records it reports that there are none', async () => {
  const options = { directory: work, spec: makeJob().spec, environment: {}, clock: systemClock, signal: new AbortController().signal }
  const made = await makeReport(options)
  assert.deepEqual([made.verdict.succeeded, made.verdict.reason], [false, 'ResultsUnavailable'])
  const told = await makeReport({ ...options, failure: { reason: 'RunnerUnavailable', message: 'killed' } })
  assert.equal(told.verdict.succeeded, false)
  await assert.rejects(makeReport({ ...options, directory: join(work, 'none') }))
})
