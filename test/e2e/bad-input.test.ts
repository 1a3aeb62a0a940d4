/** Bad input, each with a message that tells a newcomer what is wrong and where; and numbers that must stay what they are. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { systemClock } from '../../src/base/clock.ts'
import { silentLog } from '../../src/base/log.ts'
import { openSqlite } from '../../storage/sqlite.ts'
import { startServer, type Answer, type Harness } from '../harness.ts'
import { alphaJob, job, jobsPath } from '../jobs.ts'
import { temporaryDirectory } from '../product.ts'

const PATH = jobsPath('v1')
const MERGE = 'application/merge-patch+json'
const UNCHECKED = 'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation'

let harness: Harness
before(async () => {
  harness = await startServer()
})
after(() => harness[Symbol.asyncDispose]())

const post = (body: unknown, { query = '', type }: { readonly query?: string; readonly type?: string } = {}) =>
  harness.send('POST', `${PATH}${query}`, { body, ...(type === undefined ? {} : { type }) })

/** The causes of a 422, as `field: message`, without the note that rules were left out. */
function causes({ status, body, text }: Answer): string[] {
  assert.equal(status, 422, text)
  assert.equal(body.reason, 'Invalid')
  const all: { field: string; message: string }[] = body.details.causes
  return all.filter(({ message }) => !message.endsWith(UNCHECKED)).map(({ field, message }) => `${field}: ${message}`)
}

const git = { url: 'https://git.example/ml/nb.git' }
const URL_FORMS = 'must be https://host/path, http://host/path, ssh://host/path or git@host:path'
const CLEAN_PATH = 'must be a clean path relative to the root of the repository, without . or .. segments, backslashes or control characters'

/** A spec and what is said of it. */
const specs: readonly (readonly [string, object, readonly string[]])[] = [
  ['a text for a number', { activeDeadlineSeconds: 'soon' }, ['spec.activeDeadlineSeconds: Invalid value: "string": spec.activeDeadlineSeconds in body must be of type integer: "string"']],
  ['a text for an object', { notebook: 'a.ipynb' }, ['spec.notebook: Invalid value: "string": spec.notebook in body must be of type object: "string"']],
  ['a text for a boolean', { suspend: 'no' }, ['spec.suspend: Invalid value: "string": spec.suspend in body must be of type boolean: "string"']],
  ['an object for a list', { comparison: { normalizers: {} } }, ['spec.comparison.normalizers: Invalid value: "object": spec.comparison.normalizers in body must be of type array: "object"']],
  ['no notebook', { notebook: undefined }, ['spec.notebook: Required value']],
  ['no path', { notebook: { git } }, ['spec.notebook.path: Required value']],
  ['no url', { notebook: { git: {}, path: 'a.ipynb' } }, ['spec.notebook.git.url: Required value']],
  ['an unknown scheme', { notebook: { git: { url: 'ftp://git.example/x' }, path: 'a.ipynb' } }, [`spec.notebook.git.url: Invalid value: "ftp://git.example/x": ${URL_FORMS}`]],
  ['no url at all', { notebook: { git: { url: 'nb' }, path: 'a.ipynb' } }, [`spec.notebook.git.url: Invalid value: "nb": ${URL_FORMS}`]],
  ['white space in a url', { notebook: { git: { url: 'https://git.example/ x' }, path: 'a.ipynb' } }, ['spec.notebook.git.url: Invalid value: "https://git.example/ x": must not contain white space or control characters']],
  ['a password in a url', { notebook: { git: { url: 'https://me:secret@git.example/x' }, path: 'a.ipynb' } }, ['spec.notebook.git.url: Invalid value: "https://me:secret@git.example/x": must not contain a user or a password; name a Secret instead']],
  ['a path out of the repository', { notebook: { git, path: '../a.ipynb' } }, [`spec.notebook.path: Invalid value: "../a.ipynb": ${CLEAN_PATH}`]],
  ['a path that is no notebook', { notebook: { git, path: 'a.py' } }, ['spec.notebook.path: Invalid value: "a.py": must end with .ipynb']],
  ['a deadline that is too short', { activeDeadlineSeconds: 59 }, ['spec.activeDeadlineSeconds: Invalid value: 59: spec.activeDeadlineSeconds in body should be greater than or equal to 60']],
  ['a deadline that is too long', { activeDeadlineSeconds: 86_401 }, ['spec.activeDeadlineSeconds: Invalid value: 86401: spec.activeDeadlineSeconds in body should be less than or equal to 86400']],
  ['a value that is none of the known', { comparison: { mode: 'Fuzzy' } }, ['spec.comparison.mode: Unsupported value: "Fuzzy": supported values: "Exact", "Normalized"']],
  ['a reference without its field', { comparison: { reference: 'Golden' } }, ['spec.comparison.reference: Invalid value: Golden needs spec.golden']],
  ['a request above its limit', { podTemplate: { resources: { requests: { cpu: '3' }, limits: { cpu: '1' } } } }, ['spec.podTemplate.resources.requests: Invalid value: a request must not exceed its limit']],
  ['several at once', { activeDeadlineSeconds: 1, notebook: { git: { url: 'x' }, path: 'a.py' } }, [
    'spec.activeDeadlineSeconds: Invalid value: 1: spec.activeDeadlineSeconds in body should be greater than or equal to 60',
    `spec.notebook.git.url: Invalid value: "x": ${URL_FORMS}`,
    'spec.notebook.path: Invalid value: "a.py": must end with .ipynb',
  ]],
]

