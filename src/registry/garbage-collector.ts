/**
 * A small garbage collector for the kinds that one server serves (standalone mode; a cluster has its own): dependants of owners that are
 * gone, and the finalizers `foregroundDeletion` and `orphan`. Owners of kinds that are not served here are left alone. A kind with an object that cannot be
 * decoded is unknown until that is repaired: what is not seen of it is not gone. Meanwhile only what rests on the other kinds alone is collected.
 * upstream: pkg/controller/garbagecollector/garbagecollector.go
 */
import { formatApiVersion, type KubeObject, type OwnerReference } from '../api/object.ts'
import { StatusError } from '../api/status.ts'
import type { CacheEntry } from '../../storage/watch-cache.ts'
import { aborted } from '../base/aborted.ts'
import type { Clock } from '../base/clock.ts'
import { openComplaint } from '../base/complaint.ts'
import type { Log } from '../base/log.ts'
import { remove } from './delete.ts'
import { latestEntry } from './live-entry.ts'
import type { ResourceStore } from './resource-store.ts'
import { update } from './update.ts'
import { internalWrite } from './write.ts'

const FOREGROUND = 'foregroundDeletion'
const ORPHAN = 'orphan'

/** What the collector knows of an object. */
interface Node {
  readonly store: ResourceStore
  readonly namespace: string
  readonly name: string
  readonly uid: string
  readonly owners: readonly OwnerReference[]
  /** `foregroundDeletion` or `orphan` of a terminating object. */
  readonly pending: string | undefined
  readonly terminating: boolean
}

interface Surroundings {
  readonly signal: AbortSignal
  readonly clock: Clock
  readonly log: Log
}

/** How soon a kind that could not be followed is looked at again. */
const PAUSE_MS = 10_000

/** Runs until the signal aborts. */
export async function collectGarbage(stores: readonly ResourceStore[], options: Surroundings): Promise<void> {
  const { signal } = options
  const graph = new Graph(stores)
  const wake = new Wake()
  const follows = Promise.all(stores.map((store) => follow(store, graph, wake, options)))
  void aborted(signal).then(() => wake.signal())
  while (!signal.aborted) {
    await wake.next()
    for (const task of graph.tasks()) {
      if (signal.aborted) break
      try {
        await task()
      } catch (error) {
        // Somebody else was faster, or the store is away: the next change tries again.
        if (!(error instanceof StatusError)) options.log.warn('garbage collection failed', { err: error })
      }
    }
  }
  await follows
}

async function follow(store: ResourceStore, graph: Graph, wake: Wake, { signal, clock, log }: Surroundings): Promise<void> {
  const complaint = openComplaint(log, 'a kind cannot be followed: what belongs to it, or may, is not collected until it is repaired', { resource: store.resource.resource })
  while (!signal.aborted) {
    try {
      for await (const items of store.cache.watch({ initialEvents: true, signal })) {
        for (const item of items) {
          if (item.type === 'DELETED') graph.drop(item.entry)
          else if (item.type !== 'BOOKMARK') graph.put(store, item.entry)
          else if (item.initialEventsEnd === true) {
            graph.filled(store)
            complaint.well()
          }
        }
        wake.signal()
      }
      graph.forget(store)
    } catch (error) {
      graph.forget(store)
      if (signal.aborted) return
      complaint.failed(error)
      await clock.sleep(PAUSE_MS, signal).catch(() => {})
    }
  }
}

// Lets one waiter sleep until something has changed; changes while it works are one wake-up.
class Wake {
  #resolve: (() => void) | undefined
  #pending = false
  signal(): void {
    this.#pending = true
    this.#resolve?.()
  }
  async next(): Promise<void> {
    if (!this.#pending) {
      await new Promise<void>((resolve) => {
        this.#resolve = resolve
      })
    }
    this.#pending = false
  }
}

class Graph {
  readonly #nodes = new Map<string, Node>()
  readonly #dependants = new Map<string, Set<string>>()
  /** Objects whose finalizer is the collector's to take away. */
  readonly #pending = new Set<string>()
  /** Objects with owners that are to be looked at: new ones, and those that have lost an owner. */
  readonly #doubtful = new Set<string>()
  /** Kinds of which not every object is known. */
  readonly #unknown: Set<ResourceStore>
  readonly #kinds: ReadonlyMap<string, ResourceStore>

