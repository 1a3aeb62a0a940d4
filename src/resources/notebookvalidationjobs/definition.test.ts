import assert from 'node:assert/strict'
import { test } from 'node:test'
import { applyDefaults } from '../../api/default.ts'
import type { JsonObject } from '../../api/object.ts'
import { prune } from '../../api/prune.ts'
import { findVersion } from '../../api/resource.ts'
import type { Schema } from '../../api/schema.ts'
import { validateSchema } from '../../api/validate.ts'
import { notebookValidationJobs } from './definition.ts'

const { versions } = notebookValidationJobs
const schemaOf = (version: string): Schema => findVersion(notebookValidationJobs, version)!.schema

function visit(schema: Schema, path: string, see: (schema: Schema, path: string) => void): void {
  see(schema, path)
  for (const [name, property] of Object.entries(schema.properties ?? {})) visit(property, `${path}.${name}`, see)
  if (schema.items !== undefined) visit(schema.items, `${path}[]`, see)
  if (typeof schema.additionalProperties === 'object') visit(schema.additionalProperties, `${path}.*`, see)
}

test('the definition as a manifest stays under 200 KiB', () => {
  assert.ok(JSON.stringify(notebookValidationJobs).length < 200 * 1024)
})

test('one storage version, and v1alpha1 alone is deprecated', () => {
  assert.deepEqual(versions.filter((version) => version.storage).map((version) => version.name), ['v1'])
  assert.deepEqual(versions.filter((version) => version.deprecated).map((version) => version.name), ['v1alpha1'])
  assert.ok(versions.every((version) => version.served))
})

test('everything in spec is bounded, for the cost of rules; nothing in status has a default', () => {
  for (const version of versions) {
    visit(version.schema.properties?.spec ?? {}, 'spec', (schema, path) => {
      if (schema.type === 'string') assert.ok(schema.maxLength !== undefined || schema.enum !== undefined, `${version.name} ${path}`)
      if (schema.type === 'array') assert.ok(schema.maxItems !== undefined && schema['x-kubernetes-list-type'] !== undefined, `${version.name} ${path}`)
      if (schema.additionalProperties !== undefined) assert.ok(schema.maxProperties !== undefined, `${version.name} ${path}`)
    })
    visit(version.schema.properties?.status ?? {}, 'status', (schema, path) => {
      assert.equal(schema.default, undefined, `${version.name} ${path}`)
      assert.notEqual(schema.type, 'number', `${version.name} ${path}`)
      if (schema.type === 'array') assert.notEqual(schema['x-kubernetes-list-type'], undefined, `${version.name} ${path}`)
    })
  }
})

test('the keys of lists by key are required scalars', () => {
  for (const version of versions) {
    visit(version.schema, '', (schema, path) => {
      for (const key of schema['x-kubernetes-list-map-keys'] ?? []) {
        assert.ok(schema.items?.required?.includes(key), `${version.name} ${path} ${key}`)
        assert.equal(schema.items?.properties?.[key]?.type, 'string', `${version.name} ${path} ${key}`)
      }
    })
  }
})

test('columns and selectable fields name fields of their version', () => {
  for (const version of versions) {
    const paths = new Set<string>(['.metadata.creationTimestamp'])
    visit(version.schema, '', (_, path) => paths.add(path))
    for (const { jsonPath } of [...(version.additionalPrinterColumns ?? []), ...(version.selectableFields ?? [])]) {
      assert.ok(paths.has(jsonPath), `${version.name} ${jsonPath}`)
    }
  }
  assert.deepEqual(versions.map((version) => version.additionalPrinterColumns?.map((column) => column.name + (column.priority ? '*' : '')).join(' ')), [
    'Status Notebook Cells Mismatched Duration Age Commit* Pod* Message*',
    'Status Notebook Cells Mismatched Duration Age Commit* Pod* Message*',
    'Phase Age',
  ])
})

