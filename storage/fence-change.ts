/**
 * Changes of a fence, as transactions that are built and not sent: each compares the fence that it starts from, and whatever else it relies on.
 * These are all the ways in which a record changes after its first one; only `trim` takes a version away.
 */
import { prefixEnd } from './backend.ts'
import type { CommitRequest, Compare } from './backend.ts'
import { encodeFence, fenceKey, storedVersionNames } from './fence-record.ts'
import type { FenceRecord, LoadedFence } from './fence-record.ts'
import { Refused } from './refused.ts'
import { plural } from '../src/base/plural.ts'

/** Keys of the live announcements of a resource's replicas. */
export const replicaPrefix = (resource: string): string => `meta/replicas/${resource}/`
/** Keys of a resource's quarantine records; the object's relative key follows. */
export const quarantinePrefix = (resource: string): string => `meta/quarantine/${resource}/`
/** The key of a resource's last proof. */
export const proofKey = (resource: string): string => `meta/verify/${resource}`

/** The result of a full scan: how many objects it found at which version. */
export interface Proof {
  /** Revision of the fence, read before the scan began and compared when something is done on the strength of the proof. */
  readonly fenceRevision: number
  readonly startRevision: number
  readonly endRevision: number
  readonly keys: number
  readonly byVersion: Readonly<Record<string, number>>
  /** Objects that cannot be used, which prove nothing. */
  readonly undecodable: number
  /** When it ended, RFC 3339. */
  readonly at: string
}

/** What every change needs. */
export interface ChangeOptions {
  readonly resource: string
  readonly fence: LoadedFence
}

/**
 * Writes objects at `version` from now on. `version` enters storedVersions with the same record, so before any object has it. Holds only while no replica
 * has come or changed since `replicasRevision`, at which all were found able. Throws Refused for a job that has not ended, a mode other than ReadWrite,
 * a retired version, or one below the rollback floor: `order` has all versions, oldest first, and `acceptRollback` goes below it, this once.
 */
export function setVersion(
  { resource, fence }: ChangeOptions,
  change: {
    readonly version: string
    readonly schemaDigest?: string
    readonly order: readonly string[]
    readonly acceptRollback?: boolean
    readonly replicasRevision: number
    readonly now: number
    readonly reason: string
  },
): CommitRequest {
  const { version, order, now } = change
  checkNoJob(resource, fence)
  if (fence.mode !== 'ReadWrite') throw new Refused('Frozen', `${resource} is ${fence.mode}: end that first`)
  if (fence.retiredVersions.some((retired) => retired.version === version)) {
    throw new Refused('RetiredVersion', `${version} of ${resource} is retired: no object may be stored at it again`)
  }
  if (!order.includes(version)) throw new Refused('UnknownVersion', `${resource} has no version ${version}; it has ${order.join(', ')}`)
  // From further below, the way up is no rollback.
  const [to, from, floor] = [version, fence.encodingVersion, fence.rollbackFloor].map((name) => order.indexOf(name)) as [number, number, number]
  const below = to < floor && (to < from || from < 0)
  if (below && !change.acceptRollback) {
    throw new Refused('BelowRollbackFloor', `${version} of ${resource} is older than the rollback floor ${fence.rollbackFloor}: ask for it with --accept-rollback`)
  }
  const epoch = fence.epoch + 1
  const known = fence.storedVersions.some((entry) => entry.version === version)
  const entry = {
    version,
    ...(change.schemaDigest !== undefined && { schemaDigest: change.schemaDigest }),
    firstEpoch: epoch,
    firstRevision: change.replicasRevision + 1,
    since: new Date(now).toISOString(),
    reason: change.reason,
  }
  return put(
    { resource, fence },
    {
      ...fence,
      epoch,
      encodingVersion: version,
      storedVersions: known ? fence.storedVersions : [...fence.storedVersions, entry],
    },
    [unchangedSince(replicaPrefix(resource), change.replicasRevision)],
  )
}

/** Refuses all writes of objects (frozen), or allows them again. Once it is committed no object has a greater revision. */
export function setFrozen({ resource, fence }: ChangeOptions, frozen: boolean): CommitRequest {
  if (fence.mode === 'Importing') throw new Refused('Frozen', `${resource} is Importing: end that first`)
  return put({ resource, fence }, { ...fence, mode: frozen ? 'ReadOnly' : 'ReadWrite' })
}

/** Ends an import: objects can be written by anyone. */
export function endImport({ resource, fence }: ChangeOptions): CommitRequest {
  return put({ resource, fence }, { ...fence, mode: 'ReadWrite' })
}

/** Names the migration that runs from now on. */
export function beginJob({ resource, fence }: ChangeOptions, job: string): CommitRequest {
  checkNoJob(resource, fence)
  return put({ resource, fence }, { ...fence, job })
}

