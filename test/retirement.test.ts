/** A version is retired under clients that go on using it, and then forgotten: owners of fields stay who they were. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../src/base/clock.ts'
import { silentLog } from '../src/base/log.ts'
import { compileConversion } from '../src/api/lens-conversion.ts'
import type { ServedResource } from '../src/registry/resource-store.ts'
import { coreResources } from '../src/resources/core/index.ts'
import { resources } from '../src/resources/index.ts'
import { lenses } from '../src/resources/notebookvalidationjobs/lenses.ts'
import type { Backend } from '../storage/backend.ts'
import { openSqlite } from '../storage/sqlite.ts'
import { startServer, type Harness } from './harness.ts'
import { alphaJob, jobsPath } from './jobs.ts'
import { openMemoryBackend } from './model/memory-backend.ts'

const RESOURCE = 'notebookvalidationjobs.mlops.dev'
const ADMIN = '/apis/admin.mlops.dev/v1alpha1'
const APPLY = 'application/apply-patch+yaml'

const engines: readonly (readonly [string, () => Promise<{ readonly backend: Backend; readonly remove: () => void }>])[] = [
  ['memory', async () => ({ backend: openMemoryBackend(), remove: () => {} })],
  ['sqlite', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'retirement-'))
    return { backend: await openSqlite({ directory, clock: systemClock, log: silentLog }), remove: () => rmSync(directory, { recursive: true }) }
  }],
]

/** A later release: it has forgotten v1alpha1. */
function laterRelease(): readonly ServedResource[] {
  const [served] = resources as [ServedResource]
  const definition = { ...served.definition, versions: served.definition.versions.filter(({ name }) => name !== 'v1alpha1') }
  return [...coreResources, { ...served, definition, samples: [], conversion: compileConversion(definition, lenses.filter(({ older }) => older !== 'v1alpha1')) }]
}

async function apply(server: Harness, version: string, name: string, manager: string, spec: object | undefined, labels: object = {}) {
  const body = { apiVersion: `mlops.dev/${version}`, kind: 'NotebookValidationJob', metadata: { name, labels }, spec }
  return await server.send('PATCH', `${jobsPath(version)}/${name}?fieldManager=${manager}`, { body, type: APPLY })
}

async function retire(server: Harness) {
  const answer = await server.send('POST', `${ADMIN}/storageretirements`, { body: { apiVersion: 'admin.mlops.dev/v1alpha1', kind: 'StorageRetirement', metadata: { name: RESOURCE }, spec: { version: 'v1alpha1' } } })
  if (answer.status !== 201) return answer
  for (let i = 0; i < 500; i++) {
    const { body } = await server.send('GET', `${ADMIN}/storagemigrations/${RESOURCE}`)
    if (body.status.owner === undefined) return { status: answer.status, body }
    await sleep(10)
  }
  throw new Error('it does not end')
}

const owners = (object: { metadata: { managedFields?: { manager: string; operation: string; apiVersion: string; subresource?: string; fieldsV1: object }[] } }) =>
  (object.metadata.managedFields ?? []).map(({ manager, operation, apiVersion, subresource = '' }) => `${manager} ${operation} ${apiVersion} ${subresource}`.trim()).sort()

for (const [engine, open] of engines) {
  test(`${engine}: applied, updated and with a status through v1alpha1, retired, applied through v1; then v1alpha1 is forgotten`, async () => {
    const { backend, remove } = await open()
    try {
      {
        await using server = await startServer({ backend: { ...backend, close: async () => {} } })
        await story(server)
      }
      await using later = await startServer({ backend, resources: laterRelease() })
      await afterwards(later)
    } finally {
      await backend.close()
      remove()
    }
  })
}

