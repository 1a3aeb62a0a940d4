import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileRules } from '../../api/cel.ts'
import { applyDefaults } from '../../api/default.ts'
import type { Json, JsonObject, KubeObject } from '../../api/object.ts'
import { notebookValidationJobs } from './definition.ts'

const versions = Object.fromEntries(
  notebookValidationJobs.versions.map(({ name, schema }) => [name, { schema, rules: compileRules(schema) }]),
)

function job(version: string, spec: JsonObject, status?: JsonObject): KubeObject {
  const notebook =
    version === 'v1alpha1'
      ? { git: { url: 'https://git.example/nb.git', path: 'a.ipynb' } }
      : { git: { url: 'https://git.example/nb.git' }, path: 'a.ipynb' }
  const object = { apiVersion: `mlops.dev/${version}`, kind: 'NotebookValidationJob', metadata: { name: 'a' }, spec: { notebook, ...spec } }
  return applyDefaults(status === undefined ? object : { ...object, status }, versions[version]!.schema)
}

// What the rules of a version say: the field, and the message.
function faults(object: KubeObject, old?: KubeObject): string[] {
  const version = object.apiVersion.split('/')[1] as string
  const { errors } = versions[version]!.rules.evaluate(object, old)
  return errors.map(({ field, body }) => `${field}: ${body.replace(/^Invalid value: (?:"(?:[^"\\]|\\.)*": |-?\d+: )?/, '')}`).toSorted()
}

// Whether a version refuses a notebook with this part in place.
function refused(version: string, part: { url?: string; revision?: string; path?: string }): boolean {
  const { url = 'https://git.example/nb.git', revision = 'main', path = 'a.ipynb' } = part
  const git = { v1alpha1: { url, ref: revision, path }, v1beta1: { url, ref: revision }, v1: { url, revision } }[version] as JsonObject
  return faults(job(version, { notebook: version === 'v1alpha1' ? { git } : { git, path } })).length > 0
}

const everywhere = ['v1alpha1', 'v1beta1', 'v1']

function table(part: 'url' | 'revision' | 'path', good: readonly string[], bad: readonly string[]): void {
  test(`rules of ${part}, the same in all versions`, () => {
    for (const version of everywhere) {
      for (const value of good) assert.ok(!refused(version, { [part]: value }), `${version} refuses ${JSON.stringify(value)}`)
      for (const value of bad) assert.ok(refused(version, { [part]: value }), `${version} accepts ${JSON.stringify(value)}`)
    }
  })
}

table(
  'url',
  ['https://git.example/ml/nb.git', 'http://localhost:8080/x', 'ssh://git@git.example:22/ml/nb.git', 'ssh://git.example/nb', 'git@git.example:ml/nb.git', 'https://[::1]/x', 'https://git.example/a@b'],
  [
    '', 'git.example/nb', 'ftp://git.example/nb', 'file:///etc', '-https://git.example', 'ext::sh -c x', 'https://', 'https:///git.example/x',
    'https://user@git.example/nb', 'https://user:secret@git.example/nb', 'https://:secret@git.example/nb', 'ssh://git:secret@git.example/nb', 'ssh://root@git.example/nb',
    'https://u:p\\@git.example/nb', 'https://u:p#@git.example/nb', 'https://git.example/a b', 'https://git.example/a\tb', 'https://git.example/\n', 'https://git.example/\u0000',
    'https://git.example/a\u00a0b', 'ssh://-oProxyCommand=x/y', 'ssh://git@-oProxyCommand=x/y', 'git@-x:y', 'git@git.example:-x', 'user@git.example:nb',
  ],
)

table(
  'revision',
  ['main', 'v1.2', 'feature/a-b', 'refs/heads/main', 'refs/tags/v1', '0123456789abcdef0123456789abcdef01234567', 'ä', 'a@b', 'HEAD'],
  ['-x', '--upload-pack=x', '/a', 'a/', 'a.', 'a..b', 'a//b', '.a', 'a/.b', 'a.lock', 'a.lock/b', '@', 'a@{1}', 'a b', 'a~1', 'a^', 'a:b', 'a?', 'a*', 'a[', 'a\\b', 'a\n', 'a\u007f'],
)