/** Ends the migration without taking a version away, or the retirement without retiring one. */
export function endJob({ resource, fence }: ChangeOptions): CommitRequest {
  return put({ resource, fence }, withoutJob(fence))
}

function withoutJob(fence: LoadedFence): LoadedFence {
  const { job: _, retiring: __, ...rest } = fence
  return rest as LoadedFence
}

/**
 * Takes away every version that the proof found no object at, and ends the job that asks for it. Holds only while the fence is the one that was read before the
 * proof's scan began, nothing is in quarantine and no replica has come or changed since `replicasRevision`. Throws Refused where the proof says otherwise.
 */
export function trim({ resource, fence }: ChangeOptions, change: { readonly proof: Proof; readonly replicasRevision: number; readonly job?: string }): CommitRequest {
  const { proof } = change
  if (fence.job !== change.job) checkNoJob(resource, fence)
  if (proof.fenceRevision !== fence.modRevision) throw new Refused('NoProof', `the proof of ${resource} is older than its fence: verify again`)
  if (proof.undecodable > 0) throw new Refused('Quarantined', `the proof of ${resource} found ${plural(proof.undecodable, 'object')} that cannot be used: see quarantine list`)
  const keeps = (version: string): boolean => version === fence.encodingVersion || (proof.byVersion[version] ?? 0) > 0
  const storedVersions = fence.storedVersions.filter(({ version }) => keeps(version))
  const changed = storedVersions.length < fence.storedVersions.length
  return put({ resource, fence }, { ...withoutJob(fence), storedVersions, epoch: fence.epoch + (changed ? 1 : 0) }, [
    empty(quarantinePrefix(resource)),
    unchangedSince(replicaPrefix(resource), change.replicasRevision),
  ])
}

/**
 * Begins to retire a version: from now on no write leaves an object that names it; those that are there are the job's. `compactedRevision` is the store's: history in
 * which the version could still be must be gone. Throws Refused.
 */
export function beginRetirement(
  { resource, fence }: ChangeOptions,
  change: { readonly version: string; readonly compactedRevision: number; readonly job: string },
): CommitRequest {
  const { version, job } = change
  checkNoJob(resource, fence)
  if (fence.mode !== 'ReadWrite') throw new Refused('Frozen', `${resource} is ${fence.mode}: end that first`)
  if (fence.retiredVersions.some((retired) => retired.version === version)) throw new Refused('RetiredVersion', `${version} of ${resource} is retired already`)
  if (storedVersionNames(fence).includes(version)) throw new Refused('StillStored', `${version} of ${resource} may still be stored: migrate first`)
  // At the revision of the fence no object had it.
  if (change.compactedRevision < fence.modRevision) {
    throw new Refused('StillStored', `the history of ${resource} may still have ${version}: wait some minutes, until the store keeps none from before revision ${fence.modRevision}`)
  }
  return put({ resource, fence }, { ...fence, job, retiring: version })
}

/**
 * Records that the version is never stored nor named again, so that a later release may drop its decoder, and ends the job. Holds only while the fence is the one that
 * was read before the proof's scan began, and nothing is in quarantine. Throws Refused where the proof says otherwise.
 */
export function endRetirement({ resource, fence }: ChangeOptions, change: { readonly proof: Proof; readonly job: string; readonly now: number }): CommitRequest {
  const { proof, job } = change
  if (fence.retiring === undefined || fence.job !== job) throw new Refused('Changed', `no version of ${resource} is being retired by ${job}`)
  if (proof.fenceRevision !== fence.modRevision) throw new Refused('NoProof', `the proof of ${resource} is older than its fence: verify again`)
  if (proof.undecodable > 0) throw new Refused('Quarantined', `the proof of ${resource} found ${plural(proof.undecodable, 'object')} that cannot be used: see quarantine list`)
  const retired = { version: fence.retiring, since: new Date(change.now).toISOString() }
  const record = { ...withoutJob(fence), retiredVersions: [...fence.retiredVersions, retired] }
  return put({ resource, fence }, record, [empty(quarantinePrefix(resource))])
}

function checkNoJob(resource: string, fence: LoadedFence): void {
  if (fence.job !== undefined) throw new Refused('MigrationUnfinished', `migration ${fence.job} of ${resource} has not ended: let it end with migrate, or abort it`)
}

function put({ resource, fence }: ChangeOptions, record: FenceRecord, conditions: readonly Compare[] = []): CommitRequest {
  const key = fenceKey(resource)
  return { compare: [{ key, modRevision: fence.modRevision }, ...conditions], put: [{ key, value: encodeFence(record) }] }
}

function empty(prefix: string): Compare {
  return unchangedSince(prefix, 0)
}

/** No key of the prefix was written after `revision`. (A key that went away is not seen.) */
function unchangedSince(prefix: string, revision: number): Compare {
  return { start: prefix, end: prefixEnd(prefix), modRevisionBelow: revision + 1 }
}