async function story(server: Harness): Promise<void> {
  const git = { url: 'https://git.example/ml/nb.git', path: 'a/train.ipynb', credentialsSecret: 'creds' }
  assert.equal((await apply(server, 'v1alpha1', 'a', 'gitops', { notebook: { git }, timeoutSeconds: 60, podConfig: { containerImage: 'img:1' } })).status, 201)
  assert.equal((await server.send('POST', `${jobsPath('v1alpha1')}?fieldManager=hand`, { body: alphaJob('b') })).status, 201)
  const condition = { type: 'Succeeded', status: 'False', reason: 'Test', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' }
  const status = { apiVersion: 'mlops.dev/v1alpha1', kind: 'NotebookValidationJob', metadata: { name: 'a' }, status: { phase: 'Running', conditions: [condition] } }
  assert.equal((await server.send('PATCH', `${jobsPath('v1alpha1')}/a/status?fieldManager=worker`, { body: status, type: APPLY })).status, 200)
  const before = (await server.send('GET', `${jobsPath('v1')}/a`)).body
  assert.deepEqual(owners(before), ['gitops Apply mlops.dev/v1alpha1', 'worker Apply mlops.dev/v1alpha1 status'])

  const early = await retire(server)
  assert.deepEqual([early.status, early.body.details?.causes[0].reason], [409, 'StillStored'])
  await server.backend.compact(await server.backend.currentRevision())
  const retired = await retire(server)
  assert.deepEqual([retired.status, retired.body.status.phase, retired.body.status.retiring, retired.body.status.counters.rewritten], [201, 'Succeeded', 'v1alpha1', 2])

  const after = (await server.send('GET', `${jobsPath('v1')}/a`)).body
  assert.deepEqual(owners(after), ['gitops Apply mlops.dev/v1beta1', 'worker Apply mlops.dev/v1beta1 status'])
  assert.deepEqual({ ...after.metadata, managedFields: 0, resourceVersion: 0 }, { ...before.metadata, managedFields: 0, resourceVersion: 0 })
  assert.deepEqual([after.spec, after.status], [before.spec, before.status])
  assert.deepEqual(after.metadata.managedFields[0].fieldsV1, { 'f:spec': {
    'f:notebook': { 'f:git': { 'f:credentialsSecretRef': {}, 'f:url': {} }, 'f:path': {} }, 'f:podConfig': { 'f:image': {} }, 'f:timeoutSeconds': {},
  } })
  assert.deepEqual(after.metadata.managedFields[1].fieldsV1['f:status']['f:conditions']['k:{"type":"Succeeded"}'], { '.': {}, 'f:lastTransitionTime': {}, 'f:message': {}, 'f:reason': {}, 'f:status': {}, 'f:type': {} })
  assert.deepEqual(after.metadata.managedFields.map(({ time }: { time: string }) => time), before.metadata.managedFields.map(({ time }: { time: string }) => time))

  // Clients of the old version go on; what they write names it no more, and a write that changes nothing still changes nothing.
  const { metadata } = after
  const same = await apply(server, 'v1alpha1', 'a', 'gitops', { notebook: { git }, timeoutSeconds: 60, podConfig: { containerImage: 'img:1' } })
  assert.deepEqual([same.status, same.body.metadata.resourceVersion], [200, metadata.resourceVersion])
  const changed = await apply(server, 'v1alpha1', 'a', 'gitops', { notebook: { git }, timeoutSeconds: 60, podConfig: { containerImage: 'img:1' } }, { team: 'ml' })
  assert.deepEqual([changed.status, owners(changed.body)], [200, ['gitops Apply mlops.dev/v1beta1', 'worker Apply mlops.dev/v1beta1 status']])
  assert.equal((await server.send('POST', `${jobsPath('v1alpha1')}?fieldManager=hand`, { body: alphaJob('c') })).status, 201)
  const updated = await server.send('PATCH', `${jobsPath('v1alpha1')}/c?fieldManager=hand`, { body: { metadata: { labels: { team: 'ml' } } }, type: 'application/merge-patch+json' })
  assert.deepEqual([updated.status, owners(updated.body)], [200, ['hand Update mlops.dev/v1beta1']])
}

async function afterwards(later: Harness): Promise<void> {
  const { body } = await later.send('GET', jobsPath('v1'))
  assert.deepEqual(body.items.map((item: { metadata: { name: string } }) => item.metadata.name), ['a', 'b', 'c'])
  assert.equal((await later.send('GET', jobsPath('v1alpha1'))).status, 404)
  // The same owner in v1: what others want is a conflict with it by its name, and what it leaves out goes.
  const others = await apply(later, 'v1', 'a', 'other', { activeDeadlineSeconds: 7, podTemplate: { image: 'img:2' } }, { team: 'other' })
  const conflict = (field: string) => ({ reason: 'FieldManagerConflict', message: 'conflict with "gitops"', field })
  assert.deepEqual([others.status, others.body.details?.causes], [409, ['.metadata.labels.team', '.spec.timeoutSeconds', '.spec.podConfig.image'].map(conflict)])
  const notebook = { git: { url: 'https://git.example/ml/nb.git', credentialsSecretRef: { name: 'creds' } }, path: 'a/train.ipynb' }
  const applied = await apply(later, 'v1', 'a', 'gitops', { notebook, activeDeadlineSeconds: 60, podTemplate: { image: 'img:1' } })
  assert.deepEqual([applied.status, applied.body.metadata.labels, owners(applied.body)], [200, undefined, ['gitops Apply mlops.dev/v1', 'worker Apply mlops.dev/v1beta1 status']])
}
