/** The stores of an API server: the start sequence of the store as a whole, then of each resource. */
import type { Backend } from '../../storage/backend.ts'
import type { MarkPlace } from '../../storage/high-water-mark.ts'
import { startStore, type Program } from '../../storage/start.ts'
import { ByteBudget } from '../../storage/watch-cache.ts'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { namespaceLifecycle, type NamespaceLookup } from '../registry/namespace-lifecycle.ts'
import { freshen, openResourceStore, type ResourceStore, type ServedResource } from '../registry/resource-store.ts'

/** What the stores are opened on. */
export interface StoresOptions {
  readonly backend: Backend
  /** Only this process can open the store. */
  readonly exclusive?: boolean
  /** Where the highest revision that clients may have seen is kept, outside of the store. */
  readonly mark?: MarkPlace
  /** What is served. One of them may be Namespace; the others' creations are then checked against it. */
  readonly resources: readonly ServedResource[]
  /** The namespaces of the cluster, where none are served here. */
  readonly namespaces?: NamespaceLookup
  /** Memory for JSON in versions other than the stored one. */
  readonly cacheBytes: number
  readonly clock: Clock
  readonly log: Log
}

/** Opened stores. Disposing says good-bye for this replica; the backend stays open. */
export interface Stores extends AsyncDisposable {
  readonly stores: readonly ResourceStore[]
}

/** Opens all stores and fills their caches. Rejects with Refused when one of them must not be served. */
export async function openStores(options: StoresOptions, program: Program): Promise<Stores> {
  const started = await startStore(options.backend, program, options.mark)
  const opened: ResourceStore[] = []
  const dispose = async (): Promise<void> => {
    const ends = await Promise.allSettled(opened.map((store) => store[Symbol.asyncDispose]()))
    for (const end of ends) if (end.status === 'rejected') options.log.warn('a store could not say good-bye', { err: end.reason })
    await started[Symbol.asyncDispose]()
  }
  try {
    await openAll(options, program, opened)
  } catch (error) {
    await dispose()
    throw error
  }
  return { stores: opened, [Symbol.asyncDispose]: dispose }
}

// Namespace first: the others ask it whether they may create.
async function openAll({ backend, exclusive = false, resources, namespaces: elsewhere, cacheBytes, clock, log }: StoresOptions, program: Program, opened: ResourceStore[]): Promise<void> {
  const common = { backend, exclusive, program, clock, log, budget: new ByteBudget(cacheBytes) }
  const isNamespace = ({ definition }: ServedResource): boolean => definition.group === '' && definition.names.kind === 'Namespace'
  const served = resources.find(isNamespace)
  const namespaces = served && (await openResourceStore(served, { ...common, admission: [] }))
  if (namespaces) opened.push(namespaces)
  const find = namespaces ? lookup(namespaces) : elsewhere
  const admission = find ? [namespaceLifecycle(find)] : []
  const others = await Promise.allSettled(resources.filter((r) => !isNamespace(r)).map((r) => openResourceStore(r, { ...common, admission })))
  for (const other of others) if (other.status === 'fulfilled') opened.push(other.value)
  const failed = others.find((other) => other.status === 'rejected')
  if (failed) throw failed.reason
}

function lookup(namespaces: ResourceStore): NamespaceLookup {
  return async (name) => {
    // A namespace that the cache does not know may have been made a moment ago.
    if (!namespaces.cache.get(name)) await freshen(namespaces)
    const entry = namespaces.cache.get(name)
    return entry && { terminating: namespaces.codec.open(entry.value).metadata.deletionTimestamp !== undefined }
  }
}
