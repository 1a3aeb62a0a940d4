/** A conversation from a seed: a few objects of one kind, and what clients do with them. */
import { encodeJson, encodeYaml } from '../../../src/api/codec.ts'
import { isObject, type Json, type JsonObject } from '../../../src/api/object.ts'
import type { Chain, ChainStep } from './chain.ts'
import { appliedBody, deleteOptions, fields, jsonPatch, mergePatch, nameOf, objectBody, statusBody, type Subject } from './generate-body.ts'
import { applyQuery, getQuery, headers, listQuery, selectors, watchQuery, writeQuery } from './generate-request.ts'
import type { LiveKind } from './kinds.ts'
import { mutate } from './mutate.ts'
import { Random } from './random.ts'

const MERGE = 'application/merge-patch+json'
const JSON_PATCH = 'application/json-patch+json'
const APPLY = 'application/apply-patch+yaml'
const LETTERS = ['a', 'a', 'a', 'b', 'c']
/** Long enough for the slower server to have sent what it has to say. */
const IDLE_SECONDS = 0.4

/** The chain of a seed, always the same. */
export function generateChain(kinds: readonly LiveKind[], seed: number): Chain {
  const random = new Random(seed)
  const kind = random.weighted(kinds.map((found) => [found.weight, found] as const))
  const watched = random.chance(0.12)
  const length = 3 + random.below(8)
  const steps = [createStep(subjectOf(random, kind, 'a'))]
  if (watched) steps.unshift(...Array.from({ length: 1 + random.below(3) }, () => heldWatch(random, kind)))
  for (let i = 0; i < length; i++) {
    if (watched && random.chance(0.15)) steps.push(heldWatch(random, kind))
    steps.push(anyStep(random, kind))
  }
  return { seed, steps: steps.filter((step, i) => !isNamedByServer(step) || i === steps.findIndex(isNamedByServer)) }
}

// Of two such objects nobody knows which comes first in a list.
const isNamedByServer = ({ json, text = '' }: ChainStep): boolean => text.includes('generateName') || (json !== undefined && encodeJson(json).includes('generateName'))

function subjectOf(random: Random, kind: LiveKind, letter = random.pick(LETTERS)): Subject {
  return { random, kind, letter, version: random.pick([...kind.samples.keys()]) }
}

type Make = (subject: Subject) => ChainStep

const STEPS: readonly (readonly [number, Make])[] = [
  [10, createStep],
  [8, putStep],
  [8, putBackStep],
  [12, mergeStep],
  [10, jsonPatchStep],
  [20, applyStep],
  [6, deleteStep],
  [8, getStep],
  [8, listStep],
  [3, watchStep],
  [2, deleteCollectionStep],
  [4, textStep],
  [3, scaleStep],
  [2, twiceStep],
  [2, ownersStep],
  [3, elsewhereStep],
]

function anyStep(random: Random, kind: LiveKind): ChainStep {
  return random.weighted(STEPS)(subjectOf(random, kind))
}

function collection({ kind, version, random }: Subject): string {
  const { group, names, scope } = kind.definition
  if (scope === 'Cluster') return `/apis/${group}/${version}/${names.plural}`
  return `/apis/${group}/${version}/namespaces/${random.chance(0.01) ? 'missing' : '${ID}'}/${names.plural}`
}

const itemPath = (subject: Subject): string => `${collection(subject)}/${nameOf(subject.letter)}`

// The object or its status, where it has one.
function writePath(subject: Subject, status: number): { readonly path: string; readonly ofStatus: boolean } {
  const { random, kind, version } = subject
  const has = kind.definition.versions.find(({ name }) => name === version)?.subresources?.status !== undefined
  const ofStatus = random.chance(has ? status : status / 10)
  return { path: ofStatus ? `${itemPath(subject)}/status` : itemPath(subject), ofStatus }
}

function createStep(subject: Subject): ChainStep {
  const { random, letter } = subject
  const body = objectBody(subject)
  const json = isObject(body) && random.chance(0.03) ? { ...body, metadata: { generateName: '${ID}-gen-' } } : body
  const step = { m: 'POST', path: collection(subject), q: writeQuery(random), h: headers(random), object: letter }
  return random.chance(0.04) ? { ...step, text: encodeYaml(json), ct: 'application/yaml' } : { ...step, json }
}

