/** Owners of fields when a version is retired: the same fields, held to an oracle that knows no lens operation and only converts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { pathsOf } from '../../src/api/managed-fields/field-set.ts'
import { decodeManagedFields } from '../../src/api/managed-fields/managers.ts'
import { formatPath, type Path } from '../../src/api/managed-fields/path.ts'
import { trackUpdate, withoutManagedFields } from '../../src/api/managed-fields/update.ts'
import { deepEqual, type Json, type KubeObject } from '../../src/api/object.ts'
import { openFieldOwners } from '../../src/registry/field-owners.ts'
import { createStorageCodec } from '../../src/registry/storage-codec.ts'
import { endpointOf } from '../../src/registry/ownership.ts'
import type { ResourceStore } from '../../src/registry/resource-store.ts'
import { resources } from '../../src/resources/index.ts'
import { arbitraryJob } from './arbitrary-job.ts'

const [{ definition, conversion }] = resources as [(typeof resources)[number]]
const codec = createStorageCodec(definition, conversion)
const owners = openFieldOwners(definition, conversion, (hub, version) => codec.view(hub, version))
const store = { definition, conversion, codec } as ResourceStore
const versions = definition.versions.map(({ name }) => name)
const retire = (version: string) => ({ retiredVersions: [], retiring: version })

/** What the first manager owns, by text. */
function ownedBy(object: KubeObject): Map<string, Path> {
  const [first] = decodeManagedFields(object.metadata.managedFields).managers.values()
  return new Map([...(first ? pathsOf(first.set) : [])].map((path) => [formatPath(path), path]))
}

/** A job as a manager creates it through a version, in hub form. */
function created(object: KubeObject, version: string): KubeObject {
  const { managedFields: _, ...metadata } = object.metadata
  const next = { ...object, metadata: metadata as KubeObject['metadata'] }
  const owned = trackUpdate({ ...endpointOf(store, { version, subresource: '' }, undefined), live: undefined, next, manager: 'maker', now: 0 })
  return conversion.lift({ ...owned, metadata: { ...owned.metadata, uid: 'u' } }, version)
}

for (const from of versions) {
  test(`${from}: who has written all of an object owns all of it that the version shows, in another version`, () => {
    fc.assert(fc.property(arbitraryJob(from), (object) => {
      const hub = created(object, from)
      const settled = owners.settle(hub, retire(from))
      assert.ok(!owners.names(settled, from))
      const [entry] = settled.metadata.managedFields ?? []
      const to = String(entry?.apiVersion ?? '').split('/')[1] ?? ''
      assert.equal(to, from === 'v1alpha1' ? 'v1beta1' : from === 'v1beta1' ? 'v1' : 'v1beta1')
      assert.deepEqual({ ...entry, fieldsV1: 0, apiVersion: 0, time: 0 }, { ...hub.metadata.managedFields![0], fieldsV1: 0, apiVersion: 0, time: 0 })
      assert.equal(entry?.time, hub.metadata.managedFields![0]!.time)
      // Nothing else has changed.
      assert.ok(deepEqual(withoutManagedFields(settled) as unknown as Json, withoutManagedFields(hub) as unknown as Json))
      // As if it had been created through the other version, but for what the first does not show.
      const wanted = leaves(ownedBy(created(codec.view(hub, to), to)))
      const owned = leaves(ownedBy(settled))
      for (const text of owned.keys()) assert.ok(wanted.has(text), `${text} is not there`)
      for (const [text, path] of wanted) if (!owned.has(text)) assert.ok(from === 'v1alpha1' && isHidden(hub, from, to, path), `${formatPath(path)} is lost`)
      // The move is settled: once more changes nothing.
      assert.equal(owners.settle(settled, retire(from)), settled)
    }), { numRuns: 60, seed: 20261130 })
  })
}

/** Without objects that hold others of them, unless they are items: who owns their fields keeps them as well. */
function leaves(paths: ReadonlyMap<string, Path>): Map<string, Path> {
  const texts = [...paths.keys()]
  return new Map([...paths].filter(([text]) => text.endsWith(']') || !texts.some((other) => other.startsWith(`${text}.`) || other.startsWith(`${text}[`))))
}

/** Whether the field at a path can be taken away without a change in what the other version shows: it is none of its owner's business. */
function isHidden(hub: KubeObject, from: string, to: string, path: Path): boolean {
  const cut = structuredClone(codec.view(hub, to)) as unknown as Json
  remove(cut, path)
  const [before, after] = [codec.view(hub, from), codec.view(conversion.lift(cut as unknown as KubeObject, to), from)]
  return deepEqual(after.spec as Json, before.spec as Json) && deepEqual(after.status as Json, before.status as Json)
}

function remove(value: Json | undefined, [element, ...rest]: Path): void {
  if (element === undefined || typeof value !== 'object' || value === null) return
  if (element.kind === 'field') {
    const object = value as Record<string, Json>
    if (rest.length > 0) return remove(object[element.name], rest)
    delete object[element.name]
    return
  }
  const items = value as unknown as Json[]
  const at = items.findIndex((item) => (element.kind === 'key' ? element.fields.every(({ name, value: key }) => deepEqual((item as Record<string, Json>)[name], key)) : element.kind === 'value' && deepEqual(item, element.value)))
  if (rest.length > 0) remove(items[at], rest)
  else items.splice(at, 1)
}
