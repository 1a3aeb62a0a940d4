import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { DecodeError } from './go-json-error.ts'
import { coerceObjectMeta } from './metadata-coerce.ts'
import {
  beginDeletion,
  dedupOwnerReferences,
  endsDeletion,
  finalizerWarnings,
  generateName,
  prepareForStatusUpdate,
  prepareMetadataForUpdate,
  stampForCreate,
  validateFieldManager,
  validateObjectMeta,
  validateObjectMetaUpdate,
  wipeForCreate,
} from './metadata.ts'
import { subdomainName } from './names.ts'
import type { Json, KubeObject, ObjectMeta } from './object.ts'

const NOW = Date.UTC(2024, 0, 2, 3, 4, 5, 678)
const object = (metadata: ObjectMeta, more: Record<string, Json> = {}): KubeObject => ({ apiVersion: 'g/v1', kind: 'K', metadata: metadata as never, ...more })

test('malformed metadata has the texts of Go', () => {
  const table: [Json, string][] = [
    ['x', 'json: cannot unmarshal string into Go value of type v1.ObjectMeta'],
    [[], 'json: cannot unmarshal array into Go value of type v1.ObjectMeta'],
    [{ name: 5 }, 'json: cannot unmarshal number into Go struct field ObjectMeta.name of type string'],
    [{ labels: { a: 1 } }, 'json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string'],
    [{ labels: [] }, 'json: cannot unmarshal array into Go struct field ObjectMeta.labels of type map[string]string'],
    [{ generation: '1' }, 'json: cannot unmarshal string into Go struct field ObjectMeta.generation of type int64'],
    [{ generation: 1.5 }, 'json: cannot unmarshal number 1.5 into Go struct field ObjectMeta.generation of type int64'],
    [{ uid: true }, 'json: cannot unmarshal bool into Go struct field ObjectMeta.uid of type types.UID'],
    [{ finalizers: 'x' }, 'json: cannot unmarshal string into Go struct field ObjectMeta.finalizers of type []string'],
    [{ finalizers: [{}] }, 'json: cannot unmarshal object into Go struct field ObjectMeta.finalizers of type string'],
    [{ ownerReferences: [{ uid: 1 }] }, 'json: cannot unmarshal number into Go struct field OwnerReference.ownerReferences.uid of type types.UID'],
    [{ ownerReferences: [{ controller: 1 }] }, 'json: cannot unmarshal number into Go struct field OwnerReference.ownerReferences.controller of type bool'],
    [{ ownerReferences: [1] }, 'json: cannot unmarshal number into Go struct field ObjectMeta.ownerReferences of type v1.OwnerReference'],
    [{ managedFields: [{ operation: 1 }] }, 'json: cannot unmarshal number into Go struct field ManagedFieldsEntry.managedFields.operation of type v1.ManagedFieldsOperationType'],
    [{ creationTimestamp: 'abc' }, 'parsing time "abc" as "2006-01-02T15:04:05Z07:00": cannot parse "abc" as "2006"'],
    [{ creationTimestamp: '2024-1-01' }, 'parsing time "2024-1-01" as "2006-01-02T15:04:05Z07:00": cannot parse "1-01" as "01"'],
    [{ creationTimestamp: '2024-13-01T00:00:00Z' }, 'parsing time "2024-13-01T00:00:00Z": month out of range'],
    [{ creationTimestamp: '2023-02-29T00:00:00Z' }, 'parsing time "2023-02-29T00:00:00Z": day out of range'],
    [{ creationTimestamp: '2024-01-01T00:00:00' }, 'parsing time "2024-01-01T00:00:00" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "Z07:00"'],
    [{ creationTimestamp: '2024-01-01T00:00:00Zx' }, 'parsing time "2024-01-01T00:00:00Zx": extra text: "x"'],
    [{ creationTimestamp: 5 }, 'json: cannot unmarshal number into Go struct field ObjectMeta.creationTimestamp of type string'],
    // The first in alphabetical order, but a bad time ends it all.
    [{ name: 1, annotations: 1 }, 'json: cannot unmarshal number into Go struct field ObjectMeta.annotations of type map[string]string'],
    [{ annotations: 1, creationTimestamp: '' }, 'parsing time "" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "2006"'],
  ]
  for (const [value, text] of table) assert.throws(() => coerceObjectMeta(value, { lenient: false }), new DecodeError(text))
})

