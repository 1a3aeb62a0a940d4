import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileRules } from '../../api/cel.ts'
import { applyDefaults } from '../../api/default.ts'
import { compileConversion } from '../../api/lens-conversion.ts'
import { findVersion } from '../../api/resource.ts'
import type { Json, JsonObject, KubeObject } from '../../api/object.ts'
import type { ResourceDefinition } from '../../api/resource.ts'
import type { Schema } from '../../api/schema.ts'
import { validateSchema } from '../../api/validate.ts'
import { notebookValidationJobs } from './definition.ts'
import { lenses } from './lenses.ts'
import type { NotebookValidationJobV1 } from './v1.ts'
import type { NotebookValidationJobV1alpha1 } from './v1alpha1.ts'
import type { NotebookValidationJobV1beta1 } from './v1beta1.ts'

const conversion = compileConversion(notebookValidationJobs, lenses)
const schemaOf = (version: string): Schema => findVersion(notebookValidationJobs, version)!.schema

type Job = { apiVersion: string; kind: string; metadata: JsonObject; spec: object; status?: object }

function defaulted(job: Job): KubeObject {
  return applyDefaults(job as KubeObject, schemaOf(job.apiVersion.split('/')[1] as string))
}

const kind = 'NotebookValidationJob'
const metadata = { name: 'train' }

const alpha: NotebookValidationJobV1alpha1 = {
  apiVersion: 'mlops.dev/v1alpha1',
  kind,
  metadata,
  spec: {
    notebook: {
      git: { url: 'https://git.example/ml/nb.git', ref: 'main', path: 'a/train.ipynb', credentialsSecret: 'git-creds' },
      golden: { git: { url: 'https://git.example/ml/nb.git', ref: 'v1.2', path: 'golden/train.ipynb', credentialsSecret: 'git-creds' } },
    },
    podConfig: { containerImage: 'registry.example/nb:2026', serviceAccountName: 'default' },
    timeoutSeconds: 1800,
  },
}

const beta: NotebookValidationJobV1beta1 = {
  apiVersion: 'mlops.dev/v1beta1',
  kind,
  metadata,
  spec: {
    notebook: { git: { url: 'https://git.example/ml/nb.git', ref: 'main', credentialsSecretRef: { name: 'git-creds' } }, path: 'a/train.ipynb' },
    golden: { git: { url: 'https://git.example/ml/nb.git', ref: 'v1.2', credentialsSecretRef: { name: 'git-creds' } }, path: 'golden/train.ipynb' },
    comparisonConfig: { reference: 'Golden', strategy: 'Normalized', floatingPointTolerance: '1e-6' },
    podConfig: { image: 'registry.example/nb:2026', serviceAccountName: 'default' },
    timeoutSeconds: 1800,
  },
}

const final: NotebookValidationJobV1 = {
  apiVersion: 'mlops.dev/v1',
  kind,
  metadata,
  spec: {
    notebook: { git: { url: 'https://git.example/ml/nb.git', revision: 'main', credentialsSecretRef: { name: 'git-creds' } }, path: 'a/train.ipynb' },
    golden: { git: { url: 'https://git.example/ml/nb.git', revision: 'v1.2', credentialsSecretRef: { name: 'git-creds' } }, path: 'golden/train.ipynb' },
    comparison: { reference: 'Golden', mode: 'Normalized', tolerance: { absolute: '1e-6' } },
    podTemplate: { image: 'registry.example/nb:2026', serviceAccountName: 'default' },
    activeDeadlineSeconds: 1800,
  },
}

test('one job in three shapes', () => {
  const hub = defaulted(final)
  assert.deepEqual(conversion.show(hub, 'v1beta1'), defaulted(beta))
  assert.deepEqual(conversion.show(hub, 'v1alpha1'), defaulted(alpha))
  assert.deepEqual(conversion.lift(defaulted(beta), 'v1beta1'), hub)
  assert.deepEqual(conversion.lift(defaulted(alpha), 'v1alpha1', hub), hub)
  const { reference: _, ...comparison } = (hub.spec as { comparison: JsonObject }).comparison
  const created = { ...hub, spec: { ...(hub.spec as JsonObject), comparison: { ...comparison, tolerance: { absolute: '1e-8', relative: '1e-5' } } } }
  assert.deepEqual(conversion.lift(defaulted(alpha), 'v1alpha1'), created)
})

