/** What is asked of a kube-apiserver about a CustomResourceDefinition and its objects. Everything rejects with Refused or Unavailable where it must not or cannot be done. */
import { Unavailable } from '../../../storage/backend.ts'
import { Refused } from '../../../storage/refused.ts'
import { isObject, type Json, type JsonObject } from '../../api/object.ts'
import { oldestFirst } from '../../api/version-order.ts'
import { openTransport, type Request } from '../../worker/api-client.ts'
import { ApiError } from '../../worker/job-client.ts'

/** A definition as the server has it. */
export interface LiveDefinition {
  readonly name: string
  readonly object: JsonObject
  readonly resourceVersion: string
  /** Goes up with every change of its spec. */
  readonly generation: number
  readonly group: string
  readonly plural: string
  readonly kind: string
  /** Oldest first. */
  readonly versions: readonly string[]
  readonly served: readonly string[]
  readonly storageVersion: string
  readonly storedVersions: readonly string[]
}

/** An object as a list has it. */
export interface ListedObject {
  /** `namespace/name`, or the name alone. */
  readonly key: string
  readonly path: string
  readonly uid: string
  readonly resourceVersion: string
  /** Of its JSON in this version. */
  readonly bytes: number
  readonly object: JsonObject
}

/** The calls. */
export interface DefinitionApi {
  /** Undefined when there is none of that name. */
  find(name: string): Promise<LiveDefinition | undefined>
  /** Writes a definition whose resourceVersion is that of `object`, or its status alone. Rejects with ApiError 409 when it was changed meanwhile. */
  write(object: JsonObject, options?: { readonly status?: true }): Promise<void>
  /** Adds annotations to a definition. */
  annotate(name: string, annotations: JsonObject): Promise<void>
  /** All objects in a version, page by page; resolves to the revision of the list. */
  list(definition: LiveDefinition, version: string, each: (object: ListedObject, total: number) => void, signal?: AbortSignal): Promise<number>
  count(definition: LiveDefinition): Promise<{ readonly objects: number; readonly revision: number }>
  /** A patch that changes nothing: the server writes the object when it is not stored as it would store it now. Resolves to its resourceVersion; rejects with ApiError. */
  touch(object: ListedObject, options?: { readonly dryRun?: true; readonly signal?: AbortSignal }): Promise<string>
  /** The mark by which the server tells which version a resource is stored in; undefined when it is not served. upstream: discovery.StorageVersionHash */
  storageVersionHash(definition: LiveDefinition): Promise<string | undefined>
  serverVersion(): Promise<string>
  close(): void
}

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const PAGE = 500
const LIST_IDLE_MS = 600_000

/** Opens it with a kubeconfig. Throws when that names no cluster. */
export function openDefinitionApi(kubeconfig: string): DefinitionApi {
  const transport = openTransport(kubeconfig, 'mlops-storage')
  const json = async (request: Request): Promise<JsonObject> => await transport.json(request).catch((error: unknown) => {
    throw meaning(error)
  })
  return {
    find: async (name) => {
      const object = await json({ method: 'GET', path: `${DEFINITIONS}/${encodeURIComponent(name)}` }).catch(undefinedWhenAbsent)
      return object && readDefinition(object)
    },
    write: async (object, { status } = {}) => void (await json({ method: 'PUT', path: `${DEFINITIONS}/${encodeURIComponent(nameOf(object))}${status ? '/status' : ''}`, body: object })),
    annotate: async (name, annotations) => void (await json({ method: 'PATCH', path: `${DEFINITIONS}/${encodeURIComponent(name)}`, body: { metadata: { annotations } }, contentType: 'application/merge-patch+json' })),
    list: (definition, version, each, signal) => listAll(json, definition, version, each, signal),
    async count(definition) {
      const { metadata, items } = await json({ method: 'GET', path: `${collectionOf(definition, definition.storageVersion)}?limit=1`, idleMs: LIST_IDLE_MS }).catch(blockedByOne)
      const { remainingItemCount, resourceVersion } = isObject(metadata) ? metadata : {}
      return { objects: (Array.isArray(items) ? items.length : 0) + Number(remainingItemCount ?? 0), revision: Number(resourceVersion ?? 0) }
    },
    async touch({ path, uid }, { dryRun, signal } = {}) {
      const { metadata } = await json({ method: 'PATCH', path: `${path}${dryRun ? '?dryRun=All' : ''}`, body: { metadata: { uid } }, contentType: 'application/merge-patch+json', signal })
      return String(isObject(metadata) ? metadata.resourceVersion : '')
    },
    async storageVersionHash({ group, plural, storageVersion }) {
      const { resources } = await json({ method: 'GET', path: `/apis/${group}/${storageVersion}` }).catch(undefinedWhenAbsent) ?? {}
      const found = Array.isArray(resources) ? resources.find((resource) => isObject(resource) && resource.name === plural) : undefined
      return isObject(found) ? String(found.storageVersionHash ?? '') : undefined
    },
    serverVersion: async () => String((await json({ method: 'GET', path: '/version' })).gitVersion ?? ''),
    close: () => transport.close(),
  }
}

