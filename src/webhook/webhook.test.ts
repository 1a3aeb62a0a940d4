import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { serveTls, type TlsServer } from '../../apiservice/serving.ts'
import { systemClock } from '../base/clock.ts'
import { silentLog } from '../base/log.ts'
import { openMetrics } from '../base/metrics.ts'
import { ensurePki, type Pki } from '../commands/pki.ts'
import { resources } from '../resources/index.ts'
import { checkConversions } from './check-conversions.ts'
import { openConverter } from './convert-object.ts'
import { createWebhook, MAX_REVIEW_BYTES } from './handler.ts'
import { answerReview, BadReview } from './review.ts'
import { MAX_REMAINDER_BYTES, REMAINDER_ANNOTATION } from './remainder.ts'

const convert = openConverter(resources)
const hub = JSON.parse(resources[0]!.samples[0]!.hub)
const job = (name: string, more: object = {}, metadata: object = {}) => ({ ...hub, ...more, metadata: { ...hub.metadata, name, uid: `uid-of-${name}`, ...metadata } })
const review = (objects: unknown, desiredAPIVersion: unknown = 'mlops.dev/v1alpha1') => ({ apiVersion: 'apiextensions.k8s.io/v1', kind: 'ConversionReview', request: { uid: 'u1', desiredAPIVersion, objects } })
const answer = (objects: unknown, desired?: unknown) => JSON.parse(answerReview(JSON.stringify(review(objects, desired)), convert).body).response
const alpha = (metadata: object = {}) => {
  const object = answer([job('x')]).convertedObjects[0]
  return { ...object, metadata: { ...object.metadata, ...metadata } }
}

test('an answer has the uid of the request and as many objects in the same order, each in the desired version', () => {
  const objects = [job('b'), alpha(), job('a'), { ...job('c'), apiVersion: 'mlops.dev/v1' }]
  const { uid, result, convertedObjects } = answer(objects)
  assert.equal(uid, 'u1')
  assert.deepEqual(result, { status: 'Success' })
  assert.deepEqual(convertedObjects.map(({ metadata, apiVersion, kind }: typeof hub) => [metadata.name, apiVersion, kind]), ['b', 'x', 'a', 'c'].map((name) => [name, 'mlops.dev/v1alpha1', 'NotebookValidationJob']))
  assert.deepEqual(answer([]).convertedObjects, [])
})

test('metadata stays as it is but for the annotation, even where it is not as it should be', () => {
  const metadata = { ...hub.metadata, labels: { a: 'b' }, finalizers: ['x/y'], managedFields: [{ manager: 'm', odd: 1 }], resourceVersion: '9007199254740993', ownerReferences: [], unheardOf: { a: null } }
  const [shown] = answer([{ ...hub, metadata }]).convertedObjects
  const { annotations, ...rest } = shown.metadata
  assert.deepEqual(rest, metadata)
  assert.deepEqual(Object.keys(annotations), [REMAINDER_ANNOTATION])
  assert.deepEqual(answer([shown], 'mlops.dev/v1').convertedObjects[0].metadata, metadata)
  const own = { ...shown, metadata: { ...shown.metadata, annotations: { ...annotations, mine: '1' } } }
  assert.deepEqual(answer([own], 'mlops.dev/v1').convertedObjects[0].metadata.annotations, { mine: '1' })
})

test('an annotation on an object of the newest version means nothing and is not kept', () => {
  const odd = job('x', {}, { annotations: { [REMAINDER_ANNOTATION]: '{"v1alpha1":{"spec":{"suspend":true}}}' } })
  assert.deepEqual(answer([odd]).convertedObjects[0], answer([job('x')]).convertedObjects[0])
  assert.equal(answer([odd], 'mlops.dev/v1beta1').convertedObjects[0].metadata.annotations, undefined)
})

