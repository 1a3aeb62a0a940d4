/** A reconciler made with controller-runtime, and a person with kubectl at the other version of its resource. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { kubectl, type KubectlResult } from '../kubectl.ts'
import { temporaryDirectory } from '../product.ts'
import { buildPrograms, runProgram, startProgram, whyNotBuilt, type Program } from './programs.ts'
import { startTraining, type TrainingServer } from './serve.ts'

const run = (name: string, image: string, more = '') => `apiVersion: ml.example.com/v1alpha1
kind: TrainingRun
metadata: {name: ${name}}
spec: {image: "${image}"${more}}
`

describe('controller-runtime', { skip: await whyNotBuilt(), concurrency: 1 }, () => {
  const stack = new AsyncDisposableStack()
  let server: TrainingServer
  let path: string
  let controller: Program
  let k: ReturnType<typeof kubectl>
  before(async () => {
    path = (await buildPrograms()).reconciler
    server = stack.use(await startTraining(stack.use(temporaryDirectory('clients-')).path))
    controller = stack.use(startProgram(path, [server.kubeconfig]))
    k = kubectl('35', server.kubeconfig)
  })
  after(() => stack.disposeAsync())

  const ok = ({ code, stdout, stderr }: KubectlResult): string => {
    assert.equal(code, 0, `${stderr}\n${stdout}`)
    return stdout
  }
  const get = async (...args: string[]): Promise<string> => ok(await k(['get', ...args]))
  const reconciled = (name: string, replicas: number, reason: string) =>
    controller.next(`${name} is reconciled with ${replicas}: ${reason}`, (facts) => facts.what === 'reconciled' && facts.name === name && facts.replicas === replicas && facts.reason === reason)
  const eventually = async (what: string, read: () => Promise<string>, wanted: string) => {
    let last = ''
    for (let i = 0; i < 300 && (last = await read()) !== wanted; i++) await sleep(100)
    assert.equal(last, wanted, what)
  }
  const checkpoints = () => get('ckpt', '-o', 'jsonpath={range .items[*]}{.metadata.name} {end}')

  test('what is written at the old version is reconciled at the new one', async () => {
    ok(await k(['apply', '-f', '-'], run('mine', 'reconciled:1', ', workers: 3')))
    await reconciled('mine', 3, 'Trained')
    ok(await k(['wait', 'tr/mine', '--for', 'condition=Ready', '--timeout', '60s']))
    assert.equal(await checkpoints(), 'mine-0 mine-1 mine-2 ')
    assert.equal(await get('trainingruns.v1alpha1.ml.example.com', 'mine', '-o', 'jsonpath={.spec.workers} {.metadata.finalizers} {.status.replicas} {.status.observedGeneration}'), '3 ["ml.example.com/checkpoints"] 3 1')
    const managers = await get('tr', 'mine', '--show-managed-fields', '-o', 'jsonpath={range .metadata.managedFields[*]}{.manager} {.operation} {.subresource};{end}')
    assert.deepEqual(managers.split(';').filter(Boolean).sort(), ['kubectl-client-side-apply Update ', 'reconciler Update ', 'reconciler Update status', 'trainer Apply status'])
    assert.equal(await get('ckpt', 'mine-1', '-o', 'jsonpath={.metadata.ownerReferences[0].kind} {.metadata.ownerReferences[0].controller} {.spec}'), 'TrainingRun true {"run":"mine","worker":1}')
  })

  test('a scale down and a checkpoint that is taken away are put right', async () => {
    ok(await k(['scale', 'tr', 'mine', '--replicas=2']))
    await reconciled('mine', 2, 'Trained')
    await eventually('checkpoints', checkpoints, 'mine-0 mine-1 ')
    ok(await k(['delete', 'ckpt', 'mine-0']))
    await controller.next('it is there again', ({ what, name }) => what === 'checkpoint created' && name === 'mine-0')
    await eventually('the status', () => get('tr', 'mine', '-o', 'jsonpath={.status.replicas} {.status.observedGeneration}'), '2 2')
  })

  test('a Secret that comes turns the condition', async () => {
    ok(await k(['apply', '-f', '-'], run('secret', 'reconciled:1', ', secretName: creds')))
    await reconciled('secret', 1, 'NoCredentials')
    ok(await k(['create', 'secret', 'generic', 'creds', '--type', 'ml.example.com/credentials', '--from-literal', 'token=abc']))
    await reconciled('secret', 1, 'Trained')
    ok(await k(['wait', 'tr/secret', '--for', 'condition=Ready', '--timeout', '60s']))
  })

  test('a run that the cache does not select is left alone', async () => {
    ok(await k(['apply', '-f', '-'], run('other', 'other:1')))
    ok(await k(['apply', '-f', '-'], run('another', 'reconciled:1')))
    await reconciled('another', 1, 'Trained')
    assert.equal(await get('tr', 'other', '-o', 'jsonpath={.metadata.finalizers}{.status}'), '')
  })

  test('a restart of the server in the middle', async () => {
    await server.stop()
    await server.start()
    ok(await k(['scale', 'tr', 'another', '--replicas=2']))
    await reconciled('another', 2, 'Trained')
  })

  test('a deleted run goes when its finalizer does, and its checkpoints after it', async () => {
    assert.match(ok(await k(['delete', 'tr', 'mine', '--timeout=60s'])), /"mine" deleted/)
    await controller.next('it is finished', ({ what, name }) => what === 'finished' && name === 'mine')
    await eventually('checkpoints', checkpoints, 'another-0 another-1 secret-0 ')
  })

  test('the client by itself: apply, dry run, strict validation, scale, deletion of many', async () => {
    const facts = await runProgram(path, [server.kubeconfig, 'direct'])
    assert.deepEqual(facts, [
      { what: 'applied', manager: 'direct Apply', dry: ['dry'], stale: true, strict: 'TrainingRun in version "v1" cannot be handled as a TrainingRun: strict decoding error: unknown field "spec.wrokers"' },
      { what: 'scaled', replicas: [2, 5] },
      { what: 'deleted', result: 'updated', held: ['ml.example.com/checkpoints'], left: 0 },
    ])
  })

  test('what happened is told in events', async () => {
    await eventually('events', () => get('events', '--field-selector', 'reason=NoCredentials', '-o', 'jsonpath={range .items[*]}{.involvedObject.name} {.type}{end}'), 'secret Normal')
  })
})
