/** Programs made with client-go, against the product: discovery, typed, dynamic and core clients, apply, scale, events, warnings. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { temporaryDirectory } from '../product.ts'
import { buildPrograms, runProgram, whyNotBuilt, type Facts } from './programs.ts'
import { startTraining, type TrainingServer } from './serve.ts'

describe('client-go', { skip: await whyNotBuilt(), concurrency: 1 }, () => {
  const stack = new AsyncDisposableStack()
  let server: TrainingServer
  let path: string
  before(async () => {
    path = (await buildPrograms())['client-go']
    server = stack.use(await startTraining(stack.use(temporaryDirectory('clients-')).path))
  })
  after(() => stack.disposeAsync())

  const run = (...args: string[]): Promise<Facts[]> => runProgram(path, [server.kubeconfig, ...args])
  /** What it reports, by what the report is of. */
  const told = async (...args: string[]): Promise<Record<string, Facts>> => Object.fromEntries((await run(...args)).map(({ what, ...facts }) => [what as string, facts]))

  test('discovery, cached in memory and on disk, and the mapping of kinds', async () => {
    const { version, preferred, mapping, cached, disk, openapi } = await told('discovery')
    assert.match(version?.gitVersion, /^v1\.36\./)
    for (const resource of ['ml.example.com/v1 trainingruns', 'ml.example.com/v1 checkpoints', 'v1 secrets']) assert.ok(preferred?.resources.includes(resource), resource)
    assert.ok(!preferred?.resources.includes('ml.example.com/v1alpha1 trainingruns'))
    assert.deepEqual(mapping, {
      resource: 'ml.example.com/v1, Resource=trainingruns', scope: 'namespace', short: 'ml.example.com/v1, Resource=trainingruns', old: 'ml.example.com/v1alpha1, Kind=TrainingRun',
      // One for each version, as client-go does it.
      category: ['checkpoints.ml.example.com', 'trainingruns.ml.example.com', 'trainingruns.ml.example.com'],
      unknown: 'no matches for kind "Nothing" in group "ml.example.com"',
    })
    assert.deepEqual([cached?.later, disk], [0, { first: 2, second: 0 }], 'all of it comes in two requests, once')
    assert.deepEqual(openapi, { found: true, same: true })
  })

  test('every verb of a typed client', async () => {
    const { created, updated, watched, refused, incremented, deleted } = await told('typed')
    assert.deepEqual(created, { replicas: 1, manager: 'typed-creator', generation: 1 })
    assert.deepEqual(updated, { generations: [2, 2, 3], ready: true })
    assert.deepEqual(watched?.events, ['MODIFIED 2', 'MODIFIED 2', 'MODIFIED 3', 'DELETED 3'])
    assert.deepEqual(refused, {
      notFound: true, isInvalid: true, alreadyExists: true, conflict: true,
      invalid: 'TrainingRun.ml.example.com "refused" is invalid: spec: Invalid value: more than 10 replicas need credentials',
    })
    assert.equal(incremented?.number, '40', 'no increment is lost')
    assert.deepEqual(deleted, { selected: 1, left: 0, unknownField: 'field label not supported: spec.replicas' })
  })

  test('server-side apply by managers that conflict', async () => {
    const { conflict, merged, managers } = await told('apply')
    assert.deepEqual(conflict, {
      isConflict: true, message: 'Apply failed with 1 conflict: conflict with "alice": .spec.replicas', causes: ['FieldManagerConflict .spec.replicas: conflict with "alice"'],
    })
    assert.deepEqual(merged?.spec, { image: 'i', replicas: 3, env: [{ name: 'B', value: '2' }] })
    assert.deepEqual(managers, { managers: ['alice Apply ', 'bob Apply ', 'controller Apply status'], generation: 3 })
  })

  test('warnings reach the handler, and strict validation refuses', async () => {
    assert.deepEqual(await run('warnings'), [{
      strict: 'TrainingRun in version "v1alpha1" cannot be handled as a TrainingRun: strict decoding error: unknown field "spec.wrokers"',
      warnings: ['ml.example.com/v1alpha1 TrainingRun is deprecated; use v1', 'unknown field "spec.wrokers"'],
    }])
  })

  test('a watch that sees nothing is told how far it is', async () => {
    const [{ events, reached } = {}] = await run('bookmarks')
    assert.deepEqual([new Set(events), reached], [new Set(['BOOKMARK']), true])
  })

  test('the scale client, through both versions', async () => {
    assert.deepEqual(await run('scale'), [{
      replicas: [1, 4, 6], spec: { image: 'i', replicas: 6 },
      refused: 'TrainingRun.ml.example.com "scaled" is invalid: spec.workers: Invalid value: 101: spec.workers in body should be less than or equal to 100',
    }])
  })

  test('the generated clientset and its informers, in JSON and in protobuf', async () => {
    const clients = (await run('core')).sort((a, b) => (a.name < b.name ? -1 : 1))
    const data = { a: 'MQ==', b: 'AP8=', c: 'Mw==' }
    assert.deepEqual(clients, ['core-json', 'core-protobuf'].map((name) => ({ name, synced: true, type: 'Opaque', data, cached: data })))
  })

  test('an event recorder adds up what happens again', async () => {
    assert.deepEqual(await run('events'), [{ count: 3, reason: 'Trained', object: 'told', apiVersion: 'ml.example.com/v1' }])
  })
})
