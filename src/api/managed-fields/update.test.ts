import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deepEqual, type Json, type JsonObject, type KubeObject } from '../object.ts'
import { applyPatch } from './apply.ts'
import { managerName } from './manager-name.ts'
import { decodeManagedFields } from './managers.ts'
import { rename, Shared, thing, things } from './thing.fixture.ts'
import { ignoreTimestamps } from './timestamps.ts'
import { trackUpdate } from './update.ts'

const without = (object: KubeObject): KubeObject => ({ ...object, metadata: { ...object.metadata, managedFields: undefined } }) as KubeObject

test('the creator owns what there is after defaulting, with the structs above it', () => {
  const shared = new Shared()
  shared.update('alice', thing({ s: 'x', items: [{ name: 'a', v: 1 }], labels: {} }, { labels: { app: 'a' }, finalizers: ['f/a'] }, { status: { phase: 'A' } }))
  assert.deepEqual(shared.owners, [
    `alice Update at 1: {'f:metadata':{'f:finalizers':{'.':{},'v:\\'f/a\\'':{}},'f:labels':{'.':{},'f:app':{}}},` +
      `'f:spec':{'.':{},'f:items':{'.':{},'k:{\\'name\\':\\'a\\'}':{'.':{},'f:name':{},'f:v':{}}},'f:labels':{},'f:s':{}}}`,
  ])
})

test('nobody owns what identifies an object', () => {
  const shared = new Shared()
  shared.update('alice', { apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name: 'x', namespace: 'ns' } })
  assert.deepEqual(shared.object!.metadata.managedFields, undefined)
})

test('a writer takes what it changes, and nobody owns what was removed', () => {
  const shared = new Shared()
  shared.update('alice', thing({ s: 'a', n: 1, b: true }))
  shared.update('bob', thing({ s: 'b', n: 1 }))
  assert.deepEqual(shared.owners, ["alice Update at 1: {'f:spec':{'.':{},'f:n':{}}}", "bob Update at 2: {'f:spec':{'f:s':{}}}"])
  // Removing alone makes no owner and moves no time.
  shared.update('carol', thing({ s: 'b' }))
  assert.deepEqual(shared.owners, ["alice Update at 1: {'f:spec':{}}", "bob Update at 2: {'f:spec':{'f:s':{}}}"])
  // Whoever owns nothing any more goes; the writer's earlier entry is united with what it takes.
  shared.update('bob', thing({ s: 'b', n: 2 }))
  shared.update('bob', { ...thing(null), spec: undefined } as unknown as KubeObject)
  assert.deepEqual(shared.owners, [])
})

test('a write that changes nothing leaves the times', () => {
  const shared = new Shared()
  shared.update('alice', thing({ s: 'a' }))
  const { owners } = shared
  shared.update('alice', thing({ s: 'a' }))
  assert.deepEqual(shared.owners, owners)
})

test('who writes through another version, or a subresource, is somebody else', () => {
  const shared = new Shared()
  shared.update('alice', thing({ s: 'a', n: 1 }))
  shared.object = rename(shared.object!, 'v1beta1')
  shared.update('alice', rename(thing({ s: 'b', n: 1 }), 'v1beta1'), { version: 'v1beta1' })
  shared.object = rename(shared.object!, 'v1')
  shared.update('alice', thing({ s: 'b', n: 1 }, { labels: { a: 'b' } }, { status: { phase: 'A' } }), { subresource: 'status' })
  assert.deepEqual(shared.owners, [
    "alice Update at 1: {'f:spec':{'.':{},'f:n':{}}}",
    "alice Update example.com/v1beta1 at 2: {'f:spec':{'f:s':{}}}",
    "alice Update status at 3: {'f:status':{'.':{},'f:phase':{}}}",
  ])
})

test('an entry is compared in its own version', () => {
  const shared = new Shared()
  shared.object = undefined
  shared.update('alice', rename(thing({ set: ['a'], atom: { a: 'x' }, opts: { k: { v: 1 } } }), 'v1beta1'), { version: 'v1beta1' })
  shared.object = rename(shared.object!, 'v1')
  shared.update('bob', thing({ set: ['a', 'b'], atom: { a: 'x', b: 'y' }, opts: { k: { v: 1, w: 'z' } } }))
  assert.deepEqual(shared.owners, [
    // A plain list and an atomic map are lost whole; of the granular map the other member stays.
    "alice Update example.com/v1beta1 at 1: {'f:spec':{'.':{},'f:atom':{'.':{},'f:a':{}}}}",
    "bob Update at 2: {'f:spec':{'f:atom':{},'f:opts':{'f:k':{'f:w':{}}},'f:set':{'v:\\'b\\'':{}}}}",
  ])
})

