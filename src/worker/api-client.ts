/** The JobClient over HTTPS with the server and the identity of a kubeconfig. */
import http from 'node:http'
import https from 'node:https'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { KubeConfig } from '@kubernetes/client-node'
import { isObject, type JsonObject } from '../api/object.ts'
import { API_VERSION, type Job, RESOURCE } from './job.ts'
import { ApiError, isApiError, type JobClient } from './job-client.ts'
import type { WatchEventOf } from './reflector.ts'

/** A request to the API: JSON in and out. */
export type Request = { method: string; path: string; body?: JsonObject; contentType?: string; accept?: string; signal?: AbortSignal | undefined; idleMs?: number }

const PAGE = 500
const REQUEST_IDLE_MS = 60_000
const WATCH_SECONDS = 300
const MERGE_PATCH = 'application/merge-patch+json'
const COLLECTION = `/apis/${API_VERSION}/${RESOURCE}`

const jobPath = (namespace: string, name: string): string => `/apis/${API_VERSION}/namespaces/${encodeURIComponent(namespace)}/${RESOURCE}/${encodeURIComponent(name)}`
/** The path of a resource of core/v1. */
export const corePath = (namespace: string, resource: string, name?: string): string =>
  `/api/v1/namespaces/${encodeURIComponent(namespace)}/${resource}${name === undefined ? '' : `/${encodeURIComponent(name)}`}`

/** Reads a kubeconfig file. Throws when it has no cluster in its current context. */
export function openApiClient(kubeconfig: string): JobClient {
  return jobClientOf(openTransport(kubeconfig, 'mlops-worker'))
}

/** The client over a transport. `namespace`: the only one that it looks at. */
export function jobClientOf(transport: Transport, namespace?: string): JobClient {
  const collection = namespace === undefined ? COLLECTION : `/apis/${API_VERSION}/namespaces/${encodeURIComponent(namespace)}/${RESOURCE}`
  return {
    list: (signal) => listAll<Job>(transport, collection, signal),
    watch: (resourceVersion, signal) => watch<Job>(transport, collection, resourceVersion, signal),
    patchStatus: async (namespace, name, patch) => {
      return (await transport.json({ method: 'PATCH', path: `${jobPath(namespace, name)}/status`, body: patch, contentType: MERGE_PATCH })) as unknown as Job
    },
    delete: async (namespace, name, preconditions) => {
      const body = { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: 'Background', preconditions }
      await transport.json({ method: 'DELETE', path: jobPath(namespace, name), body })
    },
    readSecret: (namespace, name) => readSecret(transport, namespace, name),
    createEvent: async (namespace, event) => void (await transport.json({ method: 'POST', path: corePath(namespace, 'events'), body: event })),
    patchEvent: async (namespace, name, patch) => {
      await transport.json({ method: 'PATCH', path: corePath(namespace, 'events', name), body: patch, contentType: MERGE_PATCH })
    },
  }
}

/** Sends requests with the identity of a kubeconfig. `json` rejects with ApiError. */
export type Transport = { send(request: Request): Promise<http.IncomingMessage>; json(request: Request): Promise<JsonObject>; close(): void }

/** The kubeconfig that stands for the service account of the pod. */
export const IN_CLUSTER = 'in-cluster'

/** Reads a kubeconfig file, or what a pod is given when it is IN_CLUSTER. Throws when it has no cluster in its current context. */
export function openTransport(kubeconfig: string, userAgent: string): Transport {
  const config = new KubeConfig()
  if (kubeconfig === IN_CLUSTER) config.loadFromCluster()
  else config.loadFromFile(kubeconfig)
  const address = config.getCurrentCluster()?.server
  // so it reads where the variables of a pod are not set
  if (kubeconfig === IN_CLUSTER && address?.includes('undefined')) throw new Error('not in a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set; name a kubeconfig instead')
  if (!address) throw new Error(`the kubeconfig ${kubeconfig} has no cluster in its current context`)
  const server = new URL(address)
  const secure = server.protocol === 'https:'
  const agent = secure ? new https.Agent({ keepAlive: true }) : new http.Agent({ keepAlive: true })
  const send = async (request: Request): Promise<http.IncomingMessage> => {
    const identity: https.RequestOptions = {}
    if (secure) await config.applyToHTTPSOptions(identity)
    const body = request.body === undefined ? undefined : Buffer.from(JSON.stringify(request.body))
    const headers = {
      ...identity.headers,
      accept: request.accept ?? 'application/json',
      'user-agent': userAgent,
      ...(body ? { 'content-type': request.contentType ?? 'application/json', 'content-length': body.length } : {}),
    }
    const path = `${server.pathname.replace(/\/$/, '')}${request.path}`
    const options = { ...identity, protocol: server.protocol, host: unbracket(server.hostname), port: server.port, path, method: request.method, headers, agent, ...(request.signal ? { signal: request.signal } : {}) }
    return await new Promise((resolve, reject) => {
      const outgoing = (secure ? https : http).request(options, resolve)
      outgoing.setTimeout(request.idleMs ?? REQUEST_IDLE_MS, () => outgoing.destroy(new Error(`no answer to ${request.method} ${request.path}`)))
      outgoing.on('error', reject)
      outgoing.end(body)
    })
  }
  return { send, json: async (request) => await readAnswer(await send(request)), close: () => agent.destroy() }
}

