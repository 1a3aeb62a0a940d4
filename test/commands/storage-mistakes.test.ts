/** What operators do wrong with the `storage` commands: each ends with one line that says what, the documented exit code and nothing on standard output. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { alphaJob, jobsPath } from '../jobs.ts'
import { runProduct, startProduct, temporaryDirectory, type Exit } from '../product.ts'

const LAUNCHER = join(import.meta.dirname, '..', '..', 'src', 'launch.mjs')
const storage = (...args: string[]): Promise<Exit> => runProduct(['storage', ...args])

test('files, directories and addresses that are not what they should be', async () => {
  using directory = temporaryDirectory('mistakes-')
  const at = (name: string): string => join(directory.path, name)
  writeFileSync(at('rubbish'), 'rubbish\n')
  writeFileSync(at('empty'), '')
  mkdirSync(at('other/store'), { recursive: true, mode: 0o700 })
  writeFileSync(at('other/store/store.db'), 'no database\n')
  const cases: readonly (readonly [args: readonly string[], code: number, message: RegExp])[] = [
    [['status', '--kubeconfig', at('absent')], 2, /no such file or directory, open '.*absent'/],
    [['status', '--kubeconfig', at('rubbish')], 2, /the kubeconfig .*rubbish has no cluster/],
    [['status', '--data-dir', at('other')], 9, /data directory .*other\/store cannot be used: file is not a database/],
    [['status', '--etcd-servers', 'http://127.0.0.1:1', '-o', 'json'], 9, /etcd does not answer: .*ECONNREFUSED 127\.0\.0\.1:1\n/],
    [['status', '--etcd-servers', 'https://127.0.0.1:1', '--etcd-cacert', at('absent')], 2, /no such file or directory, open '.*absent'/],
    [['restore', at('absent'), '--data-dir', at('new')], 2, /^mlops-apiserver: \S+absent cannot be read: no such file or directory\n$/],
    [['restore', '-', '--data-dir', at('new')], 2, /a bundle is read twice, which standard input cannot be: give a file/],
    [['restore', directory.path, '--data-dir', at('new')], 2, /is no file: a bundle is read twice/],
    [['restore', at('empty'), '--data-dir', at('a')], 3, /the bundle is empty/],
    [['restore', at('rubbish'), '--data-dir', at('a')], 3, /the bundle has a line that is not JSON/],
  ]
  for (const [args, code, message] of cases) {
    const exit = await storage(...args)
    assert.equal(exit.code, code, `${args.join(' ')}: ${exit.stderr}`)
    assert.match(exit.stderr, message)
    assert.match(exit.stderr, /^mlops-apiserver: [^\n]*\n$/)
    assert.equal(exit.stdout, '')
  }
  assert.ok(!existsSync(at('new')), 'nothing is made for a bundle that is not there')
  const contradictions: readonly (readonly [args: readonly string[], message: RegExp])[] = [
    [['status', '--kubeconfig', at('k'), '--etcd-servers', 'http://127.0.0.1:1'], /^mlops-apiserver: --kubeconfig and --etcd-servers: a server and a store are two places, give one of them\n$/],
    [['status', '--crd', '--data-dir', at('d')], /^mlops-apiserver: --crd and --data-dir: a server and a store are two places/],
    [['migrate', '--to', '--data-dir', at('d')], /^mlops-apiserver: option '--to <VERSION>' argument '--data-dir' is invalid\. It is a flag: the value before it is missing\.\n/],
    [['set-version', 'v1', '--dismiss', `--data-dir=${at('d')}`], /^mlops-apiserver: option '--dismiss <REPLICA\.\.\.>' argument .* It is a flag/],
  ]
  for (const [args, message] of contradictions) {
    const exit = await storage(...args)
    assert.deepEqual([exit.code, exit.stdout], [2, ''])
    assert.match(exit.stderr, message)
  }
})

test('two commands on one store, Ctrl-C, and standard output that is nothing but JSON', async () => {
  using directory = temporaryDirectory('mistakes-')
  const place = ['--data-dir', directory.path]
  {
    await using product = await startProduct(directory.path)
    using client = product.connect()
    assert.equal((await storage('set-version', 'v1beta1', '--accept-rollback', ...place)).code, 0)
    const made = await Promise.all(Array.from({ length: 200 }, (_, i) => client.send('POST', jobsPath('v1alpha1'), { body: alphaJob(`job-${i}`) })))
    assert.deepEqual([...new Set(made.map(({ status }) => status))], [201])
    await product.stop('SIGINT')
  }
  assert.equal((await storage('set-version', 'v1', ...place)).code, 0)
  const first = spawn(process.execPath, [LAUNCHER, 'storage', 'migrate', '--rate', '10', '-o', 'json', ...place], { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, COLUMNS: '1' } })
  let [said, printed] = ['', '']
  first.stdout.on('data', (bytes: Buffer) => (printed += bytes.toString()))
  first.stderr.on('data', (bytes: Buffer) => (said += bytes.toString()))
  while (!said.includes('Running')) await sleep(20)
  // The server whose kubeconfig is there runs no more: who has the store is told, and how to end it.
  for (const args of [['migrate'], ['migrate', '--pause'], ['status']]) {
    const second = await storage(...args, ...place)
    assert.equal(second.code, 8, second.stderr)
    assert.equal(second.stderr, `mlops-apiserver: the store of ${directory.path} is in use by process ${first.pid}, which is no server that answers: wait until it ends, `
      + `or end it (Ctrl-C, or kill -INT ${first.pid}); a migration that was ended so is continued by the same command\n`)
  }
  first.kill('SIGINT')
  assert.deepEqual(await once(first, 'close'), [130, null])
  assert.equal(printed, '')

  // Before anything has begun.
  const early = spawn(process.execPath, [LAUNCHER, 'storage', 'verify', '--deep', ...place], { stdio: 'ignore' })
  await sleep(100)
  early.kill('SIGINT')
  const [code, signal] = (await once(early, 'close')) as [number | null, string | null]
  assert.ok(code === 130 || signal === 'SIGINT', `${code} ${signal}`)

  const last = await storage('migrate', '--rate', '0', '-o', 'json', ...place)
  assert.equal(last.code, 0, last.stderr)
  const result = JSON.parse(last.stdout) as { migration: { phase: string; counters: { rewritten: number }; rateLimit?: number } }
  assert.deepEqual([result.migration.phase, result.migration.counters.rewritten, result.migration.rateLimit], ['Succeeded', 200, undefined])
  for (const command of [['status'], ['verify'], ['trim'], ['quarantine', 'list'], ['migrate', '--dry-run']]) {
    const exit = await storage(...command, '-o', 'json', ...place)
    assert.equal(exit.code, 0, exit.stderr)
    JSON.parse(exit.stdout)
  }
})