function putStep(subject: Subject): ChainStep {
  const { random, letter } = subject
  const { path } = writePath(subject, 0.25)
  const resourceVersion = random.weighted([[6, `\${rv_${letter}}`], [1, undefined], [1, '1'], [0.5, ''], [0.5, '99999999'], [0.3, 'zzz']])
  return { m: 'PUT', path, q: writeQuery(random), h: headers(random), json: objectBody(subject, { resourceVersion }), object: letter }
}

/** As a controller does: what was read, changed. */
function putBackStep(subject: Subject): ChainStep {
  const { random, letter } = subject
  const { path, ofStatus } = writePath(subject, 0.5)
  const changed: JsonObject = ofStatus ? statusBody(subject) : fields(subject, 0.1)
  if (random.chance(0.1)) changed.metadata = { labels: { app: random.pick(['a', null]) } }
  if (random.chance(0.1)) changed.apiVersion = `${subject.kind.definition.group}/${subject.version}`
  return { m: 'PUT', path, q: writeQuery(random), h: headers(random, { table: false }), from: letter, json: random.chance(0.25) ? {} : changed, object: letter }
}

function mergeStep(subject: Subject): ChainStep {
  const { random, letter } = subject
  const { path, ofStatus } = writePath(subject, 0.3)
  const json = ofStatus && random.chance(0.7) ? statusBody(subject) : mergePatch(subject, random.weighted([[8, undefined], [2, `\${rv_${letter}}`], [0.5, '1']]))
  return { m: 'PATCH', path, ct: MERGE, q: writeQuery(random), h: headers(random), json, object: letter }
}

function jsonPatchStep(subject: Subject): ChainStep {
  const { random, letter } = subject
  return { m: 'PATCH', path: writePath(subject, 0.15).path, ct: JSON_PATCH, q: writeQuery(random), h: headers(random), json: jsonPatch(subject), object: letter }
}

function applyStep(subject: Subject): ChainStep {
  const { random, letter, kind, version } = subject
  const { path, ofStatus } = writePath(subject, 0.2)
  const type = { apiVersion: `${kind.definition.group}/${version}`, kind: kind.definition.names.kind, metadata: { name: nameOf(letter) } }
  const json = ofStatus && random.chance(0.8) ? { ...type, ...statusBody(subject) } : appliedBody(subject)
  const step = { m: 'PATCH', path, ct: APPLY, q: applyQuery(random), h: headers(random), object: letter }
  return random.chance(0.05) ? { ...step, text: encodeYaml(json) } : { ...step, json }
}

function deleteStep(subject: Subject): ChainStep {
  const { random, letter } = subject
  const step = { m: 'DELETE', path: itemPath(subject), h: headers(random), object: letter }
  if (random.chance(0.4)) return step
  if (random.chance(0.6)) return { ...step, json: random.chance(0.92) ? deleteOptions(subject) : mutate(deleteOptions(subject), random, 1) }
  return { ...step, q: [random.pick([['propagationPolicy', 'Foreground'], ['propagationPolicy', 'Orphan'], ['propagationPolicy', 'Bogus'], ['gracePeriodSeconds', '0'], ['gracePeriodSeconds', 'x'], ['dryRun', 'All'], ['orphanDependents', 'true']])] }
}

function deleteCollectionStep(subject: Subject): ChainStep {
  const { random, kind } = subject
  return { m: 'DELETE', path: collection(subject), q: selectors(random, kind), h: headers(random), ...(random.chance(0.3) ? { json: deleteOptions(subject) } : {}) }
}

function getStep(subject: Subject): ChainStep {
  const { random, letter } = subject
  const { path } = writePath(subject, 0.1)
  return { m: 'GET', path: random.chance(0.03) ? `${path}/bogus` : path, q: getQuery(random, letter), h: headers(random), object: letter }
}

function listStep(subject: Subject): ChainStep {
  const { random, kind } = subject
  if (kind.definition.scope !== 'Cluster' && random.chance(0.2)) {
    return { m: 'GET', path: collection(subject), q: [['limit', '1'], ['continue', '${continue}'], ...selectors(random, kind)], h: headers(random), list: true }
  }
  const q = listQuery(random, kind)
  // All but `false` and `0` ask for a watch.
  return { m: 'GET', path: collection(subject), q, h: headers(random), list: true, ...(q.some(([name]) => name === 'watch') ? { stream: IDLE_SECONDS } : {}) }
}