table(
  'path',
  ['a.ipynb', 'a/b c.ipynb', 'ä.ipynb', 'a..b.ipynb', '.hidden/a.ipynb', 'a/...ipynb'],
  ['', 'a.py', 'a.ipynb/', '/a.ipynb', '-a.ipynb', '../a.ipynb', 'a/../b.ipynb', './a.ipynb', 'a/./b.ipynb', 'a//b.ipynb', 'a\\b.ipynb', 'a\nb.ipynb', 'a\u0000.ipynb', 'a.ipynb\n'],
)

const pods = [['v1', 'podTemplate'], ['v1beta1', 'podConfig']] as const

function podFaults(pod: JsonObject): string[] {
  const [v1, v1beta1] = pods.map(([version, field]) => faults(job(version, { [field]: pod })).map((text) => text.replace(`spec.${field}.`, '')))
  assert.deepEqual(v1, v1beta1)
  return v1 ?? []
}

test('requests do not exceed limits, whatever way they are written', () => {
  const fault = ['resources.requests: a request must not exceed its limit']
  const resources = (requests: JsonObject, limits: JsonObject): string[] => podFaults({ resources: { requests, limits } })
  assert.deepEqual(resources({ cpu: '2' }, { cpu: '1' }), fault)
  assert.deepEqual(resources({ cpu: 2 }, { cpu: '1500m' }), fault)
  assert.deepEqual(resources({ memory: '1Gi' }, { memory: 1073741823 }), fault)
  assert.deepEqual(resources({ 'example.com/gpu': 2 }, { 'example.com/gpu': 1, cpu: 1 }), fault)
  assert.deepEqual(resources({ cpu: '1', memory: '1Gi', 'example.com/gpu': 1 }, { cpu: 1, memory: 1073741824 }), [])
  assert.deepEqual(resources({}, {}), [])
  assert.deepEqual(podFaults({ resources: { limits: { memory: '1Gi' } } }), fault)
  for (const [requests, limits, expected] of [[{ cpu: '2' }, {}, 1], [{ cpu: '1' }, {}, 0], [{}, { memory: '1Gi' }, 1], [{ cpu: '2' }, { cpu: '2000m' }, 0]] as const) {
    const found = faults(job('v1alpha1', { podConfig: { resources: { requests, limits } } }))
    assert.deepEqual(found, expected === 1 ? ['spec.podConfig.resources.requests: a request must not exceed its limit'] : [])
  }
})

test('a quantity is one and is not negative', () => {
  const message = 'must be a quantity that is not negative'
  for (const bad of ['-1', '-1Gi', -1, '1e3.5']) {
    assert.deepEqual(podFaults({ resources: { limits: { 'example.com/x': bad } } }), [`resources.limits[example.com/x]: ${message}`], String(bad))
    if (typeof bad !== 'string') continue
    const [fault] = faults(job('v1alpha1', { podConfig: { resources: { requests: { cpu: bad } } } }))
    assert.equal(fault, `spec.podConfig.resources.requests.cpu: ${message}`)
  }
  for (const good of ['0', 0, '1e3', '.5', '+1', '1.', '12345678901234567890Ei']) assert.deepEqual(podFaults({ resources: { limits: { 'example.com/x': good } } }), [], String(good))
})

test('reserved names are refused', () => {
  assert.deepEqual(podFaults({ env: [{ name: 'MLOPS_TOKEN', value: 'x' }, { name: 'A' }], envFrom: [{ prefix: 'MLOPS_' }] }), [
    'envFrom[0].prefix: names that begin with MLOPS_ are reserved',
    'env[0].name: names that begin with MLOPS_ are reserved',
  ])
  assert.deepEqual(podFaults({ metadata: { labels: { 'mlops.dev/job': 'x', app: 'y' }, annotations: { 'mlops.dev/x': '' } } }), [
    'metadata.annotations: keys under mlops.dev/ are reserved',
    'metadata.labels: keys under mlops.dev/ are reserved',
  ])
  assert.deepEqual(podFaults({ volumes: [{ name: 'mlops-work', emptyDir: {} }] }), ['volumes[0].name: names that begin with mlops- are reserved'])
})

