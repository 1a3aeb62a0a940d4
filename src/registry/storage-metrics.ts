/** What of the storage is shown as metrics; looked at when they are read. */
import type { Clock } from '../base/clock.ts'
import type { GaugeMetric, MetricSet, TotalMetric } from '../base/metrics.ts'
import { hasEnded } from './read-migration.ts'
import type { ResourceStore } from './resource-store.ts'
import type { StorageAdmin, StorageStatus } from './storage-admin.ts'

type Gauges = ReturnType<typeof openGauges>

/** Adds the metrics to a set. */
export function measureStorage({ set, storage, stores, clock }: { readonly set: MetricSet; readonly storage: StorageAdmin; readonly stores: readonly ResourceStore[]; readonly clock: Clock }): void {
  const gauges = openGauges(set)
  set.onRead(async () => {
    const statuses = await storage.list()
    const quarantined = await Promise.all(statuses.map(({ resource, quarantined: count }) => (count > 0 ? storage.listQuarantined(resource) : [])))
    for (const gauge of Object.values(gauges)) gauge.clear()
    for (const status of statuses) {
      showVersions(gauges, status)
      showMigration(gauges, status, clock.now())
    }
    for (const { resource, class: problem } of quarantined.flat()) gauges.undecodable.add({ resource, class: problem }, 1)
    for (const { fence } of stores) gauges.fencedWrites.set({ resource: fence.resource }, fence.fencedWrites)
    const [first] = statuses
    if (!first) return
    const { bytes, revision, compactedRevision, offset = 0, space } = first.store
    gauges.bytes.set({}, bytes)
    gauges.revision.set({}, revision)
    gauges.compactedRevision.set({}, compactedRevision)
    gauges.offset.set({}, offset)
    if (space) gauges.quotaRatio.set({}, 1 - space.freeBytes / space.limitBytes)
  })
}

function openGauges(set: MetricSet) {
  const gauge = <L extends string = never>(name: string, help: string, ...labels: readonly L[]): GaugeMetric<L> => set.gauge({ name: `mlops_${name}`, help, labels })
  const total = <L extends string = never>(name: string, help: string, ...labels: readonly L[]): TotalMetric<L> => set.total({ name: `mlops_${name}`, help, labels })
  return {
    objects: gauge('storage_objects', 'Objects by the version that they are stored at; an empty version: without a readable header.', 'resource', 'version'),
    storedVersion: gauge('stored_version_info', 'Versions that stored objects may have; encoding is true for the one that they are written at.', 'resource', 'version', 'encoding'),
    epoch: gauge('fence_epoch', 'Changes of the encoding version or of storedVersions, counted.', 'resource'),
    fencedWrites: total('fenced_writes_total', 'Writes that met a changed fence and were encoded anew.', 'resource'),
    phase: gauge('migration_phase', '1 for the phase of the last migration.', 'resource', 'phase'),
    migrated: total('migration_objects_total', 'Objects of the last migration by what became of them.', 'resource', 'result'),
    remaining: gauge('migration_remaining', 'Objects that the migration has not dealt with.', 'resource'),
    throttled: total('migration_throttle_seconds_total', 'Seconds for which the migration of this process held itself back.', 'resource', 'reason'),
    checkpointAge: gauge('migration_last_checkpoint_age_seconds', 'Seconds since a migration that has not ended got further; above 60: it is stalled.', 'resource'),
    verifiedAt: gauge('verify_last_success_timestamp_seconds', 'When the last proof that found nothing bad was made.', 'resource'),
    verifiedRevision: gauge('verify_last_revision', 'Revision of the last proof.', 'resource'),
    undecodable: gauge('undecodable_objects', 'Objects in quarantine.', 'resource', 'class'),
    replica: gauge('replica_decodable_info', 'Versions that each live replica can decode.', 'resource', 'replica', 'version'),
    bytes: gauge('store_bytes', 'Bytes of the store on disk.'),
    revision: gauge('store_revision', 'Revision of the store.'),
    compactedRevision: gauge('store_compacted_revision', 'Every revision below is gone.'),
    offset: gauge('rv_offset', 'What a restore has added to the revisions of the store.'),
    quotaRatio: gauge('store_quota_ratio', "Part of the store's room (quota of etcd, disk of the embedded store) that is not free; no value: nobody can tell."),
  }
}

function showVersions(gauges: Gauges, { resource, byVersion, storedVersions, encodingVersion, epoch, replicas, proof }: StorageStatus): void {
  for (const [version, count] of Object.entries(byVersion)) gauges.objects.set({ resource, version }, count)
  for (const { version } of storedVersions) gauges.storedVersion.set({ resource, version, encoding: String(version === encodingVersion) }, 1)
  gauges.epoch.set({ resource }, epoch)
  for (const { id, live, decodable } of replicas) if (live) for (const version of decodable) gauges.replica.set({ resource, replica: id, version }, 1)
  if (!proof) return
  gauges.verifiedRevision.set({ resource }, proof.endRevision)
  if (proof.undecodable === 0) gauges.verifiedAt.set({ resource }, Date.parse(proof.at) / 1000)
}

const RESULTS = ['rewritten', 'current', 'vanished', 'quarantined', 'conflicts'] as const

function showMigration(gauges: Gauges, { resource, migration }: StorageStatus, now: number): void {
  if (!migration) return
  const { phase, counters, total, done, owner, updatedAt, advancedAt = updatedAt, waitedMs = {} } = migration
  gauges.phase.set({ resource, phase }, 1)
  for (const result of RESULTS) gauges.migrated.set({ resource, result }, counters[result])
  for (const [reason, ms] of Object.entries(waitedMs)) gauges.throttled.set({ resource, reason }, ms / 1000)
  const ended = hasEnded(migration)
  gauges.remaining.set({ resource }, ended ? 0 : Math.max(0, total - done))
  // Another process that runs it tells better.
  if (!ended && (owner === undefined || migration.advancedAt !== undefined)) gauges.checkpointAge.set({ resource }, Math.max(0, (now - Date.parse(advancedAt)) / 1000))
}