describe('a spec that is wrong', () => {
  for (const [name, spec, expected] of specs) {
    test(name, async () => assert.deepEqual(causes(await post(job('bad', { spec }))).toSorted(), [...expected].toSorted()))
  }

  test('in the words of the version that was asked', async () => {
    const answer = await harness.send('POST', jobsPath('v1alpha1'), { body: alphaJob('bad', { spec: { timeoutSeconds: 5 } }) })
    assert.deepEqual(causes(answer), ['spec.timeoutSeconds: Invalid value: 5: spec.timeoutSeconds in body should be greater than or equal to 60'])
    assert.match(String(answer.headers.warning), /v1alpha1 NotebookValidationJob is deprecated; use mlops.dev\/v1 NotebookValidationJob/)
  })

  test('a pattern that does not compile names the mistake', async () => {
    const [cause = ''] = causes(await post(job('bad', { spec: { comparison: { replacements: [{ pattern: '(a', replacement: '' }] } } })))
    assert.match(cause, /^spec.comparison.replacements\[0\].pattern: .*missing closing \).*must be a regular expression in RE2 syntax$/)
  })
})

test('unknown fields: refused, told, or dropped in silence, as the client asks', async () => {
  const body = job('unknown', { spec: { notbook: 1, execution: { retries: 3 } } })
  const strict = await post(body, { query: '?fieldValidation=Strict' })
  assert.equal(strict.status, 400)
  assert.equal(strict.body.message, 'NotebookValidationJob in version "v1" cannot be handled as a NotebookValidationJob: strict decoding error: unknown field "spec.execution.retries", unknown field "spec.notbook"')
  for (const query of ['', '?fieldValidation=Warn', '?fieldValidation=Ignore']) {
    const answer = await post({ ...body, metadata: { name: `unknown-${query.length}` } }, { query })
    assert.equal(answer.status, 201)
    assert.equal(answer.body.spec.notbook ?? answer.body.spec.execution.retries, undefined)
    assert.equal(answer.headers.warning, query.endsWith('Ignore') ? undefined : String.raw`299 - "unknown field \"spec.execution.retries\"", 299 - "unknown field \"spec.notbook\""`)
  }
  const odd = await post(body, { query: '?fieldValidation=Sometimes' })
  assert.match(odd.body.message, /fieldValidation: Unsupported value: "Sometimes": supported values: "", "Ignore", "Strict", "Warn"/)
})

