import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { systemClock } from '../base/clock.ts'
import { silentLog } from '../base/log.ts'
import { PROCESS_FILE } from './execute-step.ts'
import type { Executor, Observation } from './executor.ts'
import { makeRepository, type Repository, serveRepository } from './git-server.fixture.ts'
import { makeJob } from './job.fixture.ts'
import type { JobSpec } from './job.ts'
import { openLocalExecutor } from './local-executor.ts'
import { ATTEMPT_MARK, findMarked, readStartTime } from './process-group.ts'
import { prepareTestPython, TEST_PYTHON_DIRECTORY, testEnvironment } from './python-environment.fixture.ts'
import type { Report } from './report-types.ts'

const SAMPLES = join(import.meta.dirname, '../../deploy/samples')
const work = mkdtempSync(join(tmpdir(), 'nvj-local-'))
let repository: Repository
let server: Awaited<ReturnType<typeof serveRepository>>
let executor: Executor

async function open(dataDir: string): Promise<Executor> {
  mkdirSync(dataDir, { recursive: true })
  if (!existsSync(join(dataDir, 'python'))) symlinkSync(TEST_PYTHON_DIRECTORY, join(dataDir, 'python'))
  return await openLocalExecutor({ dataDir, python: 'python3', environment: testEnvironment(), readSecret: async () => undefined, clock: systemClock, log: silentLog })
}

before(
  async () => {
    await prepareTestPython()
    repository = makeRepository()
    cpSync(SAMPLES, repository.directory, { recursive: true })
    const hang = { cell_type: 'code', id: 'a', metadata: {}, execution_count: null, outputs: [], source: 'import time; time.sleep(60)' }
    repository.commit({ 'hang.ipynb': JSON.stringify({ nbformat: 4, nbformat_minor: 5, metadata: {}, cells: [hang] }), 'text.ipynb': 'not a notebook' })
    server = await serveRepository(repository)
    // as a user may name it
    executor = await open(relative(process.cwd(), join(work, 'data')))
  },
  { timeout: 300_000 },
)

after(async () => {
  await executor.close()
  await server.close()
  repository.remove()
  rmSync(work, { recursive: true, force: true })
})

let count = 0
function start(notebook: string, more: Partial<JobSpec> = {}, secret?: string): AsyncIterable<Observation> {
  const id = `attempt-${++count}.1`
  const git = { url: server.url, revision: 'main', ...(secret === undefined ? {} : { credentialsSecretRef: { name: secret } }) }
  executor.start({ id, number: 1, job: makeJob({ spec: { notebook: { git, path: notebook }, ...more } }) })
  return executor.observe(id)!
}

async function all(observations: AsyncIterable<Observation>): Promise<Observation[]> {
  const seen: Observation[] = []
  for await (const observation of observations) seen.push(observation)
  return seen
}

const stepsOf = (seen: readonly Observation[]): string => seen.map(({ type }) => type).filter((type, i, list) => type !== list[i - 1]).join(' ')
function reportOf(seen: readonly Observation[]): Report {
  const last = seen.at(-1)
  assert.equal(last?.type, 'finished', JSON.stringify(last))
  return (last as Extract<Observation, { type: 'finished' }>).report
}