test('entries of versions that are not defined any more are dropped by the next write', () => {
  const shared = new Shared()
  shared.update('alice', thing({ s: 'a' }))
  const [entry] = shared.object!.metadata.managedFields as JsonObject[]
  const managedFields = [{ ...entry, manager: 'old', apiVersion: 'example.com/v1alpha1' }, { ...entry, manager: 'other', apiVersion: 'v1' }, entry as JsonObject]
  shared.object = { ...shared.object!, metadata: { ...shared.object!.metadata, managedFields } }
  shared.update('alice', thing({ s: 'a' }))
  assert.deepEqual(shared.owners, ["alice Update at 1: {'f:spec':{'.':{},'f:s':{}}}"])
})

test('managedFields in a request', () => {
  const entry = { manager: 'eve', operation: 'Apply', apiVersion: 'example.com/v1', fieldsType: 'FieldsV1', fieldsV1: { 'f:spec': { 'f:s': {} } } }
  const alice = "alice Update at 1: {'f:spec':{'.':{},'f:s':{}}}"
  const send = (managedFields: JsonObject[] | undefined, subresource: '' | 'status' = ''): string[] => {
    const shared = new Shared()
    shared.update('alice', thing({ s: 'a' }))
    shared.update('bob', thing({ s: 'a' }, managedFields ? { managedFields } : {}), { subresource })
    return shared.owners
  }
  assert.deepEqual(send(undefined), [alice])
  assert.deepEqual(send([]), [alice])
  assert.deepEqual(send([{}]), [])
  assert.deepEqual(send([entry]), ["eve Apply no time: {'f:spec':{'f:s':{}}}"])
  assert.deepEqual(send([entry], 'status'), [alice])
  assert.deepEqual(send([{}], 'status'), [alice])
  for (const bad of [{ operation: 'Patch' }, { operation: undefined }, { apiVersion: '' }, { fieldsType: undefined }, { fieldsType: 'FieldsV2' }, { fieldsV1: 5 }, { fieldsV1: { 'f:a': 5 } }]) {
    assert.deepEqual(send([{ ...entry, ...bad } as JsonObject]), [alice], JSON.stringify(bad))
  }
})

test('nothing is tracked on an object that has no entries', () => {
  const shared = new Shared()
  shared.update('alice', thing({ s: 'a' }))
  shared.update('bob', thing({ s: 'b' }, { managedFields: [{}] }))
  shared.update('carol', thing({ s: 'c' }))
  assert.deepEqual(shared.owners, [])
})

test('an object that ownership cannot type loses its entries, as validation is not this step', () => {
  const shared = new Shared()
  shared.update('alice', thing({ s: 'a' }))
  assert.equal(shared.update('bob', thing({ s: 5 })).metadata.managedFields, undefined)
  assert.equal(shared.update('bob', thing({ s: 5 })).spec && (shared.object!.spec as JsonObject).s, 5)
})

test('an object has owners however deep it nests, and can be applied', () => {
  const nest = (depth: number, inmost: Json): Json => Array.from({ length: depth }).reduce<Json>((inner) => ({ a: inner }), inmost)
  for (const depth of [512, 1000, 9990]) {
    const object = { ...thing({ free: nest(depth, 1) }) }
    const created = trackUpdate({ definition: things, version: 'v1', subresource: '', live: undefined, next: object, manager: 'alice', now: 0 })
    assert.equal(created.metadata.managedFields?.length, 1)
    const live = { ...created, metadata: { ...created.metadata, uid: 'u' } }
    const apply = (base: KubeObject, free: Json, force: boolean): KubeObject =>
      applyPatch({ definition: things, version: 'v1', subresource: '', live: base, config: thing({ free }), manager: 'bob', force, now: 0 })
    assert.throws(() => apply(live, nest(depth, 2), false), (error: Error) => error.message.startsWith('Apply failed with 1 conflict: conflict with "alice" using example.com/v1: .spec.free.a.a'))
    const applied = apply(live, nest(depth, 2), true)
    assert.ok(deepEqual((applied.spec as JsonObject).free, nest(depth, 2)))
    const shorter = apply(applied, nest(depth >> 1, { b: 1 }), true)
    assert.deepEqual(shorter.metadata.managedFields?.map(({ manager }) => manager), ['bob', 'alice'])
    const unowned = { ...live, metadata: { ...live.metadata, managedFields: undefined } } as unknown as KubeObject
    assert.deepEqual(apply(unowned, nest(depth, 1), true).metadata.managedFields?.map(({ manager }) => manager), ['bob', 'before-first-apply'])
  }
})

test('the status of the main resource and all but the status of its subresource are not owned', () => {
  const shared = new Shared()
  shared.update('alice', thing({ s: 'a' }, {}, { status: { phase: 'A' } }))
  shared.update('bob', thing({ s: 'b' }, { labels: { a: 'b' } }, { status: { phase: 'B' } }), { subresource: 'status' })
  assert.deepEqual(shared.owners, ["alice Update at 1: {'f:spec':{'.':{},'f:s':{}}}", "bob Update status at 2: {'f:status':{'f:phase':{}}}"])
})

