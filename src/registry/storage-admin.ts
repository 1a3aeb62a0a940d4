/** What an operator does with the storage of resources, on this process's backend or through a server: one contract, values that survive JSON. */
import type { BackendStatus } from '../../storage/backend.ts'
import type { StoredVersion, RetiredVersion } from '../../storage/fence-record.ts'
import type { FenceMode } from '../../storage/fence.ts'
import type { Proof } from '../../storage/fence-change.ts'
import type { DryRun } from '../../storage/migrate-dry-run.ts'
import type { Job } from '../../storage/migrate-job.ts'
import type { Progress } from '../../storage/migrate-progress.ts'
import type { Expected, QuarantineEntry } from '../../storage/quarantine.ts'
import type { Announcement, Replica } from '../../storage/replicas.ts'
import type { Verification } from '../../storage/verify.ts'
import type { JsonObject } from '../api/object.ts'

/** How many objects are stored at which version; "" for bytes without a readable header. */
export interface StoredCounts {
  readonly objects: number
  readonly bytes: number
  readonly byVersion: Readonly<Record<string, number>>
}

/** The storage of one resource. */
export interface StorageStatus extends StoredCounts {
  /** `<plural>.<group>` */
  readonly resource: string
  /** Versions that the program knows, oldest first; none for a resource that it does not know. */
  readonly versions: readonly string[]
  readonly encodingVersion: string
  readonly storedVersions: readonly StoredVersion[]
  readonly retiredVersions: readonly RetiredVersion[]
  readonly rollbackFloor: string
  readonly epoch: number
  readonly mode: FenceMode
  /** Revision of the fence. */
  readonly fenceRevision: number
  readonly replicas: readonly ReplicaStatus[]
  /** The last proof, and whether it still holds for the present fence. */
  readonly proof?: Proof & { readonly digest?: string; readonly current: boolean }
  /** Objects in quarantine. */
  readonly quarantined: number
  /** The last migration. */
  readonly migration?: Migration
  /** What to do next, in words. */
  readonly next: string
  /** The store that it is in. */
  readonly store: BackendStatus
}

/** A replica, and what it does; of one whose announcement has ended without a good-bye it is not what it said last. */
export interface ReplicaStatus extends Omit<Replica, 'state'> {
  readonly state: Announcement['state'] | 'Vanished'
}

/** A migration: its record, how far it is, and who is at work on it. */
export interface Migration extends Pick<Job, 'id' | 'resource' | 'from' | 'target' | 'retiring' | 'phase' | 'reason' | 'message' | 'rateLimit' | 'total' | 'sweep' | 'attempts' | 'startedAt' | 'updatedAt' | 'proof'> {
  /** Objects dealt with in this pass; while it verifies, objects read, where that is known. */
  readonly done: number
  readonly counters: Progress['counters']
  /** The process that runs it; absent: none does. */
  readonly owner?: string
  /** Known only to the process that runs it. */
  readonly rate?: number
  readonly etaSeconds?: number
  /** When it last got further, RFC 3339. */
  readonly advancedAt?: string
  readonly limitedBy?: string
  readonly waitedMs?: Readonly<Record<string, number>>
  /** Why the process that ran it gave up, where that is known; the job stays for the next one. */
  readonly failure?: { readonly message: string; readonly reason?: string }
}

/** An object in quarantine. */
export interface QuarantinedObject extends QuarantineEntry {
  readonly resource: string
}

/** The same with its value, in base64. */
export interface QuarantinedContent extends QuarantinedObject {
  readonly value: string
}

/** How a long operation is watched and ended. */
export interface Observed {
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: { readonly done: number; readonly total: number }) => void
}

/** A change of the encoding version. */
export interface VersionChange {
  readonly version: string
  /** Going below the rollback floor is meant. */
  readonly acceptRollback?: boolean
  /** Ids of replicas that will not come back. */
  readonly dismissed?: readonly string[]
}

/** Everything rejects with Refused where what is asked for must not be done: UnknownResource for a resource that the store does not have. */
export interface StorageAdmin {
  /** Every resource that the store has. */
  list(): Promise<readonly StorageStatus[]>
  status(resource: string): Promise<StorageStatus>
  setVersion(resource: string, change: VersionChange): Promise<StorageStatus>
  /** What a migration to `version` (default: the encoding version) would do; writes nothing. */
  preview(resource: string, options: { readonly version?: string } & Observed): Promise<DryRun>
  /** Begins a migration, or continues the one that has not ended; resolves when it is under way. `rate`: objects a second at most, kept in the job; 0: no fixed limit. */
  migrate(resource: string, options?: { readonly rate?: number }): Promise<Migration>
  /** The last migration; undefined: there was none. */
  migration(resource: string): Promise<Migration | undefined>
  pause(resource: string): Promise<Migration>
  /** Ends it without a result. */
  abort(resource: string): Promise<Migration>
  verify(resource: string, options: { readonly deep?: boolean } & Observed): Promise<Verification>
  trim(resource: string): Promise<StorageStatus>
  /** Begins to retire a version, so that nothing is stored at it or names it ever again, or continues that; resolves when it is under way. It is a migration in all else. */
  retire(resource: string, version: string, options?: { readonly rate?: number }): Promise<Migration>
  listQuarantined(resource: string): Promise<readonly QuarantinedObject[]>
  /** The value of a key that cannot be used, whether it is in quarantine already or not. */
  showQuarantined(resource: string, key: string): Promise<QuarantinedContent>
  /** Puts a whole object of any version in the place of the value that is meant. Resolves to the new revision. */
  replaceQuarantined(resource: string, key: string, object: JsonObject, expected: Expected): Promise<number>
  /** Deletes the value that is meant, for good, and resolves to it. */
  deleteQuarantined(resource: string, key: string, expected: Expected): Promise<QuarantinedContent>
  /** The lines of a bundle of the whole store. */
  backup(): AsyncIterable<string>
  /** Ends what this process runs; migrations are left for whoever continues them. */
  close(): Promise<void>
}