// A value with every field of the schema, none of them as by default.
function everything(schema: Schema, name: string): Json {
  if (schema.enum !== undefined) return schema.enum.findLast((value) => value !== schema.default) as Json
  if (schema['x-kubernetes-int-or-string']) return 3
  if (schema.type === 'array') return [everything(schema.items ?? {}, name)]
  if (schema.type === 'boolean') return schema.default !== true
  if (schema.type === 'integer') return schema.maximum ?? 9007199254740993n
  if (schema.type === 'string') return `${name}-x`
  if (schema.properties !== undefined) return Object.fromEntries(Object.entries(schema.properties).map(([key, property]) => [key, everything(property, key)]))
  if (typeof schema.additionalProperties === 'object') return { cpu: everything(schema.additionalProperties, name), other: everything(schema.additionalProperties, name) }
  return { [name]: [null, 1.5, 9007199254740993n, {}] }
}

function full(): KubeObject {
  const { spec, status } = everything(schemaOf('v1'), '') as JsonObject
  return { apiVersion: 'mlops.dev/v1', kind, metadata, spec: spec as Json, status: status as Json }
}

test('an object with everything set, read, edited and written back through an older version, loses nothing', () => {
  const hub = full()
  for (const version of ['v1alpha1', 'v1beta1']) {
    const shown = conversion.show(hub, version)
    assert.deepEqual(conversion.lift(shown, version, hub), hub, version)
    const annotated = { ...shown, metadata: { ...metadata, annotations: { a: 'b' } } }
    assert.deepEqual(conversion.lift(annotated, version, hub), { ...hub, metadata: { ...metadata, annotations: { a: 'b' } } }, version)
    const lowered = { ...shown, spec: { ...(shown.spec as JsonObject), timeoutSeconds: 60 } }
    assert.deepEqual(conversion.lift(lowered, version, hub), { ...hub, spec: { ...(hub.spec as JsonObject), activeDeadlineSeconds: 60 } }, version)
    assert.deepEqual(conversion.load(conversion.store(hub, version)), hub, version)
  }
})

test('a field that is added to either side of a lens and not mapped stops the start', () => {
  for (const version of ['v1alpha1', 'v1beta1', 'v1']) {
    for (const part of ['spec', 'status'] as const) {
      const schema = schemaOf(version)
      const node = schema.properties?.[part] as Schema
      const grown: Schema = { ...schema, properties: { ...schema.properties, [part]: { ...node, properties: { ...node.properties, brandNew: { type: 'string' } } } } }
      const definition: ResourceDefinition = {
        ...notebookValidationJobs,
        versions: notebookValidationJobs.versions.map((known) => (known.name === version ? { ...known, schema: grown } : known)),
      }
      assert.throws(() => compileConversion(definition, lenses), new RegExp(`${part}\\.brandNew: no operation maps it`), `${version} ${part}`)
    }
  }
})

function spec(object: KubeObject): JsonObject {
  return object.spec as JsonObject
}

function alphaJob(git: JsonObject, golden?: JsonObject): KubeObject {
  const base = { url: 'https://git.example/nb.git', path: 'a.ipynb' }
  const notebook = golden === undefined ? { git: { ...base, ...git } } : { git: { ...base, ...git }, golden: { git: { ...base, ...golden } } }
  return defaulted({ apiVersion: 'mlops.dev/v1alpha1', kind, metadata, spec: { notebook } })
}

function hubJob(more: JsonObject, status?: JsonObject): KubeObject {
  const job = { apiVersion: 'mlops.dev/v1', kind, metadata, spec: { notebook: { git: { url: 'https://git.example/nb.git' }, path: 'a.ipynb' }, ...more } }
  return defaulted(status === undefined ? job : { ...job, status })
}

test('an empty credentialsSecret is an empty name, and an absent one is absent', () => {
  const gitOf = (object: KubeObject): JsonObject => (spec(object).notebook as { git: JsonObject }).git
  const empty = alphaJob({ credentialsSecret: '' })
  const hub = conversion.lift(empty, 'v1alpha1')
  assert.deepEqual(gitOf(hub).credentialsSecretRef, { name: '' })
  assert.deepEqual(conversion.show(hub, 'v1alpha1'), empty)
  assert.equal('credentialsSecretRef' in gitOf(conversion.lift(alphaJob({}), 'v1alpha1')), false)
})