test('duplicate keys are told in JSON and in YAML, and refused when strict', async () => {
  const json = (name: string) => `{"apiVersion":"mlops.dev/v1","kind":"NotebookValidationJob","metadata":{"name":"${name}"},"spec":{"suspend":true,"suspend":false,"notebook":{"git":{"url":"https://a/b"},"path":"a.ipynb"}}}`
  const yaml = (name: string) => `apiVersion: mlops.dev/v1\nkind: NotebookValidationJob\nmetadata: {name: ${name}}\nspec:\n  suspend: true\n  suspend: false\n  notebook: {git: {url: "https://a/b"}, path: a.ipynb}\n`
  const told = await post(json('twice'))
  assert.deepEqual([told.status, told.headers.warning, told.body.spec.suspend], [201, String.raw`299 - "duplicate field \"spec.suspend\""`, false])
  assert.match((await post(json('twice-2'), { query: '?fieldValidation=Strict' })).body.message, /strict decoding error: duplicate field "spec.suspend"$/)
  const inYaml = await post(yaml('twice-yaml'), { type: 'application/yaml' })
  assert.deepEqual([inYaml.status, inYaml.headers.warning], [201, String.raw`299 - "line 6: key \"suspend\" already set in map"`])
  const strict = await post(yaml('twice-yaml-2'), { type: 'application/yaml', query: '?fieldValidation=Strict' })
  assert.equal(strict.status, 400)
  assert.match(strict.body.message, /line 6: key "suspend" already set in map$/)
})

test('broken JSON and YAML say where', async () => {
  const unrecognized = 'the object provided is unrecognized (must be of type NotebookValidationJob): '
  for (const [body, type, message] of [
    ['{"apiVersion": "mlops.dev/v1", kind: }', undefined, "json parse error: invalid character 'k' looking for beginning of object key string"],
    ['{"apiVersion": "mlops.dev/v1"', undefined, 'unexpected end of JSON input'],
    ['', undefined, 'unexpected end of JSON input'],
    ['[]', undefined, 'cannot unmarshal array into Go value'],
    ['kind: [', 'application/yaml', 'yaml: did not find expected'],
    ['apiVersion: mlops.dev/v1\n\tkind: x', 'application/yaml', 'yaml: line 2: found a tab character that violates indentation'],
    ['{"metadata":{"name":"x"}}', undefined, "Object 'Kind' is missing"],
  ] as const) {
    const answer = await post(body, type === undefined ? {} : { type })
    assert.equal(answer.status, 400, body)
    assert.ok(answer.body.message.startsWith(unrecognized) && answer.body.message.includes(message), answer.body.message)
  }
  assert.match((await post('x', { type: 'text/plain' })).body.message, /accepted media types include: application\/json, application\/yaml/)
})

test('names, kinds, versions and namespaces', async () => {
  assert.match(causes(await post(job('x'.repeat(254))))[0] ?? '', /^metadata.name: Invalid value: "x+": must be no more than 253 (characters|bytes)$/)
  assert.match(causes(await post(job('My_Job')))[0] ?? '', /^metadata.name: Invalid value: "My_Job": a lowercase RFC 1123 subdomain must consist of lower case/)
  assert.deepEqual(causes(await post(job(''))), ['metadata.name: Required value: name or generateName is required'])
  assert.deepEqual(causes(await post({ ...job('x'), kind: 'Job' })), ['kind: Invalid value: "Job": must be NotebookValidationJob'])
  assert.equal((await post({ ...job('x'), apiVersion: 'mlops.dev/v2' })).body.message, 'the API version in the data (mlops.dev/v2) does not match the expected API version (mlops.dev/v1)')
  const nowhere = await harness.send('POST', jobsPath('v1', 'nowhere'), { body: job('x') })
  assert.deepEqual([nowhere.status, nowhere.body.message], [404, 'namespaces "nowhere" not found'])
  assert.deepEqual([(await harness.send('GET', `${PATH}/missing`)).body.message], ['notebookvalidationjobs.mlops.dev "missing" not found'])
})

