/** A cluster in memory: jobs, pods and a Lease with the preconditions of a real one, and a kubelet that a test plays. */
import type { JsonObject } from '../api/object.ts'
import { AsyncQueue } from './async-queue.ts'
import type { Job } from './job.ts'
import { keyOf } from './job.ts'
import { ApiError, type JobClient } from './job-client.ts'
import type { Lease, LeaseClient } from './lease-client.ts'
import { GATE, isGated, type Pod, podKey } from './pod.ts'
import type { PodClient } from './pod-client.ts'
import { CREATED_MS, makePodState, type PodShape } from './pod.fixture.ts'
import type { WatchEventOf } from './reflector.ts'

type Stored = { readonly metadata: { readonly uid?: string; readonly resourceVersion?: string } }

/** Objects of one kind, with watches. */
class Store<T extends Stored> {
  readonly objects = new Map<string, T>()
  readonly watchers = new Set<AsyncQueue<WatchEventOf<T>>>()
  private readonly next: () => string
  constructor(next: () => string) {
    this.next = next
  }

  put(key: string, object: T): T {
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: this.next() } }
    const type = this.objects.has(key) ? 'MODIFIED' : 'ADDED'
    this.objects.set(key, stored)
    this.tell({ type, object: stored })
    return stored
  }

  drop(key: string): void {
    const object = this.objects.get(key)
    if (!object) return
    this.objects.delete(key)
    this.tell({ type: 'DELETED', object: { ...object, metadata: { ...object.metadata, resourceVersion: this.next() } } })
  }

  tell(event: WatchEventOf<T>): void {
    for (const watcher of this.watchers) watcher.push(event)
  }

  list(): { items: T[]; resourceVersion: string } {
    // at once with the watch, which begins right after: nothing can come in between here
    return { items: [...this.objects.values()], resourceVersion: '' }
  }

  async *watch(signal: AbortSignal): AsyncGenerator<WatchEventOf<T>> {
    if (signal.aborted) return
    const queue = new AsyncQueue<WatchEventOf<T>>()
    this.watchers.add(queue)
    for (const object of this.objects.values()) queue.push({ type: 'MODIFIED', object })
    signal.addEventListener('abort', () => queue.close())
    try {
      yield* queue
    } finally {
      this.watchers.delete(queue)
    }
  }
}

/** What a test sees of a pod that was let in. */
export type Admission = { readonly key: string; readonly uid: string }

export class FakeCluster {
  private revision = 0
  private uids = 0
  readonly jobs = new Store<Job>(() => String(++this.revision))
  readonly pods = new Store<Pod>(() => String(++this.revision))
  /** Every pod that a scheduler ever saw, in order. */
  readonly admitted: Admission[] = []
  readonly logs = new Map<string, string>()
  lease: Lease | undefined
  /** Thrown by the next creation of a pod. */
  refuse: Error | undefined

  addJob(job: Job): void {
    this.jobs.put(keyOf(job), job)
  }

  job(name = 'a'): Job {
    return this.jobs.objects.get(`default/${name}`)!
  }

  /** Gives a pod a new status, as a kubelet would; does nothing when it is gone. */
  setPod(key: string, shape: PodShape): void {
    const pod = this.pods.objects.get(key)
    if (!pod) return
    const { status, metadata } = makePodState(shape)
    const deletion = metadata.deletionTimestamp === undefined ? {} : { deletionTimestamp: metadata.deletionTimestamp }
    this.pods.put(key, { ...pod, metadata: { ...pod.metadata, ...deletion }, status: status! })
  }

  /** A client whose every call takes `wait` before and after it is carried out. */
  clients(wait: () => Promise<void> = async () => {}): { readonly jobs: JobClient; readonly pods: PodClient; readonly leases: LeaseClient } {
    const slowly = async <T>(act: () => T): Promise<T> => {
      await wait()
      const result = act()
      await wait()
      return result
    }
    return { jobs: this.jobClient(slowly), pods: this.podClient(slowly), leases: this.leaseClient(slowly) }
  }

