/** The laws of conversion by way of the webhook of a CustomResourceDefinition, which has no live object but an annotation. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { compileRules } from '../../src/api/cel.ts'
import { encodeJson, parseStored } from '../../src/api/codec.ts'
import { listTypeErrors } from '../../src/api/list-type.ts'
import type { Json, JsonObject, KubeObject } from '../../src/api/object.ts'
import { findVersion } from '../../src/api/resource.ts'
import type { Schema } from '../../src/api/schema.ts'
import { validateSchema } from '../../src/api/validate.ts'
import { resources } from '../../src/resources/index.ts'
import { notebookValidationJobs } from '../../src/resources/notebookvalidationjobs/definition.ts'
import { openConverter } from '../../src/webhook/convert-object.ts'
import { ConversionError, REMAINDER_ANNOTATION } from '../../src/webhook/remainder.ts'
import { arbitraryJob } from './arbitrary-job.ts'
import { arbitraryJson, blend, complete } from './arbitrary-object.ts'

const { conversion } = resources.find((served) => served.definition === notebookValidationJobs)!
const convert = openConverter(resources)
const versions = ['v1alpha1', 'v1beta1', 'v1'] as const
const schemaOf = (version: string): Schema => findVersion(notebookValidationJobs, version)!.schema
const jobs = Object.fromEntries(versions.map((version) => [version, arbitraryJob(version)])) as Record<(typeof versions)[number], fc.Arbitrary<KubeObject>>
const rules = compileRules(schemaOf('v1'))
const isValid = (hub: KubeObject): boolean => [...validateSchema(hub, schemaOf('v1')), ...listTypeErrors(hub, schemaOf('v1'))].length === 0 && rules.evaluate(hub, undefined).errors.length === 0

// As it travels: in JSON, where 1.0 is 1.
const bytes = (object: Json): string => encodeJson(parseStored(Buffer.from(encodeJson(object))))
const to = (object: Json, version: string): KubeObject => parseStored(Buffer.from(encodeJson(convert(object, `mlops.dev/${version}`)))) as KubeObject

function same(actual: Json, expected: Json, law: string): void {
  if (bytes(actual) !== bytes(expected)) assert.fail(`${law}:\n${bytes(actual)}\n${bytes(expected)}`)
}

function holds<T extends unknown[]>(law: string, arbitraries: { [K in keyof T]: fc.Arbitrary<T[K]> }, check: (...values: T) => void, numRuns = 40): void {
  test(law, () => {
    fc.assert(fc.property(fc.tuple(...arbitraries) as unknown as fc.Arbitrary<T>, (values) => check(...values)), { numRuns, seed: 20261130 })
  })
}

const annotated = (object: KubeObject): boolean => object.metadata.annotations?.[REMAINDER_ANNOTATION] !== undefined
const plain = (object: KubeObject): KubeObject => {
  const { [REMAINDER_ANNOTATION]: _, ...annotations } = object.metadata.annotations ?? {}
  const { annotations: __, ...metadata } = object.metadata
  return { ...object, metadata: Object.keys(annotations).length > 0 ? { ...metadata, annotations } : metadata }
}
const choices = fc.infiniteStream(fc.boolean())

holds('by way of any two versions a job comes back whole', [jobs.v1], (s) => {
  for (const first of versions) {
    for (const second of versions) {
      const route = to(to(to(s, first), second), 'v1')
      same(route, plain(s), `v1 → ${first} → ${second} → v1`)
      same(to(to(s, first), second), to(s, second), `v1 → ${first} → ${second}`)
    }
  }
})

holds('each version shows what it shows in the server, and only v1alpha1 wears the annotation', [jobs.v1], (s) => {
  for (const version of versions) {
    const shown = to(s, version)
    same(plain(shown), plain(conversion.show(s, version)), version)
    assert.equal(annotated(shown), version === 'v1alpha1')
  }
})

holds('only the annotation of the metadata changes, and the kind never', [jobs.v1, jobs.v1alpha1, jobs.v1beta1], (...written) => {
  for (const object of written) {
    for (const version of versions) {
      const made = to(object, version)
      same(plain(made).metadata, plain(object).metadata, 'metadata')
      assert.deepEqual([made.kind, made.apiVersion], ['NotebookValidationJob', `mlops.dev/${version}`])
    }
  }
})

for (const version of versions) {
  holds(`${version}: what a client wrote without the annotation is made as by the server`, [jobs[version]], (v) => {
    same(to(plain(v), 'v1'), plain(conversion.lift(v, version)), 'create(v)')
    same(plain(to(to(plain(v), 'v1'), version)), plain(v), 'get(create(v)) = v')
  })

  holds(`${version}: an update that carries the annotation is put into the live object, as by the server`, [jobs.v1, jobs[version], choices], (s, other, choose) => {
    const shown = to(s, version)
    const blended = blend(shown, other, () => choose.next().value as boolean) as KubeObject
    const v = complete({ ...blended, metadata: shown.metadata }, schemaOf(version))
    const expected = conversion.lift({ ...v, metadata: s.metadata }, version, s)
    if (!isValid(expected) && annotated(v)) return assert.throws(() => to(v, 'v1'), ConversionError)
    const made = to(v, 'v1')
    same(made, plain(expected), 'put(v, s)')
    same(plain(to(made, version)), plain(v), 'get(put(v, s)) = v')
  })

  for (const stored of versions) {
    holds(`stored at ${stored}, written through ${version}: every version shows the same as from the server`, [jobs[version]], (v) => {
      const kept = to(plain(v), stored)
      const hub = conversion.lift(v, version)
      for (const reader of versions) same(plain(to(kept, reader)), plain(conversion.show(hub, reader)), reader)
    }, 30)
  }
}

holds('a hostile annotation fails the conversion or yields a valid job of the same visible part; never anything else', [jobs.v1, arbitraryJson, choices], (s, junk, choose) => {
  const shown = to(s, 'v1alpha1')
  const remainder = JSON.parse(shown.metadata.annotations![REMAINDER_ANNOTATION]!) as JsonObject
  const spoil = (value: Json): Json => {
    if ([1, 2, 3, 4].every(() => choose.next().value)) return junk
    if (Array.isArray(value)) return value.map(spoil)
    return typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value).map(([key, member]) => [key, spoil(member as Json)])) : value
  }
  for (const text of [encodeJson(spoil(remainder)), encodeJson(junk), encodeJson({ v1alpha1: junk }), encodeJson({ v1alpha1: { spec: junk, status: junk } })]) {
    const spoilt = { ...shown, metadata: { ...shown.metadata, annotations: { ...shown.metadata.annotations, [REMAINDER_ANNOTATION]: text } } }
    try {
      const made = to(spoilt, 'v1')
      assert.ok(isValid(made), 'what the annotation yields is valid')
      assert.ok(!annotated(made))
      same(plain(to(made, 'v1alpha1')), plain(shown), 'the visible part')
    } catch (error) {
      assert.ok(error instanceof ConversionError, String((error as Error).stack))
    }
  }
  assert.deepEqual(Object.keys(Object.prototype), [])
}, 150)
