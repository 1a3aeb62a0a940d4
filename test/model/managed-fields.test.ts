/** The laws of ownership and server-side apply, on objects generated from the schemas, and against a simple twin. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { encodeJson } from '../../src/api/codec.ts'
import { applyPatch } from '../../src/api/managed-fields/apply.ts'
import { hasMember, hasPath, intersection, isEmptySet, pathsOf, type FieldSet } from '../../src/api/managed-fields/field-set.ts'
import { decodeManagedFields } from '../../src/api/managed-fields/managers.ts'
import { mergeTyped } from '../../src/api/managed-fields/merge.ts'
import { formatPath } from '../../src/api/managed-fields/path.ts'
import type { Convert } from '../../src/api/managed-fields/scope.ts'
import { fromFieldsV1, toFieldsV1 } from '../../src/api/managed-fields/serialize.ts'
import { thing, things } from '../../src/api/managed-fields/thing.fixture.ts'
import { toFieldSet } from '../../src/api/managed-fields/to-field-set.ts'
import { atomOf } from '../../src/api/managed-fields/typed.ts'
import { trackUpdate } from '../../src/api/managed-fields/update.ts'
import { deepEqual, getKey, isNumber, isObject, setKey, toNumber, type Json, type JsonObject, type KubeObject } from '../../src/api/object.ts'
import { StatusError } from '../../src/api/status.ts'
import { resources } from '../../src/resources/index.ts'
import { notebookValidationJobs } from '../../src/resources/notebookvalidationjobs/definition.ts'
import { arbitraryJob } from './arbitrary-job.ts'
import { arbitraryObject, blend, clone } from './arbitrary-object.ts'

const type = atomOf(things.versions[0]!)

function holds<T extends unknown[]>(law: string, arbitraries: { [K in keyof T]: fc.Arbitrary<T[K]> }, check: (...values: T) => void, numRuns = 100): void {
  test(law, () => {
    fc.assert(fc.property(fc.tuple(...arbitraries) as unknown as fc.Arbitrary<T>, (values) => check(...values)), { numRuns, seed: 20261130 })
  })
}

const bare = (object: KubeObject): KubeObject => ({ ...object, metadata: { name: 'x', namespace: 'ns', ...(object.metadata.labels && { labels: object.metadata.labels }) } })
const objects = arbitraryObject(things, 'v1').map(bare)
const identified = (object: KubeObject): KubeObject => ({ ...object, metadata: { ...object.metadata, uid: 'u' } })

const base = { definition: things, version: 'v1', subresource: '' as const, now: 0 }
const create = (next: KubeObject, manager = 'creator'): KubeObject => identified(trackUpdate({ ...base, live: undefined, next, manager }))
const update = (live: KubeObject, next: KubeObject, manager: string): KubeObject =>
  trackUpdate({ ...base, live, next: { ...next, metadata: { ...next.metadata, uid: 'u', managedFields: undefined } } as KubeObject, manager })
const apply = (live: KubeObject | undefined, config: KubeObject, manager: string, force = true): KubeObject =>
  identified(applyPatch({ ...base, live, config, manager, force }))

const ownedBy = (object: KubeObject, manager: string): FieldSet[] =>
  [...decodeManagedFields(object.metadata.managedFields).managers].filter(([id]) => id.includes(`"manager":"${manager}"`)).map(([, { set }]) => set)

function same(actual: Json | undefined, expected: Json | undefined): void {
  if (!deepEqual(actual, expected)) assert.equal(encodeJson(actual as Json), encodeJson(expected as Json))
}

holds('applying the same again changes nothing', [objects, objects], (start, config) => {
  const once = apply(create(start), config, 'alice')
  same(apply(once, config, 'alice'), once)
})

holds('a forced apply wins: merged with it again, the object stays', [objects, objects], (start, config) => {
  const applied = apply(create(start), config, 'alice')
  same(mergeTyped(applied, config, type).spec, applied.spec)
})

holds('what an applier applies it owns, and nothing else', [objects, objects], (start, config) => {
  const [owned] = ownedBy(apply(create(start), config, 'alice'), 'alice')
  // By way of fieldsV1, which reads numbers as floats.
  const mentioned = [...pathsOf(fromFieldsV1(toFieldsV1(toFieldSet(config, type))))].map(formatPath).filter((path) => /^\.(spec|metadata\.labels)/.test(path))
  assert.deepEqual(owned ? [...pathsOf(owned)].map(formatPath) : [], mentioned)
})

holds('applying nothing takes away what was applied', [objects], (config) => {
  const { spec: _, ...nothing } = thing({})
  const before = apply(undefined, { ...thing({ s: 'kept' }) }, 'bob')
  const { s: __, ...spec } = (config.spec ?? {}) as JsonObject
  const gone = apply(apply(before, { ...config, spec }, 'alice'), nothing as KubeObject, 'alice')
  // Empty sets and keyed lists are owned by nobody, so they stay.
  same(withoutEmptyLists(gone.spec), before.spec)
})

function withoutEmptyLists(value: Json | undefined): Json | undefined {
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).filter(([, member]) => !Array.isArray(member) || member.length > 0).map(([key, member]) => [key, withoutEmptyLists(member)]))
}

holds('nobody loses a field that an apply leaves as it is', [objects, objects], (start, config) => {
  const live = create(start)
  const applied = apply(live, config, 'alice')
  const [before] = ownedBy(live, 'creator')
  const [after] = ownedBy(applied, 'creator')
  for (const path of before ? pathsOf(before) : []) {
    if (after && hasPath(after, path)) continue
    assert.notDeepEqual(at(live, path), at(applied, path), formatPath(path))
  }
})

holds('an unforced apply either conflicts or is the forced one', [objects, objects], (start, config) => {
  const live = create(start)
  try {
    same(apply(live, config, 'alice', false), apply(live, config, 'alice'))
  } catch (error) {
    assert.ok(error instanceof StatusError && error.code === 409)
    const [creators] = ownedBy(live, 'creator')
    const [left] = ownedBy(apply(live, config, 'alice'), 'creator')
    const lost = [...pathsOf(creators!)].filter((path) => !left || !hasPath(left, path)).map(formatPath)
    for (const { field } of error.status.details?.causes ?? []) assert.ok(lost.includes(field as string), field)
  }
})

holds('after an update no field has two updaters, and the writer owns what it made', [objects, objects, fc.array(fc.boolean(), { minLength: 20, maxLength: 20 })], (start, other, choices) => {
  const live = create(start)
  let i = 0
  const next = { ...bare(blend(clone(live), clone(other), () => choices[i++ % choices.length] as boolean) as KubeObject), apiVersion: live.apiVersion, kind: live.kind }
  const written = update(live, next, 'writer')
  const [creators] = ownedBy(written, 'creator')
  const [writers] = ownedBy(written, 'writer')
  if (creators && writers) assert.ok(isEmptySet(intersection(creators, writers)))
  for (const set of [creators, writers]) {
    for (const path of set ? pathsOf(set) : []) assert.notEqual(at(written, path), undefined, formatPath(path))
  }
})

// The value at a path, items by their keys; undefined when there is none.
function at(object: KubeObject, path: Parameters<typeof formatPath>[0]): Json | undefined {
  let value: Json | undefined = object
  for (const element of path) {
    if (element.kind === 'field') value = isObject(value) ? getKey(value, element.name) : undefined
    else if (element.kind === 'key' && Array.isArray(value)) {
      const defaults: JsonObject = { protocol: 'TCP' }
      value = value.find((item) => isObject(item) && element.fields.every((key) => formatKey(getKey(item, key.name) ?? (defaults[key.name] as Json)) === formatKey(key.value)))
    } else if (element.kind === 'value' && Array.isArray(value)) value = value.find((item) => formatKey(item) === formatKey(element.value))
  }
  return value
}

const formatKey = (value: Json): string => (isNumber(value) ? String(toNumber(value)) : String(value))

/** What the twin knows: the labels and, for each manager, the keys that it owns. */
interface Twin {
  labels: Map<string, string>
  owners: Map<string, Set<string>>
}

