/** Stories of server-side apply, as its users live them, and the answers that kube-apiserver gives. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json, JsonObject, KubeObject } from '../object.ts'
import { StatusError, type Status } from '../status.ts'
import { applyPatch } from './apply.ts'
import { rename, Shared, thing, things } from './thing.fixture.ts'

function refusal(act: () => unknown): Status {
  try {
    act()
  } catch (error) {
    assert.ok(error instanceof StatusError, String(error))
    return error.status
  }
  return assert.fail('was not refused')
}

const specOf = (shared: Shared): JsonObject => shared.object!.spec as JsonObject

test('alice applies, bob applies the same and another value', () => {
  const shared = new Shared()
  shared.apply('alice', thing({ s: 'a', n: 1 }))
  assert.deepEqual(shared.object!.spec, { s: 'a', n: 1, d: 3, nested: { level: 3 } }, 'with defaults')
  assert.deepEqual(shared.owners, ["alice Apply at 1: {'f:spec':{'f:n':{},'f:s':{}}}"], 'defaults have no owner')

  assert.deepEqual(refusal(() => shared.apply('bob', thing({ s: 'a', n: 2 }))), {
    kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure',
    message: 'Apply failed with 1 conflict: conflict with "alice": .spec.n',
    reason: 'Conflict',
    details: { causes: [{ reason: 'FieldManagerConflict', message: 'conflict with "alice"', field: '.spec.n' }] },
    code: 409,
  })

  shared.apply('bob', thing({ s: 'a', n: 2 }), { force: true })
  assert.deepEqual(shared.owners, ["alice Apply at 1: {'f:spec':{'f:s':{}}}", "bob Apply at 3: {'f:spec':{'f:n':{},'f:s':{}}}"])
  // What both apply stays until both let go.
  shared.apply('alice', thing({}))
  assert.equal(specOf(shared).s, 'a')
  shared.apply('bob', thing({ n: 2 }))
  assert.equal(specOf(shared).s, undefined)
  assert.deepEqual(shared.owners, ["alice Apply at 1: {'f:spec':{}}", "bob Apply at 5: {'f:spec':{'f:n':{}}}"])
})

test('applying the same again changes nothing; to own what is already there takes no time', () => {
  const shared = new Shared()
  shared.apply('alice', thing({ s: 'a' }))
  const first = shared.object
  shared.apply('alice', thing({ s: 'a' }))
  assert.deepEqual(shared.object, first)
  shared.apply('bob', thing({ s: 'a' }))
  assert.deepEqual(shared.owners, ["bob Apply no time: {'f:spec':{'f:s':{}}}", "alice Apply at 1: {'f:spec':{'f:s':{}}}"])
})

test('a controller writes over an applier, who conflicts then', () => {
  const shared = new Shared()
  shared.apply('gitops', thing({ n: 1, s: 'a', ports: [{ port: 80, name: 'web' }] }))
  shared.update('hpa', thing({ ...specOf(shared), n: 5, ports: [{ port: 80, protocol: 'TCP', name: 'http' }] }))
  shared.update('worker', thing({ ...specOf(shared), s: 'b' }))
  const { message, details } = refusal(() => shared.apply('gitops', thing({ n: 1, s: 'a', ports: [{ port: 80, name: 'web' }] })))
  assert.equal(message, [
    'Apply failed with 3 conflicts: conflicts with "hpa" using example.com/v1:', '- .spec.n', '- .spec.ports[port=80,protocol="TCP"].name',
    'conflicts with "worker" using example.com/v1:', '- .spec.s',
  ].join('\n'))
  assert.deepEqual(details?.causes?.map(({ field, message: cause }) => `${cause} ${field}`), [
    'conflict with "hpa" using example.com/v1 .spec.n',
    'conflict with "hpa" using example.com/v1 .spec.ports[port=80,protocol="TCP"].name',
    'conflict with "worker" using example.com/v1 .spec.s',
  ])
  // Leaving the field to the controller is no conflict, and keeps it.
  shared.apply('gitops', thing({ s: 'b', ports: [{ port: 80, name: 'http' }] }))
  assert.equal(specOf(shared).n, 5)
  assert.deepEqual(shared.owners.map((line) => line.split(' ')[0]), ['gitops', 'hpa', 'worker'])
})

test('what was not tracked belongs to before-first-apply', () => {
  const shared = new Shared()
  shared.object = thing({ s: 'a', n: 1 }, { uid: 'u', labels: { app: 'x' } })
  const { message } = refusal(() => shared.apply('alice', thing({ s: 'b' })))
  assert.equal(message, 'Apply failed with 1 conflict: conflict with "before-first-apply" using example.com/v1: .spec.s')
  shared.apply('alice', thing({ s: 'a' }))
  assert.deepEqual(shared.owners, [
    "alice Apply no time: {'f:spec':{'f:s':{}}}",
    "before-first-apply Update at 2: {'f:metadata':{'f:labels':{'.':{},'f:app':{}}},'f:spec':{'.':{},'f:n':{},'f:s':{}}}",
  ])
})

test('items of lists come and go with their owners', () => {
  const shared = new Shared()
  shared.apply('alice', thing({ items: [{ name: 'a', v: 1 }, { name: 'b' }], set: ['x', 'y'], opts: { k: { v: 1 } } }))
  shared.apply('bob', thing({ items: [{ name: 'c' }, { name: 'a', sub: [{ k: 'k' }] }], set: ['z', 'x'], opts: { k: { w: 'w' } } }))
  assert.deepEqual(specOf(shared).items, [{ name: 'c' }, { name: 'a', v: 1, sub: [{ k: 'k' }] }, { name: 'b' }])
  assert.deepEqual(specOf(shared).set, ['z', 'x', 'y'])
  shared.apply('alice', thing({}))
  assert.deepEqual(specOf(shared).items, [{ name: 'c' }, { name: 'a', sub: [{ k: 'k' }] }])
  assert.deepEqual(specOf(shared).set, ['z', 'x'])
  assert.deepEqual(specOf(shared).opts, { k: { w: 'w' } })
})

test('an item stays while an applier has it, not for an updater of one of its fields', () => {
  const shared = new Shared()
  shared.apply('alice', thing({ items: [{ name: 'a', v: 1 }, { name: 'b' }] }))
  shared.apply('bob', thing({ items: [{ name: 'a' }] }))
  shared.update('carol', thing({ ...specOf(shared), items: [{ name: 'a', v: 1 }, { name: 'b', v: 2 }] }))
  shared.apply('alice', thing({}))
  assert.deepEqual(specOf(shared).items, [{ name: 'a' }])
  // As upstream, a list whose last item goes so is null.
  shared.update('carol', thing({ ...specOf(shared), items: [{ name: 'a', v: 2 }] }))
  shared.apply('bob', thing({}))
  assert.equal(specOf(shared).items, null)
})

test('atomic nodes are one field', () => {
  const shared = new Shared()
  shared.apply('alice', thing({ atom: { a: '1' }, plainList: ['x'] }))
  assert.equal(refusal(() => shared.apply('bob', thing({ atom: { b: '2' } }))).message, 'Apply failed with 1 conflict: conflict with "alice": .spec.atom')
  assert.equal(refusal(() => shared.apply('bob', thing({ plainList: ['x', 'y'] }))).message, 'Apply failed with 1 conflict: conflict with "alice": .spec.plainList')
  shared.apply('bob', thing({ atom: { b: '2' } }), { force: true })
  assert.deepEqual(specOf(shared).atom, { b: '2' })
})

test('free-form content is deduced: maps member by member, lists as a whole', () => {
  const shared = new Shared()
  shared.apply('alice', thing({ free: { known: 1, un: { k: [1, { a: 2 }], o: 'x' } } }))
  assert.deepEqual(shared.owners, ["alice Apply at 1: {'f:spec':{'f:free':{'f:known':{},'f:un':{'.':{},'f:k':{},'f:o':{}}}}}"])
  const { message } = refusal(() => shared.apply('bob', thing({ free: { known: 2, un: { k: [1], n: 'y' } } })))
  assert.equal(message, 'Apply failed with 2 conflicts: conflicts with "alice":\n- .spec.free.known\n- .spec.free.un.k')
  shared.apply('bob', thing({ free: { un: { n: 'y' } } }))
  assert.deepEqual(specOf(shared).free, { known: 1, un: { k: [1, { a: 2 }], o: 'x', n: 'y' } })
})

test('nulls are applied, unless they stand for a map or list that is there', () => {
  const shared = new Shared()
  shared.apply('alice', thing({ nul: 'x', labels: { a: 'b' }, set: ['x'] }))
  shared.apply('bob', thing({ nul: null, labels: null, set: null }), { force: true })
  assert.deepEqual([specOf(shared).nul, specOf(shared).labels, specOf(shared).set], [null, { a: 'b' }, ['x']])
})

test('one applier has one entry, whatever version it comes through', () => {
  const shared = new Shared()
  const old = (spec: Json): KubeObject => rename(thing(spec), 'v1beta1')
  shared.apply('alice', old({ set: ['a', 'b'], s: 'x' }), { version: 'v1beta1' })
  shared.object = rename(shared.object!, 'v1')
  shared.apply('bob', thing({ set: ['c'] }), { force: true })
  // The list is atomic to alice's version, so its change took it from her.
  assert.deepEqual(shared.owners, [
    "alice Apply example.com/v1beta1 at 1: {'f:spec':{'f:s':{}}}",
    "bob Apply at 2: {'f:spec':{'f:set':{'v:\\'c\\'':{}}}}",
  ])
  shared.apply('alice', thing({ n: 1 }))
  assert.equal(specOf(shared).s, undefined, 'what was applied through the other version goes too')
  assert.deepEqual(shared.owners, ["bob Apply at 2: {'f:spec':{'f:set':{'v:\\'c\\'':{}}}}", "alice Apply at 3: {'f:spec':{'f:n':{}}}"])
})

test('a conversion back finds what the other version cannot show', () => {
  // v1beta1 has no `n`: it is kept apart, as a lens does.
  const convert = (object: KubeObject, version: string, original?: KubeObject): KubeObject => {
    const { n: _, ...spec } = { ...(object.spec as JsonObject) }
    const kept = (original?.spec as JsonObject | undefined)?.n
    return { ...object, apiVersion: `example.com/${version}`, spec: version === 'v1' && kept !== undefined ? { ...spec, n: kept } : spec }
  }
  const shared = new Shared()
  shared.apply('alice', rename(thing({ s: 'x', b: true }), 'v1beta1'), { version: 'v1beta1', convert })
  shared.object = { ...rename(shared.object!, 'v1'), spec: { ...specOf(shared), n: 7 } }
  shared.apply('alice', thing({ b: true }), { convert })
  assert.deepEqual([specOf(shared).s, specOf(shared).n], [undefined, 7])
})

test('the status has owners of its own', () => {
  const shared = new Shared()
  shared.apply('alice', thing({ s: 'a' }, {}, { status: { phase: 'ignored' } }))
  shared.apply('alice', thing({ s: 'other' }, { labels: { a: 'b' } }, { status: { phase: 'Ready', conditions: [{ type: 'R', status: 'True' }] } }), { subresource: 'status', force: true })
  assert.deepEqual(shared.owners.at(-1),
    "alice Apply status at 2: {'f:status':{'f:conditions':{'k:{\\'type\\':\\'R\\'}':{'.':{},'f:status':{},'f:type':{}}},'f:phase':{}}}")
  const { message } = refusal(() => shared.apply('bob', thing({}, {}, { status: { phase: 'Pending' } }), { subresource: 'status' }))
  assert.equal(message, 'Apply failed with 1 conflict: conflict with "alice" with subresource "status": .status.phase')
})

test('the scale subresource', () => {
  const scale = (replicas: number): JsonObject => ({ apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { name: 'x', namespace: 'ns' }, spec: { replicas } })
  const shared = new Shared()
  shared.update('hpa', scale(1) as KubeObject, { subresource: 'scale' })
  assert.deepEqual(shared.owners, ["hpa Update autoscaling/v1 scale at 1: {'f:spec':{'.':{},'f:replicas':{}}}"])
  const { message } = refusal(() => shared.apply('sc', scale(4), { subresource: 'scale' }))
  assert.equal(message, 'Apply failed with 1 conflict: conflict with "hpa" with subresource "scale" using autoscaling/v1: .spec.replicas')
  assert.equal(refusal(() => shared.apply('sc', thing({}), { subresource: 'scale' })).message, 'invalid object type: example.com/v1, Kind=Thing')
})

test('kubectl takes over what its annotation says it applied', () => {
  const annotation = 'kubectl.kubernetes.io/last-applied-configuration'
  const start = (lastApplied: Json | string, more: JsonObject = {}): Shared => {
    const shared = new Shared()
    const text = typeof lastApplied === 'string' ? lastApplied : JSON.stringify(lastApplied)
    shared.update('kubectl-client-side-apply', thing({ s: 'a', n: 1, ...more }, { annotations: { [annotation]: text } }))
    return shared
  }
  const config = thing({ s: 'b', n: 1 }, { annotations: { [annotation]: 'sent' } })
  const text = (shared: Shared): string | undefined => shared.object!.metadata.annotations?.[annotation]

  const taken = start(thing({ s: 'a', n: 1 }) as JsonObject)
  taken.apply('kubectl', thing({ s: 'b', n: 1 }))
  assert.equal(specOf(taken).s, 'b')
  assert.equal(text(taken), '{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"x","namespace":"ns"},"spec":{"n":1,"s":"b"}}\n')

  // Fields that differ from the annotation still conflict, and only they are named.
  const differing = start(thing({ s: 'a', n: 2 }) as JsonObject)
  assert.equal(refusal(() => differing.apply('kubectl', thing({ s: 'b', n: 3 }))).message,
    'Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using example.com/v1: .spec.n')

  for (const useless of ['', 'x', '[]', '{}', JSON.stringify(rename(thing({ s: 'a' }), 'v1beta1')), JSON.stringify({ ...thing({ s: 'a' }), kind: 'Other' }), JSON.stringify(thing({ s: 5 }))]) {
    assert.match(refusal(() => start(useless).apply('kubectl', thing({ s: 'b' }))).message!, /^Apply failed with 1 conflict: .*: \.spec\.s$/, useless)
  }
  assert.match(refusal(() => taken.apply('alice', config)).message!, /annotations\.kubectl/, 'nobody else does')

  // The annotation follows what is applied, without itself, and goes when annotations would be too big.
  const forced = start('x')
  forced.apply('kubectl', config, { force: true })
  assert.equal(text(forced), '{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"annotations":{},"name":"x","namespace":"ns"},"spec":{"n":1,"s":"b"}}\n')
  forced.apply('kubectl', thing({ s: 'x'.repeat(300_000) }), { force: true })
  assert.equal(text(forced), undefined)
})

test('refusals', () => {
  const apply = (config: JsonObject, live?: KubeObject): string => {
    const { code, reason, message } = refusal(() =>
      applyPatch({ definition: things, version: 'v1', subresource: '', live, config, manager: 'm', force: false, now: 0 }))
    return `${code} ${reason ?? ''} ${message}`
  }
  assert.equal(apply({ metadata: { name: 'x' } }), '400 BadRequest invalid object type: /, Kind=')
  assert.equal(apply({ apiVersion: 'v1', kind: 'Pod' }), '400 BadRequest invalid object type: /v1, Kind=Pod')
  assert.equal(apply({ apiVersion: 'a/b/c', kind: 'Pod' }), '400 BadRequest invalid object type: /, Kind=')
  assert.equal(apply(rename(thing({}), 'v1beta1')), '400 BadRequest invalid object type: example.com/v1beta1, Kind=Thing')
  assert.equal(apply(thing({}, { managedFields: [] })), '400 BadRequest metadata.managedFields must be nil')
  assert.equal(apply(thing({ q: 1 })), '500  failed to create typed patch object (ns/x; example.com/v1, Kind=Thing): .spec.q: field not declared in schema')
  assert.equal(apply({ apiVersion: 'example.com/v1', kind: 'Thing', metadata: 'x' }),
    '500  failed to create typed patch object (/; example.com/v1, Kind=Thing): .metadata: expected map, got &{x}')
  assert.equal(apply(thing({ items: [{ name: 'a' }, { name: 'a' }] })),
    '500  failed to create typed patch object (ns/x; example.com/v1, Kind=Thing): .spec.items: duplicate entries for key [name="a"]')
  assert.equal(apply(thing({}), thing({ s: 5 }, { uid: 'u' })), '500  failed to create manager for existing fields: ' +
    'failed to convert new object (ns/x; example.com/v1, Kind=Thing) to smd typed: .spec.s: expected string, got &value.valueUnstructured{Value:5}')
  const entry = { manager: 'a', operation: 'Update', apiVersion: 'example.com/v1', fieldsType: 'FieldsV1', fieldsV1: { 'f:spec': {} } }
  assert.equal(apply(thing({}), thing({ b: 5 }, { uid: 'u', managedFields: [entry] })),
    '500  failed to create typed live object (ns/x; example.com/v1, Kind=Thing): .spec.b: expected boolean, got &{5}')
  assert.equal(apply(thing({}), thing({}, { uid: 'u', managedFields: [{ ...entry, operation: 'x' }] })), '500  failed to decode managed fields: operation must be `Apply` or `Update`')
  assert.equal(apply(thing({ s: 'x' }), thing({ items: [{ name: 'a' }, { name: 'a' }] }, { uid: 'u', managedFields: [{ ...entry, apiVersion: 'example.com/v1beta1' }] })),
    '500  .spec.items: duplicate entries for key [name="a"]')
})

test('managedFields: null in a configuration are none', () => {
  const shared = new Shared()
  shared.apply('alice', thing({ s: 'a' }, { managedFields: null as unknown as JsonObject[] }))
  assert.deepEqual(shared.owners, ["alice Apply at 1: {'f:spec':{'f:s':{}}}"])
})
