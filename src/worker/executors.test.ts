/** One suite, two executors: as processes and as pods a notebook has the same report. */
import assert from 'node:assert/strict'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { systemClock } from '../base/clock.ts'
import { silentLog } from '../base/log.ts'
import { FakeCluster } from './cluster.fixture.ts'
import type { Executor, Observation } from './executor.ts'
import { makeRepository, type Repository, serveRepository } from './git-server.fixture.ts'
import { makeJob } from './job.fixture.ts'
import type { JobSpec } from './job.ts'
import { startKubelet } from './kubelet.fixture.ts'
import { openLocalExecutor } from './local-executor.ts'
import { podNameOf } from './pod.ts'
import { openPodExecutor } from './pod-executor.ts'
import { prepareTestPython, TEST_PYTHON_DIRECTORY, testEnvironment } from './python-environment.fixture.ts'

const work = mkdtempSync(join(tmpdir(), 'nvj-two-'))
const cluster = new FakeCluster()
const closing = new AbortController()
let repository: Repository
let server: Awaited<ReturnType<typeof serveRepository>>
let kubelet: ReturnType<typeof startKubelet>
let executors: readonly (readonly [string, Executor])[]

const notebook = (...sources: string[]): string => {
  const cells = sources.map((source, i) => ({ cell_type: 'code', id: `c${i}`, metadata: {}, execution_count: null, outputs: [], source }))
  return JSON.stringify({ nbformat: 4, nbformat_minor: 5, metadata: {}, cells })
}

before(
  async () => {
    const python = await prepareTestPython()
    repository = makeRepository()
    cpSync(join(import.meta.dirname, '../../deploy/samples'), repository.directory, { recursive: true })
    repository.commit({
      'hang.ipynb': notebook('1', 'import time; time.sleep(60)'),
      // not at once: whether the kernel has told the number of the cell by then would be a matter of luck
      'killed.ipynb': notebook('1', 'import os, signal, time; time.sleep(1); os.kill(os.getpid(), signal.SIGKILL)', '2'),
      'exits.ipynb': notebook('import os; os.kill(os.getppid(), 9)'),
      'folder/place.ipynb': notebook('import os; print(os.path.basename(os.getcwd()))'),
      'text.ipynb': 'not a notebook',
    })
    server = await serveRepository(repository)
    mkdirSync(join(work, 'data'))
    symlinkSync(TEST_PYTHON_DIRECTORY, join(work, 'data/python'))
    kubelet = startKubelet(cluster, testEnvironment(), python)
    const common = { clock: systemClock, log: silentLog }
    executors = [
      ['local', await openLocalExecutor({ ...common, dataDir: join(work, 'data'), python: 'python3', environment: testEnvironment(), readSecret: async () => undefined })],
      ['pods', await openPodExecutor({ ...common, client: cluster.clients().pods, settings: { image: 'us:1' } }, closing.signal)],
    ]
  },
  { timeout: 300_000 },
)

after(async () => {
  closing.abort()
  for (const [, executor] of executors ?? []) await executor.close()
  await kubelet?.close()
  await server?.close()
  repository?.remove()
  rmSync(work, { recursive: true, force: true })
})

let count = 0
/** What an attempt tells, in the order in which it tells it; the report without its times. */
async function run(executor: Executor, path: string, more: Partial<JobSpec>): Promise<{ steps: string[]; end: unknown }> {
  const uid = `attempt-${++count}`
  const git = { url: server.url, revision: 'main', ...(more.notebook?.git as object | undefined) }
  const job = makeJob({ name: uid, uid, spec: { ...more, notebook: { git, path } } })
  const status = { attempts: 1, podRef: { name: podNameOf(job, 1) } }
  cluster.addJob({ ...job, status } as typeof job)
  executor.start({ id: `${uid}.1`, number: 1, job })
  const steps: string[] = []
  let end: Observation | undefined
  for await (const observation of executor.observe(`${uid}.1`)!) {
    // as the controller does
    if (observation.type === 'pod') cluster.addJob({ ...job, status: { ...status, podRef: { name: observation.name, uid: observation.uid } } } as typeof job)
    if (['cloning', 'source', 'comparing', 'finished', 'failed'].includes(observation.type) && steps.at(-1) !== observation.type) steps.push(observation.type)
    end = observation
  }
  return { steps: [...new Set(steps)], end: withoutTimes(end) }
}

function withoutTimes(value: unknown): unknown {
  const stamp = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/g
  return JSON.parse(JSON.stringify(value, (key, item: unknown) => (key.startsWith('duration') ? undefined : typeof item === 'string' ? item.replaceAll(stamp, 'TIME') : item)))
}

const CASES: readonly (readonly [string, string, Partial<JobSpec>, RegExp])[] = [
  ['passes', 'passes.ipynb', { golden: { path: 'golden/passes.ipynb' } }, /"Validated"/],
  ['differs', 'differs.ipynb', { golden: { path: 'golden/differs.ipynb' } }, /"OutputMismatch"/],
  ['raises', 'raises.ipynb', {}, /"NotebookFailed"/],
  ['is cut off at the deadline', 'hang.ipynb', { activeDeadlineSeconds: 8 }, /"DeadlineExceeded"/],
  ['loses its kernel', 'killed.ipynb', {}, /"KernelDied"/],
  ['kills its runner', 'exits.ipynb', {}, /"RunnerUnavailable"/],
  ['asks where it is', 'folder/place.ipynb', {}, /"text":"folder\\n"/],
  ['is none', 'text.ipynb', {}, /"NotebookInvalid"/],
  ['is not there', 'none.ipynb', {}, /"NotebookNotFound"/],
  ['has no golden copy', 'passes.ipynb', { golden: { path: 'golden/none.ipynb' } }, /"GoldenNotFound"/],
  ['wants a Secret that is not there', 'passes.ipynb', { notebook: { git: { credentialsSecretRef: { name: 'missing' } } } } as unknown as Partial<JobSpec>, /there is no Secret \\"missing\\" in the namespace \\"default\\"/],
]

describe('a notebook has the same report as a process and as a pod', { concurrency: 3, timeout: 240_000 }, () => {
  for (const [name, path, spec, expected] of CASES) {
    test(name, async () => {
      const [local, pods] = await Promise.all(executors.map(([, executor]) => run(executor, path, spec)))
      assert.match(JSON.stringify(local?.end), expected)
      assert.deepEqual(pods, local)
    })
  }
})