test('mounts are clean, outside of what is reserved, and have a volume', () => {
  const mount = (mountPath: string, name = 'data'): string[] => podFaults({ volumes: [{ name: 'data', emptyDir: {} }], volumeMounts: [{ name, mountPath }] })
  for (const good of ['/data', '/mlopsy', '/a/mlops', '/home/jovyan']) assert.deepEqual(mount(good), [], good)
  for (const bad of ['/mlops', '/mlops/x']) assert.deepEqual(mount(bad), ['volumeMounts[0].mountPath: paths under /mlops are reserved'])
  for (const bad of ['', 'data', '/', '//mlops', '/./mlops', '/x/../mlops', '/a//b', '/a/..', '/a:b']) {
    assert.deepEqual(mount(bad), ['volumeMounts[0].mountPath: must be a clean absolute path below /'], bad)
  }
  assert.deepEqual(mount('/data', 'other'), ['volumeMounts: each must name an entry of volumes'])
  assert.deepEqual(podFaults({ volumeMounts: [{ name: 'data', mountPath: '/data' }] }), ['volumeMounts: each must name an entry of volumes'])
})

test('a volume has exactly one source', () => {
  const fault = ['volumes[0]: must have exactly one source: persistentVolumeClaim, configMap, secret, emptyDir or projected']
  assert.deepEqual(podFaults({ volumes: [{ name: 'a' }] }), fault)
  assert.deepEqual(podFaults({ volumes: [{ name: 'a', emptyDir: {}, secret: { secretName: 'x' } }] }), fault)
  for (const source of [{ emptyDir: {} }, { secret: { secretName: 'x' } }, { configMap: { name: 'x' } }, { persistentVolumeClaim: { claimName: 'x' } }, { projected: { sources: [] } }]) {
    assert.deepEqual(podFaults({ volumes: [{ name: 'a', ...source }] }), [])
  }
})

test('the comparison: patterns compile, tolerances are finite, Golden needs golden', () => {
  const golden = { path: 'golden.ipynb' }
  assert.deepEqual(faults(job('v1', { comparison: { reference: 'Golden' } })), ['spec.comparison.reference: Golden needs spec.golden'])
  assert.deepEqual(faults(job('v1beta1', { comparisonConfig: { reference: 'Golden' } })), ['spec.comparisonConfig.reference: Golden needs spec.golden'])
  assert.deepEqual(faults(job('v1', { golden, comparison: { reference: 'Golden', tolerance: { absolute: '9'.repeat(200), relative: '0'.repeat(300) } } })), [])
  assert.deepEqual(faults(job('v1', { comparison: { tolerance: { absolute: `1${'0'.repeat(400)}` } } })), ['spec.comparison.tolerance.absolute: must be finite'])
  for (const pattern of ['', 'a+', '(?i)x', '\\d{4}-\\d\\d', '\\p{L}']) {
    assert.deepEqual(faults(job('v1', { comparison: { replacements: [{ pattern, replacement: '' }] } })), [], pattern)
  }
  for (const pattern of ['(', 'a**', '(?=x)', '\\1', '[', 'x{1001}']) {
    const [fault, ...more] = faults(job('v1', { comparison: { replacements: [{ pattern, replacement: '' }] } }))
    assert.match(fault ?? 'accepted', /^spec\.comparison\.replacements\[0\]\.pattern: .*must be a regular expression in RE2 syntax$/s, pattern)
    assert.deepEqual(more, [])
  }
})

// A change of each property of spec, by version.
const changes: { [version: string]: { [field: string]: Json } } = {
  v1alpha1: { notebook: { git: { url: 'https://git.example/nb.git', ref: 'other', path: 'a.ipynb' } }, podConfig: { containerImage: 'other' } },
  v1beta1: {
    notebook: { git: { url: 'https://git.example/nb.git', depth: 2 }, path: 'a.ipynb' }, golden: { path: 'b.ipynb' }, metadataPolicy: {},
    comparisonConfig: { images: 'Exact' }, kernelName: 'python3', parameters: [{ name: 'a', value: null }], cellTimeoutSeconds: 5,
    startupTimeoutSeconds: 61, errorPolicy: 'Continue', allowedErrorNames: [], expectedErrors: 'Optional', failOn: ['Stderr'],
    workingDirectory: 'RepositoryRoot', podConfig: { env: [] }, maxRetries: 3, imagePullTimeoutSeconds: 0, results: { outputPolicy: 'None' },
  },
  v1: {
    notebook: { git: { url: 'https://git.example/nb.git', lfs: 'Fetch' }, path: 'a.ipynb' }, golden: { path: 'b.ipynb' }, metadataPolicy: {},
    comparison: { ignore: { cellIDs: ['x'] } }, execution: { parameters: [{ name: 'a', value: [] }] }, podTemplate: { affinity: {} },
    backoffLimit: 0, imagePullTimeoutSeconds: 0, results: { maxOutputBytes: 1 },
  },
}

