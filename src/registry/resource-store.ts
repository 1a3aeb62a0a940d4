/** One resource with all that its verbs need: the definition beside the store, the fence and the cache. */
import type { CelRules } from '../api/cel.ts'
import { compileRules } from '../api/cel.ts'
import type { Conversion } from '../api/conversion.ts'
import { qualifiedName, type ResourceDefinition, type Strategy, type VersionDefinition } from '../api/resource.ts'
import { internalError, notFound, serviceUnavailable, StatusError, tooLargeResourceVersion, type GroupResource } from '../api/status.ts'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Backend } from '../../storage/backend.ts'
import { openFence, type Fence } from '../../storage/fence.ts'
import type { ByteBudget } from '../../storage/encoded-bytes.ts'
import { openWatchCache, Undecodable, type CacheEntry, type WatchCache } from '../../storage/watch-cache.ts'
import type { AdmissionPlugin } from './admission.ts'
import { createStorageCodec, type StorageCodec } from './storage-codec.ts'

/** What is served: a definition with its conversion and, where data is not enough, its strategy. */
export interface ServedResource {
  readonly definition: ResourceDefinition
  readonly conversion: Conversion
  readonly strategy?: Strategy
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
  readonly cache: WatchCache
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

/** Opens a resource: its fence, then its cache (filled when this resolves). Rejects when a stored version cannot be decoded. */
export async function openResourceStore(
  served: ServedResource,
  deps: { backend: Backend; budget: ByteBudget; clock: Clock; log: Log; admission: readonly AdmissionPlugin[] },
): Promise<ResourceStore> {
  const { definition, conversion, strategy = {} } = served
  const name = qualifiedName(definition)
  const codec = createStorageCodec(definition, conversion, strategy)
  const storage = definition.versions.find((version) => version.storage)?.name ?? conversion.hub
  const fence = await openFence(deps.backend, name, { encodingVersion: storage, decodable: codec.decodable })
  const prefix = `data/${name}/`
  const log = deps.log.with({ resource: name })
  const cache = await openWatchCache({ backend: deps.backend, prefix, codec, budget: deps.budget, clock: deps.clock, log })
  return {
    definition, conversion, strategy, codec, fence, cache, prefix, log,
    backend: deps.backend,
    clock: deps.clock,
    admission: deps.admission,
    resource: { group: definition.group, resource: definition.names.plural },
    rules: new Map(definition.versions.map((version) => [version.name, compileRules(version.schema)])),
    [Symbol.asyncDispose]: () => cache.close(),
  }
}

/** Key of an object relative to its resource's prefix. */
export function relativeKey(definition: ResourceDefinition, namespace: string, name: string): string {
  return definition.scope === 'Namespaced' ? `${namespace}/${name}` : name
}

/** Waits until the cache holds everything that was committed before the call: what a read without resourceVersion must see. */
export async function freshen(store: ResourceStore): Promise<void> {
  await waitForRevision(store, await store.backend.currentRevision())
}

/** Waits until the cache is at least at a revision; throws 504 `Too large resource version` when it is not reached in time. */
export async function waitForRevision(store: ResourceStore, revision: number): Promise<void> {
  if (store.cache.revision >= revision) return
  try {
    await store.cache.waitFor(revision, { timeoutMs: WAIT_MS })
  } catch (error) {
    if (error instanceof DOMException && error.name === 'TimeoutError') throw tooLargeResourceVersion(revision, store.cache.revision)
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

/** True for an error that a retry on the latest object could change. */
export function isStatusError(error: unknown): error is StatusError {
  return error instanceof StatusError
}