test('integers beyond 2^53 and floats stay what they are', () => {
  const text = JSON.stringify(review([job('x', { status: { cells: [{ index: 0, type: 'Code', outcome: 'Succeeded', durationMilliseconds: 'BIG' }] } })], 'mlops.dev/v1beta1')).replace('"BIG"', '9007199254740993')
  assert.match(answerReview(text, convert).body, /"durationMilliseconds":9007199254740993/)
})

test('one object that cannot be converted fails all of the review, by its name', () => {
  const cases: [unknown, RegExp, string?][] = [
    [{ ...hub, apiVersion: 'mlops.dev/v9' }, /^NotebookValidationJob default\/sample: there is no version mlops\.dev\/v9$/],
    [job('x'), /there is no version mlops\.dev\/v2$/, 'mlops.dev/v2'],
    [job('x'), /cannot become other\.dev\/v1, which is of another group$/, 'other.dev/v1'],
    [{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' } }, /^Pod p: no kind Pod is known in the core group$/],
    [{ ...hub, kind: '__proto__' }, /no kind __proto__ is known in mlops\.dev$/],
    [{ ...hub, metadata: undefined }, /the object has no metadata$/],
    [{ ...hub, metadata: [] }, /the object has no metadata$/],
    [{ ...hub, kind: 7 }, /an object has no apiVersion and kind$/],
    ['text', /an object has no apiVersion and kind$/],
    [null, /an object has no apiVersion and kind$/],
    [alpha({ annotations: { [REMAINDER_ANNOTATION]: '{' } }), /is no JSON: /, 'mlops.dev/v1'],
    [alpha({ annotations: { [REMAINDER_ANNOTATION]: '[]' } }), /is no JSON object$/, 'mlops.dev/v1'],
    [alpha({ annotations: { [REMAINDER_ANNOTATION]: 3 } }), /is no string$/, 'mlops.dev/v1'],
    [alpha({ annotations: { [REMAINDER_ANNOTATION]: '[1]'.repeat(MAX_REMAINDER_BYTES) } }), /has 393216 bytes, more than the 131072/, 'mlops.dev/v1'],
    [alpha({ annotations: { [REMAINDER_ANNOTATION]: '['.repeat(100_000) } }), /is no JSON/, 'mlops.dev/v1'],
    [alpha({ annotations: { [REMAINDER_ANNOTATION]: '{"v1alpha1":{"spec":{"maxRetries":-1}}}' } }), /the annotation yields an object that is not valid: spec\.backoffLimit: Invalid value: -1: spec\.backoffLimit in body should be greater than or equal to 0/, 'mlops.dev/v1'],
  ]
  for (const [object, message, desired] of cases) {
    for (const objects of [[object], [job('first'), object, job('last')]]) {
      const { result, convertedObjects, uid } = answer(objects, desired)
      assert.equal(convertedObjects, undefined)
      assert.equal(uid, 'u1')
      assert.equal(result.status, 'Failure')
      assert.match(result.message, desired === 'mlops.dev/v1' || objects.length === 1 || desired === undefined ? message : /there is no version|cannot become/)
    }
  }
})

test('a remainder that is too large fails the conversion, and so do too many annotations; nothing is dropped', () => {
  const big = job('x', { spec: { ...hub.spec, podTemplate: { ...hub.spec.podTemplate, env: Array.from({ length: 60 }, (_, i) => ({ name: `E${i}`, value: 'v'.repeat(2500) })) } } })
  assert.match(answer([big]).result.message, /^NotebookValidationJob default\/x: what this version cannot show has \d+ bytes, more than the 131072 that the annotation mlops\.dev\/remainder may have$/)
  assert.equal(answer([big], 'mlops.dev/v1beta1').result.status, 'Success')
  const many = job('x', {}, { annotations: { a: 'x'.repeat(262_000) } })
  assert.match(answer([many]).result.message, /the annotations have \d+ bytes, more than the 262144 that an object may have$/)
  assert.equal(answer([many], 'mlops.dev/v1beta1').result.status, 'Success')
})

test('what is no review is refused without an answer of that form', () => {
  for (const body of ['', '{', '[]', 'null', '{}', JSON.stringify({ ...review([]), apiVersion: 'apiextensions.k8s.io/v1beta1' }), JSON.stringify({ ...review([]), kind: 'AdmissionReview' }),
    JSON.stringify({ ...review([]), request: null }), JSON.stringify(review({})), JSON.stringify(review([], '')), JSON.stringify(review([], 7)), '{"__proto__":{"kind":"ConversionReview"}}']) {
    assert.throws(() => answerReview(body, convert), BadReview, body)
  }
})

test('whatever is sent: no answer, a failure, or all objects in their order and with their metadata', () => {
  const junk = fc.jsonValue({ maxDepth: 3 })
  const choices = fc.infiniteStream(fc.nat(40))
  const seeds = [job('x'), alpha(), { ...alpha(), apiVersion: 'mlops.dev/v1beta1' }]
  fc.assert(
    fc.property(fc.array(fc.nat(2), { maxLength: 4 }), fc.constantFrom('mlops.dev/v1', 'mlops.dev/v1alpha1', 'mlops.dev/v1beta1', 'mlops.dev/v2'), junk, choices, (picked, desired, value, choose) => {
      const spoil = (node: unknown): unknown => {
        if (choose.next().value === 0) return value
        if (Array.isArray(node)) return node.map(spoil)
        return typeof node === 'object' && node !== null ? Object.fromEntries(Object.entries(node).map(([key, member]) => [choose.next().value === 0 ? '__proto__' : key, spoil(member)])) : node
      }
      const sent = picked.map((i) => spoil(seeds[i])) as (typeof hub)[]
      for (const objects of [sent, value]) {
        let body: string
        try {
          ;({ body } = answerReview(JSON.stringify(review(objects, desired)), convert))
        } catch (error) {
          assert.ok(error instanceof BadReview, String((error as Error).stack))
          continue
        }
        const { uid, result, convertedObjects } = JSON.parse(body).response
        assert.equal(uid, 'u1')
        if (result.status === 'Failure') {
          assert.ok(convertedObjects === undefined && result.message !== '')
          continue
        }
        assert.equal(convertedObjects.length, (objects as unknown[]).length)
        for (const [i, made] of convertedObjects.entries()) {
          const { annotations: _, ...metadata } = made.metadata
          const { annotations: __, ...before } = JSON.parse(JSON.stringify((objects as (typeof hub)[])[i].metadata))
          assert.deepEqual([made.apiVersion, made.kind, metadata], [desired, (objects as (typeof hub)[])[i].kind, before])
        }
      }
    }),
    { numRuns: 400, seed: 20261130 },
  )
  assert.deepEqual(Object.keys(Object.prototype), [])
})

test('a webhook that would lose data does not start', () => {
  checkConversions(resources, convert)
  const forgetful = (object: Parameters<typeof convert>[0], desired: string) => {
    const made = convert(object, desired)
    return desired.endsWith('v1alpha1') ? { ...made, metadata: hub.metadata } : made
  }
  const suspended = resources.map((resource) => ({ ...resource, samples: [{ hub: resource.samples[0]!.hub.replace('"suspend":false', '"suspend":true') }] }))
  assert.throws(() => checkConversions(suspended, forgetful), /does not come back from .* by way of .*: this webhook would lose data/)
})

let server: TlsServer
let pki: Pki
const stopping = new AbortController()
const directory = mkdtempSync(join(tmpdir(), 'mlops-webhook-'))
before(async () => {
  pki = await ensurePki(directory, { hosts: ['127.0.0.1'], clock: systemClock })
  const handler = createWebhook({ convert, stopping: stopping.signal, metrics: openMetrics({ process: false }), clock: systemClock, log: silentLog })
  server = await serveTls({ ...pki.server, handler, host: '127.0.0.1', port: 0, clock: systemClock, log: silentLog })
})
after(async () => {
  await server.close({ graceMs: 100 })
  rmSync(directory, { recursive: true })
})

function send(method: string, path: string, body: string | Buffer = '', headers: Record<string, string> = {}): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ host: '127.0.0.1', port: server.address.port, method, path, ca: pki.ca, agent: false, headers: { 'content-type': 'application/json', ...headers } }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk)).on('end', () => resolve({ status: response.statusCode ?? 0, text }))
    })
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}