type Send = (request: Request) => Promise<JsonObject>

async function listAll(json: Send, definition: LiveDefinition, version: string, each: (object: ListedObject, total: number) => void, signal: AbortSignal | undefined): Promise<number> {
  let [seen, revision, proceed] = [0, 0, '']
  for (;;) {
    const query = new URLSearchParams({ limit: String(PAGE), ...(proceed === '' ? {} : { continue: proceed }) })
    const { metadata, items } = await json({ method: 'GET', path: `${collectionOf(definition, version)}?${query}`, signal, idleMs: LIST_IDLE_MS }).catch(blockedByOne)
    const page = isObject(metadata) ? metadata : {}
    const found = Array.isArray(items) ? items.filter(isObject) : []
    seen += found.length
    revision = Number(page.resourceVersion ?? 0)
    for (const object of found) each(listed(definition, version, object), seen + Number(page.remainingItemCount ?? 0))
    if (typeof page.continue !== 'string' || page.continue === '') return revision
    proceed = page.continue
  }
}

function listed(definition: LiveDefinition, version: string, object: JsonObject): ListedObject {
  const { namespace, name, uid, resourceVersion } = isObject(object.metadata) ? object.metadata : {}
  const place = typeof namespace === 'string' ? `/namespaces/${encodeURIComponent(namespace)}` : ''
  return {
    key: `${typeof namespace === 'string' ? `${namespace}/` : ''}${String(name)}`,
    path: `/apis/${definition.group}/${version}${place}/${definition.plural}/${encodeURIComponent(String(name))}`,
    uid: String(uid),
    resourceVersion: String(resourceVersion),
    bytes: Buffer.byteLength(JSON.stringify(object)),
    object,
  }
}

function collectionOf({ group, plural }: LiveDefinition, version: string): string {
  return `/apis/${group}/${version}/${plural}`
}

function readDefinition(object: JsonObject): LiveDefinition {
  const spec = isObject(object.spec) ? object.spec : {}
  const names = isObject(spec.names) ? spec.names : {}
  const metadata = isObject(object.metadata) ? object.metadata : {}
  const versions = (Array.isArray(spec.versions) ? spec.versions : []).filter(isObject)
  const stored: Json | undefined = isObject(object.status) ? object.status.storedVersions : undefined
  return {
    name: String(metadata.name),
    object,
    resourceVersion: String(metadata.resourceVersion),
    generation: Number(metadata.generation ?? 0),
    group: String(spec.group),
    plural: String(names.plural),
    kind: String(names.kind),
    versions: oldestFirst(versions.map(({ name }) => String(name))),
    served: oldestFirst(versions.filter(({ served }) => served === true).map(({ name }) => String(name))),
    storageVersion: String(versions.find(({ storage }) => storage === true)?.name ?? ''),
    storedVersions: Array.isArray(stored) ? stored.map(String) : [],
  }
}

function nameOf({ metadata }: JsonObject): string {
  return isObject(metadata) ? String(metadata.name) : ''
}

// One object that the webhook does not convert fails a list of all; the message names it.
function blockedByOne(error: unknown): never {
  if (error instanceof ApiError && error.code === 500 && /conversion webhook/.test(error.message) && !/ failed: Post /.test(error.message)) throw new Refused('Quarantined', error.message, { cause: error })
  throw error
}

function undefinedWhenAbsent(error: unknown): undefined {
  if (error instanceof ApiError && error.code === 404) return undefined
  throw error
}

function meaning(error: unknown): unknown {
  if (!(error instanceof ApiError)) {
    if (error instanceof Error && error.name === 'AbortError') return error
    return new Unavailable(`the server does not answer: ${error instanceof Error ? error.message || String((error as NodeJS.ErrnoException).code) : String(error)}`, { cause: error })
  }
  // Admission refuses single objects with 403 too, by the name of the object: that is not for all of them.
  if (error.code === 401 || (error.code === 403 && / cannot (get|list|patch|update) resource /.test(error.message))) return new Refused('Forbidden', error.message, { cause: error })
  return error
}