const unbracket = (hostname: string): string => hostname.replace(/^\[|\]$/g, '')

/** The body of an answer. Rejects with ApiError for one that is no success. */
export async function readAnswer(response: http.IncomingMessage): Promise<JsonObject> {
  const body = await text(response)
  const code = response.statusCode ?? 0
  let value: unknown
  try {
    value = JSON.parse(body)
  } catch {
    value = undefined
  }
  if (code >= 200 && code < 300 && isObject(value)) return value
  const { reason, message, details } = isObject(value) ? value : {}
  throw new ApiError(code, typeof reason === 'string' ? reason : '', typeof message === 'string' ? message : `HTTP status ${code}`, details)
}

/** The job as stored. */
export async function readJob(transport: Transport, namespace: string, name: string): Promise<Job> {
  return (await transport.json({ method: 'GET', path: jobPath(namespace, name) })) as unknown as Job
}

/** All objects of a collection, page by page. */
export async function listAll<T>(transport: Transport, collection: string, signal: AbortSignal | undefined, selectors: Record<string, string> = {}): Promise<{ items: T[]; resourceVersion: string }> {
  const items: T[] = []
  let proceed = ''
  for (;;) {
    const query = new URLSearchParams({ ...selectors, limit: String(PAGE), ...(proceed === '' ? {} : { continue: proceed }) })
    const page = await transport.json({ method: 'GET', path: `${collection}?${query}`, signal })
    const metadata = isObject(page.metadata) ? page.metadata : {}
    // the items of a list carry neither apiVersion nor kind in some servers; nothing here needs them
    items.push(...((page.items ?? []) as unknown as T[]))
    if (typeof metadata.continue !== 'string' || metadata.continue === '') return { items, resourceVersion: String(metadata.resourceVersion ?? '') }
    proceed = metadata.continue
  }
}

/** The changes of a collection; ends when the server ends it. */
export async function* watch<T>(transport: Transport, collection: string, resourceVersion: string, signal: AbortSignal, selectors: Record<string, string> = {}): AsyncGenerator<WatchEventOf<T>> {
  const query = new URLSearchParams({ ...selectors, watch: 'true', allowWatchBookmarks: 'true', resourceVersion, timeoutSeconds: String(WATCH_SECONDS) })
  const response = await transport.send({ method: 'GET', path: `${collection}?${query}`, signal, idleMs: (WATCH_SECONDS + 30) * 1000 })
  if (response.statusCode !== 200) return void (await readAnswer(response))
  try {
    for await (const line of createInterface({ input: response, crlfDelay: Infinity })) {
      const event = JSON.parse(line) as { type: string; object: JsonObject }
      if (event.type === 'ERROR') throw new ApiError(Number(event.object.code ?? 0), String(event.object.reason ?? ''), String(event.object.message ?? ''))
      yield event as unknown as WatchEventOf<T>
    }
  } finally {
    response.destroy()
  }
}

async function readSecret(transport: Transport, namespace: string, name: string): Promise<Record<string, string> | undefined> {
  try {
    const secret = await transport.json({ method: 'GET', path: corePath(namespace, 'secrets', name) })
    const entries = Object.entries(isObject(secret.data) ? secret.data : {})
    return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
  } catch (error) {
    if (isApiError(error, 404)) return undefined
    throw error
  }
}
