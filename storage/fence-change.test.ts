import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { CommitRequest } from './backend.ts'
import { beginJob, beginRetirement, endJob, endRetirement, setFrozen, setVersion, trim } from './fence-change.ts'
import type { Proof } from './fence-change.ts'
import type { LoadedFence } from './fence-record.ts'

const resource = 'jobs.example'
const key = 'meta/fence/jobs.example'
const entry = (version: string) => ({ version, firstEpoch: 1, firstRevision: 0, reason: 'test' })
const fence: LoadedFence = {
  epoch: 4, mode: 'ReadWrite', encodingVersion: 'v1', storedVersions: [entry('v1beta1'), entry('v1')], retiredVersions: [], rollbackFloor: 'v1beta1', modRevision: 17,
}
const proof: Proof = { fenceRevision: 17, startRevision: 18, endRevision: 20, keys: 5, byVersion: { v1: 5 }, undecodable: 0, at: '2026-01-01T00:00:00.000Z' }
const order = ['v1alpha1', 'v1beta1', 'v1']
const now = Date.UTC(2026, 0, 1)
const replicas = { start: 'meta/replicas/jobs.example/', end: 'meta/replicas/jobs.example0', modRevisionBelow: 41 }
const quarantine = { start: 'meta/quarantine/jobs.example/', end: 'meta/quarantine/jobs.example0', modRevisionBelow: 1 }

const record = ({ put }: CommitRequest): LoadedFence => JSON.parse(Buffer.from(put![0]!.value).toString()) as LoadedFence
const setTo = (version: string, from: Partial<LoadedFence> = {}, options: object = {}): CommitRequest =>
  setVersion({ resource, fence: { ...fence, ...from } }, { version, order, replicasRevision: 40, now, reason: 'somebody', ...options })

test('set-version: the version enters with the same record, on the condition of the fence and the replicas', () => {
  const request = setTo('v1', { encodingVersion: 'v1beta1', storedVersions: [entry('v1beta1')] }, { schemaDigest: 'ab' })
  assert.deepEqual(request.compare, [{ key, modRevision: 17 }, replicas])
  const made = record(request)
  assert.deepEqual([made.epoch, made.encodingVersion, made.rollbackFloor, 'modRevision' in made], [5, 'v1', 'v1beta1', false])
  assert.deepEqual(made.storedVersions, [
    entry('v1beta1'),
    { version: 'v1', schemaDigest: 'ab', firstEpoch: 5, firstRevision: 41, since: '2026-01-01T00:00:00.000Z', reason: 'somebody' },
  ])
  // A version that is there stays as it was entered; fields of a newer program stay too.
  const back = record(setTo('v1beta1', { future: 1 } as Partial<LoadedFence>))
  assert.deepEqual([back.epoch, back.encodingVersion, back.storedVersions, (back as unknown as { future: number }).future], [5, 'v1beta1', fence.storedVersions, 1])
})

test('going below the rollback floor is asked for each time, and coming back from there is not', () => {
  assert.throws(() => setTo('v1alpha1'), { reason: 'BelowRollbackFloor', exitCode: 3 })
  const made = record(setTo('v1alpha1', {}, { acceptRollback: true }))
  assert.deepEqual([made.encodingVersion, made.rollbackFloor], ['v1alpha1', 'v1beta1'])
  const [low, high] = [{ encodingVersion: 'v1alpha1' }, { rollbackFloor: 'v1' }]
  assert.equal(record(setTo('v1', low)).encodingVersion, 'v1')
  assert.equal(record(setTo('v1beta1', { ...low, ...high })).encodingVersion, 'v1beta1')
  assert.throws(() => setTo('v1alpha1', { encodingVersion: 'v1beta1', ...high }), { reason: 'BelowRollbackFloor' })
  assert.throws(() => setTo('v1beta1', { encodingVersion: 'unknown', ...high }), { reason: 'BelowRollbackFloor' })
  assert.equal(record(setTo('v1beta1')).rollbackFloor, 'v1beta1')
})