function watchStep(subject: Subject): ChainStep {
  const { random, kind } = subject
  return { m: 'GET', path: collection(subject), q: watchQuery(random, kind), h: headers(random), stream: IDLE_SECONDS }
}

function heldWatch(random: Random, kind: LiveKind): ChainStep {
  return { ...watchStep(subjectOf(random, kind)), hold: true }
}

/** A member stands twice. */
function twiceStep(subject: Subject): ChainStep {
  const { random, letter } = subject
  const m = random.pick(['POST', 'PUT', 'PATCH', 'PATCH'])
  const ct = m === 'PATCH' ? random.pick([MERGE, APPLY]) : 'application/json'
  const text = encodeJson(ct === APPLY ? appliedBody(subject) : ct === MERGE ? mergePatch(subject) : objectBody(subject, { resourceVersion: m === 'PUT' ? `\${rv_${letter}}` : undefined }))
  const members = [...text.matchAll(/"(?:\\.|[^"\\])*":/g)].map(({ 0: name, index }) => ({ name, index }))
  const { name, index } = random.pick(members.length > 0 ? members : [{ name: '', index: 0 }])
  const again = random.chance(0.5) ? `${name}${random.pick(['null', '{}', '"x"', '5'])},` : `${name}{"a":1,"a":2},`
  const body = name === '' ? text : `${text.slice(0, index)}${again}${text.slice(index)}`
  const path = m === 'POST' ? collection(subject) : writePath(subject, 0.1).path
  return { m, path, ct, q: ct === APPLY ? applyQuery(random) : writeQuery(random), h: headers(random), text: body, object: letter }
}

