/** Three versions of one object over the wire: nothing is lost, nothing changes by itself, and every reader sees one history. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { after, before, test } from 'node:test'
import { encodeJson } from '../../src/api/codec.ts'
import type { JsonObject } from '../../src/api/object.ts'
import { startServer, type Harness } from '../harness.ts'
import { openHttp2, type Event, type EventStream, type Http2Client } from '../http-client.ts'
import { alphaJob, job, jobsPath } from '../jobs.ts'
import { arbitraryJob } from '../model/arbitrary-job.ts'

const VERSIONS = ['v1', 'v1beta1', 'v1alpha1'] as const
const MERGE = 'application/merge-patch+json'

let harness: Harness
let client: Http2Client
before(async () => {
  harness = await startServer()
  client = openHttp2(harness.server.url, { ca: harness.pki.ca, cert: harness.pki.admin.cert, key: harness.pki.admin.key })
})
after(async () => {
  client[Symbol.dispose]()
  await harness[Symbol.asyncDispose]()
})

const path = (version: string, name: string, subresource = '') => `${jobsPath(version)}/${name}${subresource}`

async function read(version: string, name: string): Promise<string> {
  const { status, text } = await client.send('GET', path(version, name))
  assert.equal(status, 200, text)
  return text
}

/** A job with all that v1 has, its status too. */
const whole = {
  spec: {
    notebook: { git: { url: 'https://git.example/ml/nb.git', revision: 'v2', credentialsSecretRef: { name: 'creds' }, depth: 0, submodules: 'Recursive', lfs: 'Fetch' }, path: 'a/train.ipynb' },
    golden: { path: 'golden/train.ipynb' },
    metadataPolicy: { kernelName: 'python3', language: 'python', minNbformat: '4.5', requireCellIDs: 'Required' },
    comparison: {
      reference: 'Golden', mode: 'Normalized', scope: 'TaggedCells', tolerance: { absolute: '1e-3', relative: '0' }, normalizers: [],
      replacements: [{ pattern: 'run-[0-9]+', replacement: 'run', mimeTypes: ['text/plain'] }],
      ignore: { outputTypes: ['display_data'], streams: ['stderr'], mimeTypes: ['image/png'], cellTags: ['skip'], cellIndexes: [3], cellIDs: ['abc'] },
      images: 'Exact', cellMatching: 'ID', sourceDrift: 'Fail',
    },
    execution: {
      kernelName: 'python3', parameters: [{ name: 'alpha', value: { nested: [1, 1.5, null, 'x'] } }], cellTimeoutSeconds: 30, startupTimeoutSeconds: 90, errorPolicy: 'Continue',
      allowedErrorNames: ['KeyError'], expectedErrors: 'Optional', failOn: ['Stderr'], workingDirectory: 'RepositoryRoot',
    },
    podTemplate: {
      metadata: { labels: { a: 'b' } }, image: 'registry.example/nb:1', serviceAccountName: 'runner', automountServiceAccountToken: true, nodeSelector: { gpu: 'yes' },
      resources: { requests: { cpu: 1, 'nvidia.com/gpu': '1' }, limits: { 'nvidia.com/gpu': '1', memory: '8Gi' } }, env: [{ name: 'A', value: 'b' }],
    },
    activeDeadlineSeconds: 1800, backoffLimit: 0, imagePullTimeoutSeconds: 0, suspend: true, ttlSecondsAfterFinished: 0,
    results: { outputPolicy: 'Failed', maxOutputBytes: 0 },
  },
  status: {
    observedGeneration: 1, phase: 'Failed', reason: 'OutputMismatch', message: 'cell 1 differs', attempts: 1, podRef: { name: 'train-0', uid: 'u' }, source: { commit: 'abc' },
    conditions: [{ type: 'Succeeded', status: 'False', reason: 'OutputMismatch', message: 'cell 1 differs', observedGeneration: 1, lastTransitionTime: '2026-01-01T00:00:00Z' }],
    cells: [
      { index: 0, id: 'a', type: 'Code', outcome: 'Succeeded', executionCount: 1, output: { text: 'x', bytes: 1, truncated: false } },
      { index: 1, outcome: 'Succeeded', error: { message: 'differs', name: 'E', value: 'v', traceback: 't' }, comparison: { outcome: 'Mismatched', differences: [{ kind: 'Text', expected: '1', actual: '2' }] } },
    ],
    summary: { total: 2, code: 2, succeeded: 2, failed: 0, skipped: 0, notRun: 0, matched: 1, mismatched: 1, ignored: 0, cells: '1/2', duration: '1s' },
  },
}

