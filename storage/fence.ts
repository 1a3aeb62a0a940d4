/**
 * The fence of a resource: which version its objects are written in, and which ones may be found. It exists before the first object, and
 * every object write compares its revision in the same transaction, so that nobody who has missed a change of it can write.
 */
import type { Backend, CommitRequest, KeyValue } from './backend.ts'

/** ReadWrite: normal; ReadOnly: frozen; Importing: only the import writes. */
export type FenceMode = 'ReadWrite' | 'ReadOnly' | 'Importing'

/** The record, stored as JSON at `meta/fence/<resource>`. */
export interface FenceRecord {
  /** Goes up by one with every change of encodingVersion or storedVersions. */
  readonly epoch: number
  readonly mode: FenceMode
  /** The version that objects are written in. */
  readonly encodingVersion: string
  /** Every version that stored objects may have, oldest first. */
  readonly storedVersions: readonly string[]
  /** The oldest encoding version that may be gone back to. */
  readonly rollbackFloor: string
}

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

/** The record is gone or is no fence record. Nothing can be written safely. */
export class FenceUnreadable extends Error {
  constructor(key: string, why: string) {
    super(`fence record ${key} ${why}`)
    this.name = 'FenceUnreadable'
  }
}

export interface FenceOptions {
  /** The version that a new store starts with. */
  readonly encodingVersion: string
  /** The versions that this program can decode. */
  readonly decodable: readonly string[]
}

/** The last known record of a resource. A stale one costs a retry, never correctness. */
export interface Fence {
  readonly key: string
  current(): FenceRecord & { readonly modRevision: number }
  /** The condition of every object write. */
  compare(): { readonly key: string; readonly modRevision: number }
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
  const key = `meta/fence/${resource}`
  const load = (kv: KeyValue | undefined): Loaded => {
    const loaded = parseRecord(key, kv)
    const unknown = loaded.storedVersions.filter((version) => !options.decodable.includes(version))
    if (unknown.length > 0) throw new UndecodableStoredVersions(resource, unknown, options.decodable)
    return loaded
  }
  let current = load((await backend.get(key)) ?? (await create(backend, key, options.encodingVersion)))
  return {
    key,
    current: () => current,
    compare: () => ({ key, modRevision: current.modRevision }),
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
  await fence.refresh()
  return { kind: 'fenced' }
}

type Loaded = FenceRecord & { readonly modRevision: number }

/** Makes the first record; whoever comes second takes the one of the first. */
async function create(backend: Backend, key: string, version: string): Promise<KeyValue | undefined> {
  const record: FenceRecord = { epoch: 1, mode: 'ReadWrite', encodingVersion: version, storedVersions: [version], rollbackFloor: version }
  const value = Buffer.from(JSON.stringify(record))
  await backend.commit({ compare: [{ key, modRevision: 0 }], put: [{ key, value }] })
  return backend.get(key)
}

const MODES: readonly unknown[] = ['ReadWrite', 'ReadOnly', 'Importing'] satisfies FenceMode[]

function parseRecord(key: string, kv: KeyValue | undefined): Loaded {
  if (!kv) throw new FenceUnreadable(key, 'is gone')
  let record: Partial<FenceRecord> | null
  try {
    record = JSON.parse(Buffer.from(kv.value).toString()) as Partial<FenceRecord> | null
  } catch {
    throw new FenceUnreadable(key, 'is not JSON')
  }
  const { epoch, mode, encodingVersion, storedVersions, rollbackFloor } = record ?? {}
  const valid =
    Number.isSafeInteger(epoch) && MODES.includes(mode) && typeof encodingVersion === 'string' && typeof rollbackFloor === 'string' &&
    Array.isArray(storedVersions) && storedVersions.every((version) => typeof version === 'string') && storedVersions.includes(encodingVersion)
  if (!valid) throw new FenceUnreadable(key, 'has missing or invalid fields')
  return Object.freeze({ ...(record as FenceRecord), modRevision: kv.modRevision })
}