test('metadata goes through the struct: empty values vanish, times are normalized, unknown keys are listed', () => {
  const given: Json = {
    name: 'n',
    generateName: '',
    labels: { a: null, b: 'c' },
    annotations: {},
    finalizers: [],
    generation: 0,
    deletionGracePeriodSeconds: 0,
    creationTimestamp: '2024-01-01T01:00:00.5+01:00',
    deletionTimestamp: null,
    ownerReferences: [{ uid: 'u', controller: false, zzz: 1 }, null],
    managedFields: [{ manager: '', time: '2024-02-29T23:59:59-00:30', fieldsV1: { f: {} } }],
    clusterName: 'x',
  }
  assert.deepEqual(coerceObjectMeta(given, { lenient: false }), {
    metadata: {
      name: 'n',
      labels: { a: '', b: 'c' },
      deletionGracePeriodSeconds: 0,
      creationTimestamp: '2024-01-01T00:00:00Z',
      ownerReferences: [
        { uid: 'u', controller: false, apiVersion: '', kind: '', name: '' },
        { apiVersion: '', kind: '', name: '', uid: '' },
      ],
      managedFields: [{ time: '2024-03-01T00:29:59Z', fieldsV1: { f: {} } }],
    },
    unknown: ['clusterName', 'ownerReferences[0].zzz'],
  })
  assert.deepEqual(coerceObjectMeta(null, { lenient: false }).metadata, {})
  assert.deepEqual(coerceObjectMeta({ name: 5, labels: { a: 1 }, uid: 'u', creationTimestamp: 'x' }, { lenient: true }).metadata, { uid: 'u' })
})

test('coercing never throws anything else, and changes nothing the second time', () => {
  const value = fc.oneof(fc.jsonValue() as fc.Arbitrary<Json>, fc.constantFrom<Json>('2024-01-01T00:00:00Z', '', null, [], {}, [null], [{}]))
  const key = fc.constantFrom('name', 'uid', 'labels', 'annotations', 'finalizers', 'ownerReferences', 'managedFields', 'generation', 'creationTimestamp', '__proto__', 'x')
  fc.assert(
    fc.property(fc.array(fc.tuple(key, value)).map((entries) => Object.fromEntries(entries)), fc.boolean(), (meta, lenient) => {
      try {
        const { metadata } = coerceObjectMeta(meta, { lenient })
        const again = coerceObjectMeta(metadata, { lenient: false })
        assert.equal(again.metadata, metadata)
        assert.deepEqual(again.unknown, [])
      } catch (error) {
        assert.ok(error instanceof DecodeError && !lenient, String(error))
      }
    }),
    { numRuns: 1000 },
  )
})

test('a new object is wiped, stamped and named', () => {
  const wiped = wipeForCreate({ name: '', generateName: 'x-', uid: 'u', selfLink: 's', creationTimestamp: 't', deletionTimestamp: 't', generation: 7, resourceVersion: '1' } as never)
  assert.deepEqual(wiped, { name: '', generateName: 'x-', generation: 7, resourceVersion: '1' })
  const stamped = stampForCreate(object(wiped), { now: NOW, uid: 'new', random: () => 0.999 })
  assert.deepEqual(stamped.metadata, { ...wiped, name: 'x-99999', uid: 'new', creationTimestamp: '2024-01-02T03:04:05Z', generation: 1 })
  assert.equal(generateName('a'.repeat(80), () => 0), `${'a'.repeat(58)}bbbbb`)
})

test('an update keeps what only the server sets, and counts generations', () => {
  const old = object({ name: 'n', uid: 'u', generation: 3, creationTimestamp: 't1', deletionTimestamp: 't2', deletionGracePeriodSeconds: 0 }, { spec: { a: 1 }, status: { s: 1 } })
  const update = object({ name: 'n', generation: 9, creationTimestamp: 'x', selfLink: 'l', labels: { a: 'b' } }, { spec: { a: 1 }, status: { s: 2 } })
  const withStatus = prepareMetadataForUpdate(update, old, { statusSubresource: true })
  assert.deepEqual(withStatus, { ...old, metadata: { ...old.metadata, labels: { a: 'b' } } })
  assert.equal(prepareMetadataForUpdate(update, old, { statusSubresource: false }).metadata.generation, 4)
  assert.equal(prepareMetadataForUpdate({ ...update, spec: { a: 2 } }, old, { statusSubresource: true }).metadata.generation, 4)
  assert.equal(prepareMetadataForUpdate({ ...update, spec: undefined }, old, { statusSubresource: true }).metadata.generation, 4)
  const { status: _, ...bare } = old
  assert.equal('status' in prepareMetadataForUpdate(update, bare as KubeObject, { statusSubresource: true }), false)
})

test('a status update changes the status and managedFields only', () => {
  const old = object({ name: 'n', generation: 3, managedFields: [] }, { spec: 1, status: 1 })
  const update = object({ name: 'n', labels: { a: 'b' }, managedFields: [{ manager: 'm' }] }, { spec: 2, status: 2 })
  assert.deepEqual(prepareForStatusUpdate(update, old), object({ name: 'n', generation: 3, managedFields: [{ manager: 'm' }] }, { spec: 1, status: 2 }))
})