const keys = ['a', 'b', 'c', '__proto__']
const labelMaps = fc.dictionary(fc.constantFrom(...keys), fc.constantFrom('1', '2'), { noNullPrototype: true }) as fc.Arbitrary<Record<string, string>>
const steps = fc.array(fc.record({ op: fc.constantFrom('update', 'apply', 'force'), manager: fc.constantFrom('x', 'y', 'z'), labels: labelMaps }), { maxLength: 12 })

holds('owners of the members of a map are as in a twin of plain sets', [steps], (writes) => {
  const twin: Twin = { labels: new Map(), owners: new Map() }
  let live = create(thing({ s: 'kept' }))
  for (const { op, manager, labels } of writes) {
    const next = op === 'update' ? updateTwin(twin, `${manager} Update`, labels) : applyTwin(twin, `${manager} Apply`, labels, op === 'force')
    const act = (): KubeObject => (op === 'update' ? update(live, thing({ s: 'kept', labels }), manager) : apply(live, thing({ labels }), manager, op === 'force'))
    if (next) live = act()
    else assert.throws(act, StatusError)
    const spec = live.spec as JsonObject
    assert.deepEqual(new Map(Object.entries(spec.labels ?? {}).toSorted()), new Map([...twin.labels].toSorted()))
    for (const name of ['x', 'y', 'z']) {
      for (const operation of ['Update', 'Apply']) assert.deepEqual(ownedLabels(live, name, operation), [...(twin.owners.get(`${name} ${operation}`) ?? [])].toSorted(), `${name} ${operation}`)
    }
  }
}, 200)

