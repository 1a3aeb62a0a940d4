/**
 * Random histories of writes over HTTP, with many watchers at random starts, versions and selectors: what each of them is shown is what the
 * acknowledged writes say, for a real kube-apiserver and for ours on both stores.
 */
import assert from 'node:assert/strict'
import { Agent } from 'node:https'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { encodeJson } from '../../../src/api/codec.ts'
import { readDefinition } from '../../../src/api/definition.ts'
import { noConversion } from '../../../src/api/lens-conversion.ts'
import type { JsonObject } from '../../../src/api/object.ts'
import { decodeYaml } from '../../../src/api/yaml.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { silentLog } from '../../../src/base/log.ts'
import { coreResources } from '../../../src/resources/core/index.ts'
import type { Backend } from '../../../storage/backend.ts'
import { openEtcd } from '../../../storage/etcd.ts'
import { openSqlite } from '../../../storage/sqlite.ts'
import { startControlPlane } from '../../control-plane/control-plane.ts'
import { startCluster } from '../../etcd/etcd-cluster.ts'
import { startServer } from '../../harness.ts'
import { sendStep, type Target } from '../send.ts'
import { checkWatcher } from './check-watcher.ts'
import { FIELD_SELECTORS, GROUP, LABEL_SELECTORS, makeLog, NAMESPACES, VERSIONS, type Filter } from './history-log.ts'
import { openWatcher, type Start, type Watcher } from './history-watcher.ts'
import { writeHistory, type Written } from './history-writer.ts'
import { Random } from './random.ts'

const SEED = 1
const WATCHERS = 80
const WRITERS = 4
const WRITES = 250
const NAMES_EACH = 3
/** By then everything that is written has been shown. */
const SETTLE_MS = 2000

const spec = (more: string): string => `{type: object, properties: {color: {type: string}, size: {type: integer}${more}}}`
// The same list in both versions would be taken for one of the whole definition, which the schemas are not.
const version = (name: string, storage: boolean, fields: string, more: string): string => `  - name: ${name}
    served: true
    storage: ${storage}
    subresources: {status: {}}
    selectableFields: [${fields}]
    schema: {openAPIV3Schema: {type: object, properties: {spec: ${spec(more)}, status: {type: object, properties: {seen: {type: integer}}}}}}
`
const MANIFEST = decodeYaml(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.${GROUP}}
spec:
  group: ${GROUP}
  scope: Namespaced
  names: {plural: things, kind: Thing}
  versions:
${version('v1', false, '{jsonPath: .spec.color}, {jsonPath: .spec.size}', '')}${version('v2', true, '{jsonPath: .spec.size}, {jsonPath: .spec.color}', ', extra: {type: string}')}`).value as JsonObject

const EVERYTHING: Filter = { version: 'v2', namespace: undefined, labels: undefined, fields: undefined }

function randomFilter(random: Random): Filter {
  return {
    version: random.pick(VERSIONS),
    namespace: random.chance(0.5) ? random.pick(NAMESPACES) : undefined,
    labels: random.chance(0.5) ? random.pick(LABEL_SELECTORS) : undefined,
    fields: random.chance(0.4) ? random.pick(FIELD_SELECTORS) : undefined,
  }
}

function randomStart(random: Random, { revisions }: Written): Start {
  const known = random.pick(revisions)
  return random.weighted<Start>([
    [4, { kind: 'after', revision: known }],
    [2, { kind: 'any' }],
    [2, { kind: 'newest' }],
    [1, { kind: 'initial', query: '' }],
    [1, { kind: 'initial', query: '&resourceVersion=0' }],
    [1, { kind: 'initial', query: `&resourceVersion=${known}` }],
  ])
}

/** One history; returns what was counted. */
async function holdHistory(target: Target, seed: number): Promise<{ facts: number; events: number; requests: number }> {
  const random = new Random(seed)
  const stop = new AbortController()
  const begin = await newestRevision(target)
  const written: Written = { acknowledged: new Map(), revisions: [begin] }
  const newest = (): number => Math.max(...written.revisions)
  // It is never ended by a time and has no filter, and so shows the whole history.
  const recorder = openWatcher(target, EVERYTHING, { kind: 'after', revision: begin }, { ...random, chance: () => false } as unknown as Random, newest, stop.signal)
  const watchers: Watcher[] = []
  const writers = Array.from({ length: WRITERS }, (_, i) => {
    const names = Array.from({ length: NAMES_EACH }, (__, j) => `t${i * NAMES_EACH + j}`)
    return writeHistory(target, written, names, WRITES, new Random(seed * 100 + i))
  })
  const writing = Promise.all(writers)
  let open = true
  void writing.finally(() => (open = false)).catch(() => {})
  try {
    for (let i = 0; i < WATCHERS && open; i++) {
      watchers.push(openWatcher(target, randomFilter(random), randomStart(random, written), new Random(seed * 1000 + i), newest, stop.signal))
      await sleep(random.below(100))
    }
    await writing
    await sleep(SETTLE_MS)
  } finally {
    stop.abort()
    await Promise.all([recorder, ...watchers].map(({ done }) => done))
  }
  assert.equal(watchers.length, WATCHERS)
  const facts = makeLog(written.acknowledged, recorder.segments.flatMap(({ events }) => events))
  const events = watchers.reduce((sum, watcher) => sum + checkWatcher(facts, watcher), 0)
  return { facts: facts.length, events, requests: watchers.reduce((sum, { segments }) => sum + segments.length, 0) }
}

async function newestRevision(target: Target): Promise<number> {
  const answer = await sendStep(target, { m: 'GET', path: `/apis/${GROUP}/v2/things` }, {})
  return Number((JSON.parse(answer.text) as { metadata: { resourceVersion: string } }).metadata.resourceVersion)
}

async function holdAll(server: Pick<Target, 'url' | 'pki'>, say: (text: string) => void): Promise<void> {
  const agent = new Agent({ keepAlive: true })
  const target: Target = { url: server.url, pki: server.pki, agent }
  try {
    for (const namespace of NAMESPACES) {
      const answer = await sendStep(target, { m: 'POST', path: '/api/v1/namespaces', body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } } }, {})
      assert.equal(answer.status, 201)
    }
    const { facts, events, requests } = await holdHistory(target, SEED)
    say(`${facts} changes, ${requests} watches of ${WATCHERS} watchers, ${events} events`)
  } finally {
    agent.destroy()
  }
}

async function holdOurs(backend: Backend, say: (text: string) => void): Promise<void> {
  const definition = readDefinition(MANIFEST)
  await using harness = await startServer({ backend, resources: [...coreResources, { definition, conversion: noConversion(definition) }] })
  await holdAll({ url: harness.server.url, pki: harness.pki }, say)
}

test('kube-apiserver', async (t) => {
  await using reference = await startControlPlane()
  await reference.install([encodeJson(MANIFEST)])
  await holdAll(reference, (text) => t.diagnostic(text))
})

test('ours, embedded', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'histories-'))
  try {
    await holdOurs(await openSqlite({ directory, clock: systemClock, log: silentLog }), (text) => t.diagnostic(text))
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
})

test('ours, on etcd', async (t) => {
  await using cluster = await startCluster({ version: '3.6.16', args: ['--unsafe-no-fsync'] })
  const backend = await openEtcd({ endpoints: cluster.endpoints, prefix: '/histories', requestTimeoutMs: 5000, clock: systemClock, log: silentLog })
  await holdOurs(backend, (text) => t.diagnostic(text))
})