describe('the local executor', { concurrency: 3, timeout: 120_000 }, () => {
  test('the sample that passes, from the clone to the report', async () => {
    const seen = await all(start('passes.ipynb', { golden: { path: 'golden/passes.ipynb' } }))
    assert.equal(stepsOf(seen), 'cloning source started record comparing finished')
    const report = reportOf(seen)
    assert.deepEqual([report.verdict.reason, report.summary.cells, report.summary.matched], ['Validated', '4/4', 4])
    assert.equal(report.runtime.kernelName, 'python3')
    const commit = repository.git('rev-parse', 'HEAD')
    assert.deepEqual(seen.find(({ type }) => type === 'source'), { type: 'source', commit, goldenCommit: commit })
  })

  test('the sample whose output differs, with its golden copy from elsewhere', async () => {
    const golden = { git: { url: server.url, revision: 'refs/heads/main' }, path: 'golden/differs.ipynb' }
    const report = reportOf(await all(start('differs.ipynb', { golden })))
    assert.deepEqual([report.verdict.reason, report.summary.mismatched, report.summary.matched], ['OutputMismatch', 2, 1])
  })

  test('the sample that raises', async () => {
    const report = reportOf(await all(start('raises.ipynb')))
    assert.equal(report.verdict.reason, 'NotebookFailed')
    assert.match(report.verdict.message, /ValueError/)
    assert.deepEqual(report.cells.map(({ outcome }) => outcome), ['Succeeded', 'Failed', 'NotRun'])
  })

  test('the deadline is used but for the report, and the message says so', async () => {
    const begun = performance.now()
    const report = reportOf(await all(start('hang.ipynb', { activeDeadlineSeconds: 8 })))
    assert.ok(performance.now() - begun > 5_000, 'a quarter of the time, less than a second for whole seconds')
    assert.deepEqual(report.verdict, {
      succeeded: false,
      reason: 'DeadlineExceeded',
      message: 'cell 1 (index 0) was still running at the deadline of the job and was stopped (activeDeadlineSeconds is 8, its last seconds are kept for the report)',
    })
    assert.deepEqual(report.cells.map(({ outcome }) => outcome), ['TimedOut'])
  })

  test('what cannot be run fails with its reason', async () => {
    const failure = async (seen: Promise<Observation[]>): Promise<string> => {
      const last = (await seen).at(-1)
      return last?.type === 'failed' ? `${last.failure.class} ${last.failure.reason}: ${last.failure.message}` : JSON.stringify(last)
    }
    assert.match(await failure(all(start('none.ipynb'))), /^Final NotebookNotFound: there is no notebook "none.ipynb" in commit/)
    assert.match(await failure(all(start('passes.ipynb', { golden: { path: 'golden/none.ipynb' } }))), /^Final GoldenNotFound/)
    assert.match(await failure(all(start('passes.ipynb', {}, 'missing'))), /^Final CredentialsInvalid: there is no Secret "missing" in the namespace "default"/)
    assert.equal(reportOf(await all(start('text.ipynb'))).verdict.reason, 'NotebookInvalid')
  })

  test('a cancelled attempt ends its stream, its processes and its directory', async () => {
    const observations = start('hang.ipynb')
    const id = `attempt-${count}.1`
    const seen: string[] = []
    for await (const { type } of observations) {
      seen.push(type)
      if (type === 'started') void executor.cancel(id)
    }
    assert.ok(!seen.includes('finished') && !seen.includes('failed'))
    await executor.cancel(id)
    assert.equal(executor.observe(id), undefined)
    assert.deepEqual(await findMarked(id), [])
    assert.equal(existsSync(join(work, 'data/attempts', id)), false)
  })

  test('a stop does not wait for the Python environment to be made', async () => {
    const dataDir = join(work, 'slow')
    const slow = join(work, 'slow-python')
    writeFileSync(slow, '#!/bin/sh\ncase "$*" in *ensurepip*) echo 3.12 ;; *) exec sleep 60 ;; esac\n', { mode: 0o755 })
    mkdirSync(dataDir)
    const stopped = await openLocalExecutor({ dataDir, python: slow, environment: testEnvironment(), readSecret: async () => undefined, clock: systemClock, log: silentLog })
    stopped.start({ id: 'slow.1', number: 1, job: makeJob() })
    for await (const { type } of stopped.observe('slow.1')!) {
      assert.equal(type, 'preparing')
      await Promise.all([stopped.cancel('slow.1'), stopped.close()])
    }
    assert.deepEqual(readdirSync(join(dataDir, 'python')), [], 'nothing half-made is left')
  })

  test('the supervisor of an abandoned attempt ends what only it knows', { skip: process.platform === 'linux' ? false : 'needs a subreaper' }, async () => {
    const dataDir = join(work, 'abandoned')
    const directory = join(dataDir, 'attempts', `${systemClock.uuid()}.1`)
    mkdirSync(directory, { recursive: true })
    const pidFile = join(work, 'daemon.pid')
    const daemon = `setsid env -i sh -c 'echo $$ > ${pidFile}.new; mv ${pidFile}.new ${pidFile}; exec sleep 300' & exec sleep 300`
    const supervisor = spawn('python3', ['-I', join(import.meta.dirname, 'runner/supervise.py'), 'sh', '-c', daemon], { detached: true, stdio: 'ignore', env: { PATH: process.env.PATH } })
    while (!existsSync(pidFile)) await systemClock.sleep(20)
    writeFileSync(join(directory, PROCESS_FILE), JSON.stringify({ pid: supervisor.pid, startTime: await readStartTime(supervisor.pid!) }))
    await (await open(dataDir)).close()
    assert.equal(await readStartTime(Number(readFileSync(pidFile, 'utf8'))), undefined)
    assert.equal(await readStartTime(supervisor.pid!), undefined)
  })

  test('what a dead worker left behind is ended, and a worker that lives is not disturbed', async () => {
    const dataDir = join(work, 'other')
    const id = `${systemClock.uuid()}.1`
    mkdirSync(join(dataDir, 'attempts', id), { recursive: true })
    const orphan = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e5)'], { detached: true, stdio: 'ignore', env: { [ATTEMPT_MARK]: id } })
    const gone = new Promise((resolve) => orphan.on('exit', resolve))
    writeFileSync(join(dataDir, 'worker.json'), JSON.stringify({ pid: 99_999_999, startTime: '1' }))
    const second = await open(dataDir)
    await gone
    assert.deepEqual(readdirSync(join(dataDir, 'attempts')), [])
    await second.close()
    writeFileSync(join(dataDir, 'worker.json'), JSON.stringify({ pid: process.ppid, startTime: await readStartTime(process.ppid) }))
    await assert.rejects(open(dataDir), /another worker \(process \d+\) uses the same data directory/)
  })
})

