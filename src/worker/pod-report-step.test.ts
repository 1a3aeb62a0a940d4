import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { type FakeClock, fakeClock } from './fake-clock.fixture.ts'
import { makeJob } from './job.fixture.ts'
import { runPodReport } from './pod-report-step.ts'
import { readReportLog } from './report-log.ts'
import { parseReport } from './report-step.ts'
import type { Report } from './report-types.ts'

const RECORDS = [
  { type: 'notebook', kernelName: 'python3', language: 'python', nbformat: '4.5', cells: [{ index: 0, id: 'a', type: 'Code', tags: [], source: '1' }] },
  { type: 'cell-start', index: 0 },
  { type: 'cell', index: 0, outcome: 'Succeeded', durationMilliseconds: 1, outputs: [] },
  { type: 'end', outcome: 'Completed', message: '' },
]
const lines = (count: number): string => RECORDS.slice(0, count).map((record) => `${JSON.stringify(record)}\n`).join('')

/** The report of a run that leaves these files behind; `seconds`: it must not be made before. */
async function report(files: Record<string, string>, more: { seconds?: number; prepare?: (work: string) => void } = {}): Promise<Report> {
  const root = mkdtempSync(join(tmpdir(), 'nvj-report-'))
  const [work, reference] = [join(root, 'work'), join(root, 'reference')]
  const clock: FakeClock = fakeClock()
  const { spec } = makeJob({ spec: { activeDeadlineSeconds: 60 } })
  try {
    for (const directory of [work, reference]) mkdirSync(directory)
    writeFileSync(join(reference, 'job.json'), JSON.stringify({ spec }))
    writeFileSync(join(reference, 'source.json'), '{}')
    writeFileSync(join(reference, 'pod.json'), JSON.stringify({ deadlineAt: clock.now() / 1000 + 60 }))
    for (const [name, text] of Object.entries({ ...(more.prepare ? {} : { 'records.ndjson': '' }), ...files })) writeFileSync(join(work, name), text)
    more.prepare?.(work)
    const input = { id: 'a.1', namespace: 'default', spec }
    let log: string | undefined
    const done = runPodReport({ input, work, reference, clock, signal: new AbortController().signal }).then((text) => (log = text))
    for (let i = 0; i < 100 && log === undefined; i++) {
      await clock.advance(1_000)
      // the file system has a time of its own
      await Promise.race([done, new Promise((resolve) => setTimeout(resolve, 5))])
      if (more.seconds !== undefined && i < more.seconds) assert.equal(log, undefined, `after ${i + 1} s`)
    }
    return parseReport(readReportLog(await done))
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

const exit = (code: number | null, more: object = {}): string => JSON.stringify({ code, signal: null, stderr: '', timedOut: false, ...more })

test('a run that has told its end', async () => {
  const { verdict } = await report({ 'records.ndjson': lines(4), 'execute.json': exit(0) })
  assert.deepEqual([verdict.succeeded, verdict.reason], [true, 'Validated'])
})

test('a runner that ended without one: by itself, by a signal, too late, or in silence', async () => {
  const said = async (files: Record<string, string>, seconds?: number): Promise<string> => {
    const { verdict } = await report(files, seconds === undefined ? {} : { seconds })
    assert.equal(verdict.succeeded, false)
    return `${verdict.reason}: ${verdict.message}`
  }
  const missing = "ModuleNotFoundError: No module named 'nbclient'"
  assert.equal(await said({ 'execute.json': exit(1, { stderr: `Traceback\n${missing}\n` }) }), `RunnerUnavailable: the runner ended without a result (exit status 1): ${missing}`)
  assert.match(await said({ 'records.ndjson': lines(2), 'execute.json': exit(null, { signal: 'SIGKILL' }) }), /^RunnerUnavailable: .*SIGKILL\) while cell 1 \(index 0\) was running$/)
  assert.match(await said({ 'records.ndjson': lines(2), 'execute.json': exit(null, { timedOut: true }) }), /^DeadlineExceeded/)
  assert.equal(await said({ 'records.ndjson': lines(2), heartbeat: '3' }, 15), 'RunnerUnavailable: the container execute was ended while cell 1 (index 0) was running')
  assert.match(await said({}, 60), /^DeadlineExceeded/)
})

test('what a notebook makes of the files does no harm', async () => {
  for (const text of ['', 'null', '[]', '{"code":"0"}', '{"code":1e999,"signal":"SIG;x","stderr":{}}']) {
    assert.equal((await report({ 'execute.json': text })).verdict.succeeded, false, text)
  }
  const pipe = (name: string) => (work: string) => void execFileSync('mkfifo', [join(work, name)])
  const { verdict } = await report({ 'execute.json': exit(0) }, { prepare: pipe('records.ndjson') })
  assert.equal(verdict.reason, 'ResultsUnavailable')
  assert.equal((await report({ 'records.ndjson': lines(2), heartbeat: '1' }, { prepare: pipe('execute.json') })).verdict.reason, 'RunnerUnavailable')
})