test('golden without a repository of its own', () => {
  const golden = (object: KubeObject): JsonObject => spec(object).golden as JsonObject
  const notebook = { git: { url: 'https://git.example/nb.git', depth: 5, credentialsSecretRef: { name: 's' } }, path: 'a.ipynb' }
  const hub = hubJob({ notebook, golden: { path: 'g.ipynb' } })
  const shown = conversion.show(hub, 'v1alpha1')
  assert.deepEqual(shown, alphaJob({ credentialsSecret: 's' }, { path: 'g.ipynb', credentialsSecret: 's' }))
  assert.deepEqual(conversion.lift(shown, 'v1alpha1', hub), hub)

  const source = { url: 'https://git.example/nb.git', revision: 'main', credentialsSecretRef: { name: 's' }, submodules: 'None', lfs: 'None' }
  // another source is written out, with the depth of the one it was taken from
  const moved = alphaJob({ credentialsSecret: 's' }, { path: 'g.ipynb', ref: 'v2', credentialsSecret: 's' })
  assert.deepEqual(golden(conversion.lift(moved, 'v1alpha1', hub)), { path: 'g.ipynb', git: { ...source, revision: 'v2', depth: 5 } })
  // create writes it out, with defaults
  assert.deepEqual(golden(conversion.lift(shown, 'v1alpha1')), { path: 'g.ipynb', git: { ...source, depth: 1 } })
  // where the original had no golden at all
  assert.deepEqual(golden(conversion.lift(shown, 'v1alpha1', hubJob({ notebook }))), { path: 'g.ipynb' })
  // one that is written out stays so though it says the same
  const explicit = hubJob({ notebook, golden: { path: 'g.ipynb', git: { url: 'https://git.example/nb.git', credentialsSecretRef: { name: 's' } } } })
  assert.deepEqual(conversion.lift(conversion.show(explicit, 'v1alpha1'), 'v1alpha1', explicit), explicit)
})

test('resources: integers, absent keys, further keys and empty maps survive v1alpha1', () => {
  for (const resources of [{ requests: { cpu: 1, 'nvidia.com/gpu': 2 }, limits: {} }, { requests: {}, limits: { cpu: '100m' } }, {}]) {
    const hub = hubJob({ podTemplate: { resources } })
    assert.deepEqual(conversion.lift(conversion.show(hub, 'v1alpha1'), 'v1alpha1', hub), hub)
    assert.deepEqual(conversion.load(conversion.store(hub, 'v1alpha1')), hub)
  }
  const shown = conversion.show(hubJob({ podTemplate: { resources: { requests: { cpu: 1 }, limits: {} } } }), 'v1alpha1')
  assert.deepEqual((spec(shown).podConfig as JsonObject).resources, { requests: { cpu: '1', memory: '2Gi' }, limits: { cpu: '1', memory: '4Gi' } })
})

test('what v1alpha1 would refuse passes through it unchanged: an ssh url, a request above a limit', () => {
  const notebook = { git: { url: 'ssh://git@git.example/nb.git' }, path: 'a.ipynb' }
  const hub = hubJob({ notebook, podTemplate: { resources: { requests: {}, limits: { cpu: '100m' } } } })
  const shown = conversion.show(hub, 'v1alpha1')
  const schema = schemaOf('v1alpha1')
  const rules = compileRules(schema)
  assert.equal(validateSchema(shown, schema).length, 1)
  assert.equal(rules.evaluate(shown, undefined).errors.length, 1)
  const edited = { ...shown, spec: { ...spec(shown), timeoutSeconds: 60 } }
  assert.deepEqual(validateSchema(edited, schema, { old: shown }), [])
  const { errors, warnings } = rules.evaluate(edited, shown)
  assert.deepEqual(errors, [])
  assert.deepEqual(warnings.map((text) => text.split(':')[0]), ['spec.podConfig.resources.requests'])
  assert.deepEqual(conversion.lift(edited, 'v1alpha1', hub), { ...hub, spec: { ...spec(hub), activeDeadlineSeconds: 60 } })
})

const cell = (index: number, outcome: string, more: JsonObject = {}): JsonObject => ({ index, outcome, ...more })
const error = { message: 'ZeroDivisionError: division by zero', name: 'ZeroDivisionError', value: 'division by zero', traceback: 'Traceback …' }

function results(object: KubeObject): JsonObject[] {
  return (object.status as { results: JsonObject[] }).results
}

function cells(object: KubeObject): JsonObject[] {
  return (object.status as { cells: JsonObject[] }).cells
}

