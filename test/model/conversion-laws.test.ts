/** The laws of conversion, on objects generated from the schemas, for every version, every pair and every route. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { encodeJson, parseStored } from '../../src/api/codec.ts'
import type { Stored } from '../../src/api/conversion.ts'
import { compileRules } from '../../src/api/cel.ts'
import { applyDefaults } from '../../src/api/default.ts'
import { compileLens } from '../../src/api/lens-compile.ts'
import { deepEqual, type Json, type JsonObject, type KubeObject } from '../../src/api/object.ts'
import { prune } from '../../src/api/prune.ts'
import type { Schema } from '../../src/api/schema.ts'
import { findVersion } from '../../src/api/resource.ts'
import { validateSchema } from '../../src/api/validate.ts'
import { resources } from '../../src/resources/index.ts'
import { notebookValidationJobs } from '../../src/resources/notebookvalidationjobs/definition.ts'
import { alphaToBeta, betaToV1 } from '../../src/resources/notebookvalidationjobs/lenses.ts'
import { arbitraryJob } from './arbitrary-job.ts'
import { arbitraryJson, arbitraryJsonObject, blend, clone, complete } from './arbitrary-object.ts'

const { conversion } = resources.find((served) => served.definition === notebookValidationJobs)!
const versions = ['v1alpha1', 'v1beta1', 'v1'] as const
const schemaOf = (version: string): Schema => findVersion(notebookValidationJobs, version)!.schema
const jobs = Object.fromEntries(versions.map((version) => [version, arbitraryJob(version)])) as Record<(typeof versions)[number], fc.Arbitrary<KubeObject>>

// assert's diff of two large objects takes longer than the test.
function same(actual: Json | undefined, expected: Json | undefined, law: string): void {
  if (deepEqual(actual, expected)) return
  assert.equal(encodeSorted(actual), encodeSorted(expected), law)
  assert.fail(`${law}: differ in the kind of a number`)
}

const throughBytes = (value: Json): Json => parseStored(Buffer.from(encodeJson(value)))

function encodeSorted(value: Json | undefined): string {
  return JSON.stringify(value, (_, member) => {
    if (typeof member === 'bigint') return `${member}n`
    if (typeof member !== 'object' || member === null || Array.isArray(member)) return member
    return Object.fromEntries(Object.entries(member).toSorted())
  }, 1)
}

function holds<T extends unknown[]>(law: string, arbitraries: { [K in keyof T]: fc.Arbitrary<T[K]> }, check: (...values: T) => void, numRuns = 100): void {
  test(law, () => {
    fc.assert(fc.property(fc.tuple(...arbitraries) as unknown as fc.Arbitrary<T>, (values) => check(...values)), { numRuns, seed: 20261130 })
  })
}

const rules = Object.fromEntries(versions.map((version) => [version, compileRules(schemaOf(version))]))

// What a version has against an object, or against it as an update of an old one.
function faults(object: KubeObject, old?: KubeObject): string[] {
  const version = object.apiVersion.split('/')[1] as string
  const schema = validateSchema(object, schemaOf(version), old === undefined ? {} : { old })
  return [...schema, ...rules[version]!.evaluate(object, old).errors].map(({ field, body }) => `${field}: ${body}`)
}

const immutability = /: field is immutable$|: may only be lowered$/
const changes = (object: KubeObject, old: KubeObject): boolean => faults(object, old).some((fault) => immutability.test(fault))

// Objects of a version that share much with what is shown of another, as an edited object does.
const choices = fc.infiniteStream(fc.boolean())
function edited(version: string, shown: KubeObject, other: KubeObject, choose: IterableIterator<boolean>): KubeObject {
  const made = blend(shown, other, () => choose.next().value as boolean) as KubeObject
  return complete({ ...made, metadata: shown.metadata }, schemaOf(version))
}

for (const version of versions) {
  const show = (hub: KubeObject): KubeObject => conversion.show(hub, version)

  holds(`${version}: put(get(s), s) = s`, [jobs.v1], (s) => {
    same(conversion.lift(show(s), version, s), s, 'put(get(s), s) = s')
  })

  holds(`${version}: get(put(v, s)) = v`, [jobs.v1, jobs[version]], (s, v) => {
    same(show(conversion.lift(v, version, s)), v, 'get(put(v, s)) = v')
  })

  holds(`${version}: get(create(v)) = v`, [jobs[version]], (v) => {
    same(show(conversion.lift(v, version)), v, 'get(create(v)) = v')
  })

  holds(`${version}: default(get(s)) = get(s) and prune(get(s)) = get(s)`, [jobs.v1], (s) => {
    const shown = show(s)
    same(applyDefaults(shown, schemaOf(version)), shown, 'default(get(s)) = get(s)')
    assert.deepEqual(prune(shown, schemaOf(version), { root: true }).unknown, [])
  })

  holds(`${version}: put and create are pruned and defaulted in the hub version`, [jobs.v1, jobs[version]], (s, v) => {
    for (const made of [conversion.lift(v, version, s), conversion.lift(v, version)]) {
      same(complete(made, schemaOf('v1')), made, 'complete(put(v, s)) = put(v, s)')
      assert.equal(made.apiVersion, 'mlops.dev/v1')
    }
  })

  holds(`${version}: load(store(s)) = s, also as bytes`, [jobs.v1], (s) => {
    const stored = conversion.store(s, version)
    assert.equal(stored.object.apiVersion, `mlops.dev/${version}`)
    same(stored.object, show(s), 'what is stored is what is shown')
    same(conversion.load(stored), s, 'load(store(s)) = s')
    // Bytes say 1 for 1.0, as upstream's do.
    same(conversion.load(throughBytes(stored as unknown as Json) as unknown as Stored), throughBytes(s), 'load(parse(encode(store(s)))) = parse(encode(s))')
  })

  holds(`${version}: conversion changes none of its inputs, and metadata passes through`, [jobs.v1, jobs[version]], (s, v) => {
    const [before, written] = [clone(s as Json), clone(v as Json)]
    const stored = conversion.store(s, version)
    const remainder = stored.remainder === undefined ? undefined : clone(stored.remainder)
    const made = conversion.lift(v, version, s)
    conversion.load(stored)
    conversion.lift(v, version)
    same(s, before, 'the original')
    same(v, written, 'the written object')
    same(stored.remainder, remainder, 'the remainder')
    assert.equal(made.metadata, v.metadata)
    assert.equal(stored.object.metadata, s.metadata)
  })

  holds(`${version}: create(v) of a valid v is valid, in every version`, [jobs[version]], (v) => {
    assert.deepEqual(faults(v), [])
    assert.deepEqual(faults(conversion.lift(v, version)), [])
    if (version === 'v1alpha1') assert.deepEqual(faults(alpha.create(v)), [])
  })

  holds(`${version}: get(s) is accepted as an update of itself`, [jobs.v1], (s) => {
    assert.deepEqual(faults(show(s), show(s)), [])
  })

  for (const stored of versions) {
    holds(`${version} through storage at ${stored}: what is shown is the same`, [jobs.v1], (s) => {
      same(show(conversion.load(conversion.store(s, stored))), show(s), 'show(load(store(s))) = show(s)')
    }, 30)
  }
}

for (const older of versions) {
  for (const newer of versions) {
    if (older === newer) continue
    holds(`what ${older} writes and ${newer} reads and writes back is the same`, [jobs[older], jobs.v1], (v, s) => {
      const hub = conversion.lift(v, older, s)
      const through = conversion.lift(conversion.show(hub, newer), newer, hub)
      same(through, hub, 'a read and write through another version is no change')
      same(conversion.show(through, older), v, 'what was written is what is read')
    }, 50)
  }
}

holds('v1alpha1: an edited object keeps the laws', [jobs.v1, jobs.v1alpha1, choices], (s, other, choose) => {
  const v = edited('v1alpha1', conversion.show(s, 'v1alpha1'), other, choose)
  const made = conversion.lift(v, 'v1alpha1', s)
  same(conversion.show(made, 'v1alpha1'), v, 'get(put(v, s)) = v')
  const [before, after] = [s.spec as JsonObject, made.spec as JsonObject]
  for (const field of ['metadataPolicy', 'comparison', 'execution', 'backoffLimit', 'imagePullTimeoutSeconds', 'suspend', 'results']) {
    same(after[field], before[field], `${field} is kept`)
  }
  const back = conversion.lift(conversion.show(s, 'v1alpha1'), 'v1alpha1', made)
  same(conversion.show(back, 'v1alpha1'), conversion.show(s, 'v1alpha1'), 'get(put(get(s), put(v, s))) = get(s)')
}, 200)

const lowered = fc.constantFrom(60, 100, 3600, 86400)

for (const version of versions) {
  const field = version === 'v1' ? 'activeDeadlineSeconds' : 'timeoutSeconds'

  holds(`${version}: an allowed update of get(s), put into s, is an allowed update of s, and a refused change is one there too`, [jobs.v1, jobs[version], choices, lowered], (s, other, choose, deadline) => {
    const shown = conversion.show(s, version)
    const { spec, status } = edited(version, shown, other, choose)
    const kept: KubeObject = { ...shown, spec: { ...(shown.spec as JsonObject), [field]: deadline } }
    const statusOnly = other.status === undefined ? kept : { ...kept, status: other.status }
    for (const v of [{ ...shown, spec: spec as Json }, kept, statusOnly, ...(status === undefined ? [] : [{ ...shown, status }])]) {
      const made = conversion.lift(v, version, s)
      assert.equal(changes(made, s), changes(v, shown), 'a change is a change in both')
      if (faults(v, shown).length === 0) assert.deepEqual(faults(made, s), [])
    }
  })
}

holds('what may change may be changed through every version that shows it', [jobs.v1, fc.boolean(), fc.nat()], (s, suspend, ttlSecondsAfterFinished) => {
  for (const version of ['v1beta1', 'v1']) {
    const shown = conversion.show(s, version)
    const v = { ...shown, spec: { ...(shown.spec as JsonObject), suspend, ttlSecondsAfterFinished } }
    assert.deepEqual(faults(v, shown), [])
    const made = conversion.lift(v, version, s)
    assert.deepEqual(faults(made, s), [])
    for (const other of versions) assert.deepEqual(faults(conversion.show(made, other), conversion.show(s, other)), [])
  }
})

const alpha = compileLens(alphaToBeta, schemaOf('v1alpha1'), schemaOf('v1beta1'))
const beta = compileLens(betaToV1, schemaOf('v1beta1'), schemaOf('v1'))

holds('v1alpha1 ⇄ v1beta1: the laws of the lens alone', [jobs.v1beta1, jobs.v1alpha1], (s, v) => {
  same(alpha.put(alpha.get(s), s), s, 'put(get(s), s) = s')
  same(alpha.get(alpha.put(v, s)), v, 'get(put(v, s)) = v')
  same(alpha.get(alpha.create(v)), v, 'get(create(v)) = v')
  same(alpha.complete(alpha.get(s), alpha.cut(s) ?? {}), s, 'complete(get(s), cut(s)) = s')
})

holds('v1beta1 ⇄ v1: an isomorphism', [jobs.v1, jobs.v1beta1], (s, v) => {
  assert.ok(beta.lossless)
  assert.equal(beta.cut(s), undefined)
  same(beta.create(beta.get(s)), s, 'create(get(s)) = s')
  same(beta.get(beta.create(v)), v, 'get(create(v)) = v')
})

// Remainders that were tampered with, each beside the object that it was cut from.
const hostile = fc.tuple(jobs.v1, arbitraryJsonObject, choices).map(([s, junk, choose]) => {
  const stored = conversion.store(s, 'v1alpha1')
  return { shown: stored.object, spoilt: spoil(stored.remainder?.v1alpha1 as JsonObject, junk, () => choose.next().value as boolean) as JsonObject }
})

function spoil(value: Json, junk: Json, choose: () => boolean): Json {
  if (choose() && choose() && choose()) return junk
  if (Array.isArray(value)) return value.map((item) => spoil(item, junk, choose))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, spoil(member as Json, junk, choose)]))
}

holds('a hostile remainder changes nothing that v1alpha1 shows, and reaches no prototype', [jobs.v1alpha1, hostile, arbitraryJson], (v, { shown, spoilt }, junk) => {
  const remainders = [
    spoilt,
    junk as JsonObject,
    { spec: junk, status: junk },
    { spec: { golden: junk, podConfig: { resources: { requests: junk, limits: { keys: { cpu: junk, gpu: '1' }, absent: junk, values: { cpu: junk } } } } } },
  ]
  for (const written of [v, shown]) {
    for (const remainder of remainders) {
      const made = alpha.complete(written, remainder)
      same(alpha.get(made), written, 'get(complete(v, r)) = v')
      same(complete(made, schemaOf('v1beta1')), made, 'pruned and defaulted')
    }
  }
  assert.deepEqual(Object.keys(Object.prototype), [])
}, 200)