describe('what is refused', () => {
  const retired = [{ version: 'v1alpha1', since: '' }]
  const trimWith = (change: Partial<Proof>, from: Partial<LoadedFence> = {}, job?: string): CommitRequest =>
    trim({ resource, fence: { ...fence, ...from } }, { proof: { ...proof, ...change }, replicasRevision: 40, ...(job !== undefined && { job }) })
  const retire = (version: string, from: Partial<LoadedFence> = {}, compactedRevision = 18): CommitRequest =>
    beginRetirement({ resource, fence: { ...fence, ...from } }, { version, compactedRevision, job: 'k' })
  const retiring = { job: 'k', retiring: 'v1alpha1' }
  const end = (change: Partial<Proof>, from: Partial<LoadedFence> = retiring): CommitRequest =>
    endRetirement({ resource, fence: { ...fence, ...from } }, { proof: { ...proof, ...change }, job: 'k', now })
  const cases: readonly (readonly [string, () => CommitRequest, string])[] = [
    ['set-version while a migration has not ended', () => setTo('v1', { job: 'j' }), 'MigrationUnfinished'],
    ['set-version while frozen', () => setTo('v1', { mode: 'ReadOnly' }), 'Frozen'],
    ['set-version to a retired version', () => setTo('v1alpha1', { retiredVersions: retired }, { acceptRollback: true }), 'RetiredVersion'],
    ['set-version to one that nobody knows', () => setTo('v9'), 'UnknownVersion'],
    ['freezing an import', () => setFrozen({ resource, fence: { ...fence, mode: 'Importing' } }, true), 'Frozen'],
    ['a second migration', () => beginJob({ resource, fence: { ...fence, job: 'j' } }, 'k'), 'MigrationUnfinished'],
    ['trimming with a proof of another fence', () => trimWith({ fenceRevision: 16 }), 'NoProof'],
    ['trimming with bad objects', () => trimWith({ undecodable: 1 }), 'Quarantined'],
    ['trimming under somebody’s migration', () => trimWith({}, { job: 'j' }), 'MigrationUnfinished'],
    ['trimming for another migration', () => trimWith({}, { job: 'j' }, 'k'), 'MigrationUnfinished'],
    ['retiring a stored version', () => retire('v1beta1'), 'StillStored'],
    ['retiring while history may have it', () => retire('v1alpha1', {}, 16), 'StillStored'],
    ['retiring twice', () => retire('v1alpha1', { retiredVersions: retired }), 'RetiredVersion'],
    ['retiring while frozen', () => retire('v1alpha1', { mode: 'ReadOnly' }), 'Frozen'],
    ['ending a retirement with a proof of another fence', () => end({ fenceRevision: 16 }), 'NoProof'],
    ['ending a retirement with bad objects', () => end({ undecodable: 1 }), 'Quarantined'],
    ['ending a retirement of another job', () => end({}, { ...retiring, job: 'j' }), 'Changed'],
    ['ending a retirement that was aborted', () => end({}, {}), 'Changed'],
    ['retiring while a migration has not ended', () => retire('v1alpha1', { job: 'j' }), 'MigrationUnfinished'],
  ]
  for (const [what, act, reason] of cases) test(what, () => assert.throws(act, { name: 'Refused', reason }))
})

test('trim takes away what the proof found nothing at, and ends the job', () => {
  const request = trim({ resource, fence: { ...fence, job: 'j' } }, { proof, replicasRevision: 40, job: 'j' })
  assert.deepEqual(request.compare, [{ key, modRevision: 17 }, quarantine, replicas])
  const made = record(request)
  assert.deepEqual([made.epoch, made.storedVersions, made.job], [5, [entry('v1')], undefined])
  // What is still there stays, and the encoding version does in any case.
  const kept = record(trim({ resource, fence }, { proof: { ...proof, byVersion: { v1beta1: 1, v1: 4 } }, replicasRevision: 40 }))
  assert.deepEqual([kept.epoch, kept.storedVersions], [4, fence.storedVersions])
  const empty = record(trim({ resource, fence }, { proof: { ...proof, keys: 0, byVersion: {} }, replicasRevision: 40 }))
  assert.deepEqual(empty.storedVersions, [entry('v1')])
})

test('freezing, jobs and retirement change only what they are about', () => {
  assert.deepEqual(record(setFrozen({ resource, fence }, true)), { ...record(setFrozen({ resource, fence }, false)), mode: 'ReadOnly' })
  assert.equal(record(beginJob({ resource, fence }, 'j')).job, 'j')
  assert.equal(record(endJob({ resource, fence: { ...fence, job: 'j' } })).job, undefined)
  const begun = beginRetirement({ resource, fence }, { version: 'v1alpha1', compactedRevision: 17, job: 'k' })
  assert.deepEqual([record(begun).job, record(begun).retiring, record(begun).retiredVersions, record(begun).epoch], ['k', 'v1alpha1', [], 4])
  const retiring = { ...fence, job: 'k', retiring: 'v1alpha1' }
  const aborted = record(endJob({ resource, fence: retiring }))
  assert.deepEqual([aborted.job, aborted.retiring, aborted.retiredVersions], [undefined, undefined, []])
  const retired = endRetirement({ resource, fence: retiring }, { proof, job: 'k', now })
  assert.deepEqual(retired.compare, [{ key, modRevision: 17 }, quarantine])
  assert.deepEqual(record(retired).retiredVersions, [{ version: 'v1alpha1', since: '2026-01-01T00:00:00.000Z' }])
  assert.deepEqual([record(retired).job, record(retired).retiring], [undefined, undefined])
})

test('only trim takes a version away', () => {
  const changes = [
    setTo('v1beta1'), setTo('v1'), setFrozen({ resource, fence }, true), beginJob({ resource, fence }, 'j'), endJob({ resource, fence }),
    beginRetirement({ resource, fence }, { version: 'v1alpha1', compactedRevision: 18, job: 'k' }),
    endRetirement({ resource, fence: { ...fence, job: 'k', retiring: 'v1alpha1' } }, { proof, job: 'k', now }),
  ]
  for (const change of changes) assert.deepEqual(record(change).storedVersions.map(({ version }) => version), ['v1beta1', 'v1'])
})