test('the verdict of a cell: what ran and compares well is a success', () => {
  const verdicts = (outcome: string, comparison?: string): Json | undefined => {
    const hub = hubJob({}, { cells: [cell(0, outcome, comparison === undefined ? {} : { comparison: { outcome: comparison } })] })
    const shown = conversion.show(hub, 'v1alpha1')
    assert.deepEqual(conversion.lift(shown, 'v1alpha1', hub), hub)
    assert.deepEqual(conversion.load(conversion.store(hub, 'v1alpha1')), hub)
    return results(shown)[0]?.status
  }
  for (const outcome of ['Succeeded', 'Skipped']) {
    for (const comparison of [undefined, 'Matched', 'Ignored']) assert.equal(verdicts(outcome, comparison), 'Success')
    for (const comparison of ['Mismatched', 'Missing', 'Extra']) assert.equal(verdicts(outcome, comparison), 'Failure')
  }
  for (const outcome of ['Failed', 'TimedOut', 'KernelDied', 'NotRun']) assert.equal(verdicts(outcome, 'Matched'), 'Failure')
  const created = conversion.lift({ ...alphaJob({}), status: { results: [{ cellIndex: 0, status: 'Success' }, { cellIndex: 1, status: 'Failure' }] } }, 'v1alpha1')
  assert.deepEqual(cells(created), [cell(0, 'Succeeded'), cell(1, 'Failed')])
})

test('a new result never wears an old traceback', () => {
  const hub = hubJob({}, { cells: [cell(0, 'Succeeded', { id: 'a', output: { text: '1', bytes: 1 } }), cell(1, 'TimedOut', { id: 'b', error })] })
  const shown = conversion.show(hub, 'v1alpha1')
  assert.deepEqual(results(shown), [{ cellIndex: 0, status: 'Success', output: '1' }, { cellIndex: 1, status: 'Failure', error: error.message }])
  const written = (list: JsonObject[]): JsonObject[] => cells(conversion.lift({ ...shown, status: { results: list } }, 'v1alpha1', hub))
  const [first, second] = results(shown) as [JsonObject, JsonObject]
  assert.deepEqual(written([first, { ...second, error: 'NameError' }]), [cells(hub)[0], cell(1, 'Failed', { error: { message: 'NameError' } })])
  assert.deepEqual(written([first, { cellIndex: 1, status: 'Success' }]), [cells(hub)[0], cell(1, 'Succeeded')])
  assert.deepEqual(written([second, first]), [cells(hub)[1], cells(hub)[0]])
  assert.deepEqual(written([{ ...second, cellIndex: 2 }]), [cell(2, 'Failed', { error: { message: error.message } })])
})

test('the status that v1alpha1 does not show stays, and goes with the whole status', () => {
  const conditions = [{ type: 'Succeeded', status: 'Unknown', observedGeneration: 1 }]
  const hub = hubJob({}, { phase: 'Running', reason: 'Running', attempts: 1, conditions, podRef: { name: 'p', uid: 'u' } })
  const shown = conversion.show(hub, 'v1alpha1')
  assert.deepEqual(shown.status, { phase: 'Running', conditions: [{ type: 'Succeeded', status: 'Unknown' }] })
  const failed = [{ type: 'Succeeded', status: 'False' }]
  const after = conversion.lift({ ...shown, status: { phase: 'Failed', conditions: failed } }, 'v1alpha1', hub)
  assert.deepEqual(after.status, { phase: 'Failed', reason: 'Running', attempts: 1, conditions: failed, podRef: { name: 'p', uid: 'u' } })
  const { status: _, ...without } = shown
  assert.equal('status' in conversion.lift(without as KubeObject, 'v1alpha1', hub), false)
  assert.deepEqual(conversion.lift({ ...shown, status: {} }, 'v1alpha1', hub).status, { reason: 'Running', attempts: 1, podRef: { name: 'p', uid: 'u' } })
})

test('values are shared, not copied', () => {
  const hub = full()
  const shown = conversion.show(hub, 'v1beta1')
  assert.equal(spec(shown).podConfig, spec(hub).podTemplate)
  assert.equal(spec(shown).metadataPolicy, spec(hub).metadataPolicy)
  assert.equal(spec(conversion.lift(shown, 'v1beta1', hub)).podTemplate, spec(hub).podTemplate)
  assert.equal(shown.metadata, hub.metadata)
})
