import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NO_COUNTERS } from './migrate-job.ts'
import { versionSamples } from './version-metrics.ts'

const fence = {
  epoch: 4, mode: 'ReadWrite' as const, encodingVersion: 'v1', retiredVersions: [], rollbackFloor: 'v1', modRevision: 9,
  storedVersions: [{ version: 'v1beta1', firstEpoch: 1, firstRevision: 0, reason: '' }, { version: 'v1', firstEpoch: 4, firstRevision: 7, since: '2026-01-01T00:00:00Z', reason: '' }],
}
const now = Date.UTC(2026, 0, 1, 1)
const shown = (state: Partial<Parameters<typeof versionSamples>[0]>): string[] =>
  versionSamples({ resource: 'r', fence, now, ...state }).map(({ name, labels, value }) => {
    const { resource: _, ...rest } = labels
    return `${name}${JSON.stringify(rest)} ${value}`
  })

test('a fence alone', () => {
  assert.deepEqual(shown({}), [
    'fence_epoch{} 4', 'stored_version_info{"version":"v1beta1"} 1', 'stored_version_info{"version":"v1"} 4', 'stored_version_age_seconds{"version":"v1"} 3600',
  ])
})

test('a migration, a proof, what it found and who can read it', () => {
  const progress = {
    id: 'j', target: 'v1', phase: 'Running' as const, total: 100, done: 40, counters: { ...NO_COUNTERS, rewritten: 30, current: 10 }, rate: 5, waitedMs: { OtherWriters: 1500 }, shards: [],
  }
  const proof = { fenceRevision: 1, startRevision: 2, endRevision: 3, keys: 4, byVersion: {}, undecodable: 0, at: '2026-01-01T00:00:00Z' }
  const entry = { key: 'a', class: 'Corrupt' as const, message: '', modRevision: 1, sha256: '', bytes: 1, since: '' }
  const replica = { id: 'r1', program: 'p', decodable: ['v1'], encodable: ['v1'], served: ['v1'], formats: [1], observedEpoch: 4, state: 'Serving' as const, live: true, lastSeen: 0 }
  const all = shown({ progress, proof, quarantine: [entry, entry], replicas: [replica, { ...replica, id: 'r2', live: false }], counts: new Map([['v1', 7]]), fencedWrites: 2 })
  const expected = [
    'fenced_writes_total{} 2', 'objects{"version":"v1"} 7', 'migration_phase{"phase":"Running"} 1', 'migration_phase{"phase":"Blocked"} 0', 'migration_objects_total{"result":"rewritten"} 30',
    'migration_remaining{} 60', 'migration_throttle_seconds_total{"reason":"OtherWriters"} 1.5', 'verify_last_revision{} 3', 'verify_last_success_timestamp{} 1767225600',
    'undecodable_objects{"class":"Corrupt"} 2', 'replica_decodable_info{"replica":"r1","version":"v1"} 1',
  ]
  for (const line of expected) assert.ok(all.includes(line), `${line} in\n${all.join('\n')}`)
  assert.ok(!all.some((line) => line.includes('r2')))
})
