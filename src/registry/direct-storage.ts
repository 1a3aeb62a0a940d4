/** Storage administration on a backend that this process has open: what servers and, when none runs, commands use. */
import { prefixEnd, type Backend } from '../../storage/backend.ts'
import { backup } from '../../storage/backup.ts'
import { fenceKey, parseFence, type LoadedFence } from '../../storage/fence-record.ts'
import { dryRun } from '../../storage/migrate-dry-run.ts'
import { abortMigration, limitMigration, pauseMigration } from '../../storage/migrate.ts'
import { deleteQuarantined, listQuarantine, refreshQuarantine, replaceQuarantined, showQuarantined, type Expected, type QuarantinedValue } from '../../storage/quarantine.ts'
import { Refused } from '../../storage/refused.ts'
import { listReplicas } from '../../storage/replicas.ts'
import { changeEncoding } from '../../storage/set-version.ts'
import { trimStoredVersions } from '../../storage/trim.ts'
import { readProof, scanObjects, verify } from '../../storage/verify.ts'
import type { JsonObject } from '../api/object.ts'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { AdminResource } from './admin-resource.ts'
import { countStored } from './count-stored.ts'
import { forgetHistory, isServed } from './forget-history.ts'
import { openMigrationRunner, type MigrationRunner } from './migration-runner.ts'
import { nextStep } from './next-step.ts'
import { hasEnded, isLeftAlone, readMigration, withProgress } from './read-migration.ts'
import type { Migration, QuarantinedContent, QuarantinedObject, StorageAdmin, StorageStatus, StoredCounts, VersionChange } from './storage-admin.ts'

export interface DirectStorageOptions {
  readonly backend: Backend
  /** The resources that this program knows. */
  readonly resources: readonly AdminResource[]
  readonly clock: Clock
  readonly log: Log
  /** Name and release of the program. */
  readonly program: string
  /** Names this process to others. */
  readonly owner: string
  /** Only this process can open the store: replicas that have vanished are no more. */
  readonly exclusive?: boolean
  /** This process serves nobody from the store, so that of its history only what others may need is kept. */
  readonly unserved?: boolean
  /** Counts a resource's objects without reading them all; undefined for one that it does not hold. */
  readonly count?: (resource: string) => StoredCounts | undefined
}

/** Storage administration of this process. */
export interface DirectStorage extends StorageAdmin {
  /** Goes on with the migrations that their processes left alone; those that cannot be continued now are logged and left. */
  continueMigrations(): Promise<void>
}

const FENCES = 'meta/fence/'
/** How long a change of the encoding waits for the replicas to see it. */
const OBSERVE_MS = 3000
const OBSERVE_EVERY_MS = 50

/** Opens it. The backend stays open when it is closed. */
export function openDirectStorage(options: DirectStorageOptions): DirectStorage {
  return new Direct(options, openMigrationRunner(options))
}

class Direct implements DirectStorage {
  readonly #options: DirectStorageOptions
  readonly #backend: Backend
  readonly #runner: MigrationRunner
  #forgetting: { close(): void } | undefined

  constructor(options: DirectStorageOptions, runner: MigrationRunner) {
    this.#options = options
    this.#backend = options.backend
    this.#runner = runner
  }

