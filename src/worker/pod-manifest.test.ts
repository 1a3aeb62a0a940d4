import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../api/object.ts'
import { makeJob } from './job.fixture.ts'
import type { JobSpec } from './job.ts'
import { podNameOf } from './pod.ts'
import { ATTEMPT_VARIABLE, makePod } from './pod-manifest.ts'

const NOW = Date.UTC(2026, 0, 1)
type Container = { name: string; image: string; env: { name: string; value?: string }[]; volumeMounts: { name: string; mountPath: string; readOnly?: boolean }[]; securityContext: JsonObject; command?: string[]; resources: JsonObject }
type Spec = { initContainers: Container[]; containers: Container[]; volumes: JsonObject[]; securityContext: JsonObject } & JsonObject

function make(spec: Partial<JobSpec> = {}): { metadata: JsonObject; spec: Spec; containers: Record<string, Container> } {
  const pod = makePod({ job: makeJob({ spec }), number: 2, now: NOW, startedAt: NOW - 600_000 }, { image: 'us:1' })
  const podSpec = pod.spec as Spec
  const containers = Object.fromEntries([...podSpec.initContainers, ...podSpec.containers].map((container) => [container.name, container]))
  return { metadata: pod.metadata as JsonObject, spec: podSpec, containers }
}

test('three containers, of which two are ours, owned by the job', () => {
  const { metadata, spec, containers } = make()
  assert.deepEqual(Object.entries(containers).map(([name, { image }]) => [name, image]), [['clone', 'us:1'], ['execute', 'quay.io/jupyter/datascience-notebook:latest'], ['report', 'us:1']])
  assert.equal(metadata.name, podNameOf(makeJob(), 2))
  assert.deepEqual(metadata.ownerReferences, [{ apiVersion: 'mlops.dev/v1', kind: 'NotebookValidationJob', name: 'a', uid: 'uid-a', controller: true }])
  assert.equal(spec.restartPolicy, 'Never')
  assert.equal(spec.activeDeadlineSeconds, 3000)
  assert.equal(spec.hostAliases, undefined)
  assert.deepEqual(containers.execute?.resources, { requests: { cpu: '500m', memory: '2Gi' }, limits: { cpu: '1', memory: '4Gi' } })
})

const withSecurity = (securityContext: object): Partial<JobSpec> => ({ podTemplate: { securityContext } }) as Partial<JobSpec>

test('every container is as the restricted profile wants it', () => {
  const { spec, containers } = make(withSecurity({ runAsUser: 2000, fsGroupChangePolicy: 'Always', seccompProfile: { type: 'Localhost', localhostProfile: 'p' } }))
  assert.deepEqual(spec.securityContext, { runAsUser: 2000, runAsGroup: 1000, fsGroup: 1000, fsGroupChangePolicy: 'Always', seccompProfile: { type: 'Localhost', localhostProfile: 'p' }, runAsNonRoot: true })
  assert.deepEqual(make().spec.securityContext, { runAsUser: 1000, runAsGroup: 1000, fsGroup: 1000, seccompProfile: { type: 'RuntimeDefault' }, runAsNonRoot: true })
  for (const container of Object.values(containers)) {
    assert.deepEqual(container.securityContext, { allowPrivilegeEscalation: false, privileged: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } })
  }
})

test('a job that asks for what the profile forbids is told so', () => {
  const asked = { runAsNonRoot: false, runAsUser: 0, seccompProfile: { type: 'Unconfined' }, windowsOptions: { hostProcess: true } }
  for (const [name, value] of Object.entries(asked)) assert.throws(() => make(withSecurity({ [name]: value })), new RegExp(`securityContext has ${name}`))
})

