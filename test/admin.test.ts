/** `admin.mlops.dev` over the wire: discovery, forms, refusals as Status; and what a server answers when it cannot decode what may be stored. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { describeStatus } from '../src/commands/storage/describe.ts'
import { encodeFence, fenceKey, parseFence, type FenceRecord } from '../storage/fence-record.ts'
import { startServer, type Harness } from './harness.ts'
import { alphaJob, job, jobsPath } from './jobs.ts'

const RESOURCE = 'notebookvalidationjobs.mlops.dev'
const ADMIN = '/apis/admin.mlops.dev/v1alpha1'
const MERGE = 'application/merge-patch+json'

const named = (kind: string, spec: object = {}, name = RESOURCE): object => ({ apiVersion: 'admin.mlops.dev/v1alpha1', kind, metadata: { name }, spec })

test('discovery names the resources with their own verbs, in both forms', async () => {
  await using server = await startServer()
  const { body } = await server.send('GET', ADMIN)
  assert.deepEqual(
    body.resources.map(({ name, verbs, namespaced }: { name: string; verbs: string[]; namespaced: boolean }) => [name, verbs.join(' '), namespaced]),
    [
      ['quarantinedobjects', 'delete get list update', false],
      ['storagebackups', 'get', false],
      ['storagemigrations', 'create delete get list patch update', false],
      ['storagepreviews', 'create', false],
      ['storageretirements', 'create', false],
      ['storages', 'get list patch update', false],
      ['storagetrims', 'create', false],
      ['storageverifications', 'create', false],
    ],
  )
  assert.ok(body.resources.every((entry: object) => !('storageVersionHash' in entry)))
  const { body: groups } = await server.send('GET', '/apis', { headers: { accept: 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList' } })
  const admin = groups.items.find((item: { metadata: { name: string } }) => item.metadata.name === 'admin.mlops.dev')
  assert.equal(admin.versions[0].resources.length, 8)
})

test('the whole way by requests alone', async () => {
  await using server = await startServer()
  const get = async (path: string) => (await server.send('GET', `${ADMIN}/${path}`)).body
  for (const name of ['a', 'b', 'c']) assert.equal((await server.send('POST', jobsPath('v1alpha1'), { body: alphaJob(name) })).status, 201)
  const set = (spec: object) => server.send('PATCH', `${ADMIN}/storages/${RESOURCE}`, { type: MERGE, body: { spec } })
  assert.equal((await set({ version: 'v1alpha1', acceptRollback: true })).body.spec.version, 'v1alpha1')
  const preview = await server.send('POST', `${ADMIN}/storagepreviews`, { body: named('StoragePreview', { version: 'v1beta1' }) })
  assert.deepEqual([preview.status, preview.body.status.rewritten], [201, 3])
  assert.equal((await server.send('GET', `${ADMIN}/storagemigrations/${RESOURCE}`)).status, 404)
  const begun = await server.send('POST', `${ADMIN}/storagemigrations`, { type: 'application/yaml', body: `metadata: {name: ${RESOURCE}}` })
  assert.equal(begun.status, 201)
  for (let i = 0; i < 100 && (await get(`storagemigrations/${RESOURCE}`)).status.phase !== 'Succeeded'; i++) await sleep(50)
  const migration = await get(`storagemigrations/${RESOURCE}`)
  assert.deepEqual([migration.status.phase, migration.status.counters.rewritten, migration.spec], ['Succeeded', 3, { version: 'v1alpha1', paused: false }])
  const verified = await server.send('POST', `${ADMIN}/storageverifications`, { body: named('StorageVerification', { deep: true }) })
  assert.deepEqual([verified.status, verified.body.status.proof.byVersion, verified.body.status.bad], [201, { v1alpha1: 3 }, []])
  assert.match(verified.body.status.digest, /^[0-9a-f]{64}$/)
  assert.equal((await server.send('POST', `${ADMIN}/storagetrims`, { body: named('StorageTrim') })).status, 201)
  const storage = await get(`storages/${RESOURCE}`)
  assert.deepEqual([storage.status.byVersion, storage.status.storedVersions.length], [{ v1alpha1: 3 }, 1])
  const lines = (await server.send('GET', `${ADMIN}/storagebackups/current`)).text.trimEnd().split('\n')
  assert.equal(JSON.parse(lines.at(-1) as string).count, lines.length - 2)

  const { body: table } = await server.send('GET', `${ADMIN}/storages`, { headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' } })
  assert.deepEqual(table.columnDefinitions.map(({ name }: { name: string }) => name), ['Name', 'Written at', 'Stored', 'Objects', 'Next'])
  const { text } = await server.send('GET', '/metrics')
  for (const line of [
    `mlops_storage_objects{resource="${RESOURCE}",version="v1alpha1"} 3`, `mlops_stored_version_info{resource="${RESOURCE}",version="v1alpha1",encoding="true"} 1`,
    `mlops_migration_phase{resource="${RESOURCE}",phase="Succeeded"} 1`, `mlops_migration_objects_total{resource="${RESOURCE}",result="rewritten"} 3`,
    `mlops_requests_by_version_total{group="mlops.dev",version="v1alpha1",resource="notebookvalidationjobs",agent="other"} 3`,
  ]) assert.ok(text.includes(`${line}\n`), line)
  assert.match(text, /mlops_conversion_seconds_count\{resource="notebookvalidationjobs\.mlops\.dev",version="v1alpha1"\} [1-9]/)
})

test('what cannot be done is a Status, a refusal names its reason', async () => {
  await using server = await startServer()
  const cases: [method: string, path: string, send: Parameters<Harness['send']>[2], code: number, message: RegExp, cause?: string][] = [
    ['GET', 'storages/things.example', {}, 404, /^the store has no things\.example: /, 'UnknownResource'],
    ['PATCH', `storages/${RESOURCE}`, { type: MERGE, body: { spec: { version: 'v9' } } }, 422, /^notebookvalidationjobs\.mlops\.dev has no version v9; /, 'UnknownVersion'],
    ['PATCH', `storages/${RESOURCE}`, { type: MERGE, body: { spec: { version: 'v1beta1' } } }, 409, /is older than the rollback floor v1/, 'BelowRollbackFloor'],
    ['PATCH', `storages/${RESOURCE}`, { type: MERGE, body: { spec: {} } }, 400, /^spec\.version is required$/],
    ['PATCH', `storages/${RESOURCE}`, { type: 'application/apply-patch+yaml', body: {} }, 415, /merge-patch/],
    ['PATCH', `storagemigrations/${RESOURCE}`, { type: MERGE, body: { spec: { paused: 'yes' } } }, 400, /^spec\.paused must be true or false$/],
    ['PATCH', `storagemigrations/${RESOURCE}`, { type: MERGE, body: { spec: { paused: true } } }, 409, /has no migration to pause/, 'Changed'],
    ['POST', 'storagemigrations', { body: {} }, 400, /^metadata\.name must be the resource/],
    ['POST', 'storagemigrations', { body: named('StorageMigration', { rate: -1 }) }, 400, /^spec\.rate must be a whole number/],
    ['POST', 'storagemigrations?dryRun=All', { body: named('StorageMigration') }, 400, /^dryRun is not supported; create a storagepreview/],
    ['POST', 'storagemigrations', { body: '{' }, 400, /unexpected end of JSON input/],
    ['POST', 'storagemigrations', { body: '[]' }, 400, /^the body is no object$/],
    ['POST', 'storagemigrations', { body: '{}', type: 'text/plain' }, 415, /unknown format/],
    ['GET', 'storagemigrations?watch=true', {}, 405, /^watch is not supported/],
    ['DELETE', `storages/${RESOURCE}`, {}, 405, /^delete is not supported/],
    ['POST', 'storageretirements', { body: named('StorageRetirement', { version: 'v1' }) }, 409, /may still be stored: migrate first/, 'StillStored'],
    ['GET', `quarantinedobjects/${RESOURCE}`, {}, 404, /not found/],
    ['GET', `quarantinedobjects/${RESOURCE}:default:gone`, {}, 409, /has no object default\/gone/, 'Changed'],
    ['DELETE', `quarantinedobjects/${RESOURCE}:default:gone`, {}, 400, /^preconditions\.uid and preconditions\.resourceVersion must name/],
    ['GET', 'storagebackups/another', {}, 404, /not found/],
    ['GET', 'nothing', {}, 404, /page not found/],
  ]
  for (const [method, path, send, code, message, cause] of cases) {
    const { status, body } = await server.send(method, `${ADMIN}/${path}`, send)
    assert.equal(status, code, `${method} ${path}: ${JSON.stringify(body)}`)
    assert.match(typeof body === 'string' ? body : body.message, message)
    if (cause !== undefined) assert.equal(body.details.causes[0].reason, cause, path)
  }
  assert.equal((await server.send('GET', `${ADMIN}/storages`, { anonymous: true })).status, 401)
})

test('a version that cannot be decoded enters storedVersions: 503 and not ready, never 404, until it is gone again', async () => {
  await using server = await startServer()
  assert.equal((await server.send('POST', jobsPath('v1'), { body: job('a') })).status, 201)
  const key = fenceKey(RESOURCE)
  const change = async (alter: (fence: FenceRecord) => FenceRecord): Promise<void> => {
    const fence = parseFence(key, await server.backend.get(key))
    await server.backend.commit({ compare: [{ key, modRevision: fence.modRevision }], put: [{ key, value: encodeFence(alter(fence)) }] })
  }
  const ready = async (code: number): Promise<void> => {
    for (let i = 0; i < 100 && (await server.send('GET', '/readyz')).status !== code; i++) await sleep(20)
    assert.equal((await server.send('GET', '/readyz')).status, code)
  }
  const future = { version: 'v2', firstEpoch: 2, firstRevision: 1, reason: 'a newer release' }
  const watched = await server.send('GET', `${jobsPath('v1')}?limit=1`)
  const watches = [`?watch=true&resourceVersion=${watched.body.metadata.resourceVersion}`, '?watch=true', '?watch=true&fieldSelector=metadata.name%3Da'].map((query) => server.send('GET', jobsPath('v1beta1') + query))
  const jobs = server.server.store('NotebookValidationJob')
  for (let i = 0; i < 100 && jobs.cache.watchers < watches.length; i++) await sleep(20)
  await change((fence) => ({ ...fence, epoch: 2, storedVersions: [...fence.storedVersions, future] }))
  await ready(500)
  for (const [method, path] of [['GET', jobsPath('v1')], ['GET', `${jobsPath('v1beta1')}/a`], ['GET', `${jobsPath('v1')}/missing`], ['GET', `${jobsPath('v1')}?watch=true`], ['DELETE', `${jobsPath('v1')}/a`]] as const) {
    const { status, body, headers } = await server.send(method, path)
    assert.deepEqual([status, body.reason, headers['retry-after']], [503, 'ServiceUnavailable', '5'], `${method} ${path}`)
    assert.match(body.message, /has objects stored at v2, and this program decodes only v1alpha1, v1beta1, v1/)
  }
  // Open watches end in order, without an event that says so: their clients resume where they are, and meet the 503.
  const ended = await Promise.all(watches)
  assert.deepEqual(ended.map(({ status }) => status), [200, 200, 200])
  assert.deepEqual(ended.map(({ text }) => text.split('\n').filter(Boolean).map((line) => (JSON.parse(line) as { type: string }).type)), [[], ['ADDED'], ['ADDED']])
  assert.equal(jobs.cache.watchers, 0)
  assert.equal((await server.send('GET', '/livez')).status, 200)
  await change((fence) => ({ ...fence, epoch: 3, storedVersions: fence.storedVersions.filter(({ version }) => version !== 'v2') }))
  await ready(200)
  assert.equal((await server.send('GET', `${jobsPath('v1')}/a`)).status, 200)
  const again = await server.send('GET', `${jobsPath('v1')}?watch=true&timeoutSeconds=1&resourceVersion=${watched.body.metadata.resourceVersion}`)
  assert.deepEqual([again.status, again.text], [200, ''])
})

test('a replica that has vanished is not said to serve', async () => {
  await using server = await startServer()
  const announcement = { id: 'gone', program: 'p 1', decodable: ['v1'], encodable: ['v1'], served: [], formats: [1], observedEpoch: 1, state: 'Serving', lastSeen: 1 }
  await server.backend.commit({ compare: [], put: [{ key: `meta/replicas-seen/${RESOURCE}/gone`, value: Buffer.from(JSON.stringify(announcement)) }] })
  const { status } = (await server.send('GET', `${ADMIN}/storages/${RESOURCE}`)).body
  assert.deepEqual(status.replicas.map(({ state, live }: { state: string; live: boolean }) => [state, live]).sort(), [['Serving', true], ['Vanished', false]])
  assert.ok(describeStatus(status).some((line) => line.endsWith(' gone (p 1) has vanished, decodes v1')), describeStatus(status).join('\n'))
})