test('more than ten updaters: the oldest become ancient-changes, version by version', () => {
  const shared = new Shared()
  const annotations: Record<string, string> = {}
  for (let i = 1; i <= 13; i++) {
    annotations[`a${i}`] = 'x'
    const version = i === 2 ? 'v1beta1' : 'v1'
    if (shared.object) shared.object = rename(shared.object, version)
    shared.update(`m${i}`, rename(thing({}, { annotations: { ...annotations } }), version), { version })
  }
  assert.deepEqual(shared.owners.map((line) => line.split(': ')[0]), [
    'm2 Update example.com/v1beta1 at 2', 'ancient-changes Update at 5', ...[6, 7, 8, 9, 10, 11, 12, 13].map((i) => `m${i} Update at ${i}`),
  ])
  assert.equal(shared.owners[1]?.split('at 5: ')[1], "{'f:metadata':{'f:annotations':{'.':{},'f:a1':{},'f:a3':{},'f:a4':{},'f:a5':{}}},'f:spec':{}}")
})

test('entries stand in the order of operation, time, manager, version and subresource', () => {
  const entry = (manager: string, operation: string, time: string | undefined, more: JsonObject = {}): JsonObject => ({
    manager, operation, apiVersion: 'example.com/v1', fieldsType: 'FieldsV1', fieldsV1: { 'f:spec': { [`f:${manager}`]: {} } }, ...(time && { time }), ...more,
  })
  const sorted = [
    entry('b', 'Apply', undefined), entry('z', 'Apply', '2020-01-01T00:00:00Z'), entry('c', 'Update', undefined), entry('y', 'Update', '2019-01-01T00:00:00Z'),
    entry('a', 'Update', '2020-01-01T00:00:00Z'), entry('a', 'Update', '2020-01-01T00:00:00Z', { subresource: 'status' }),
    entry('a', 'Update', '2020-01-01T00:00:00Z', { apiVersion: 'example.com/v1beta1' }), entry('b', 'Update', '2020-01-01T00:00:00Z'),
  ]
  const live = thing({ q: 1 }, { uid: 'u', managedFields: sorted.toReversed() })
  const next = { ...live, spec: {} }
  const out = trackUpdate({ definition: things, version: 'v1', subresource: '', live: without({ ...live, spec: {} }), next, manager: 'm', now: 0 })
  assert.deepEqual(out.metadata.managedFields, sorted)
})

test('changed times alone are no change', () => {
  const old = thing({ s: 'a' }, { managedFields: [{ manager: 'a', time: '2020-01-01T00:00:00Z' }, { manager: 'b' }] })
  const next = thing({ s: 'a' }, { managedFields: [{ manager: 'a', time: '2020-01-02T00:00:00Z' }, { manager: 'b', time: '2020-01-02T00:00:00Z' }] })
  assert.deepEqual(ignoreTimestamps(next, old), old)
  for (const other of [
    { ...next, spec: { s: 'b' } },
    { ...next, metadata: { ...next.metadata, labels: { a: 'b' } } },
    { ...next, metadata: { ...next.metadata, managedFields: next.metadata.managedFields!.toReversed() } },
    { ...next, metadata: { ...next.metadata, managedFields: next.metadata.managedFields!.slice(1) } },
    without(next),
  ]) assert.equal(ignoreTimestamps(other, old), other)
})

test('the name of a writer', () => {
  assert.equal(managerName('mine', 'kubectl/v1.35.0 (linux)'), 'mine')
  assert.equal(managerName('', 'kubectl/v1.35.0 (linux)'), 'kubectl')
  assert.equal(managerName('', 'a\u0007b\u200bc/1'), 'abc')
  // A header comes as bytes, which are UTF-8 or not.
  assert.equal(managerName('', Buffer.from(`${'é'.repeat(70)}/1`).toString('latin1')), 'é'.repeat(64))
  assert.equal(managerName('', '\u00e4/1'), '\ufffd')
  assert.equal(managerName('', ''), '')
  const shared = new Shared()
  shared.update('', thing({ s: 'a' }))
  assert.match(shared.owners[0]!, /^unknown Update/)
})

test('texts of entries that are not valid', () => {
  const decode = (entry: JsonObject): string => {
    try {
      decodeManagedFields([entry])
      return ''
    } catch (error) {
      return (error as Error).message
    }
  }
  assert.equal(decode({ operation: 'x' }), 'operation must be `Apply` or `Update`')
  assert.equal(decode({ operation: 'Apply' }), 'apiVersion must not be empty')
  assert.equal(decode({ operation: 'Apply', apiVersion: 'v1' }), 'missing fieldsType in managed fields entry 0')
  assert.equal(decode({ operation: 'Apply', apiVersion: 'v1', fieldsType: 'x' }), 'invalid fieldsType "x" in managed fields entry 0')
  assert.equal(decode({ operation: 'Apply', apiVersion: 'v1', fieldsType: 'FieldsV1' }), '')
})
