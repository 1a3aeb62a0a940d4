/** Random writes to one server, by writers who each have names of their own. */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Json, JsonObject } from '../../../src/api/object.ts'
import { sendStep, type Target } from '../send.ts'
import { GROUP, inVersion, NAMESPACES, revisionOf, VERSIONS, type Thing } from './history-log.ts'
import type { Random } from './random.ts'

const PAUSE_MS = 12

/** What is known of the writes so far. */
export interface Written {
  /** What each write was answered, in order, in the storage version; undefined: the object is gone. */
  readonly acknowledged: Map<string, (Thing | undefined)[]>
  /** Revisions that were acknowledged, in order. */
  readonly revisions: number[]
}

interface Request {
  readonly method: string
  readonly path: string
  readonly query?: Record<string, string>
  readonly type?: string
  readonly body?: Json
}

/** Writes so often to objects of these names. */
export async function writeHistory(target: Target, written: Written, names: readonly string[], count: number, random: Random): Promise<void> {
  for (let i = 0; i < count; i++) {
    await writeOnce(target, written, `${random.pick(NAMESPACES)}/${random.pick(names)}`, random)
    await sleep(PAUSE_MS)
  }
}

async function writeOnce(target: Target, written: Written, key: string, random: Random): Promise<void> {
  const states = written.acknowledged.get(key) ?? []
  written.acknowledged.set(key, states)
  const live = states.at(-1)
  const request = live === undefined ? creation(key, random) : change(live, random)
  const { method: m, path, query: q, type: ct, body } = request
  const answer = await sendStep(target, { m, path, ...(q && { q }), ...(ct && { ct }), ...(body === undefined ? {} : { body }) }, {})
  const dry = q?.dryRun !== undefined
  if (answer.status >= 400) {
    // Wrong on purpose, or applied where a manager of the other version would have to see a field that it has not.
    assert.ok([409, 422].includes(answer.status) || answer.text.includes('field not declared in schema'), `${m} ${path}: ${answer.text}`)
    return
  }
  if (dry) return
  const object = JSON.parse(answer.text) as Thing
  const gone = object.kind === 'Status' || (live?.metadata.deletionTimestamp !== undefined && object.metadata.finalizers === undefined)
  if (gone) states.push(undefined)
  // What changes nothing keeps the revision.
  else if (live === undefined || revisionOf(object) !== revisionOf(live)) {
    states.push(inVersion(object, 'v2'))
    written.revisions.push(revisionOf(object))
  }
}

function collection(version: string, namespace: string): string {
  return `/apis/${GROUP}/${version}/namespaces/${namespace}/things`
}

function body(version: string, key: string, random: Random): JsonObject {
  const [namespace, name] = key.split('/') as [string, string]
  const labels = { ...(random.chance(0.7) ? { color: random.pick(['red', 'blue']) } : {}), ...(random.chance(0.5) ? { tier: random.pick(['a', 'b']) } : {}) }
  return { apiVersion: `${GROUP}/${version}`, kind: 'Thing', metadata: { name, namespace, labels }, spec: spec(version, random) }
}

function spec(version: string, random: Random): JsonObject {
  return {
    ...(random.chance(0.8) ? { color: random.pick(['red', 'blue']) } : {}),
    ...(random.chance(0.6) ? { size: random.below(3) } : {}),
    ...(version === 'v2' && random.chance(0.5) ? { extra: random.pick(['x', 'y']) } : {}),
  }
}

function creation(key: string, random: Random): Request {
  const version = random.pick(VERSIONS)
  const [namespace, name] = key.split('/') as [string, string]
  const path = collection(version, namespace)
  const made = body(version, key, random)
  const apply = { method: 'PATCH', path: `${path}/${name}`, type: 'application/apply-patch+yaml', query: { fieldManager: 'history' }, body: made }
  return random.weighted<Request>([
    [6, { method: 'POST', path, body: made }],
    [2, apply],
    [1, { method: 'POST', path, query: { dryRun: 'All' }, body: made }],
    [1, { method: 'POST', path, body: { ...made, spec: { size: 'none' } } }],
  ])
}

function change(live: Thing, random: Random): Request {
  const version = random.pick(VERSIONS)
  const { name, namespace, resourceVersion } = live.metadata
  const path = `${collection(version, namespace)}/${name}`
  const shown = inVersion(live, version)
  const made = body(version, `${namespace}/${name}`, random)
  const merge = (patch: Json, query?: Record<string, string>): Request => ({ method: 'PATCH', path, type: 'application/merge-patch+json', body: patch, ...(query && { query }) })
  if (live.metadata.deletionTimestamp !== undefined) return merge({ metadata: { finalizers: null } })
  return random.weighted<Request>([
    [4, { method: 'PUT', path, body: { ...made, metadata: { ...(made.metadata as JsonObject), resourceVersion } } }],
    [4, merge({ metadata: { labels: { color: random.pick(['red', 'blue', null]), tier: random.pick(['a', null]) } } })],
    [3, merge({ spec: spec(version, random) })],
    [2, { method: 'PUT', path: `${path}/status`, body: { ...shown, status: { seen: random.below(100) } } }],
    [2, { method: 'PATCH', path, type: 'application/apply-patch+yaml', query: { fieldManager: 'history', force: 'true' }, body: made }],
    [3, { method: 'DELETE', path }],
    [1, merge({ metadata: { finalizers: ['history.example.com/held'] } })],
    [1, merge({})],
    [1, merge({ spec: { size: 7 } }, { dryRun: 'All' })],
    [1, { method: 'DELETE', path, query: { dryRun: 'All' } }],
    [1, { method: 'PUT', path, body: { ...made, metadata: { ...(made.metadata as JsonObject), resourceVersion: '1' } } }],
    [1, { method: 'POST', path: collection(version, namespace), body: made }],
  ])
}
