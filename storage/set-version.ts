/** Changing the version that objects are written in: preflight and the one transaction. */
import type { Backend } from './backend.ts'
import { commitOnce } from './commit-once.ts'
import { setVersion } from './fence-change.ts'
import { fenceKey, parseFence } from './fence-record.ts'
import type { LoadedFence } from './fence-record.ts'
import { checkEmptyQuarantine } from './quarantine.ts'
import { Refused } from './refused.ts'
import { checkReplicas } from './replicas.ts'
import type { Clock } from '../src/base/clock.ts'

export interface SetVersionOptions {
  readonly backend: Backend
  readonly resource: string
  readonly version: string
  /** All versions, oldest first. */
  readonly order: readonly string[]
  /** Of the version's present schema. */
  readonly schemaDigest?: string
  readonly clock: Clock
  /** Who asks, for the record. */
  readonly reason: string
  /** Going below the rollback floor is meant. */
  readonly acceptRollback?: boolean
  /** Ids of replicas that have vanished and will not come back. */
  readonly dismissed?: readonly string[]
}

/**
 * From now on objects are written at `version`. Returns the fence, the present one where it says so already. Throws Refused: UnknownVersion, RetiredVersion,
 * BelowRollbackFloor, MigrationUnfinished, Frozen, Quarantined, ReplicaUnable, ReplicaMissing, or ReplicasChanged when one came meanwhile.
 */
export async function changeEncoding(options: SetVersionOptions): Promise<LoadedFence> {
  const { backend, resource, version, clock } = options
  const key = fenceKey(resource)
  const fence = parseFence(key, await backend.get(key))
  if (fence.mode === 'Importing') throw new Refused('Frozen', `a restore of ${resource} has not ended: give the same restore again, which continues`)
  if (fence.encodingVersion === version) return fence
  await checkEmptyQuarantine(backend, resource)
  const { dismissed } = options
  const replicasRevision = await checkReplicas(backend, resource, { version, epoch: fence.epoch, now: clock.now(), ...(dismissed && { dismissed }) })
  const request = setVersion({ resource, fence }, { ...options, replicasRevision, now: clock.now() })
  const result = await commitOnce(backend, request, key)
  if (!result.succeeded) throw new Refused('ReplicasChanged', `a replica of ${resource} has come, or its fence has changed, at the same moment: try again`)
  return parseFence(key, await backend.get(key))
}