const references = [
  { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u' },
  { apiVersion: 'v1', kind: 'Pod', name: 'q', uid: 'u' },
  { name: 'p', uid: 'u', apiVersion: 'v1', kind: 'Pod' },
]

test('equal owner references are kept once, with a warning', () => {
  const { object: out, warning } = dedupOwnerReferences(object({ ownerReferences: references }))
  assert.deepEqual(out.metadata.ownerReferences, references.slice(0, 2))
  assert.equal(
    warning,
    '.metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: u',
  )
  assert.match(dedupOwnerReferences(object({ ownerReferences: references }), 'admission').warning ?? '', /entries after mutating admission happens; API/)
  const single = object({ ownerReferences: references.slice(0, 2) })
  assert.equal(dedupOwnerReferences(single).object, single)
})

test('new finalizers without a path are warned about', () => {
  assert.deepEqual(finalizerWarnings(object({ finalizers: ['b', 'a.b', 'x/y', 'orphan', 'old', 'b'] }), object({ finalizers: ['old'] })), [
    'metadata.finalizers: "a.b": prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other finalizer writers',
    'metadata.finalizers: "b": prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers',
  ])
})

test('a deletion adjusts finalizers and marks the object once', () => {
  const table: [string[], object, string[] | undefined][] = [
    [[], {}, undefined],
    [[], { policy: 'Background' }, undefined],
    [[], { policy: 'Foreground' }, ['foregroundDeletion']],
    [[], { policy: 'Orphan' }, ['orphan']],
    [[], { orphanDependents: true }, ['orphan']],
    [['orphan'], { orphanDependents: false }, undefined],
    [['orphan', 'a/b'], {}, ['orphan', 'a/b']],
    [['foregroundDeletion', 'a/b'], { policy: 'Orphan' }, ['a/b', 'orphan']],
    [['orphan', 'a/b'], { policy: 'Background' }, ['a/b']],
  ]
  for (const [finalizers, options, expected] of table) {
    const deletion = beginDeletion(object({ finalizers, generation: 1 }), { ...options, now: NOW })
    assert.deepEqual(deletion.remove ? undefined : deletion.object.metadata.finalizers, expected)
  }
  const first = beginDeletion(object({ finalizers: ['a/b'], generation: 1 }), { now: NOW })
  assert.ok(!first.remove)
  assert.deepEqual(first.object.metadata, { finalizers: ['a/b'], generation: 2, deletionTimestamp: '2024-01-02T03:04:05Z', deletionGracePeriodSeconds: 0 })
  const second = beginDeletion(first.object, { now: NOW + 5000 })
  assert.equal(!second.remove && second.object, first.object)
  assert.equal(endsDeletion(object({}), first.object), true)
  assert.equal(endsDeletion(object({ finalizers: ['x/y'] }), first.object), false)
  assert.equal(endsDeletion(object({}), object({})), false)
})

const SUBDOMAIN = String.raw`a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`
const LABEL = `a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`
const NAME_PART = `name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`
const QUALIFIED = `a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`
const VALUE = `a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`

test('metadata is validated with the texts of 1.36', () => {
  const long = 'a'.repeat(254)
  const table: [ObjectMeta, string[]][] = [
    [{}, []],
    [{ name: '' }, ['name: Required value: name or generateName is required']],
    [{ name: 'A_b' }, [`name: Invalid value: "A_b": ${SUBDOMAIN}`]],
    [{ name: long }, [`name: Invalid value: "${long}": must be no more than 253 characters`]],
    [{ generateName: 'ok-' }, []],
    [{ generateName: 'X-' }, []],
    [{ generateName: 'Xy-' }, [`generateName: Invalid value: "Xy-": ${SUBDOMAIN}`]],
    [{ namespace: '' }, ['namespace: Required value']],
    [{ namespace: 'a.b' }, ['namespace: Invalid value: "a.b": must not contain dots']],
    [{ namespace: 'B' }, [`namespace: Invalid value: "B": ${LABEL}`]],
    [{ labels: { 'a b': 'c' } }, [`labels: Invalid value: "a b": ${NAME_PART}`]],
    [{ labels: { 'A/b': 'c' } }, [`labels: Invalid value: "A/b": prefix part ${SUBDOMAIN}`]],
    [{ labels: { '/b': 'c' } }, ['labels: Invalid value: "/b": prefix part must be non-empty']],
    [{ labels: { 'a/': 'c' } }, ['labels: Invalid value: "a/": name part must be non-empty', `labels: Invalid value: "a/": ${NAME_PART}`]],
    [{ labels: { 'a/b/c': 'c' } }, [`labels: Invalid value: "a/b/c": ${QUALIFIED}`]],
    [{ labels: { [long]: 'c' } }, [`labels: Invalid value: "${long}": name part must be no more than 63 bytes`]],
    [{ labels: { a: 'b c' } }, [`labels: Invalid value: "b c": ${VALUE}`]],
    [{ annotations: { 'A.B/C': 'any thing' } }, []],
    [{ annotations: { a: 'x'.repeat(262144) } }, ['annotations: Too long: may not be more than 262144 bytes']],
    [
      { ownerReferences: [{ apiVersion: 'a/b/c', kind: '', name: '', uid: '' }] },
      [
        'ownerReferences.apiVersion: Invalid value: "a/b/c": version must not be empty',
        'ownerReferences.kind: Invalid value: "": must not be empty',
        'ownerReferences.name: Invalid value: "": must not be empty',
        'ownerReferences.uid: Invalid value: "": must not be empty',
      ],
    ],
    [
      { ownerReferences: [{ apiVersion: 'v1', kind: 'Event', name: 'e<', uid: 'u' }] },
      [String.raw`ownerReferences: Invalid value: {"apiVersion":"v1","kind":"Event","name":"e\u003c","uid":"u"}: /v1, Kind=Event is disallowed from being an owner`],
    ],
    [
      { ownerReferences: [{ ...references[0], controller: true }, { ...references[1], controller: true }] as never },
      [
        'ownerReferences: Invalid value: [{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u","controller":true},{"apiVersion":"v1","kind":"Pod","name":"q","uid":"u","controller":true}]: Only one reference can have Controller set to true. Found "true" in references for Pod/p and Pod/q',
      ],
    ],
    [{ finalizers: ['a b'] }, [`finalizers: Invalid value: "a b": ${NAME_PART}`]],
    [
      { finalizers: ['orphan', 'foregroundDeletion'] },
      ['finalizers: Invalid value: ["orphan","foregroundDeletion"]: finalizer orphan and foregroundDeletion cannot be both set'],
    ],
    [
      { managedFields: [{ operation: 'Bad', fieldsType: 'x', subresource: 's'.repeat(257) }] },
      [
        'managedFields[0].operation: Invalid value: "Bad": must be `Apply` or `Update`',
        'managedFields[0].fieldsType: Invalid value: "x": must be `FieldsV1`',
        'managedFields[0].subresource: Too long: may not be more than 256 bytes',
      ],
    ],
  ]
  for (const [meta, expected] of table) {
    const errors = validateObjectMeta({ name: 'n', namespace: 'ns', ...meta }, { namespaced: true, nameRule: subdomainName })
    assert.deepEqual(errors.map((e) => `${e.field}: ${e.body}`), expected.map((text) => `metadata.${text}`))
  }
  const cluster = validateObjectMeta({ name: 'n', namespace: 'ns' }, { namespaced: false, nameRule: subdomainName })
  assert.deepEqual(cluster.map((e) => `${e.field}: ${e.body}`), ['metadata.namespace: Forbidden: not allowed on this type'])
  assert.deepEqual(validateFieldManager('a\nb', 'fieldManager').map((e) => e.body), [String.raw`Invalid value: "a\nb": invalid character U+000A (at position 1)`])
})

test('changes of metadata are validated', () => {
  const old: ObjectMeta = { name: 'n', uid: 'u', generation: 2, finalizers: ['x/y'], creationTimestamp: '2024-01-01T00:00:00Z' }
  const texts = (meta: ObjectMeta, from: ObjectMeta = old): string[] => validateObjectMetaUpdate(meta, from).map((e) => `${e.field}: ${e.body}`)
  assert.deepEqual(texts(old), [])
  assert.deepEqual(texts({ ...old, uid: 'v', deletionTimestamp: '2024-01-01T00:00:00Z', generation: 1 }), [
    'metadata.generation: Invalid value: 1: must not be decremented',
    'metadata.uid: Invalid value: "v": field is immutable',
    'metadata.deletionTimestamp: Invalid value: "2024-01-01T00:00:00Z": field is immutable',
  ])
  assert.deepEqual(texts({ ...old, deletionGracePeriodSeconds: 5 }, { ...old, deletionGracePeriodSeconds: 0 }), ['metadata.deletionGracePeriodSeconds: Invalid value: 5: field is immutable'])
  const terminating = { ...old, deletionTimestamp: '2024-01-01T00:00:00Z' }
  assert.deepEqual(texts({ ...terminating, finalizers: ['x/y', 'b', 'a'] }, terminating), [
    'metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"a", "b"}',
  ])
})

test('hostile names take linear time', () => {
  const start = performance.now()
  for (const name of ['a.'.repeat(1_000_000), `${'a-'.repeat(1_000_000)}.`, '-'.repeat(2_000_000)]) {
    validateObjectMeta({ name, labels: { [name]: name } }, { namespaced: false, nameRule: subdomainName })
  }
  assert.ok(performance.now() - start < 3000)
})