  #known(resource: string): AdminResource {
    const found = this.#options.resources.find((known) => known.resource === resource)
    if (!found) throw new Refused('UnknownResource', `this program does not know ${resource}; it knows ${this.#options.resources.map((known) => known.resource).join(', ')}`)
    return found
  }

  async #fence(resource: string): Promise<LoadedFence> {
    const kv = await this.#backend.get(fenceKey(resource))
    if (!kv) throw new Refused('UnknownResource', `the store has no ${resource}: no server has served it from here yet`)
    return parseFence(fenceKey(resource), kv)
  }

  async list(): Promise<readonly StorageStatus[]> {
    const { kvs } = await this.#backend.range({ start: FENCES, end: prefixEnd(FENCES) })
    const statuses: StorageStatus[] = []
    for (const { key } of kvs) statuses.push(await this.status(key.slice(FENCES.length)))
    return statuses
  }

  async status(resource: string): Promise<StorageStatus> {
    const fence = await this.#fence(resource)
    const [counts, { replicas }, proof, quarantine, migration, store] = await Promise.all([
      this.#options.count?.(resource) ?? countStored(this.#backend, resource),
      listReplicas(this.#backend, resource),
      readProof(this.#backend, resource),
      listQuarantine(this.#backend, resource),
      this.migration(resource),
      this.#backend.status(),
    ])
    const versions = this.#options.resources.find((known) => known.resource === resource)?.order ?? []
    const { encodingVersion, storedVersions, retiredVersions, rollbackFloor, epoch, mode, modRevision } = fence
    const known = {
      resource, versions, encodingVersion, storedVersions, retiredVersions, rollbackFloor, epoch, mode, fenceRevision: modRevision, ...counts,
      replicas: replicas.map((replica) => (replica.live ? replica : { ...replica, state: 'Vanished' as const })),
      ...(proof && { proof: { ...proof, current: isCurrent(proof, fence) } }),
      quarantined: quarantine.length,
      ...(migration && { migration }),
    }
    return { ...known, next: nextStep(known), store }
  }

  async setVersion(resource: string, { version, acceptRollback, dismissed }: VersionChange): Promise<StorageStatus> {
    const known = this.#known(resource)
    await this.#fence(resource)
    checkVersion(known, version)
    const schemaDigest = known.schemaDigest(version)
    const { clock, owner, exclusive } = this.#options
    const gone = exclusive ? (await listReplicas(this.#backend, resource)).replicas.filter(({ live }) => !live).map(({ id }) => id) : dismissed
    await changeEncoding({
      backend: this.#backend, resource, version, order: known.order, clock, reason: `set-version, ${owner}`,
      ...(schemaDigest !== undefined && { schemaDigest }), ...(acceptRollback !== undefined && { acceptRollback }), ...(gone && { dismissed: gone }),
    })
    await this.#observed(resource)
    return await this.status(resource)
  }

  // The next change wants all replicas to have seen this one; nothing rests on it.
  async #observed(resource: string): Promise<void> {
    const { clock } = this.#options
    for (const end = clock.monotonic() + OBSERVE_MS; clock.monotonic() < end; await clock.sleep(OBSERVE_EVERY_MS)) {
      const { epoch } = await this.#fence(resource)
      const { replicas } = await listReplicas(this.#backend, resource)
      if (replicas.every(({ live, observedEpoch }) => !live || observedEpoch >= epoch)) return
    }
  }

  async preview(resource: string, { version, ...observed }: { version?: string } & Parameters<StorageAdmin['preview']>[1]) {
    const known = this.#known(resource)
    await this.#fence(resource)
    if (version !== undefined) checkVersion(known, version)
    return await dryRun({ backend: this.#backend, resource, codec: known.codec, clock: this.#options.clock, ...(version !== undefined && { target: version }), ...observed })
  }

  async migrate(resource: string, { rate }: { rate?: number } = {}): Promise<Migration> {
    const known = this.#known(resource)
    await this.#fence(resource)
    await this.#forgetHistory()
    // The job keeps it, whoever runs it now or takes it up later.
    if (rate !== undefined) await limitMigration(this.#backend, resource, rate, this.#options.clock.now())
    await this.#runner.start(known, rate === undefined || rate === 0 ? {} : { rateLimit: rate })
    return (await this.migration(resource)) as Migration
  }

  // The history of a store that is shared, with other programs perhaps, is let go of only as far as a retirement needs it: before the fence that it begins from.
  async #forgetHistory(before?: LoadedFence): Promise<void> {
    const { unserved, exclusive } = this.#options
    if (!unserved) return
    if (exclusive) this.#forgetting ??= await forgetHistory(this.#options)
    else if (before && !(await isServed(this.#backend))) await this.#backend.compact(before.modRevision)
  }

  async migration(resource: string): Promise<Migration | undefined> {
    const found = await readMigration(this.#backend, resource)
    const run = this.#runner.find(resource)
    if (!found) return undefined
    const shown = withProgress(found, run)
    if (!run?.failure || run.progress?.id !== found.id || hasEnded(found)) return shown
    return { ...shown, failure: { message: run.failure.message, ...(run.failure instanceof Refused && { reason: run.failure.reason }) } }
  }

  async pause(resource: string): Promise<Migration> {
    await this.#fence(resource)
    await pauseMigration(this.#backend, resource, this.#options.clock.now())
    return (await this.migration(resource)) as Migration
  }

  async abort(resource: string): Promise<Migration> {
    await this.#fence(resource)
    await abortMigration(this.#backend, resource, this.#options.clock.now())
    return (await this.migration(resource)) as Migration
  }

  async verify(resource: string, options: Parameters<StorageAdmin['verify']>[1]) {
    const known = this.#known(resource)
    await this.#fence(resource)
    const request = { backend: this.#backend, resource, codec: known.codec, now: this.#options.clock.now, ...options }
    // There the proof is only shown.
    if ((await this.#backend.status()).readOnly) return await scanObjects(request)
    await refreshQuarantine(this.#backend, resource)
    return await verify(request)
  }

  async trim(resource: string): Promise<StorageStatus> {
    await this.#fence(resource)
    await refreshQuarantine(this.#backend, resource)
    await trimStoredVersions({ backend: this.#backend, resource })
    return await this.status(resource)
  }

  async retire(resource: string, version: string, { rate }: { rate?: number } = {}): Promise<Migration> {
    const known = this.#known(resource)
    const fence = await this.#fence(resource)
    checkVersion(known, version)
    await this.#forgetHistory(fence)
    await this.#runner.start(known, { retiring: version, ...(rate !== undefined && rate > 0 && { rateLimit: rate }) })
    const found = (await this.migration(resource)) as Migration
    // This process was at work on something else.
    if (found.retiring !== version) throw new Refused('MigrationUnfinished', `migration ${found.id} of ${resource} has not ended: let it end with migrate, or abort it`)
    if (rate !== undefined) await limitMigration(this.#backend, resource, rate, this.#options.clock.now())
    return found
  }

  async listQuarantined(resource: string): Promise<readonly QuarantinedObject[]> {
    await this.#fence(resource)
    return (await refreshQuarantine(this.#backend, resource)).map((entry) => ({ resource, ...entry }))
  }

  async showQuarantined(resource: string, key: string): Promise<QuarantinedContent> {
    const known = this.#known(resource)
    return content(resource, await showQuarantined(this.#backend, resource, key, known.codec, this.#options.clock.now()))
  }

  async replaceQuarantined(resource: string, key: string, object: JsonObject, expected: Expected): Promise<number> {
    const known = this.#known(resource)
    return await replaceQuarantined(this.#backend, resource, key, known.accept(object), expected, known.codec)
  }

  async deleteQuarantined(resource: string, key: string, expected: Expected): Promise<QuarantinedContent> {
    const known = this.#known(resource)
    const found = await showQuarantined(this.#backend, resource, key, known.codec, this.#options.clock.now())
    // The bytes are in the answer, for whoever asks to keep.
    await deleteQuarantined(this.#backend, resource, key, expected, async () => {})
    return content(resource, found)
  }

  backup(): AsyncIterable<string> {
    return backup(this.#backend, { program: this.#options.program, now: this.#options.clock.now() })
  }

  async continueMigrations(): Promise<void> {
    for (const known of this.#options.resources) {
      try {
        const found = await readMigration(this.#backend, known.resource)
        if (found && isLeftAlone(found)) await this.#runner.start(known, {})
      } catch (err) {
        this.#options.log.warn('a migration that was left could not be continued', { err, resource: known.resource })
      }
    }
  }

  async close(): Promise<void> {
    this.#forgetting?.close()
    await this.#runner.close()
  }
}

// A proof says what was true of the fence that it was made under.
function isCurrent(proof: { readonly fenceRevision: number; readonly byVersion: Readonly<Record<string, number>> }, fence: LoadedFence): boolean {
  return proof.fenceRevision === fence.modRevision || (fence.storedVersions.length === 1 && Object.keys(proof.byVersion).every((version) => version === fence.encodingVersion))
}

function checkVersion({ resource, order }: AdminResource, version: string): void {
  if (!order.includes(version)) throw new Refused('UnknownVersion', `${resource} has no version ${version}; it has ${order.join(', ')}`)
}

function content(resource: string, { value, ...entry }: QuarantinedValue): QuarantinedContent {
  return { resource, ...entry, value: Buffer.from(value).toString('base64') }
}