test('a Secret is in clone alone, golden and Secret are out of reach of the notebook', () => {
  const git = { url: 'https://git.example/nb.git', credentialsSecretRef: { name: 'creds' } }
  const { spec, containers } = make({ notebook: { git, path: 'a.ipynb' }, golden: { git: { ...git, credentialsSecretRef: { name: 'other' } }, path: 'g.ipynb' } })
  const mounts = (name: string): string[] => containers[name]!.volumeMounts.map(({ mountPath }) => mountPath).sort()
  assert.deepEqual(mounts('clone'), ['/mlops/reference', '/mlops/secrets/creds', '/mlops/secrets/other', '/mlops/work', '/tmp'])
  assert.deepEqual(mounts('execute'), ['/mlops/work', '/tmp'])
  assert.deepEqual(mounts('report'), ['/mlops/reference', '/mlops/work', '/tmp'])
  assert.equal(containers.report!.volumeMounts.find(({ mountPath }) => mountPath === '/mlops/work')?.readOnly, true)
  assert.ok(!JSON.stringify(containers.execute).includes(ATTEMPT_VARIABLE))
  assert.equal(spec.volumes.filter(({ secret }) => secret !== undefined).length, 2)
  const shared = (name: string) => containers[name]!.volumeMounts.filter(({ mountPath }) => mountPath === '/tmp').map((mount) => mount.name)
  assert.equal(new Set(['clone', 'execute', 'report'].flatMap(shared)).size, 3)
})

test('no token, unless the job asks for one, and then in execute alone', () => {
  const without = make()
  assert.equal(without.spec.automountServiceAccountToken, false)
  assert.ok(!JSON.stringify(without.spec).includes('serviceAccountToken'))
  const { spec, containers } = make({ podTemplate: { automountServiceAccountToken: true } })
  assert.equal(spec.automountServiceAccountToken, false)
  const withToken = Object.values(containers).filter(({ volumeMounts }) => volumeMounts.some(({ mountPath }) => mountPath.startsWith('/var/run/secrets')))
  assert.deepEqual(withToken.map(({ name }) => name), ['execute'])
})

test('what the job says of its pod is passed on; variables of the runner stay the runner\'s', () => {
  const podTemplate = {
    metadata: { labels: { team: 'a' }, annotations: { note: 'b' } },
    image: 'nb:7',
    nodeSelector: { gpu: 'yes' },
    tolerations: [{ key: 'gpu', operator: 'Exists' }],
    env: [{ name: 'X', value: '1' }, { name: 'HOME', value: '/root' }],
    volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'c' } }],
    volumeMounts: [{ name: 'data', mountPath: '/data' }],
    resources: { limits: { memory: '1Gi' } },
  }
  const { metadata, spec, containers } = make({ podTemplate } as Partial<JobSpec>)
  assert.deepEqual(metadata.labels, { team: 'a', 'mlops.dev/job-uid': 'uid-a' })
  assert.deepEqual(metadata.annotations, { note: 'b' })
  assert.deepEqual(spec.nodeSelector, { gpu: 'yes' })
  const execute = containers.execute!
  assert.equal(execute.image, 'nb:7')
  assert.deepEqual(execute.env.filter(({ name }) => name === 'HOME' || name === 'X'), [{ name: 'X', value: '1' }, { name: 'HOME', value: '/mlops/work/home' }])
  assert.ok(execute.volumeMounts.some(({ mountPath }) => mountPath === '/data'))
  assert.ok(spec.volumes.some(({ name }) => name === 'data'))
  const told = JSON.parse(Buffer.from(containers.clone!.env.find(({ name }) => name === ATTEMPT_VARIABLE)!.value!, 'base64').toString('utf8'))
  assert.equal(told.spec.podTemplate, undefined)
  assert.equal(told.startedAt, NOW - 600_000)
})

test('the name of a pod is a label, another one for each attempt and each job', () => {
  const names = [
    podNameOf(makeJob({ name: 'a', uid: '1' }), 1),
    podNameOf(makeJob({ name: 'a', uid: '1' }), 11),
    podNameOf(makeJob({ name: 'a', uid: '2' }), 1),
    podNameOf(makeJob({ name: `${'x'.repeat(39)}.y${'z'.repeat(200)}`, uid: '3' }), 11),
    podNameOf(makeJob({ name: '1.2', uid: '4' }), 1),
  ]
  assert.equal(new Set(names).size, names.length)
  for (const name of names) assert.match(name, /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/)
})

test('a spec that no variable can hold is refused', () => {
  const allowedErrorNames = Array.from({ length: 200 }, (_, i) => `${i}`.padEnd(1000, 'x'))
  assert.throws(() => make({ execution: { allowedErrorNames } }), /too large/)
})
