/** One resource with all that its verbs need: the definition beside the store, the fence and the cache. */
import type { CelRules } from '../api/cel.ts'
import { compileRules } from '../api/cel.ts'
import type { Conversion } from '../api/conversion.ts'
import { qualifiedName, type ResourceDefinition, type Strategy, type VersionDefinition } from '../api/resource.ts'
import { internalError, notFound, serviceUnavailable, tooLargeResourceVersion, type GroupResource } from '../api/status.ts'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Backend } from '../../storage/backend.ts'
import type { Fence } from '../../storage/fence.ts'
import type { ObjectCodec } from '../../storage/object-codec.ts'
import { startResource, type Program, type ResourceStart, type StartedResource } from '../../storage/start.ts'
import type { ByteBudget } from '../../storage/encoded-bytes.ts'
import { openWatchCache, Undecodable, type CacheEntry, type WatchCache } from '../../storage/watch-cache.ts'
import type { AdmissionPlugin } from './admission.ts'
import { oldestFirst } from '../api/version-order.ts'
import { migrationCodec } from './migration-codec.ts'
import { openQuarantineRecorder, type QuarantineRecorder } from './quarantine-recorder.ts'
import { relativeKey } from './relative-key.ts'
import { checkSamples, type StoredSample } from './self-test.ts'
import { createStorageCodec, schemaDigest, type StorageCodec } from './storage-codec.ts'

export { relativeKey } from './relative-key.ts'

/** What is served: a definition with its conversion and, where data is not enough, its strategy. */
export interface ServedResource {
  readonly definition: ResourceDefinition
  readonly conversion: Conversion
  readonly strategy?: Strategy
  /** The definition was read from a file, whose schemas may change; absent: its schemas are released, and stay as they are. */
  readonly fromFile?: true
  /** Stored bytes whose meaning is known: a program that reads them as anything else must not touch a store. */
  readonly samples?: readonly StoredSample[]
}

/** A resource, opened on a backend. */
export interface ResourceStore extends AsyncDisposable {
  readonly definition: ResourceDefinition
  readonly resource: GroupResource
  readonly conversion: Conversion
  readonly strategy: Strategy
  readonly codec: StorageCodec
  readonly backend: Backend
  readonly fence: Fence
  /** Whether it may be read and written now, and why not. */
  readonly started: Pick<StartedResource, 'state' | 'problem' | 'able'>
  readonly cache: WatchCache
  /** Takes objects that reads find undecodable. */
  readonly quarantine: QuarantineRecorder
  readonly clock: Clock
  readonly log: Log
  readonly admission: readonly AdmissionPlugin[]
  /** Key prefix of the objects in the backend. */
  readonly prefix: string
  /** CEL rules of each version. */
  readonly rules: ReadonlyMap<string, CelRules>
}

/** How long a read waits for the cache to reach a revision. upstream: cacher: blockTimeout */
const WAIT_MS = 3000

/** What a resource is opened with. */
export interface OpenOptions {
  readonly backend: Backend
  readonly budget: ByteBudget
  readonly program: Program
  /** Only this process can open the store. */
  readonly exclusive: boolean
  readonly clock: Clock
  readonly log: Log
  readonly admission: readonly AdmissionPlugin[]
}

/** Opens a resource: its start sequence, then its cache (filled when this resolves). Rejects with Refused when it must not be served. */
export async function openResourceStore(served: ServedResource, options: OpenOptions): Promise<ResourceStore> {
  const { definition, conversion, strategy = {} } = served
  const { backend, budget, clock, admission } = options
  const name = qualifiedName(definition)
  const codec = createStorageCodec(definition, conversion, strategy)
  const log = options.log.with({ resource: name })
  const objectCodec = migrationCodec(definition, codec)
  const started = await startResource(startOptions(served, objectCodec, { ...options, log }))
  const quarantine = openQuarantineRecorder({ backend, resource: name, codec: objectCodec, clock, log })
  try {
    const prefix = `data/${name}/`
    const cache = await openWatchCache({ backend, prefix, codec, budget, clock, log, onUndecodable: quarantine.report })
    return {
      definition, conversion, strategy, codec, fence: started.fence, cache, quarantine, prefix, log, backend, clock, admission, started,
      resource: { group: definition.group, resource: definition.names.plural },
      rules: new Map(definition.versions.map((version) => [version.name, compileRules(version.schema)])),
      async [Symbol.asyncDispose]() {
        await cache.close()
        await quarantine.close()
        await started[Symbol.asyncDispose]()
      },
    }
  } catch (error) {
    await quarantine.close()
    await started[Symbol.asyncDispose]()
    throw error
  }
}

function startOptions({ definition, conversion, fromFile, samples = [] }: ServedResource, codec: ObjectCodec, { backend, program, exclusive, log }: OpenOptions): ResourceStart {
  const digests = new Map(definition.versions.map((version) => [version.name, schemaDigest(version)]))
  const versions = oldestFirst(codec.decodable)
  return {
    backend,
    resource: qualifiedName(definition),
    program: { ...program, log },
    encodingVersion: definition.versions.find((version) => version.storage)?.name ?? conversion.hub,
    decodable: versions,
    encodable: versions,
    served: definition.versions.filter((version) => version.served).map((version) => version.name),
    schemaDigest: (version) => digests.get(version),
    schemas: fromFile ? 'FromFile' : 'Released',
    selfTest: () => checkSamples(codec, samples),
    exclusive,
  }
}

/** Waits until the cache holds everything that was committed before the call: what a read without resourceVersion must see. */
export async function freshen(store: ResourceStore): Promise<void> {
  await waitForRevision(store, await store.backend.currentRevision())
}

/** Waits until the cache is at least at a revision; throws 504 `Too large resource version` when it is not reached in time. `asked` is the text of it, which no number rounds. */
export async function waitForRevision(store: ResourceStore, revision: number, asked = String(revision)): Promise<void> {
  if (store.cache.revision >= revision) return
  try {
    await store.cache.waitFor(revision, { timeoutMs: WAIT_MS })
  } catch (error) {
    if (error instanceof DOMException && error.name === 'TimeoutError') throw tooLargeResourceVersion(BigInt(asked), store.cache.revision)
    throw error
  }
}

/** The cached entry of an object; throws 404, or 500 for one that cannot be decoded. */
export function cachedEntry(store: ResourceStore, namespace: string, name: string): CacheEntry {
  const entry = readable(() => store.cache.get(relativeKey(store.definition, namespace, name)))
  if (!entry) throw notFound(store.resource, name)
  return entry
}

/** Runs a read of cached or stored bytes, turning what cannot be decoded into the 500 that upstream answers. */
export function readable<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw undecodableStatus(error)
  }
}

/** The Status for a read that failed on undecodable bytes; other errors come back as they are. */
export function undecodableStatus(error: unknown): unknown {
  return error instanceof Undecodable ? internalError(error.message) : error
}

/** The version of a request; throws 503 when the definition no longer has it. */
export function requestVersion(store: ResourceStore, name: string): VersionDefinition {
  const found = store.definition.versions.find((version) => version.name === name)
  if (!found) throw serviceUnavailable(`version ${name} of ${qualifiedName(store.definition)} is not served`)
  return found
}