async function createWhole(name: string, { spec, status }: { readonly spec: unknown; readonly status?: unknown }): Promise<void> {
  const created = await client.send('POST', `${jobsPath('v1')}?fieldValidation=Strict`, { body: encodeJson({ apiVersion: 'mlops.dev/v1', kind: 'NotebookValidationJob', metadata: { name }, spec } as JsonObject) })
  assert.equal(created.status, 201, created.text)
  if (status === undefined) return
  const patched = await client.send('PATCH', `${path('v1', name, '/status')}?fieldValidation=Strict`, { type: MERGE, body: encodeJson({ status } as JsonObject) })
  assert.equal(patched.status, 200, patched.text)
}

/** Writes what each version shows back through it, object and status. */
async function writeBack(name: string): Promise<void> {
  const before_ = await read('v1', name)
  for (const version of VERSIONS) {
    for (const subresource of ['', '/status']) {
      const shown = await read(version, name)
      const { status, text } = await client.send('PUT', path(version, name, subresource), { body: shown })
      assert.equal(status, 200, `${version}${subresource}: ${text}`)
      assert.equal(text, shown, `${version}${subresource}`)
      const patched = await client.send('PATCH', path(version, name, subresource), { type: MERGE, body: {} })
      assert.equal(patched.text, shown, `${version}${subresource}`)
    }
    assert.equal(await read('v1', name), before_, version)
  }
}

test('writing the same thing through any version is no change', async () => {
  await createWhole('same', whole)
  await writeBack('same')
  const { body } = await client.send('POST', jobsPath('v1alpha1'), { body: alphaJob('same-alpha') })
  assert.equal(body.metadata.generation, 1)
  await writeBack('same-alpha')
})

test('the same for jobs made by chance', async () => {
  for (const [i, sample] of fc.sample(arbitraryJob('v1'), { numRuns: 40, seed: 11 }).entries()) {
    const { spec, status } = sample as unknown as { spec: unknown; status?: unknown }
    await createWhole(`chance-${i}`, { spec, status })
    await writeBack(`chance-${i}`)
  }
})

test('an object with everything set, edited and written back through older versions, loses nothing', async () => {
  await createWhole('edited', whole)
  const before_ = JSON.parse(await read('v1', 'edited'))
  const alpha = JSON.parse(await read('v1alpha1', 'edited'))
  assert.equal(alpha.spec.comparison, undefined)
  assert.deepEqual(alpha.status.results[1], { cellIndex: 1, status: 'Failure', error: 'differs' })
  alpha.metadata.labels = { edited: 'alpha' }
  alpha.spec.timeoutSeconds = 600
  const put = await client.send('PUT', path('v1alpha1', 'edited'), { body: alpha })
  assert.equal(put.status, 200, put.text)
  assert.equal(put.body.metadata.generation, 2)
  const beta = JSON.parse(await read('v1beta1', 'edited'))
  beta.metadata.annotations = { note: 'beta' }
  assert.equal((await client.send('PUT', path('v1beta1', 'edited'), { body: beta })).status, 200)

  const after_ = JSON.parse(await read('v1', 'edited'))
  assert.deepEqual(after_.status, before_.status)
  assert.deepEqual(after_.spec, { ...before_.spec, activeDeadlineSeconds: 600 })
  assert.deepEqual([after_.metadata.labels, after_.metadata.annotations, after_.metadata.uid], [{ edited: 'alpha' }, { note: 'beta' }, before_.metadata.uid])

  // A new result through the old version replaces its cell, and only that.
  const results = JSON.parse(await read('v1alpha1', 'edited'))
  results.status.results[1] = { cellIndex: 1, status: 'Success' }
  assert.equal((await client.send('PUT', path('v1alpha1', 'edited', '/status'), { body: results })).status, 200)
  const { status } = JSON.parse(await read('v1', 'edited'))
  assert.deepEqual(status.cells, [before_.status.cells[0], { index: 1, outcome: 'Succeeded' }])
  assert.deepEqual({ ...status, cells: [] }, { ...before_.status, cells: [] })
})

async function take(stream: EventStream, count: number): Promise<Event[]> {
  const events: Event[] = []
  for await (const event of stream) if (events.push(event) === count) break
  return events
}

