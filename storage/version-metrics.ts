/** What is to be watched of versions and migrations, as values: the caller exposes them. */
import type { LoadedFence } from './fence-record.ts'
import type { Proof } from './fence-change.ts'
import type { Job, Phase } from './migrate-job.ts'
import type { Progress } from './migrate-progress.ts'
import type { QuarantineEntry } from './quarantine.ts'
import type { Replica } from './replicas.ts'

/** One value of a metric. Names are without the program's prefix. */
export interface Sample {
  readonly name: string
  readonly type: 'counter' | 'gauge'
  readonly help: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** What is known of a resource. */
export interface VersionState {
  readonly resource: string
  readonly fence: LoadedFence
  /** Writes that the fence refused since this process began. */
  readonly fencedWrites?: number
  /** Objects by stored version. */
  readonly counts?: ReadonlyMap<string, number>
  readonly job?: Job
  /** Of a migration that runs in this process. */
  readonly progress?: Progress
  readonly proof?: Proof
  readonly quarantine?: readonly QuarantineEntry[]
  readonly replicas?: readonly Replica[]
  /** Milliseconds since the epoch. */
  readonly now: number
}

const PHASES: readonly Phase[] = ['Planned', 'Running', 'Paused', 'Verifying', 'Trimming', 'Succeeded', 'Blocked', 'Aborted', 'Failed']

const HELP = {
  objects: 'Objects by the version that they are stored at.',
  stored_version_info: 'Versions that stored objects may have; the value is the epoch in which they were entered.',
  stored_version_age_seconds: 'Seconds since a version that stored objects may have was entered.',
  fence_epoch: 'Changes of the encoding version and of storedVersions.',
  fenced_writes_total: 'Writes that were encoded anew because the fence had changed.',
  migration_phase: '1 for the phase that the last migration is in.',
  migration_objects_total: 'Objects that the migration has dealt with, by what became of them.',
  migration_remaining: 'Objects that the migration has still to look at.',
  migration_throttle_seconds_total: 'Seconds for which the migration was held back, by reason.',
  migration_last_checkpoint_age_seconds: 'Seconds since the migration was last recorded; above 60 while it runs: stalled.',
  verify_last_success_timestamp: 'When the last proof without a bad object ended, in seconds since the epoch.',
  verify_last_revision: 'Revision at which the last proof ended.',
  undecodable_objects: 'Objects in quarantine, by class.',
  replica_decodable_info: '1 for each version that a live replica can decode.',
} as const

const COUNTERS: ReadonlySet<string> = new Set(['fenced_writes_total', 'migration_objects_total', 'migration_throttle_seconds_total'])

/** All samples of a resource. */
export function versionSamples(state: VersionState): readonly Sample[] {
  const { resource } = state
  const sample = (name: keyof typeof HELP, value: number, labels: Record<string, string> = {}): Sample => ({
    name, type: COUNTERS.has(name) ? 'counter' : 'gauge', help: HELP[name], labels: { resource, ...labels }, value,
  })
  return [...fenceSamples(state, sample), ...migrationSamples(state, sample), ...findings(state, sample)]
}

type Make = (name: keyof typeof HELP, value: number, labels?: Record<string, string>) => Sample

function fenceSamples({ fence, fencedWrites, counts, now }: VersionState, sample: Make): Sample[] {
  return [
    sample('fence_epoch', fence.epoch),
    ...fence.storedVersions.map(({ version, firstEpoch }) => sample('stored_version_info', firstEpoch, { version })),
    ...fence.storedVersions.flatMap(({ version, since }) => (since === undefined ? [] : [sample('stored_version_age_seconds', (now - Date.parse(since)) / 1000, { version })])),
    ...(fencedWrites === undefined ? [] : [sample('fenced_writes_total', fencedWrites)]),
    ...[...(counts ?? [])].map(([version, count]) => sample('objects', count, { version })),
  ]
}

function migrationSamples({ job, progress, now }: VersionState, sample: Make): Sample[] {
  const counters = progress?.counters ?? job?.result
  const phase = progress?.phase ?? job?.phase
  return [
    ...(phase === undefined ? [] : PHASES.map((name) => sample('migration_phase', name === phase ? 1 : 0, { phase: name }))),
    ...(counters
      ? (['rewritten', 'current', 'vanished', 'quarantined', 'conflicts'] as const).map((result) => sample('migration_objects_total', counters[result], { result }))
      : []),
    ...(progress ? [sample('migration_remaining', Math.max(0, progress.total - progress.done))] : []),
    ...Object.entries(progress?.waitedMs ?? {}).map(([reason, ms]) => sample('migration_throttle_seconds_total', ms / 1000, { reason })),
    ...(job ? [sample('migration_last_checkpoint_age_seconds', (now - Date.parse(job.updatedAt)) / 1000)] : []),
  ]
}

function findings({ proof, quarantine = [], replicas = [] }: VersionState, sample: Make): Sample[] {
  const classes = Map.groupBy(quarantine, (entry) => entry.class)
  return [
    ...(proof ? [sample('verify_last_revision', proof.endRevision)] : []),
    ...(proof && proof.undecodable === 0 ? [sample('verify_last_success_timestamp', Date.parse(proof.at) / 1000)] : []),
    ...[...classes].map(([name, entries]) => sample('undecodable_objects', entries.length, { class: name })),
    ...replicas.filter(({ live }) => live).flatMap(({ id, decodable }) => decodable.map((version) => sample('replica_decodable_info', 1, { replica: id, version }))),
  ]
}