  private jobClient(slowly: <T>(act: () => T) => Promise<T>): JobClient {
    return {
      list: () => slowly(() => this.jobs.list()),
      watch: (_resourceVersion, signal) => this.jobs.watch(signal),
      patchStatus: (namespace, name, patch) =>
        slowly(() => {
          const job = find(this.jobs, `${namespace}/${name}`)
          require(job, patch.metadata as JsonObject)
          return this.jobs.put(keyOf(job), { ...job, status: merge((job.status ?? {}) as JsonObject, patch.status as JsonObject) as Job['status'] & {} })
        }),
      delete: (namespace, name, preconditions) =>
        slowly(() => {
          require(find(this.jobs, `${namespace}/${name}`), preconditions)
          this.jobs.drop(`${namespace}/${name}`)
        }),
      readSecret: async () => undefined,
      createEvent: async () => {},
      patchEvent: async () => {},
    }
  }

  private podClient(slowly: <T>(act: () => T) => Promise<T>): PodClient {
    return {
      list: () => slowly(() => this.pods.list()),
      watch: (_resourceVersion, signal) => this.pods.watch(signal),
      read: (namespace, name) => slowly(() => this.pods.objects.get(`${namespace}/${name}`)),
      readJob: (namespace, name) => slowly(() => this.jobs.objects.get(`${namespace}/${name}`)),
      create: (namespace, manifest) =>
        slowly(() => {
          const failure = this.refuse
          this.refuse = undefined
          if (failure) throw failure
          const { metadata, spec } = manifest as unknown as Pod
          const key = `${namespace}/${metadata.name}`
          if (this.pods.objects.has(key)) throw new ApiError(409, 'AlreadyExists', `pods "${metadata.name}" already exists`)
          const uid = `pod-${++this.uids}`
          return this.pods.put(key, { metadata: { ...metadata, uid, creationTimestamp: new Date(CREATED_MS).toISOString() }, ...(spec ? { spec } : {}), status: { phase: 'Pending' } })
        }),
      admit: (namespace, name, uid) =>
        slowly(() => {
          const pod = find(this.pods, `${namespace}/${name}`)
          require(pod, { uid })
          if (isGated(pod)) this.admitted.push({ key: podKey(pod), uid })
          const gates = pod.spec?.schedulingGates?.filter((gate) => gate.name !== GATE) ?? []
          return this.pods.put(podKey(pod), { ...pod, spec: { ...pod.spec, schedulingGates: gates } })
        }),
      delete: (namespace, name, uid) =>
        slowly(() => {
          const pod = this.pods.objects.get(`${namespace}/${name}`)
          if (pod && pod.metadata.uid === uid) this.pods.drop(podKey(pod))
        }),
      readLog: (namespace, name) =>
        slowly(() => {
          const pod = find(this.pods, `${namespace}/${name}`)
          return this.logs.get(pod.metadata.uid ?? '') ?? ''
        }),
    }
  }

  private leaseClient(slowly: <T>(act: () => T) => Promise<T>): LeaseClient {
    return {
      read: () => slowly(() => this.lease),
      write: (spec, resourceVersion) =>
        slowly(() => {
          if (this.lease?.resourceVersion !== resourceVersion) throw new ApiError(409, 'Conflict', 'the object has been modified')
          return (this.lease = { spec, resourceVersion: String(++this.revision) })
        }),
    }
  }
}

function find<T extends Stored>(store: Store<T>, key: string): T {
  const object = store.objects.get(key)
  if (!object) throw new ApiError(404, 'NotFound', `${key} not found`)
  return object
}

function require(object: Stored, { uid, resourceVersion }: { uid?: unknown; resourceVersion?: unknown }): void {
  if (uid !== undefined && uid !== object.metadata.uid) throw new ApiError(409, 'Conflict', 'Precondition failed: UID in precondition')
  if (resourceVersion !== undefined && resourceVersion !== object.metadata.resourceVersion) throw new ApiError(409, 'Conflict', 'the object has been modified')
}

function merge(target: JsonObject, patch: JsonObject): JsonObject {
  const merged: JsonObject = { ...target }
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key]
    else if (typeof value === 'object' && !Array.isArray(value)) merged[key] = merge((merged[key] ?? {}) as JsonObject, value as JsonObject)
    else merged[key] = value
  }
  return merged
}
