/** The fence record of a resource: what is stored at `meta/fence/<resource>`, and how it is read back. */
import type { KeyValue } from './backend.ts'

/** ReadWrite: normal; ReadOnly: frozen; Importing: only the import writes. */
export type FenceMode = 'ReadWrite' | 'ReadOnly' | 'Importing'

/** A version that stored objects may have. */
export interface StoredVersion {
  readonly version: string
  /** Digest of the version's schema when it was entered, as in the envelope; absent where nobody recorded it. */
  readonly schemaDigest?: string
  /** The epoch that began with this entry. */
  readonly firstEpoch: number
  /** No object at this version was written before this revision. */
  readonly firstRevision: number
  /** When it was entered, RFC 3339; absent where nobody recorded it. */
  readonly since?: string
  /** Who or what entered it, in words. */
  readonly reason: string
}

/** A version that no stored object has, and none may get again. */
export interface RetiredVersion {
  readonly version: string
  readonly since: string
}

/** The record. Fields that a newer program added are kept by an older one that changes it. */
export interface FenceRecord {
  /** Goes up by one with every change of encodingVersion or storedVersions. */
  readonly epoch: number
  readonly mode: FenceMode
  /** The version that objects are written in. */
  readonly encodingVersion: string
  /** Every version that stored objects may have, in the order in which they were entered. */
  readonly storedVersions: readonly StoredVersion[]
  readonly retiredVersions: readonly RetiredVersion[]
  /** The oldest encoding version that may be gone back to without asking. */
  readonly rollbackFloor: string
  /** The migration that has not ended, if there is one. */
  readonly job?: string
  /** The version that this migration retires: no write may leave an object that names it. */
  readonly retiring?: string
}

/** A record with the revision that object writes compare. */
export type LoadedFence = FenceRecord & { readonly modRevision: number }

/** The record is gone or is no fence record. Nothing can be written safely. */
export class FenceUnreadable extends Error {
  constructor(key: string, why: string) {
    super(`fence record ${key} ${why}`)
    this.name = 'FenceUnreadable'
  }
}

/** The key of a resource's record; `resource` is `<plural>.<group>`. */
export function fenceKey(resource: string): string {
  return `meta/fence/${resource}`
}

/** The names of the versions that stored objects may have. */
export function storedVersionNames(record: Pick<FenceRecord, 'storedVersions'>): string[] {
  return record.storedVersions.map(({ version }) => version)
}

/** The stored bytes of a record. */
export function encodeFence(record: FenceRecord): Uint8Array {
  const { modRevision: _, ...fields } = record as LoadedFence
  return Buffer.from(JSON.stringify(fields))
}

const MODES: readonly unknown[] = ['ReadWrite', 'ReadOnly', 'Importing'] satisfies FenceMode[]

/** Reads a record, also one of the first form, whose storedVersions are names only. Throws FenceUnreadable. */
export function parseFence(key: string, kv: KeyValue | undefined): LoadedFence {
  if (!kv) throw new FenceUnreadable(key, 'is gone')
  let record: Partial<FenceRecord> | null
  try {
    record = JSON.parse(Buffer.from(kv.value).toString()) as Partial<FenceRecord> | null
  } catch {
    throw new FenceUnreadable(key, 'is not JSON')
  }
  const storedVersions = entries(record?.storedVersions, toStoredVersion)
  const retiredVersions = entries(record?.retiredVersions ?? [], (entry) => (isEntry(entry) ? (entry as unknown as RetiredVersion) : undefined))
  const { epoch, mode, encodingVersion, rollbackFloor, job, retiring } = record ?? {}
  const whole =
    Number.isSafeInteger(epoch) && MODES.includes(mode) && typeof encodingVersion === 'string' && typeof rollbackFloor === 'string' &&
    storedVersions?.some(({ version }) => version === encodingVersion) && (job === undefined || typeof job === 'string') &&
    (retiring === undefined || typeof retiring === 'string')
  if (!whole || !storedVersions || !retiredVersions) throw new FenceUnreadable(key, 'has missing or invalid fields')
  return Object.freeze({ ...(record as FenceRecord), storedVersions, retiredVersions, modRevision: kv.modRevision })
}

function entries<T>(value: unknown, read: (entry: unknown) => T | undefined): T[] | undefined {
  if (!Array.isArray(value)) return undefined
  const found = value.map(read)
  return found.every((entry) => entry !== undefined) ? found : undefined
}

function toStoredVersion(entry: unknown): StoredVersion | undefined {
  if (typeof entry === 'string') return { version: entry, firstEpoch: 1, firstRevision: 0, reason: 'recorded by name only' }
  return isEntry(entry) && Number.isSafeInteger(entry.firstEpoch) && Number.isSafeInteger(entry.firstRevision) ? (entry as unknown as StoredVersion) : undefined
}

function isEntry(entry: unknown): entry is Record<string, unknown> {
  return typeof entry === 'object' && entry !== null && 'version' in entry && typeof entry.version === 'string'
}