  constructor(stores: readonly ResourceStore[]) {
    this.#unknown = new Set(stores)
    this.#kinds = new Map(stores.flatMap((store) => {
      const { group, names, versions } = store.definition
      return versions.map((version) => [`${formatApiVersion(group, version.name)}/${names.kind}`, store])
    }))
  }

  // All of the kind is known: owners that have gone while it was not are missed now.
  filled(store: ResourceStore): void {
    this.#unknown.delete(store)
    for (const [uid, { owners }] of this.#nodes) if (owners.some((owner) => this.#storeOf(owner) === store)) this.#doubtful.add(uid)
  }

  // A follower starts anew: what it knew may be stale, so its kind counts as unknown until it is filled again.
  forget(store: ResourceStore): void {
    this.#unknown.add(store)
    for (const [uid, node] of this.#nodes) if (node.store === store) this.#remove(uid)
  }

  put(store: ResourceStore, entry: CacheEntry): void {
    const node = toNode(store, entry)
    this.#remove(node.uid)
    this.#nodes.set(node.uid, node)
    if (node.pending !== undefined) this.#pending.add(node.uid)
    if (node.owners.length > 0) this.#doubtful.add(node.uid)
    for (const { uid } of node.owners) {
      const set = this.#dependants.get(uid) ?? new Set()
      set.add(node.uid)
      this.#dependants.set(uid, set)
    }
  }

  #storeOf(owner: OwnerReference): ResourceStore | undefined {
    return this.#kinds.get(`${owner.apiVersion}/${owner.kind}`)
  }

  drop(entry: CacheEntry): void {
    const { uid } = entry.index
    this.#remove(uid)
    for (const dependant of this.#dependants.get(uid) ?? []) this.#doubtful.add(dependant)
  }

  #remove(uid: string): void {
    const node = this.#nodes.get(uid)
    this.#nodes.delete(uid)
    this.#pending.delete(uid)
    this.#doubtful.delete(uid)
    for (const owner of node?.owners ?? []) {
      const set = this.#dependants.get(owner.uid)
      set?.delete(uid)
      if (set?.size === 0) this.#dependants.delete(owner.uid)
    }
  }

  /** What is to be done now. */
  tasks(): (() => Promise<unknown>)[] {
    const tasks: (() => Promise<unknown>)[] = []
    // Who depends on an owner is known when every kind is.
    for (const uid of this.#unknown.size === 0 ? this.#pending : []) {
      const node = this.#nodes.get(uid) as Node
      tasks.push(() => (node.pending === ORPHAN ? this.#orphan(node) : this.#foreground(node)))
    }
    for (const uid of this.#doubtful) {
      const node = this.#nodes.get(uid)
      if (node && !node.terminating && this.#absentOwners(node).length > 0) tasks.push(() => this.#absent(node))
      else if (!node?.owners.some((owner) => this.#isUnknown(owner))) this.#doubtful.delete(uid)
    }
    return tasks
  }

  #dependantsOf(uid: string): Node[] {
    return [...(this.#dependants.get(uid) ?? [])].flatMap((id) => this.#nodes.get(id) ?? [])
  }

  #isUnknown(owner: OwnerReference): boolean {
    const store = this.#storeOf(owner)
    return store !== undefined && this.#unknown.has(store)
  }

  // Owners of a kind served here that do not exist (any more).
  #absentOwners(node: Node): OwnerReference[] {
    return node.owners.filter((owner) => this.#storeOf(owner) && !this.#isUnknown(owner) && !this.#nodes.has(owner.uid))
  }

  // Kinds are followed each for itself: an owner that is not seen may be one that is not seen yet, so the store is asked. upstream: isDangling
  async #isGone(owner: OwnerReference, { namespace }: Node): Promise<boolean> {
    const store = this.#storeOf(owner) as ResourceStore
    const live = await latestEntry(store, store.definition.scope === 'Namespaced' ? `${namespace}/${owner.name}` : owner.name)
    return live?.hub.metadata.uid !== owner.uid
  }

  async #absent(node: Node): Promise<void> {
    const absent = new Set<string>()
    for (const owner of this.#absentOwners(node)) if (await this.#isGone(owner, node)) absent.add(owner.uid)
    if (absent.size === 0) return
    if (node.owners.every(({ uid }) => absent.has(uid))) await deleteNode(node, 'Background')
    else await setOwners(node, absent)
  }

  async #orphan(node: Node): Promise<void> {
    for (const dependant of this.#dependantsOf(node.uid)) await setOwners(dependant, new Set([node.uid]))
    await dropFinalizer(node, ORPHAN)
  }

  async #foreground(node: Node): Promise<void> {
    const dependants = this.#dependantsOf(node.uid)
    for (const dependant of dependants) if (!dependant.terminating) await deleteNode(dependant, 'Foreground')
    const blocking = dependants.some((d) => d.owners.some((o) => o.uid === node.uid && o.blockOwnerDeletion === true))
    if (!blocking) await dropFinalizer(node, FOREGROUND)
  }
}

function toNode(store: ResourceStore, entry: CacheEntry): Node {
  const { metadata } = store.codec.open(entry.value)
  const terminating = metadata.deletionTimestamp !== undefined
  return {
    store,
    namespace: metadata.namespace ?? '',
    name: metadata.name ?? '',
    uid: entry.index.uid,
    owners: metadata.ownerReferences ?? [],
    terminating,
    pending: terminating ? metadata.finalizers?.find((name) => name === ORPHAN || name === FOREGROUND) : undefined,
  }
}

async function deleteNode(node: Node, propagationPolicy: 'Background' | 'Foreground'): Promise<void> {
  await remove(node.store, node.name, { propagationPolicy, preconditions: { uid: node.uid } }, internalWrite(node.store, node.namespace))
}

async function setOwners(node: Node, gone: ReadonlySet<string>): Promise<void> {
  await change(node, (object) => {
    const ownerReferences = (object.metadata.ownerReferences ?? []).filter(({ uid }) => !gone.has(uid))
    return { ...object, metadata: { ...object.metadata, ownerReferences } }
  })
}

async function dropFinalizer(node: Node, name: string): Promise<void> {
  await change(node, (object) => ({ ...object, metadata: { ...object.metadata, finalizers: (object.metadata.finalizers ?? []).filter((f) => f !== name) } }))
}

// An update that holds only for the very object, and leaves no empty lists behind.
async function change(node: Node, transform: (object: KubeObject) => KubeObject): Promise<void> {
  await update(node.store, (live) => (live.metadata.uid === node.uid ? withoutEmpties(transform(live)) : live), { ...internalWrite(node.store, node.namespace), name: node.name, kind: 'patch' })
}

function withoutEmpties(object: KubeObject): KubeObject {
  const metadata = { ...object.metadata }
  if (metadata.finalizers?.length === 0) delete metadata.finalizers
  if (metadata.ownerReferences?.length === 0) delete metadata.ownerReferences
  return { ...object, metadata }
}