test('a spec does not change, in any version; suspend, ttl and a lower deadline may', async () => {
  const { body: live } = await post(job('fixed'))
  const changed = { ...live, spec: { ...live.spec, backoffLimit: 5, notebook: { ...live.spec.notebook, path: 'b.ipynb' } } }
  assert.deepEqual(causes(await harness.send('PUT', `${PATH}/fixed`, { body: changed })).toSorted(), ['spec.backoffLimit: Invalid value: field is immutable', 'spec.notebook: Invalid value: field is immutable'])
  const patch = (version: string, spec: object) => harness.send('PATCH', `${jobsPath(version)}/fixed`, { body: { spec }, type: MERGE })
  assert.deepEqual(causes(await patch('v1alpha1', { podConfig: { containerImage: 'other' } })), ['spec.podConfig: Invalid value: field is immutable'])
  assert.deepEqual(causes(await patch('v1beta1', { maxRetries: 9 })), ['spec.maxRetries: Invalid value: field is immutable'])
  assert.deepEqual(causes(await patch('v1', { activeDeadlineSeconds: 7200 })), ['spec.activeDeadlineSeconds: Invalid value: may only be lowered'])
  assert.equal((await patch('v1alpha1', { timeoutSeconds: 1800 })).status, 200)
  assert.equal((await patch('v1beta1', { suspend: true, ttlSecondsAfterFinished: 60 })).status, 200)
  const { spec } = (await harness.send('GET', `${PATH}/fixed`)).body
  assert.deepEqual([spec.activeDeadlineSeconds, spec.suspend, spec.ttlSecondsAfterFinished], [1800, true, 60])
})

test('an integer over 2^53 is kept to the digit: through every version, edits and a restart', async () => {
  using directory = temporaryDirectory('int64-')
  const open = () => openSqlite({ directory: join(directory.path, 'store'), clock: systemClock, log: silentLog })
  const number = '9007199254740993'
  const smallest = '-9223372036854775808'
  const value = `{"id":${number},"list":[${smallest},1.5,1e3]}`
  const path = (version: string) => `${jobsPath(version)}/exact`
  const holds = async (server: Harness) => {
    for (const [version, accept] of [['v1', 'application/json'], ['v1beta1', 'application/json'], ['v1', 'application/yaml']] as const) {
      const { text } = await server.send('GET', path(version), { headers: { accept } })
      assert.ok(text.includes(number) && text.includes(smallest), `${version} ${accept}: ${text}`)
    }
  }
  {
    await using server = await startServer({ backend: await open() })
    const body = JSON.stringify(job('exact', { spec: { execution: { parameters: [{ name: 'p', value: 'VALUE' }] } } })).replace('"VALUE"', value)
    const created = await server.send('POST', PATH, { body })
    assert.equal(created.status, 201, created.text)
    assert.ok(created.text.includes(number))
    await holds(server)
    // An edit through a version that cannot show it.
    assert.equal((await server.send('PATCH', path('v1alpha1'), { type: MERGE, body: { metadata: { labels: { a: 'b' } } } })).status, 200)
    assert.equal((await server.send('PATCH', path('v1'), { type: 'application/json-patch+json', body: [{ op: 'add', path: '/metadata/labels/c', value: 'd' }] })).status, 200)
    const text = (await server.send('GET', path('v1beta1'))).text
    assert.equal((await server.send('PUT', path('v1beta1'), { body: text })).status, 200)
    await holds(server)
    const neighbour = await server.send('PUT', path('v1'), { body: (await server.send('GET', path('v1'))).text.replace(number, '9007199254740992') })
    assert.deepEqual(causes(neighbour), ['spec.execution: Invalid value: field is immutable'])
  }
  await using server = await startServer({ backend: await open() })
  await holds(server)
})
