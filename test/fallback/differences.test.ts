/** The same requests to the server and to the CustomResourceDefinition: where their answers differ, the README says so. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { encodeJson, parseStored } from '../../src/api/codec.ts'
import type { JsonObject, KubeObject } from '../../src/api/object.ts'
import { REMAINDER_ANNOTATION } from '../../src/webhook/remainder.ts'
import { startServer, type Answer, type Harness, type Send } from '../harness.ts'
import { arbitraryJob } from '../model/arbitrary-job.ts'
import { JOBS, startFallback, type Fallback } from './fallback.ts'

const README = readFileSync(join(import.meta.dirname, '..', '..', 'README.md'), 'utf8')

let fallback: Fallback
let server: Harness
before(async () => {
  server = await startServer()
  fallback = await startFallback()
}, { timeout: 600_000 })
after(async () => {
  await fallback[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

type Ask = (method: string, path: string, options?: Send) => Promise<Answer>

const MERGE = 'application/merge-patch+json'
const APPLY = 'application/apply-patch+yaml'
const v1 = (name: string, spec: object = {}, metadata: object = {}) => ({
  apiVersion: 'mlops.dev/v1', kind: 'NotebookValidationJob', metadata: { name, ...metadata },
  spec: { notebook: { git: { url: 'https://git.example/ml/nb.git', revision: 'main' }, path: 'a/train.ipynb' }, suspend: true, backoffLimit: 5, ...spec },
})
const alpha = (name: string, metadata: object = {}) => ({
  apiVersion: 'mlops.dev/v1alpha1', kind: 'NotebookValidationJob', metadata: { name, ...metadata },
  spec: { notebook: { git: { url: 'https://git.example/ml/nb.git', ref: 'main', path: 'a/train.ipynb' } } },
})
const environment = Array.from({ length: 100 }, (_, i) => ({ name: `E${i}_${'n'.repeat(900)}`, value: 'v'.repeat(1000) }))

/** A row of the README's table, and what shows each half of it. */
interface Difference {
  readonly row: readonly [request: string, server: string, definition: string]
  ask(send: Ask): Promise<unknown>
  readonly server: unknown
  readonly definition: unknown
}

const DIFFERENCES: readonly Difference[] = [
  {
    row: ['a job read through v1alpha1', 'has the annotations that were written', 'also has the annotation `mlops.dev/remainder`, about 1 kB'],
    async ask(send) {
      await send('POST', JOBS('v1'), { body: v1('read') })
      return Object.keys((await send('GET', JOBS('v1alpha1', 'read'))).body.metadata.annotations ?? {})
    },
    server: [],
    definition: [REMAINDER_ANNOTATION],
  },
  {
    row: ['a PUT through v1alpha1 of a manifest without that annotation (`kubectl replace`)', 'keeps what v1alpha1 cannot show', '422 of the policy; without the policy what v1alpha1 cannot show would be lost'],
    async ask(send) {
      const { resourceVersion } = (await send('POST', JOBS('v1'), { body: v1('put') })).body.metadata
      const { status } = await send('PUT', JOBS('v1alpha1', 'put'), { body: alpha('put', { resourceVersion }) })
      return [status, (await send('GET', JOBS('v1', 'put'))).body.spec.backoffLimit]
    },
    server: [200, 5],
    definition: [422, 5],
  },
  {
    row: ['an annotation of that name that a client makes up', 'is any annotation', 'an update is refused (422); on a new job of v1alpha1 it is taken for what v1alpha1 cannot show when that is valid, else 500'],
    async ask(send) {
      const body = { metadata: { annotations: { [REMAINDER_ANNOTATION]: '{}' } } }
      await send('POST', JOBS('v1'), { body: v1('made-up') })
      const annotations = (remainder: unknown) => ({ annotations: { [REMAINDER_ANNOTATION]: JSON.stringify({ v1alpha1: { spec: remainder } }) } })
      return [
        (await send('PATCH', JOBS('v1', 'made-up'), { body, type: MERGE })).status,
        (await send('POST', JOBS('v1alpha1'), { body: alpha('valid', annotations({ maxRetries: 7 })) })).status,
        (await send('GET', JOBS('v1', 'valid'))).body.spec.backoffLimit,
        (await send('POST', JOBS('v1alpha1'), { body: alpha('invalid', annotations({ maxRetries: 700 })) })).status,
      ]
    },
    server: [200, 201, 2, 201],
    definition: [422, 201, 7, 500],
  },
  {
    row: ['more than 128 KiB of annotations', 'are taken up to 256 KiB', '422 of the policy'],
    async ask(send) {
      const annotations = (bytes: number) => ({ annotations: { a: 'x'.repeat(bytes) } })
      return [
        (await send('POST', JOBS('v1'), { body: v1('noted', {}, annotations(140_000)) })).status,
        (await send('POST', JOBS('v1'), { body: v1('many', {}, { annotations: Object.fromEntries(Array.from({ length: 9000 }, (_, n) => [`k${n}`, ''])) }) })).status,
        (await send('POST', JOBS('v1alpha1'), { body: alpha('room', annotations(130_000)) })).status,
        (await send('GET', JOBS('v1alpha1', 'room'))).status,
      ]
    },
    server: [201, 201, 201, 200],
    definition: [422, 201, 201, 200],
  },
]