function ownedLabels(object: KubeObject, manager: string, operation: string): string[] {
  const entries = [...decodeManagedFields(object.metadata.managedFields).managers].filter(([id]) => id.includes(`"manager":"${manager}","operation":"${operation}"`))
  const prefix = '.spec.labels.'
  return entries.flatMap(([, { set }]) => [...pathsOf(set)].map(formatPath)).filter((path) => path.startsWith(prefix)).map((path) => path.slice(prefix.length)).toSorted()
}

function updateTwin(twin: Twin, writer: string, labels: Record<string, string>): boolean {
  const next = new Map(Object.entries(labels))
  for (const key of keys) {
    if (next.get(key) === twin.labels.get(key)) continue
    for (const owned of twin.owners.values()) owned.delete(key)
    if (next.has(key)) twin.owners.set(writer, (twin.owners.get(writer) ?? new Set()).add(key))
  }
  twin.labels = next
  return true
}

function applyTwin(twin: Twin, applier: string, labels: Record<string, string>, force: boolean): boolean {
  const config = new Map(Object.entries(labels))
  const others = [...twin.owners].filter(([owner]) => owner !== applier).map(([, owned]) => owned)
  const taken = [...config.keys()].filter((key) => config.get(key) !== twin.labels.get(key) && others.some((owned) => owned.has(key)))
  if (taken.length > 0 && !force) return false
  for (const owned of others) for (const key of taken) owned.delete(key)
  for (const key of twin.owners.get(applier) ?? []) if (!config.has(key) && !others.some((owned) => owned.has(key))) twin.labels.delete(key)
  for (const [key, value] of config) twin.labels.set(key, value)
  twin.owners.set(applier, new Set(config.keys()))
  return true
}

// Jobs, whose versions are converted by lenses.
const { conversion } = resources.find((served) => served.definition === notebookValidationJobs)!
const versionOf = (object: KubeObject): string => object.apiVersion.split('/')[1] as string

/** As the registry converts: by way of the hub form, into the live object or into one that was made of it. */
function convertInto(hub: KubeObject): Convert {
  return (object, version, original) => {
    const whole = original ? conversion.lift(original, versionOf(original), hub) : hub
    return conversion.show(conversion.lift(object, versionOf(object), whole), version)
  }
}

const versions = ['v1alpha1', 'v1beta1', 'v1'] as const
const jobs = fc.constantFrom(...versions).chain((version) => arbitraryJob(version).map((job) => ({ ...job, metadata: { name: 'x', namespace: 'ns' } }) as KubeObject))

