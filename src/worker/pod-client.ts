/** What the worker asks of a cluster about pods: an interface, so that tests can take its place, and the same over HTTPS. */
import { text } from 'node:stream/consumers'
import type { JsonObject } from '../api/object.ts'
import { corePath, listAll, readAnswer, readJob, type Transport, watch } from './api-client.ts'
import type { Job } from './job.ts'
import { isApiError } from './job-client.ts'
import { JOB_LABEL, type Pod } from './pod.ts'
import type { WatchEventOf } from './reflector.ts'

/** Pods of the worker, in the namespaces that it looks after. All methods throw ApiError for an answer that is no success. */
export interface PodClient {
  /** All pods with the label of the worker. */
  list(signal?: AbortSignal): Promise<{ items: Pod[]; resourceVersion: string }>
  watch(resourceVersion: string, signal: AbortSignal): AsyncIterable<WatchEventOf<Pod>>
  create(namespace: string, pod: JsonObject): Promise<Pod>
  /** As stored now; undefined when there is none. */
  read(namespace: string, name: string): Promise<Pod | undefined>
  /** Lets the scheduler have it. Throws ApiError 409 when the pod of that name is another one. */
  admit(namespace: string, name: string, uid: string): Promise<Pod>
  /** Deletes this very pod; nothing happens when it is gone. */
  delete(namespace: string, name: string, uid: string): Promise<void>
  /** The log of a container that has ended, at most `limitBytes` of it. */
  readLog(namespace: string, name: string, container: string, limitBytes: number): Promise<string>
  /** The job as stored now; undefined when there is none. */
  readJob(namespace: string, name: string): Promise<Job | undefined>
}

/** Opens the client. `namespace`: the only one that it looks at. */
export function openPodClient(transport: Transport, namespace?: string): PodClient {
  const collection = namespace === undefined ? '/api/v1/pods' : corePath(namespace, 'pods')
  const query = { labelSelector: JOB_LABEL }
  return {
    list: (signal) => listAll<Pod>(transport, collection, signal, query),
    watch: (resourceVersion, signal) => watch<Pod>(transport, collection, resourceVersion, signal, query),
    create: async (namespace, pod) => (await transport.json({ method: 'POST', path: corePath(namespace, 'pods'), body: pod })) as unknown as Pod,
    read: (namespace, name) => unlessMissing(async () => (await transport.json({ method: 'GET', path: corePath(namespace, 'pods', name) })) as unknown as Pod),
    admit: async (namespace, name, uid) => {
      const body = { metadata: { uid }, spec: { schedulingGates: null } }
      return (await transport.json({ method: 'PATCH', path: corePath(namespace, 'pods', name), body, contentType: 'application/merge-patch+json' })) as unknown as Pod
    },
    delete: async (namespace, name, uid) => {
      try {
        await transport.json({ method: 'DELETE', path: corePath(namespace, 'pods', name), body: { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { uid } } })
      } catch (error) {
        // 409: the name belongs to another pod now
        if (!isApiError(error, 404, 409)) throw error
      }
    },
    readLog: async (namespace, name, container, limitBytes) => {
      const query = new URLSearchParams({ container, limitBytes: String(limitBytes) })
      // upstream: client-go asks so for what is no object
      const response = await transport.send({ method: 'GET', path: `${corePath(namespace, 'pods', name)}/log?${query}`, accept: 'application/json, */*' })
      if (response.statusCode !== 200) await readAnswer(response)
      return await text(response)
    },
    readJob: (namespace, name) => unlessMissing(() => readJob(transport, namespace, name)),
  }
}

async function unlessMissing<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read()
  } catch (error) {
    if (isApiError(error, 404)) return undefined
    throw error
  }
}
