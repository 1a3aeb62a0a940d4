/** What becomes of the processes of jobs when the server is killed, and what a start in another directory prints. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeRepository, serveRepository } from '../../src/worker/git-server.fixture.ts'
import { readStartTime } from '../../src/worker/process-group.ts'
import { prepareTestPython, TEST_PYTHON_DIRECTORY } from '../../src/worker/python-environment.fixture.ts'
import { jobsPath } from '../jobs.ts'
import { startProduct, temporaryDirectory } from '../product.ts'

const LAUNCHER = join(import.meta.dirname, '..', '..', 'src', 'launch.mjs')

async function until(condition: () => Promise<boolean> | boolean, what: string): Promise<void> {
  for (let i = 0; i < 600; i++) {
    if (await condition()) return
    await sleep(50)
  }
  assert.fail(`after 30 s: ${what}`)
}

// tells who runs it, and leaves a daemon behind that has nothing in common with its origin
const hostile = (pids: string): string => `import os, time
if os.fork() == 0:
    os.setsid()
    daemon = os.fork()
    if daemon == 0:
        os.chdir("/")
        os.closerange(0, 1000)
        os.execve("/bin/sleep", ["sleep", "300"], {})
    open(${JSON.stringify(`${pids}.new`)}, "w").write(f"{daemon} {os.getppid()} ")
    os._exit(0)
os.wait()
open(${JSON.stringify(`${pids}.new`)}, "a").write(f"{os.getpid()} {os.getppid()}")
os.rename(${JSON.stringify(`${pids}.new`)}, ${JSON.stringify(pids)})
time.sleep(300)`

test('SIGKILL of the server takes the worker with it, and the worker all that a notebook has started', { skip: process.platform === 'linux' ? false : 'needs /proc' }, async () => {
  using directory = temporaryDirectory('orphans-')
  await prepareTestPython()
  symlinkSync(TEST_PYTHON_DIRECTORY, join(directory.path, 'python'))
  const pids = join(directory.path, 'pids')
  const repository = makeRepository()
  const cell = { cell_type: 'code', id: 'a', metadata: {}, execution_count: null, outputs: [], source: hostile(pids) }
  repository.commit({ 'hostile.ipynb': JSON.stringify({ nbformat: 4, nbformat_minor: 5, metadata: {}, cells: [cell] }) })
  const git = await serveRepository(repository)
  try {
    await using product = await startProduct(directory.path, { worker: true })
    const children = readFileSync(`/proc/${product.pid}/task/${product.pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
    {
      using client = product.connect()
      const body = { apiVersion: 'mlops.dev/v1', kind: 'NotebookValidationJob', metadata: { name: 'hostile' }, spec: { notebook: { git: { url: git.url, revision: 'main' }, path: 'hostile.ipynb' } } }
      assert.equal((await client.send('POST', jobsPath('v1'), { body })).status, 201)
      await until(() => existsSync(pids), 'the notebook runs')
    }
    const all = [...children, ...readFileSync(pids, 'utf8').split(' ').map(Number)]
    assert.equal(all.length >= 5 && all.every((pid) => pid > 1), true, all.join(' '))
    await product.stop('SIGKILL')
    await until(async () => (await Promise.all(all.map(readStartTime))).every((time) => time === undefined), 'no process is left')
  } finally {
    await git.close()
    repository.remove()
  }
})

test('the hints of a start with a relative data directory work from any other', async () => {
  using directory = temporaryDirectory('relative-')
  const child = spawn(process.execPath, [LAUNCHER, 'standalone', '--data-dir', 'data', '--port', '0', '--no-samples', '--no-worker'], { cwd: directory.path, stdio: ['ignore', 'pipe', 'inherit'] })
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  const closed = once(child, 'close')
  await until(() => text.includes('get nvj'), 'the hints are printed')
  child.kill('SIGINT')
  await closed
  const paths = [...text.matchAll(/kubeconfig:? (\S+)/g)].map(([, path]) => path)
  assert.deepEqual(new Set(paths), new Set([join(directory.path, 'data', 'kubeconfig')]))
})