// A part of a configuration, without status.
function part(job: KubeObject, keep: readonly boolean[]): KubeObject {
  let i = 0
  const take = (value: Json): Json => {
    if (!isObject(value)) return value
    const out: JsonObject = {}
    for (const [key, member] of Object.entries(value)) if (member !== undefined && keep[i++ % keep.length]) setKey(out, key, take(member))
    return out
  }
  const { status: _, ...rest } = job
  return { ...rest, spec: take(job.spec as Json) } as KubeObject
}

holds('through every version of a job: applying again changes nothing, and no one is lost', [arbitraryJob('v1'), jobs, jobs, fc.array(fc.boolean(), { minLength: 31, maxLength: 31 })],
  (start, first, second, keep) => {
    let hub = identified(trackUpdate({
      definition: notebookValidationJobs, version: 'v1', subresource: '', convert: convertInto(start), now: 0, live: undefined, manager: 'creator',
      next: { ...start, metadata: { name: 'x', namespace: 'ns' } },
    }))
    for (const [manager, job] of [['a', first], ['b', second]] as const) {
      const version = versionOf(job)
      const config = part(job, keep)
      const write = (): KubeObject => applyPatch({
        definition: notebookValidationJobs, version, subresource: '', convert: convertInto(hub), now: 1000, manager, force: true, config,
        live: conversion.show(hub, version),
      })
      hub = conversion.lift(write(), version, hub)
      same(write(), conversion.show(hub, version))
      const { managers } = decodeManagedFields(hub.metadata.managedFields)
      for (const [id, { set }] of managers) assert.ok(!hasMember(set, { kind: 'field', name: 'metadata' }) && !isEmptySet(set), id)
    }
  }, 25)

test('what is applied through one version is kept, taken and let go through another', () => {
  const { status: _, ...start } = fc.sample(arbitraryJob('v1'), { numRuns: 1, seed: 20261130 })[0]!
  let hub: KubeObject = { ...start, metadata: { name: 'x', namespace: 'ns', uid: 'u' }, spec: { notebook: (start.spec as JsonObject).notebook as Json } } as KubeObject
  const send = (manager: string, version: string, spec: JsonObject, force = false): JsonObject => {
    const config = { apiVersion: `mlops.dev/${version}`, kind: 'NotebookValidationJob', metadata: { name: 'x', namespace: 'ns' }, spec }
    const live = conversion.show(hub, version)
    const made = applyPatch({ definition: notebookValidationJobs, version, subresource: '', convert: convertInto(hub), live, config, manager, force, now: 0 })
    hub = conversion.lift(made, version, hub)
    return hub.spec as JsonObject
  }
  const show = ({ activeDeadlineSeconds, backoffLimit, podTemplate }: JsonObject): Json[] => [activeDeadlineSeconds!, backoffLimit!, (podTemplate as JsonObject).image!]
  const image = 'quay.io/jupyter/datascience-notebook:latest'

  assert.deepEqual(show(send('alice', 'v1', { activeDeadlineSeconds: 100, backoffLimit: 5, podTemplate: { image: 'a' } }, true)), [100, 5, 'a'])
  // The same value through the older version, where it has another name, is no conflict, and another is.
  assert.deepEqual(show(send('bob', 'v1alpha1', { timeoutSeconds: 100 })), [100, 5, 'a'])
  assert.throws(() => send('bob', 'v1alpha1', { timeoutSeconds: 100, podConfig: { containerImage: 'b' } }), /conflict with "alice": \.spec\.podTemplate\.image$/)
  // What alice lets go is what only she has, also where the older version cannot show it; defaults come in its place.
  assert.deepEqual(show(send('alice', 'v1', {})), [100, 2, image])
  assert.deepEqual(show(send('alice', 'v1', { activeDeadlineSeconds: 100, backoffLimit: 6 })), [100, 6, image])
  assert.deepEqual(show(send('bob', 'v1alpha1', {})), [100, 6, image])
  // One applier through two versions. What the older one cannot show is kept, as in every write through it.
  assert.deepEqual(show(send('alice', 'v1alpha1', { timeoutSeconds: 100 })), [100, 6, image])
  assert.deepEqual(show(send('alice', 'v1', { backoffLimit: 2 })), [3600, 2, image])
})
