import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nextStep } from './next-step.ts'
import type { Migration } from './storage-admin.ts'

type Known = Parameters<typeof nextStep>[0]

const stored = (...versions: string[]): Known['storedVersions'] => versions.map((version) => ({ version, firstEpoch: 1, firstRevision: 0, reason: 'test' }))
const migration = (change: Partial<Migration>): Migration => ({ phase: 'Running', reason: undefined, ...change }) as Migration

const proven: Known = {
  resource: 'things.example', versions: ['v1beta1', 'v1'], encodingVersion: 'v1', storedVersions: stored('v1'), retiredVersions: [], rollbackFloor: 'v1', epoch: 1, mode: 'ReadWrite',
  fenceRevision: 1, objects: 3, bytes: 30, byVersion: { v1: 3 }, replicas: [], quarantined: 0,
}
const replica: Known['replicas'][number] = {
  id: 'a', program: 'p 1', decodable: ['v1beta1'], encodable: ['v1beta1'], served: [], formats: [1], observedEpoch: 1, state: 'Serving', live: true, lastSeen: 0,
}

const CASES: readonly (readonly [string, Partial<Known>, RegExp])[] = [
  ['all is done', {}, /^Nothing/],
  ['an older version is written', { encodingVersion: 'v1beta1', storedVersions: stored('v1beta1') }, /^storage set-version v1, then storage migrate$/],
  ['a replica cannot write the newer one', { encodingVersion: 'v1beta1', storedVersions: stored('v1beta1'), replicas: [replica] }, /^When all replicas of things\.example know v1: storage set-version v1$/],
  ['one that has vanished does not count', { encodingVersion: 'v1beta1', storedVersions: stored('v1beta1'), replicas: [{ ...replica, live: false }] }, /^storage set-version v1, then/],
  ['two versions are stored', { storedVersions: stored('v1beta1', 'v1') }, /^storage migrate writes everything at v1 and takes v1beta1 away$/],
  ['a migration runs', { migration: migration({ owner: 'server a' }) }, /^A migration is under way, by server a/],
  ['a migration was left', { migration: migration({ phase: 'Paused' }) }, /^A migration has not ended: storage migrate continues it$/],
  ['a retirement runs', { migration: migration({ owner: 'server a', retiring: 'v1beta1' }) }, /^A retirement of v1beta1 is under way, by server a: storage retire-version v1beta1 follows it$/],
  ['a retirement was left', { migration: migration({ retiring: 'v1beta1' }) }, /^A retirement of v1beta1 has not ended: storage retire-version v1beta1 continues it$/],
  ['a retirement has no room', { migration: migration({ phase: 'Paused', reason: 'NoSpace', retiring: 'v1beta1' }) }, /^Make room in the store: storage retire-version v1beta1 then continues the retirement of v1beta1$/],
  ['the newest version is retired', { encodingVersion: 'v1beta1', storedVersions: stored('v1beta1'), retiredVersions: [{ version: 'v1', since: '' }] }, /^Nothing/],
  ['a migration has ended', { migration: migration({ phase: 'Aborted' }) }, /^Nothing/],
  ['objects are in quarantine', { quarantined: 2, migration: migration({ phase: 'Blocked' }) }, /^2 objects cannot be used: see storage quarantine list/],
  ['one object is in quarantine', { quarantined: 1, byVersion: { '': 1, v1: 2 } }, /^1 object cannot be used: .* delete it$/],
  ['an object was found that no scan has met', { byVersion: { '': 1, v1: 2 } }, /^storage verify puts what cannot be used into quarantine: 1 object without a readable header$/],
  ['the quarantine was emptied', { migration: migration({ phase: 'Blocked' }) }, /^The quarantine is empty again/],
  ['a restore has not ended', { mode: 'Importing' }, /^A restore has not ended/],
  ['writes are frozen', { mode: 'ReadOnly' }, /^Writes are frozen$/],
  ['another program knows it', { versions: [] }, /^This program does not know the resource/],
]

for (const [name, change, expected] of CASES) test(name, () => assert.match(nextStep({ ...proven, ...change }), expected))
