/** Bodies of requests: objects, patches and options, mostly good and sometimes not. */
import { formatApiVersion, getKey, isObject, type Json, type JsonObject } from '../../../src/api/object.ts'
import type { LiveKind } from './kinds.ts'
import { mutate, oddValue, thin, withMember } from './mutate.ts'
import type { Random } from './random.ts'

/** What a body is made for. */
export interface Subject {
  readonly random: Random
  readonly kind: LiveKind
  readonly version: string
  /** The object's letter. */
  readonly letter: string
}

/** The name of the object of a letter; `${ID}` is another in each run of a chain. */
export const nameOf = (letter: string): string => `\${ID}-${letter}`

const CLUSTER_WIDE = 'Cluster'

/** The fields beside metadata: few of those of a sample. */
export function fields({ random, kind, version }: Subject, keep: number): JsonObject {
  const body = random.pick(kind.samples.get(version) as readonly JsonObject[])
  const schema = kind.definition.versions.find(({ name }) => name === version)?.schema
  const required = (path: string): boolean => {
    const names = path.split('.')
    const parent = names.slice(0, -1).reduce((found, name) => found?.properties?.[name], schema)
    return parent?.required?.includes(names.at(-1) as string) ?? false
  }
  return thin(body, random, keep, required) as JsonObject
}

/** A whole object. */
export function objectBody(subject: Subject, { keep = 0.2, resourceVersion }: { readonly keep?: number; readonly resourceVersion?: string | undefined } = {}): Json {
  const { random } = subject
  const metadata = metadataOf(subject)
  const body = { ...typeOf(subject), metadata: resourceVersion === undefined ? metadata : { ...metadata, resourceVersion }, ...fields(subject, keep) }
  return damaged(body, random)
}

const typeOf = ({ kind, version }: Subject): JsonObject => ({ apiVersion: formatApiVersion(kind.definition.group, version), kind: kind.definition.names.kind })

// A third have a fault or more.
function damaged(body: Json, random: Random): Json {
  return random.chance(0.7) ? body : mutate(body, random, random.weighted([[4, 1], [2, 2], [1, 3]]))
}

function metadataOf({ random, letter, kind }: Subject): JsonObject {
  const labels: JsonObject = kind.definition.scope === CLUSTER_WIDE || random.chance(0.6) ? { scn: '${ID}' } : {}
  if (random.chance(0.4)) labels.app = random.pick(['a', 'b', 'c'])
  if (random.chance(0.2)) labels['example.com/tier'] = random.pick(['', 'front'])
  const metadata: JsonObject = { name: nameOf(letter) }
  if (Object.keys(labels).length > 0) metadata.labels = labels
  if (random.chance(0.15)) metadata.annotations = random.pick<JsonObject>([{ note: 'x' }, { 'kubectl.kubernetes.io/last-applied-configuration': '{}' }, { note: 'y', 'example.com/b': '' }])
  if (random.chance(0.12)) metadata.finalizers = random.pick<Json>([['example.com/hold'], ['example.com/hold', 'example.com/more'], ['orphan'], ['foregroundDeletion']])
  if (random.chance(0.05)) metadata.ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: random.pick(['12345678-1234-1234-1234-123456789abc', '${uid_b}']) }]
  return random.chance(0.08) ? { ...metadata, ...oddMetadata(random) } : metadata
}

const ODD_METADATA: readonly JsonObject[] = [
  { uid: '12345678-1234-1234-1234-123456789abc' }, { uid: 'x' }, { resourceVersion: '1' }, { resourceVersion: 'zzz' }, { resourceVersion: '' }, { generation: 7 }, { generation: '7' }, { selfLink: '/x' },
  { creationTimestamp: null }, { creationTimestamp: '2020-01-01T00:00:00Z' }, { creationTimestamp: 'yesterday' }, { deletionTimestamp: '2030-01-01T00:00:00Z' }, { deletionGracePeriodSeconds: 30 },
  { namespace: 'other' }, { namespace: '' }, { namespace: 'default' }, { name: 'UPPER' }, { name: 'other' }, { name: '' }, { name: null }, { name: 5 }, { name: 'a/b' },
  { labels: { 'a b': 'c' } }, { labels: { a: 'b c' } }, { labels: { a: 5 } }, { labels: { a: null } }, { labels: null }, { labels: [] }, { labels: { ['x'.repeat(64)]: 'y'.repeat(64) } },
  { annotations: { 'a b': 'c' } }, { annotations: { a: 5 } }, { annotations: { UPPER: 'x' } }, { annotations: { big: 'x'.repeat(300_000) } },
  { finalizers: ['x'] }, { finalizers: ['a b/c'] }, { finalizers: [5] }, { finalizers: ['orphan', 'foregroundDeletion'] }, { finalizers: 'x' }, { finalizers: ['', 'example.com/hold', 'example.com/hold'] },
  { ownerReferences: [{}] }, { ownerReferences: [{ apiVersion: 'v1', kind: 'Event', name: 'x', uid: 'y' }] }, { ownerReferences: [{ apiVersion: 'v1', kind: 'A', name: 'x', uid: 'y', extra: 1 }] },
  { ownerReferences: [{ apiVersion: 'v1', kind: 'A', name: 'x', uid: 'y', controller: true }, { apiVersion: 'v1', kind: 'B', name: 'x', uid: 'z', controller: true }] },
  { managedFields: [] }, { managedFields: [{}] }, { managedFields: null }, { managedFields: 'x' }, { managedFields: [{ manager: 'm', operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1', fieldsV1: { 'f:spec': {} } }] },
  { managedFields: [{ manager: 'm', operation: 'Bogus' }] }, { generateName: '${ID}-gen-' }, { extra: 1 }, { Name: 'x' }, { clusterName: 'x' },
]

const oddMetadata = (random: Random): JsonObject => random.pick(ODD_METADATA)

/** A merge patch of an object. */
export function mergePatch(subject: Subject, resourceVersion?: string): Json {
  const { random } = subject
  const patch: JsonObject = { ...(random.chance(0.8) ? fields(subject, 0.12) : {}) }
  if (random.chance(0.4)) patch.metadata = metadataPatch(random)
  if (resourceVersion !== undefined) patch.metadata = { ...(patch.metadata as JsonObject | undefined), resourceVersion }
  return random.chance(0.75) ? withNulls(patch, random) : mutate(patch, random, 1)
}

function metadataPatch(random: Random): JsonObject {
  return random.weighted<JsonObject>([
    [3, { labels: { app: random.pick(['a', 'b', null]) } }],
    [2, { annotations: { note: random.pick(['z', null]) } }],
    [2, { finalizers: random.pick<Json>([null, [], ['example.com/hold']]) }],
    [1, oddMetadata(random)],
  ])
}

function withNulls(value: Json, random: Random): Json {
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, random.chance(0.08) ? null : withNulls(member as Json, random)]))
}

