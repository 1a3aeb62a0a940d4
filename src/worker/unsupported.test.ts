import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeJob } from './job.fixture.ts'
import type { JobSpec } from './job.ts'
import { findIgnoredPodSettings, findUnsupported } from './unsupported.ts'

const spec = (more: Partial<JobSpec> = {}): JobSpec => makeJob({ spec: more }).spec
const git = (more: object) => ({ url: 'https://h/x', ...more })

test('each field that is not acted on is named', () => {
  const cases: [Partial<JobSpec>, string[]][] = [
    [{}, []],
    [{ notebook: { git: git({ submodules: 'None', lfs: 'None' }), path: 'a.ipynb' } }, []],
    [{ notebook: { git: git({ submodules: 'Recursive' }), path: 'a.ipynb' } }, ['spec.notebook.git.submodules']],
    [{ notebook: { git: git({ lfs: 'Fetch' }), path: 'a.ipynb' } }, ['spec.notebook.git.lfs']],
    [{ notebook: { git: git({ url: 'ssh://git@h/x' }), path: 'a.ipynb' } }, ['spec.notebook.git.url (ssh)']],
    [{ golden: { git: git({ url: 'git@h:x', lfs: 'Fetch' }), path: 'g.ipynb' } }, ['spec.golden.git.url (ssh)', 'spec.golden.git.lfs']],
    [{ metadataPolicy: { requireCellIDs: 'Optional' } }, []],
    [{ metadataPolicy: { requireCellIDs: 'Required' } }, ['spec.metadataPolicy']],
    [{ metadataPolicy: { language: 'python' } }, ['spec.metadataPolicy']],
    [{ comparison: { replacements: [] }, execution: { parameters: [] }, results: {} }, []],
    [{ comparison: { replacements: [{ pattern: 'x', replacement: '' }] } }, ['spec.comparison.replacements']],
    [{ execution: { parameters: [{ name: 'x', value: null }] } }, ['spec.execution.parameters']],
    [{ results: { executedNotebook: { persistentVolumeClaim: { claimName: 'c' } } } }, ['spec.results.executedNotebook']],
  ]
  for (const [more, fields] of cases) assert.deepEqual(findUnsupported(spec(more)), fields, JSON.stringify(more))
})

test('pod settings count as ignored only where they differ from the defaults', () => {
  const defaults = { image: 'quay.io/jupyter/datascience-notebook:latest', serviceAccountName: 'default', automountServiceAccountToken: false, resources: { limits: { memory: '4Gi', cpu: '1' }, requests: { cpu: '500m', memory: '2Gi' } } }
  assert.deepEqual(findIgnoredPodSettings(spec({ podTemplate: defaults, imagePullTimeoutSeconds: 300 })), [])
  assert.deepEqual(findIgnoredPodSettings(spec({ podTemplate: { ...defaults, image: 'mine', env: [{ name: 'A', value: 'b' }] }, imagePullTimeoutSeconds: 5 })), [
    'spec.podTemplate.image',
    'spec.podTemplate.env',
    'spec.imagePullTimeoutSeconds',
  ])
})
