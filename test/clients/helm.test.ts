/** Helm 4 installs, upgrades, rolls back and uninstalls a chart of objects of a definition of one's own. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { helmPath, kubectl, type KubectlResult } from '../kubectl.ts'
import { temporaryDirectory } from '../product.ts'
import { startTraining, type TrainingServer } from './serve.ts'

const CHART = join(import.meta.dirname, 'chart')
const WAIT = ['--wait', '--timeout', '60s']

describe('Helm 4', { concurrency: 1 }, () => {
  const stack = new AsyncDisposableStack()
  let server: TrainingServer
  let home: string
  let k: ReturnType<typeof kubectl>
  before(async () => {
    const directory = stack.use(temporaryDirectory('clients-')).path
    home = stack.use(temporaryDirectory('helm-')).path
    server = stack.use(await startTraining(directory))
    k = kubectl('35', server.kubeconfig)
  })
  after(() => stack.disposeAsync())

  const helm = (...args: string[]): Promise<KubectlResult> =>
    new Promise((resolve) => {
      const env = { ...process.env, KUBECONFIG: server.kubeconfig, HELM_CACHE_HOME: join(home, 'cache'), HELM_CONFIG_HOME: join(home, 'config'), HELM_DATA_HOME: join(home, 'data') }
      execFile(helmPath(), args, { env, timeout: 120_000 }, (error, stdout, stderr) => resolve({ code: error ? (typeof error.code === 'number' ? error.code : 1) : 0, stdout, stderr }))
    })
  const ok = ({ code, stdout, stderr }: KubectlResult): string => {
    assert.equal(code, 0, `${stderr}\n${stdout}`)
    return stdout
  }
  const history = async (name: string): Promise<string[]> => {
    const revisions = JSON.parse(ok(await helm('history', name, '-o', 'json'))) as { revision: number; status: string; description: string }[]
    return revisions.map(({ revision, status, description }) => `${revision} ${status}: ${description}`)
  }
  const run = async (path: string): Promise<string> => ok(await k(['get', 'tr', 'one', '-o', `jsonpath=${path}`]))
  const token = async (): Promise<string> => Buffer.from(ok(await k(['get', 'secret', 'one', '-o', 'jsonpath={.data.token}'])), 'base64').toString()

  test('install waits, and shows what it has made', async () => {
    ok(await helm('install', 'one', CHART, ...WAIT))
    assert.match(ok(await helm('status', 'one')), /STATUS: deployed[\s\S]*==> v1\/TrainingRun\nNAME +IMAGE +DESIRED +CURRENT +READY +AGE\none +trainer:1 +2 /)
    assert.deepEqual([await run('{.spec.replicas}'), await token()], ['2', 'first'])
    assert.match(ok(await helm('list')), /^one\s+default\s+1\s.*deployed\s+training-0\.1\.0/m)
    assert.match((await helm('install', 'one', CHART)).stderr, /cannot re-?use a name that is still in use/)
  })

  test('upgrade, a refused upgrade, and rollback', async () => {
    ok(await helm('upgrade', 'one', CHART, '--set', 'replicas=3,token=second', ...WAIT))
    assert.deepEqual([await run('{.spec.replicas} {.metadata.generation}'), await token()], ['3 2', 'second'])
    assert.equal(ok(await k(['get', 'ckpt', 'one-start', '-o', 'jsonpath={.spec.worker}'])), '2', 'the hook has run again')
    const refused = await helm('upgrade', 'one', CHART, '--set', 'image=other')
    assert.match(refused.stderr, /UPGRADE FAILED: TrainingRun\.ml\.example\.com "one" is invalid: spec\.image: Invalid value: "other": image is immutable/)
    ok(await helm('rollback', 'one', '1', ...WAIT))
    assert.deepEqual([await run('{.spec.replicas} {.spec.image}'), await token()], ['2 trainer:1', 'first'])
    assert.deepEqual(await history('one'), [
      '1 superseded: Install complete', '2 superseded: Upgrade complete',
      '3 failed: Upgrade "one" failed: TrainingRun.ml.example.com "one" is invalid: spec.image: Invalid value: "other": image is immutable', '4 deployed: Rollback to 1',
    ])
  })

  test('what somebody else has changed is a conflict, unless it is forced', async () => {
    ok(await k(['scale', 'tr', 'one', '--replicas=7']))
    const conflict = await helm('upgrade', 'one', CHART, '--set', 'replicas=4')
    assert.match(conflict.stderr, /conflict with "kubectl" with subresource "scale" using ml\.example\.com\/v1.*\.spec\.replicas/)
    ok(await helm('upgrade', 'one', CHART, '--set', 'replicas=4', '--force-conflicts', ...WAIT))
    assert.equal(await run('{.spec.replicas}'), '4')
  })

  test('a namespace of its own, a dry run, and the manifests as they are applied', async () => {
    assert.match(ok(await helm('upgrade', '--install', 'two', CHART, '-n', 'team', '--create-namespace')), /STATUS: deployed/)
    assert.match(ok(await helm('list', '-A')), /^two\s+team\s/m)
    assert.match(ok(await helm('install', 'three', CHART, '--dry-run=server')), /kind: TrainingRun/)
    assert.equal((await k(['get', 'tr', 'three'])).code, 1)
    assert.match(ok(await helm('get', 'manifest', 'two', '-n', 'team')), /kind: Secret[\s\S]*kind: TrainingRun/)
  })

  test('uninstall takes away what was installed', async () => {
    assert.match(ok(await helm('uninstall', 'one', ...WAIT)), /release "one" uninstalled/)
    assert.equal(ok(await k(['get', 'tr,secrets', '-o', 'name'])), '')
    ok(await helm('uninstall', 'two', '-n', 'team', '--keep-history'))
    assert.equal(ok(await k(['-n', 'team', 'get', 'tr', '-o', 'name'])), '')
    assert.match(ok(await helm('history', 'two', '-n', 'team')), /uninstalled/)
  })
})