const LAST: Difference =
  {
    row: ['a job with more than 128 KiB that v1alpha1 cannot show', 'is a job like any other', 'can be written through v1; reads of it through v1alpha1, and all lists and watches of v1alpha1 while it is there and until the history is compacted, fail (500)'],
    async ask(send) {
      const created = await send('POST', JOBS('v1'), { body: v1('large', { podTemplate: { env: environment } }) })
      const found = [created.status, (await send('GET', JOBS('v1', 'large'))).status, (await send('GET', JOBS('v1alpha1', 'large'))).status, (await send('GET', JOBS('v1alpha1'))).status]
      await send('DELETE', JOBS('v1', 'large'))
      return found
    },
    server: [201, 200, 200, 200],
    definition: [201, 200, 500, 500],
  }

for (const difference of DIFFERENCES) test(difference.row[0], () => holds(difference))

async function holds({ row, ask, server: ours, definition }: Difference): Promise<void> {
  assert.deepEqual(await ask(server.send), ours, 'the server')
  assert.deepEqual(await ask(fallback.plane.send), definition, 'the definition')
  assert.ok(README.includes(`| ${row.join(' | ')} |`), `the README has no row | ${row.join(' | ')} |`)
}

// What clients compare; the annotation, times (and the order that they give) and places in the store aside.
function essence({ status, body }: Answer): unknown {
  if (typeof body !== 'object' || body === null || !('metadata' in body) || body.kind === 'Status') return { status, message: body?.message, reason: body?.reason }
  const { uid: _, resourceVersion: __, creationTimestamp: ___, annotations = {}, managedFields = [], ...metadata } = body.metadata
  const { [REMAINDER_ANNOTATION]: ____, ...own } = annotations
  return { status, ...body, metadata: { ...metadata, annotations: own, managedFields: managedFields.map(({ time: _____, ...entry }: { time: string }) => JSON.stringify(entry)).sort() } }
}

test('all else is the same: writes by several managers, in every version', async () => {
  const requests: [string, string, Send?][] = [
    ['POST', JOBS('v1'), { body: v1('same') }],
    ['GET', JOBS('v1alpha1', 'same')],
    ['PATCH', JOBS('v1alpha1', 'same'), { body: { spec: { timeoutSeconds: 900 } }, type: MERGE }],
    ['PATCH', `${JOBS('v1beta1', 'same')}?fieldManager=beta`, { body: { metadata: { labels: { a: 'b' } }, spec: { suspend: false } }, type: MERGE }],
    ['PATCH', `${JOBS('v1alpha1', 'same')}?fieldManager=old`, { body: JSON.stringify({ apiVersion: 'mlops.dev/v1alpha1', kind: 'NotebookValidationJob', metadata: { name: 'same', labels: { c: 'd' } }, spec: { timeoutSeconds: 900 } }), type: APPLY }],
    ['PATCH', `${JOBS('v1', 'same')}?fieldManager=new`, { body: JSON.stringify({ apiVersion: 'mlops.dev/v1', kind: 'NotebookValidationJob', metadata: { name: 'same' }, spec: { activeDeadlineSeconds: 600 } }), type: APPLY }],
    ['PATCH', `${JOBS('v1', 'same')}?fieldManager=new&force=true`, { body: JSON.stringify({ apiVersion: 'mlops.dev/v1', kind: 'NotebookValidationJob', metadata: { name: 'same' }, spec: { activeDeadlineSeconds: 600 } }), type: APPLY }],
    ['GET', JOBS('v1', 'same')],
    ['GET', JOBS('v1beta1', 'same')],
    ['PATCH', `${JOBS('v1alpha1', 'same')}/status`, { body: { status: { phase: 'Running', results: [{ cellIndex: 0, status: 'Success', output: '1' }] } }, type: MERGE }],
    ['GET', JOBS('v1', 'same')],
    ['POST', JOBS('v1alpha1'), { body: alpha('refused', { labels: { 'not good': 'x' } }) }],
    ['PATCH', JOBS('v1alpha1', 'same'), { body: { spec: { notebook: { git: { url: 'https://git.example/other.git' } } } }, type: MERGE }],
    ['DELETE', JOBS('v1beta1', 'same')],
  ]
  for (const [method, path, options] of requests) {
    const [ours, theirs] = [await server.send(method, path, options), await fallback.plane.send(method, path, options)]
    assert.deepEqual(essence(ours), essence(theirs), `${method} ${path}`)
  }
})

