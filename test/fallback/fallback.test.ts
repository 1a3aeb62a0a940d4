/** The CustomResourceDefinition on a real kube-apiserver, converted by the webhook: nothing is lost, and nothing is smuggled in. */
import assert from 'node:assert/strict'
import { loadavg } from 'node:os'
import { after, before, test } from 'node:test'
import { REMAINDER_ANNOTATION } from '../../src/webhook/remainder.ts'
import { openHttp2 } from '../http-client.ts'
import { kubectl } from '../kubectl.ts'
import { JOBS, startFallback, type Fallback } from './fallback.ts'

let fallback: Fallback
before(async () => {
  fallback = await startFallback()
}, { timeout: 600_000 })
after(async () => await fallback[Symbol.asyncDispose]())

const v1 = (name: string, spec: object = {}) => ({
  apiVersion: 'mlops.dev/v1', kind: 'NotebookValidationJob', metadata: { name, namespace: 'default' },
  spec: { notebook: { git: { url: 'https://git.example/ml/nb.git', revision: 'main' }, path: 'a/train.ipynb' }, suspend: true, backoffLimit: 5, comparison: { mode: 'Exact', tolerance: { absolute: '1e-3' } }, ...spec },
})
const alpha = (name: string) => ({
  apiVersion: 'mlops.dev/v1alpha1', kind: 'NotebookValidationJob', metadata: { name, namespace: 'default' },
  spec: { notebook: { git: { url: 'https://git.example/ml/nb.git', ref: 'main', path: 'a/train.ipynb' } } },
})

async function ok(method: string, path: string, body?: unknown, type?: string, status = method === 'POST' ? 201 : 200) {
  const answer = await fallback.plane.send(method, path, { ...(body === undefined ? {} : { body }), ...(type === undefined ? {} : { type }) })
  assert.equal(answer.status, status, `${method} ${path}: ${answer.text}`)
  return answer.body
}
const get = (version: string, name: string) => ok('GET', JOBS(version, name))
const merge = (version: string, name: string, body: unknown) => ok('PATCH', JOBS(version, name), body, 'application/merge-patch+json')

test('a job goes through three versions and loses nothing', async () => {
  const made = await ok('POST', JOBS('v1'), v1('whole'))
  const shown = await get('v1alpha1', 'whole')
  assert.equal(shown.spec.notebook.git.ref, 'main')
  assert.equal(shown.spec.backoffLimit, undefined)
  assert.match(shown.metadata.annotations[REMAINDER_ANNOTATION], /"suspend":true/)
  assert.equal((await get('v1beta1', 'whole')).spec.maxRetries, 5)
  // Read and written back, it is no change.
  assert.equal((await ok('PUT', JOBS('v1alpha1', 'whole'), shown)).metadata.resourceVersion, made.metadata.resourceVersion)
  await merge('v1alpha1', 'whole', { metadata: { labels: { team: 'ml' } }, spec: { timeoutSeconds: 600 } })
  const after = await get('v1', 'whole')
  assert.deepEqual(after.spec, { ...made.spec, activeDeadlineSeconds: 600 })
  assert.equal(after.metadata.annotations, undefined)
  assert.deepEqual([after.metadata.uid, after.metadata.generation, after.metadata.labels], [made.metadata.uid, 2, { team: 'ml' }])
})

test('what a cell hides is kept while its visible part is unchanged, through /status too', async () => {
  await ok('POST', JOBS('v1'), v1('cells'))
  const cells = [{ index: 0, type: 'Code', outcome: 'Skipped' }, { index: 1, id: 'b', type: 'Code', outcome: 'Succeeded', output: { text: '2', bytes: 1, truncated: false }, comparison: { outcome: 'Mismatched' } }]
  await ok('PATCH', `${JOBS('v1', 'cells')}/status`, { status: { phase: 'Failed', reason: 'OutputMismatch', cells } }, 'application/merge-patch+json')
  const { status } = await get('v1alpha1', 'cells')
  assert.deepEqual(status.results, [{ cellIndex: 0, status: 'Success' }, { cellIndex: 1, status: 'Failure', output: '2' }])
  await ok('PATCH', `${JOBS('v1alpha1', 'cells')}/status`, { status: { results: [status.results[0], { cellIndex: 1, status: 'Failure', output: '3' }] } }, 'application/merge-patch+json')
  const after = (await get('v1', 'cells')).status
  assert.deepEqual([after.reason, after.cells], ['OutputMismatch', [cells[0], { index: 1, outcome: 'Failed', output: { text: '3' } }]])
})

test('the policy refuses an annotation that is not the live one, and one on an object that has none', async () => {
  await ok('POST', JOBS('v1'), v1('guarded'))
  const shown = await get('v1alpha1', 'guarded')
  const refusals = [
    () => ok('PUT', JOBS('v1alpha1', 'guarded'), { ...shown, metadata: { ...shown.metadata, annotations: {} } }, undefined, 422),
    () => ok('PATCH', JOBS('v1alpha1', 'guarded'), { metadata: { annotations: { [REMAINDER_ANNOTATION]: null } } }, 'application/merge-patch+json', 422),
    () => ok('PATCH', JOBS('v1alpha1', 'guarded'), { metadata: { annotations: { [REMAINDER_ANNOTATION]: '{"v1alpha1":{"spec":{"suspend":false}}}' } } }, 'application/merge-patch+json', 422),
    () => ok('PATCH', JOBS('v1', 'guarded'), { metadata: { annotations: { [REMAINDER_ANNOTATION]: '{}' } } }, 'application/merge-patch+json', 422),
    () => ok('PATCH', JOBS('v1beta1', 'guarded'), { metadata: { annotations: { [REMAINDER_ANNOTATION]: '{}' } } }, 'application/merge-patch+json', 422),
  ]
  for (const refused of refusals) assert.match((await refused()).message, /the annotation mlops\.dev\/remainder holds what this version cannot show: send it as it was read, patch the object, or write through v1/)
  assert.equal((await get('v1', 'guarded')).spec.suspend, true)
})