/** A JSON patch of one to four operations. */
export function jsonPatch(subject: Subject): Json {
  const { random } = subject
  const metadata: JsonObject = { labels: { app: 'a' } }
  if (random.chance(0.2)) metadata.annotations = { note: 'x' }
  if (random.chance(0.2)) metadata.finalizers = ['example.com/hold']
  if (random.chance(0.1)) metadata.managedFields = [{}]
  if (random.chance(0.1)) Object.assign(metadata, { resourceVersion: `\${rv_${subject.letter}}`, uid: `\${uid_${subject.letter}}`, generation: 1 })
  const model: Json = { metadata, ...fields(subject, 0.4) }
  const operations = Array.from({ length: random.weighted([[4, 1], [2, 2], [1, 4]]) }, () => operation(model, random))
  return random.chance(0.9) ? operations : mutate(operations, random, 1)
}

function operation(model: Json, random: Random): JsonObject {
  const { pointer, value } = randomPointer(model, random)
  const op = random.weighted([[4, 'add'], [4, 'replace'], [3, 'remove'], [2, 'test'], [1, 'move'], [1, 'copy'], [0.3, 'bogus']])
  if (op === 'move' || op === 'copy') return { op, from: randomPointer(model, random).pointer, path: pointer }
  if (op === 'remove') return { op, path: pointer }
  return { op, path: pointer, value: random.chance(0.8) ? value : oddValue(random) }
}

function randomPointer(model: Json, random: Random): { pointer: string; value: Json } {
  let value = model
  let pointer = ''
  while (pointer === '' || random.chance(0.6)) {
    if (Array.isArray(value)) {
      const place = random.below(value.length + 1)
      pointer += `/${random.chance(0.2) ? '-' : place}`
      value = value[place] ?? oddValue(random)
    } else if (isObject(value) && Object.keys(value).length > 0) {
      const name = random.chance(0.05) ? 'missing' : random.pick(Object.keys(value))
      pointer += `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
      value = getKey(value, name) ?? oddValue(random)
    } else break
  }
  return { pointer, value }
}

/** What a manager applies: few fields. */
export function appliedBody(subject: Subject): Json {
  const { random } = subject
  const metadata: JsonObject = random.chance(0.3) ? metadataOf(subject) : { name: nameOf(subject.letter), ...(subject.kind.definition.scope === CLUSTER_WIDE ? { labels: { scn: '${ID}' } } : {}) }
  const body: JsonObject = { ...typeOf(subject), metadata, ...fields(subject, random.pick([0.08, 0.15, 0.3])) }
  if (!random.chance(0.3)) delete body.status
  return random.chance(0.88) ? body : mutate(body, random, 1)
}

/** The status of an object, to be sent alone or with the rest. */
export function statusBody(subject: Subject): JsonObject {
  const { status } = fields(subject, 0.6)
  return status === undefined ? { status: {} } : { status }
}

/** Options in the body of a delete. */
export function deleteOptions({ random, letter }: Subject): Json {
  const options: JsonObject = random.chance(0.7) ? { apiVersion: 'v1', kind: 'DeleteOptions' } : {}
  if (random.chance(0.4)) options.propagationPolicy = random.pick<Json>(['Background', 'Foreground', 'Orphan', 'Orphan', 'Bogus', 5])
  if (random.chance(0.3)) options.gracePeriodSeconds = random.pick<Json>([0, 30, -1, '5', 1.5])
  if (random.chance(0.3)) options.preconditions = random.pick<Json>([{ uid: `\${uid_${letter}}` }, { resourceVersion: `\${rv_${letter}}` }, { uid: 'x' }, { resourceVersion: '1' }, {}, null])
  if (random.chance(0.15)) options.orphanDependents = random.pick<Json>([true, false, 'x'])
  if (random.chance(0.1)) options.dryRun = random.pick<Json>([['All'], ['Some'], [], 'All', ['All', 'All']])
  return random.chance(0.95) ? options : withMember(options, 'extra', oddValue(random))
}