test('all else is the same: forty jobs of any form, read, written back and changed through every version', { timeout: 300_000 }, async () => {
  const both = async (method: string, path: string, options: Send = {}): Promise<Answer> => {
    const [ours, theirs] = await Promise.all([server.send(method, path, options), fallback.plane.send(method, path, options)])
    assert.deepEqual(essence(ours), essence(theirs), `${method} ${path} ${JSON.stringify(options.body)}`)
    return theirs
  }
  // Each is sent its own object, with its own resourceVersion and annotation; integers stay what they are.
  const writeBack = async (path: string, change: (object: KubeObject) => JsonObject): Promise<void> => {
    const [ours, theirs] = await Promise.all([server.send, fallback.plane.send].map(async (send) => await send('PUT', path, { body: encodeJson(change(parseStored(Buffer.from((await send('GET', path.replace(/\/status$/, ''))).text)) as KubeObject) as JsonObject) })))
    assert.deepEqual(essence(ours!), essence(theirs!), `PUT ${path}`)
  }
  let made = 0
  for (const [i, { metadata: _, status, ...job }] of fc.sample(arbitraryJob('v1'), { numRuns: 40, seed: 7 }).entries()) {
    const name = `any-${i}`
    const { status: code } = await both('POST', JOBS('v1'), { body: encodeJson({ ...job, metadata: { name } } as JsonObject) })
    if (code !== 201) continue
    made++
    if (status !== undefined) await both('PATCH', `${JOBS('v1', name)}/status`, { body: encodeJson({ status }), type: MERGE })
    for (const version of ['v1alpha1', 'v1beta1', 'v1']) {
      await writeBack(JOBS(version, name), (object) => object)
      await writeBack(JOBS(version, name), (object) => ({ ...object, metadata: { ...object.metadata, labels: { version } }, spec: { ...(object.spec as JsonObject), [version === 'v1' ? 'activeDeadlineSeconds' : 'timeoutSeconds']: 60 } }))
      await writeBack(`${JOBS(version, name)}/status`, (object) => ({ ...object, status: { ...(object.status as JsonObject), phase: 'Running' } }))
      for (const reader of ['v1alpha1', 'v1beta1', 'v1']) await both('GET', JOBS(reader, name))
    }
  }
  assert.ok(made > 30, `${made} of 40 were taken`)
})

test('what another version costs', async (t) => {
  for (const [name, send] of [['server', server.send], ['definition', fallback.plane.send]] as const) {
    await send('POST', JOBS('v1'), { body: v1('timed') })
    const medians: string[] = []
    for (const version of ['v1', 'v1beta1', 'v1alpha1']) {
      const times: number[] = []
      for (let i = 0; i < 60; i++) {
        const begun = performance.now()
        assert.equal((await send('PATCH', JOBS(version, 'timed'), { body: { metadata: { labels: { i: String(i) } } }, type: MERGE })).status, 200)
        times.push(performance.now() - begun)
      }
      medians.push(`${version} ${times.sort((a, b) => a - b)[30]!.toFixed(1)} ms`)
    }
    t.diagnostic(`${name}: a patch, median: ${medians.join(', ')}; load ${loadavg()[0]!.toFixed(1)}`)
  }
})

// The kube-apiserver's cache of v1alpha1 does not come back from it before the history is compacted.
test(LAST.row[0], () => holds(LAST))