test('an annotation on a new object is input: what it yields must be valid', async () => {
  const withRemainder = (name: string, remainder: unknown) => ({ ...alpha(name), metadata: { ...alpha(name).metadata, annotations: { [REMAINDER_ANNOTATION]: JSON.stringify(remainder) } } })
  await ok('POST', JOBS('v1alpha1'), withRemainder('copied', { v1alpha1: { spec: { suspend: true, unheardOf: 1 } } }))
  const { spec, metadata } = await get('v1', 'copied')
  assert.deepEqual([spec.suspend, spec.unheardOf, metadata.annotations], [true, undefined, undefined])
  const refused = await ok('POST', JOBS('v1alpha1'), withRemainder('smuggled', { v1alpha1: { spec: { maxRetries: 1000 } } }), undefined, 500)
  assert.match(refused.message, /conversion webhook for mlops\.dev\/v1alpha1, Kind=NotebookValidationJob failed: NotebookValidationJob default\/smuggled: the annotation yields an object that is not valid: spec\.backoffLimit/)
  await ok('GET', JOBS('v1', 'smuggled'), undefined, undefined, 404)
})

test('kubectl reads, applies, edits and deletes in any version', async () => {
  const run = kubectl('35', fallback.plane.kubeconfig)
  const must = async (args: string[], input?: string): Promise<string> => {
    const { code, stdout, stderr } = await run(args, input)
    assert.equal(code, 0, `${args.join(' ')}: ${stderr}`)
    return stdout
  }
  await ok('POST', JOBS('v1'), v1('tool'))
  await must(['apply', '--server-side', '--force-conflicts', '-f', '-'], JSON.stringify(alpha('tool')))
  await must(['apply', '-f', '-'], JSON.stringify({ ...alpha('tool'), metadata: { ...alpha('tool').metadata, labels: { a: 'b' } } }))
  const job = JSON.parse(await must(['get', 'nvj', 'tool', '-o', 'json']))
  assert.deepEqual([job.apiVersion, job.spec.suspend, job.spec.backoffLimit, job.metadata.labels], ['mlops.dev/v1', true, 5, { a: 'b' }])
  assert.match(await must(['get', 'notebookvalidationjobs.v1alpha1.mlops.dev']), /^NAME /)
  assert.match(await must(['explain', 'nvj.spec', '--api-version', 'mlops.dev/v1beta1']), /comparisonConfig/)
  await must(['delete', 'notebookvalidationjobs.v1beta1.mlops.dev', 'tool'])
})

test('how long the answer of a review takes is told, and counted by the webhook', async (t) => {
  await ok('POST', JOBS('v1'), v1('timed'))
  const { url, pki } = { url: new URL(fallback.webhookUrl), pki: fallback.plane.pki }
  const body = JSON.stringify({ apiVersion: 'apiextensions.k8s.io/v1', kind: 'ConversionReview', request: { uid: 'u', desiredAPIVersion: 'mlops.dev/v1', objects: [await get('v1alpha1', 'timed')] } })
  using client = openHttp2(url.origin, { ca: pki.ca, cert: pki.admin.cert, key: pki.admin.key })
  const times: number[] = []
  for (let i = 0; i < 600; i++) {
    const begun = performance.now()
    assert.equal((await client.send('POST', '/convert', { body })).status, 200)
    if (i >= 100) times.push(performance.now() - begun)
  }
  times.sort((a, b) => a - b)
  const at = (share: number): number => times[Math.floor(times.length * share)]!
  const metrics = (await client.send('GET', '/metrics')).text
  const total = Number(/duration_seconds_sum\{result="success"\} (\S+)/.exec(metrics)?.[1]) / Number(/duration_seconds_count\{result="success"\} (\S+)/.exec(metrics)?.[1])
  t.diagnostic(`a review of one object: p50 ${at(0.5).toFixed(2)} ms, p99 ${at(0.99).toFixed(2)} ms on the wire; ${(total * 1000).toFixed(2)} ms in the webhook on average; load ${loadavg()[0]!.toFixed(1)}`)
  assert.ok(total > 0)
})

test('a webhook that is away is an error, never another object; then all goes on', async () => {
  await ok('POST', JOBS('v1'), v1('away'))
  await ok('POST', JOBS('v1'), v1('left'))
  await fallback.stopWebhook()
  assert.equal((await get('v1', 'away')).spec.backoffLimit, 5)
  // What collects garbage and empties namespaces uses the preferred version, which is the stored one.
  await ok('DELETE', JOBS('v1', 'left'))
  assert.match((await ok('GET', JOBS('v1alpha1', 'away'), undefined, undefined, 500)).message, /conversion webhook for mlops\.dev\/v1, Kind=NotebookValidationJob failed/)
  await fallback.startWebhook()
  assert.equal((await get('v1alpha1', 'away')).spec.notebook.git.ref, 'main')
})
