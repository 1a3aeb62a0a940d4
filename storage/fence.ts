/**
 * The fence of a resource: which version its objects are written in, and which ones may be found. It exists before the first object, and
 * every object write compares its revision in the same transaction, so that nobody who has missed a change of it can write.
 */
import type { Backend, CommitRequest, KeyValue } from './backend.ts'
import { encodeFence, fenceKey, parseFence, storedVersionNames } from './fence-record.ts'
import type { LoadedFence } from './fence-record.ts'

export { FenceUnreadable } from './fence-record.ts'
export type { FenceMode, FenceRecord, LoadedFence, StoredVersion } from './fence-record.ts'

/** A record that says stored objects may have versions that this program cannot decode. It must not serve the resource. */
export class UndecodableStoredVersions extends Error {
  readonly resource: string
  /** The versions that cannot be decoded. */
  readonly versions: readonly string[]
  constructor(resource: string, versions: readonly string[], decodable: readonly string[]) {
    super(
      `${resource} has objects stored at ${versions.join(', ')}, and this program decodes only ${decodable.join(', ')}: ` +
        'run a release that knows these versions, or migrate the objects with it first',
    )
    this.name = 'UndecodableStoredVersions'
    this.resource = resource
    this.versions = versions
  }
}

export interface FenceOptions {
  /** The version that a new store starts with. */
  readonly encodingVersion: string
  /** The versions that this program can decode. */
  readonly decodable: readonly string[]
  /** Digest of a version's present schema; recorded for the version that a new store starts with. */
  readonly schemaDigest?: (version: string) => string | undefined
  /** Milliseconds since the epoch, for the same record. */
  readonly now?: () => number
}

/** The last known record of a resource. A stale one costs a retry, never correctness. */
export interface Fence {
  readonly key: string
  readonly resource: string
  current(): LoadedFence
  /** The condition of every object write. */
  compare(): { readonly key: string; readonly modRevision: number }
  /** Writes of this process that met a change of the record; `commitFenced` counts them. */
  readonly fencedWrites: number
  countFenced(): void
  /** Reads the record again. Rejects with UndecodableStoredVersions, FenceUnreadable, or as `Backend.get` does; the old one then stays. */
  refresh(): Promise<void>
}

/** fenced: the record has changed and is loaded again, nothing was written: encode anew and retry. lost: a condition of the request failed. */
export type FencedResult =
  | { readonly kind: 'committed'; readonly revision: number }
  | { readonly kind: 'fenced' }
  | { readonly kind: 'lost'; readonly revision: number; readonly current: ReadonlyMap<string, KeyValue | undefined> }

/** Loads the fence of a resource (`<plural>.<group>`), or makes it. Rejects as `Fence.refresh` does. */
export async function openFence(backend: Backend, resource: string, options: FenceOptions): Promise<Fence> {
  const key = fenceKey(resource)
  const load = (kv: KeyValue | undefined): LoadedFence => {
    const loaded = parseFence(key, kv)
    const unknown = storedVersionNames(loaded).filter((version) => !options.decodable.includes(version))
    if (unknown.length > 0) throw new UndecodableStoredVersions(resource, unknown, options.decodable)
    return loaded
  }
  let fencedWrites = 0
  let current = load((await backend.get(key)) ?? (await create(backend, key, options)))
  return {
    key,
    resource,
    current: () => current,
    compare: () => ({ key, modRevision: current.modRevision }),
    get fencedWrites() {
      return fencedWrites
    },
    countFenced: () => void fencedWrites++,
    async refresh() {
      const loaded = load(await backend.get(key))
      // Two refreshes may answer out of order.
      if (loaded.modRevision > current.modRevision) current = loaded
    },
  }
}

/** Commits on the condition that the fence is as it was known when this was called. */
export async function commitFenced(backend: Backend, fence: Fence, request: CommitRequest): Promise<FencedResult> {
  const compare = fence.compare()
  const result = await backend.commit({ ...request, compare: [...request.compare, compare] })
  if (result.succeeded) return { kind: 'committed', revision: result.revision }
  if (result.current.get(fence.key)?.modRevision === compare.modRevision) return { kind: 'lost', revision: result.revision, current: result.current }
  fence.countFenced()
  await fence.refresh()
  return { kind: 'fenced' }
}

/** Makes the first record; whoever comes second takes the one of the first. */
async function create(backend: Backend, key: string, { encodingVersion: version, schemaDigest, now }: FenceOptions): Promise<KeyValue | undefined> {
  const digest = schemaDigest?.(version)
  const value = encodeFence({
    epoch: 1,
    mode: 'ReadWrite',
    encodingVersion: version,
    storedVersions: [
      {
        version,
        ...(digest !== undefined && { schemaDigest: digest }),
        firstEpoch: 1,
        firstRevision: 0,
        ...(now && { since: new Date(now()).toISOString() }),
        reason: 'first start',
      },
    ],
    retiredVersions: [],
    rollbackFloor: version,
  })
  await backend.commit({ compare: [{ key, modRevision: 0 }], put: [{ key, value }] })
  return backend.get(key)
}