test('over HTTPS: a review, and what is none', async () => {
  const { status, text } = await send('POST', '/convert?timeout=30s', JSON.stringify(review([job('x')])))
  assert.equal(status, 200)
  assert.equal(JSON.parse(text).response.convertedObjects[0].apiVersion, 'mlops.dev/v1alpha1')
  assert.deepEqual(await send('POST', '/convert', 'nonsense').then(({ status: code }) => code), 400)
  assert.deepEqual(await send('GET', '/convert').then(({ status: code }) => code), 405)
  assert.deepEqual(await send('POST', '/convert', '{}', { 'content-type': 'text/plain' }).then(({ status: code }) => code), 415)
  assert.deepEqual(await send('GET', '/elsewhere').then(({ status: code }) => code), 404)
  assert.equal((await send('POST', '/convert', JSON.stringify(review([job('x', { spec: 'x'.repeat(3 << 20) })])))).status, 200)
  const refused = await send('POST', '/convert', '', { 'content-length': String(MAX_REVIEW_BYTES + 1) }).catch((error: NodeJS.ErrnoException) => ({ status: 413, text: error.code }))
  assert.equal(refused.status, 413)
  assert.match((await send('GET', '/metrics')).text, /mlops_conversion_review_objects_total [1-9]/)
})

test('a hostile body of 3 MiB is answered soon', async () => {
  const bodies = [
    JSON.stringify(review(Array.from({ length: 20_000 }, () => ({ ...hub, spec: undefined, metadata: { name: 'x' } })))).slice(0, 3 << 20),
    JSON.stringify(review([alpha({ annotations: { [REMAINDER_ANNOTATION]: '{"a":'.repeat(600_000) } })], 'mlops.dev/v1')),
    '['.repeat(3 << 20),
    `${JSON.stringify(review([])).slice(0, -3)}${'{},'.repeat(1 << 20)}{}]}}`,
    JSON.stringify(review([{ ...hub, spec: { ...hub.spec, podTemplate: { env: Array.from({ length: 100_000 }, () => ({ name: 'A', value: 'b' })) } } }])),
  ]
  for (const body of bodies) {
    const before = process.cpuUsage()
    const { status } = await send('POST', '/convert', body)
    const { user, system } = process.cpuUsage(before)
    assert.ok(status === 200 || status === 400, String(status))
    assert.ok(user + system < 3e6, `${(user + system) / 1e3} ms of CPU for ${body.slice(0, 60)}`)
  }
})

test('one object takes less than 5 ms of CPU, in each direction', () => {
  for (const [object, desired] of [[job('x'), 'mlops.dev/v1alpha1'], [alpha(), 'mlops.dev/v1'], [alpha(), 'mlops.dev/v1beta1']] as const) {
    const body = JSON.stringify(review([object], desired))
    for (let i = 0; i < 200; i++) answerReview(body, convert)
    const begun = process.cpuUsage()
    for (let i = 0; i < 200; i++) answerReview(body, convert)
    const { user, system } = process.cpuUsage(begun)
    assert.ok((user + system) / 200 < 5000, `${(user + system) / 200} µs`)
  }
})

test('readiness fails first', async () => {
  for (const path of ['/healthz', '/livez', '/readyz']) assert.deepEqual(await send('GET', path), { status: 200, text: 'ok' })
  stopping.abort()
  assert.equal((await send('GET', '/readyz')).status, 500)
  assert.equal((await send('GET', '/livez')).status, 200)
  assert.equal((await send('POST', '/convert', JSON.stringify(review([job('x')])))).status, 200)
})