test('watches in every version see what is written in any', async () => {
  const { body } = await client.send('GET', `${jobsPath('v1')}?limit=1`)
  const watches = VERSIONS.map((version) => client.watch(`${jobsPath(version)}?watch=true&resourceVersion=${body.metadata.resourceVersion}`))
  await client.send('POST', jobsPath('v1'), { body: job('seen') })
  await client.send('PATCH', path('v1alpha1', 'seen'), { type: MERGE, body: { spec: { timeoutSeconds: 100 } } })
  await client.send('PATCH', path('v1beta1', 'seen', '/status'), { type: MERGE, body: { status: { phase: 'Running' } } })
  const last = await read('v1', 'seen')
  await client.send('DELETE', path('v1beta1', 'seen'))
  const [v1 = [], ...others] = await Promise.all(watches.map((watch) => take(watch, 4)))
  assert.deepEqual(v1.map(({ type, object }) => [type, object.spec.activeDeadlineSeconds, object.status?.phase]), [
    ['ADDED', 3600, undefined], ['MODIFIED', 100, undefined], ['MODIFIED', 100, 'Running'], ['DELETED', 100, 'Running'],
  ])
  assert.deepEqual(v1[2]?.object, JSON.parse(last))
  for (const [i, events] of others.entries()) {
    assert.deepEqual(events.map(({ type, object }) => [type, object.metadata.resourceVersion]), v1.map(({ type, object }) => [type, object.metadata.resourceVersion]))
    for (const { object } of events) assert.equal(object.apiVersion, `mlops.dev/${VERSIONS[i + 1]}`)
    assert.deepEqual(events.map(({ object }) => object.spec.timeoutSeconds), [3600, 100, 100, 100])
  }
})

test('a read sees every write that was acknowledged before it', async () => {
  await Promise.all(Array.from({ length: 8 }, async (_, writer) => {
    using own = openHttp2(harness.server.url, { ca: harness.pki.ca, cert: harness.pki.admin.cert, key: harness.pki.admin.key })
    const name = `fresh-${writer}`
    assert.equal((await own.send('POST', jobsPath('v1'), { body: job(name, { metadata: { labels: { fresh: 'yes' } } }) })).status, 201)
    for (let i = 0; i < 15; i++) {
      const version = VERSIONS[i % 3] as string
      const { body: written } = await own.send('PATCH', path(version, name), { type: MERGE, body: { metadata: { labels: { round: String(i) } } } })
      const other = VERSIONS[(i + 1) % 3] as string
      const [got, listed] = await Promise.all([client.send('GET', path(other, name)), client.send('GET', `${jobsPath(other)}?labelSelector=fresh%3Dyes`)])
      assert.equal(got.body.metadata.resourceVersion, written.metadata.resourceVersion)
      const item = listed.body.items.find((found: { metadata: { name: string } }) => found.metadata.name === name)
      assert.equal(item?.metadata.labels.round, String(i))
    }
    assert.equal((await own.send('DELETE', path('v1', name))).status, 200)
    assert.equal((await client.send('GET', path('v1alpha1', name))).status, 404)
  }))
})

test('pages under concurrent writes are one snapshot, whatever the version', async () => {
  await Promise.all(Array.from({ length: 60 }, (_, i) => client.send('POST', jobsPath('v1'), { body: job(`page-${String(i).padStart(2, '0')}`, { metadata: { labels: { page: 'yes' } } }) })))
  let writing = true
  const writers = Promise.all(Array.from({ length: 4 }, async (_, writer) => {
    for (let i = 0; writing; i++) {
      const number = String((i * 7 + writer * 15) % 60).padStart(2, '0')
      await client.send('PATCH', path('v1', `page-${number}`), { type: MERGE, body: { metadata: { annotations: { i: String(i) } } } })
      if (i % 5 === 0) await client.send('DELETE', path('v1', `page-${number}`))
      if (i % 5 === 2) await client.send('POST', jobsPath('v1'), { body: job(`page-${number}-${i}`, { metadata: { labels: { page: 'yes' } } }) })
    }
  }))
  for (const version of VERSIONS) {
    const list = `${jobsPath(version)}?labelSelector=page%3Dyes`
    const items: unknown[] = []
    const revisions = new Set<string>()
    let token = ''
    let limit = 3
    do {
      const { status, body, text } = await client.send('GET', `${list}&limit=${limit}${token === '' ? '' : `&continue=${encodeURIComponent(token)}`}`)
      assert.equal(status, 200, text)
      items.push(...body.items)
      revisions.add(body.metadata.resourceVersion)
      token = body.metadata.continue ?? ''
      limit += 2
    } while (token !== '')
    const [revision = ''] = revisions
    assert.equal(revisions.size, 1)
    assert.ok(items.length > 10)
    const { body } = await client.send('GET', `${list}&resourceVersion=${revision}&resourceVersionMatch=Exact`)
    assert.deepEqual(items, body.items)
  }
  writing = false
  await writers
})