const ENTRIES: readonly Json[] = [
  [{}], [], null, [{ manager: 'm1', operation: 'Apply', apiVersion: 'parity.example/v1', fieldsType: 'FieldsV1', fieldsV1: { 'f:spec': { 'f:size': {} } } }],
  [{ manager: 'm1', operation: 'Update', fieldsType: 'FieldsV1', fieldsV1: {} }], [{ manager: 'x', operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1', fieldsV1: { 'f:metadata': { 'f:labels': { '.': {}, 'f:app': {} } } }, time: '2024-01-01T00:00:00Z' }],
]

/** As a tool does that sets who owns what. */
function ownersStep(subject: Subject): ChainStep {
  const { random, letter } = subject
  const { path } = writePath(subject, 0.1)
  const metadata = { managedFields: random.pick(ENTRIES), ...(random.chance(0.2) ? { labels: { app: 'c' } } : {}) }
  if (random.chance(0.5)) return { m: 'PUT', path, q: writeQuery(random), h: headers(random, { table: false }), from: letter, json: { metadata }, object: letter }
  return { m: 'PATCH', path, ct: MERGE, q: writeQuery(random), h: headers(random), json: { metadata }, object: letter }
}

/** Paths beside those of the object and its collection. */
function elsewhereStep(subject: Subject): ChainStep {
  const { random, kind, version, letter } = subject
  const { group, names, scope } = kind.definition
  const whole = `/apis/${group}/${version}/${names.plural}`
  const own: [string, string][] = [['labelSelector', 'scn=${ID}']]
  const below = scope === 'Cluster' ? names.plural : `namespaces/\${ID}/${names.plural}`
  const json = objectBody(subject)
  return random.weighted<() => ChainStep>([
    [4, () => ({ m: 'GET', path: whole, q: own, h: headers(random), list: true })],
    [2, () => ({ m: 'GET', path: whole, q: [...own, ['watch', 'true'], ['resourceVersion', '${rv_first}']], h: headers(random), stream: IDLE_SECONDS })],
    [1, () => ({ m: 'GET', path: itemPath(subject), q: [['watch', 'true'], ['resourceVersion', '${rv_first}']], h: headers(random), ...(scope === 'Cluster' ? {} : { stream: IDLE_SECONDS }) })],
    [1, () => ({ m: 'GET', path: `/apis/${group}/${version}/watch/${below}${random.chance(0.5) ? `/${nameOf(letter)}` : ''}`, q: [...own, ['resourceVersion', '${rv_first}']], h: headers(random), stream: IDLE_SECONDS })],
    [1, () => ({ m: random.pick(['POST', 'DELETE', 'PATCH', 'PUT']), path: scope === 'Cluster' ? `${whole}/x/y/z` : `${whole}/${nameOf(letter)}`, h: headers(random), json })],
    [1, () => ({ m: random.pick(['PUT', 'PATCH', 'HEAD', 'OPTIONS', 'TRACE']), path: collection(subject), ct: MERGE, h: headers(random), json })],
    [1, () => ({ m: random.pick(['POST', 'HEAD', 'OPTIONS']), path: itemPath(subject), h: headers(random), json })],
    [1, () => ({ m: random.pick(['POST', 'DELETE', 'GET', 'PUT']), path: `${itemPath(subject)}/${random.pick(['status', 'scale', 'bogus', 'status/x', ''])}`, h: headers(random), json })],
    [1, () => ({ m: 'GET', path: random.pick([`/apis/${group}`, `/apis/${group}/${version}`, `/apis/${group}/v0/${names.plural}`, `/apis/${group}/${version}/${names.singular}`, `${itemPath(subject)}%2F`]), h: headers(random) })],
  ])()
}

const TEXTS = [
  '', '{', '[]', 'null', '"x"', '5', '{}', '{"a":1,"a":2}', '{"kind":"Widget"}', '{"apiVersion":"v1","kind":"Pod"}', '{"apiVersion":5}', '{"metadata":5}', '{"metadata":{"name":"x"}', '{"spec":{"size":"small","size":"large"}}',
  '[{"op":"add"}]', '[{"op":"add","path":"x","value":1}]', '[5]', '- op: add', 'a: b\nc', '\u0000', '{"a":1e999}', '{"a":012}', "{'a':1}", '{"a":"\ud800"}', '{"a":1} x', '{"metadata":{"labels":{"a":"b","a":"c"}}}', 'a: &x [*x]', '"\u2028"', '{"apiVersion":"parity.example/v1","kind":"Widget","kind":"Widget"}',
]
const TYPES = ['application/json', 'application/yaml', MERGE, JSON_PATCH, APPLY, 'application/strategic-merge-patch+json', 'text/plain', 'application/json; charset=utf-8', 'application/merge-patch+json;x=y', 'bogus', 'application/apply-patch+cbor', 'application/vnd.kubernetes.protobuf']

/** Something that no client library would send. */
function textStep(subject: Subject): ChainStep {
  const { random, letter } = subject
  const m = random.pick(['POST', 'PUT', 'PATCH', 'PATCH', 'DELETE'])
  const path = m === 'POST' ? collection(subject) : writePath(subject, 0.2).path
  const body = random.chance(0.6) ? { text: random.pick(TEXTS) } : { json: objectBody(subject) }
  return { m, path, q: m === 'PATCH' && random.chance(0.5) ? applyQuery(random) : writeQuery(random), h: headers(random), ct: random.pick(TYPES), ...body, object: letter }
}

function scaleStep(subject: Subject): ChainStep {
  const { random, kind, letter } = subject
  const path = `${itemPath(subject)}/scale`
  const replicas = random.pick<Json>([0, 1, 7, 101, -1, '5', null, 1.5])
  const spec = random.chance(0.9) ? { replicas } : {}
  const q = writeQuery(random)
  return random.weighted<() => ChainStep>([
    [2, () => ({ m: 'GET', path, h: headers(random) })],
    [3, () => ({ m: 'PATCH', path, q, ct: MERGE, h: headers(random), json: { spec } })],
    [1, () => ({ m: 'PATCH', path, q, ct: JSON_PATCH, h: headers(random), json: [{ op: 'replace', path: '/spec/replicas', value: replicas }] })],
    [2, () => ({ m: 'PATCH', path, q: applyQuery(random), ct: APPLY, h: headers(random), json: { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { name: nameOf(letter) }, spec } })],
    [3, () => ({ m: 'PUT', path, q, h: headers(random), json: { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { name: nameOf(letter), ...(kind.definition.scope === 'Cluster' ? {} : { namespace: '${ID}' }), ...(random.chance(0.3) ? { resourceVersion: random.pick([`\${rv_${letter}}`, '1']) } : {}) }, spec } })],
  ])()
}