const mutable: { [version: string]: string[] } = { v1alpha1: ['timeoutSeconds'], v1beta1: ['timeoutSeconds', 'suspend', 'ttlSecondsAfterFinished'], v1: ['activeDeadlineSeconds', 'suspend', 'ttlSecondsAfterFinished'] }

test('every property of spec is immutable, added, changed or removed, unless it is named as mutable', () => {
  for (const version of everywhere) {
    const properties = Object.keys(versions[version]!.schema.properties?.spec?.properties ?? {})
    assert.deepEqual(properties.toSorted(), [...Object.keys(changes[version] ?? {}), ...(mutable[version] ?? [])].toSorted(), version)
    const before = job(version, {})
    for (const [field, value] of Object.entries(changes[version] ?? {})) {
      const after = job(version, { [field]: value })
      const expected = [`spec.${field}: field is immutable`]
      assert.deepEqual(faults(after, before), expected, `${version} ${field}`)
      assert.deepEqual(faults(before, after), expected, `${version} ${field}`)
      assert.deepEqual(faults(after, after), [], `${version} ${field}`)
    }
  }
})

test('the deadline may only be lowered; suspend and ttlSecondsAfterFinished may change', () => {
  for (const [version, field] of [['v1alpha1', 'timeoutSeconds'], ['v1beta1', 'timeoutSeconds'], ['v1', 'activeDeadlineSeconds']] as const) {
    const [high, low] = [job(version, {}), job(version, { [field]: 60 })]
    assert.deepEqual(faults(low, high), [])
    assert.deepEqual(faults(high, low), [`spec.${field}: may only be lowered`])
  }
  assert.deepEqual(faults(job('v1', { suspend: true, ttlSecondsAfterFinished: 0 }), job('v1', {})), [])
  assert.deepEqual(faults(job('v1', {}), job('v1', { suspend: true, ttlSecondsAfterFinished: 0 })), [])
})

test('immutability ignores the order of sets and of maps by key, and sees that of atomic lists', () => {
  const spec = (names: string[]): KubeObject => job('v1', { execution: { failOn: names, parameters: names.map((name) => ({ name, value: name })) } })
  assert.deepEqual(faults(spec(['Stderr', 'NoCodeCells']), spec(['NoCodeCells', 'Stderr'])), [])
  const tolerations = (keys: string[]): KubeObject => job('v1', { podTemplate: { tolerations: keys.map((key) => ({ key })) } })
  assert.deepEqual(faults(tolerations(['a', 'b']), tolerations(['b', 'a'])), ['spec.podTemplate: field is immutable'])
})

test('v1beta1: flat fields need the field that v1 has around them', () => {
  const counts = { total: 1, code: 1, succeeded: 1, failed: 0, skipped: 0, notRun: 0 }
  const status = (value: JsonObject): string[] => faults(job('v1beta1', {}, value))
  assert.deepEqual(status({ validationPodUID: 'x' }), ['status: validationPodUID needs validationPodName'])
  assert.deepEqual(status({ summary: counts }), ['status: summary and comparisonResult need each other'])
  assert.deepEqual(status({ summary: counts, comparisonResult: { matchedCells: 0, mismatchedCells: 0, ignoredCells: 0 } }), [])
  const cell = (value: JsonObject): string[] => status({ cellResults: [{ cellIndex: 0, status: 'Failed', ...value }] })
  assert.deepEqual(cell({ outputBytes: 1 }), ['status.cellResults[0]: outputBytes and outputTruncated need output'])
  assert.deepEqual(cell({ traceback: '' }), ['status.cellResults[0]: errorName, errorValue and traceback need errorMessage'])
  assert.deepEqual(cell({ output: '', outputTruncated: false, errorMessage: '', errorName: '' }), [])
})