const git = { url: 'https://git.example/nb.git' }
const gitDefaults = { depth: 1, submodules: 'None', lfs: 'None' }
const normalizers = ['StripANSI', 'CarriageReturns', 'TrailingWhitespace', 'Timestamps', 'MemoryAddresses', 'UUIDs', 'ProgressBars']
const image = 'quay.io/jupyter/datascience-notebook:latest'
const resources = { requests: { cpu: '500m', memory: '2Gi' }, limits: { cpu: '1', memory: '4Gi' } }
const execution = { startupTimeoutSeconds: 60, errorPolicy: 'FailFast', expectedErrors: 'Required', workingDirectory: 'NotebookDirectory' }
const comparison = { scope: 'AllCells', normalizers, images: 'Ignore', cellMatching: 'Auto', sourceDrift: 'Warn' }
const others = { imagePullTimeoutSeconds: 300, suspend: false, results: { outputPolicy: 'All', maxOutputBytes: 2048 } }

const minimal: { [version: string]: { given: JsonObject; complete: JsonObject } } = {
  v1alpha1: {
    given: { notebook: { git: { ...git, path: 'a.ipynb' } } },
    complete: {
      notebook: { git: { ...git, path: 'a.ipynb', ref: 'main' } },
      podConfig: { containerImage: image, serviceAccountName: 'default', resources },
      timeoutSeconds: 3600,
    },
  },
  v1beta1: {
    given: { notebook: { git, path: 'a.ipynb' } },
    complete: {
      notebook: { git: { ...git, ref: 'main', ...gitDefaults }, path: 'a.ipynb' },
      comparisonConfig: { ...comparison, strategy: 'Normalized', floatingPointTolerance: '1e-8', relativeTolerance: '1e-5', ignoreCellTags: ['nbval-ignore-output'] },
      ...execution,
      podConfig: { image, serviceAccountName: 'default', automountServiceAccountToken: false, resources },
      timeoutSeconds: 3600,
      maxRetries: 2,
      ...others,
    },
  },
  v1: {
    given: { notebook: { git, path: 'a.ipynb' } },
    complete: {
      notebook: { git: { ...git, revision: 'main', ...gitDefaults }, path: 'a.ipynb' },
      comparison: { ...comparison, mode: 'Normalized', tolerance: { absolute: '1e-8', relative: '1e-5' }, ignore: { cellTags: ['nbval-ignore-output'] } },
      execution,
      podTemplate: { image, serviceAccountName: 'default', automountServiceAccountToken: false, resources },
      activeDeadlineSeconds: 3600,
      backoffLimit: 2,
      ...others,
    },
  },
}

test('the least that a job needs, and what defaults make of it', () => {
  for (const [version, { given, complete }] of Object.entries(minimal)) {
    const job = { apiVersion: `mlops.dev/${version}`, kind: 'NotebookValidationJob', metadata: { name: 'a' }, spec: given }
    const defaulted = applyDefaults(job, schemaOf(version))
    assert.deepEqual(defaulted.spec, complete, version)
    assert.deepEqual(validateSchema(defaulted, schemaOf(version)), [], version)
  }
})

test('a golden notebook in v1 gets no repository, one in a metadata policy its default', () => {
  const spec = (value: JsonObject): JsonObject => applyDefaults({ spec: value }, schemaOf('v1')).spec as JsonObject
  const { golden, metadataPolicy } = spec({ golden: { path: 'g.ipynb' }, metadataPolicy: {} })
  assert.deepEqual(golden, { path: 'g.ipynb' })
  assert.deepEqual(metadataPolicy, { requireCellIDs: 'Optional' })
  assert.deepEqual(spec({ golden: { path: 'g.ipynb', git } }).golden, { path: 'g.ipynb', git: { ...git, revision: 'main', ...gitDefaults } })
  const { podTemplate } = spec({ podTemplate: { resources: { limits: {} } } })
  assert.deepEqual((podTemplate as JsonObject).resources, { requests: resources.requests, limits: {} })
})

test('a hostPath is pruned', () => {
  const value = { spec: { podTemplate: { volumes: [{ name: 'a', hostPath: { path: '/' } }] } } }
  assert.deepEqual(prune(value, schemaOf('v1'), { root: true }).unknown, ['spec.podTemplate.volumes[0].hostPath'])
})
