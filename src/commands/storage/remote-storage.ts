/** Storage administration through a server: the resources of admin.mlops.dev over HTTPS. */
import { createInterface } from 'node:readline'
import { Unavailable } from '../../../storage/backend.ts'
import type { DryRun } from '../../../storage/migrate-dry-run.ts'
import { Refused } from '../../../storage/refused.ts'
import type { Verification } from '../../../storage/verify.ts'
import { isObject, type JsonObject } from '../../api/object.ts'
import type { Migration, QuarantinedContent, QuarantinedObject, StorageAdmin, StorageStatus } from '../../registry/storage-admin.ts'
import { refusalOf } from '../../server/admin/admin.ts'
import { ADMIN_DEFINITIONS, ADMIN_GROUP, ADMIN_VERSION, type AdminResourceName } from '../../server/admin/definitions.ts'
import { quarantinedName } from '../../server/admin/objects.ts'
import { openTransport, readAnswer, type Request, type Transport } from '../../worker/api-client.ts'
import { ApiError } from '../../worker/job-client.ts'

/** How long a scan of all objects may take without a word. */
const SCAN_IDLE_MS = 3_600_000

/** Opens it with a kubeconfig. Throws when that names no cluster; everything else rejects as StorageAdmin says, with Unavailable where the server does not answer. */
export function openRemoteStorage(kubeconfig: string): StorageAdmin {
  const { one, all, transport } = openCalls(openTransport(kubeconfig, 'mlops-storage'))
  const post = <T>(plural: AdminResourceName, name: string, spec: JsonObject = {}, more: Partial<Request> = {}): Promise<T> =>
    one<T>({ method: 'POST', path: pathOf(plural), body: objectOf(plural, { name }, spec), ...more })
  const get = <T>(plural: AdminResourceName, name: string): Promise<T> => one<T>({ method: 'GET', path: pathOf(plural, name) })
  const patch = <T>(plural: AdminResourceName, name: string, spec: JsonObject): Promise<T> =>
    one<T>({ method: 'PATCH', path: pathOf(plural, name), body: { spec }, contentType: 'application/merge-patch+json' })
  return {
    list: () => all<StorageStatus>('storages'),
    status: (resource) => get<StorageStatus>('storages', resource),
    setVersion: (resource, { dismissed, ...change }) => patch<StorageStatus>('storages', resource, { ...change, ...(dismissed && { dismissed: [...dismissed] }) }),
    preview: (resource, { version, signal }) => post<DryRun>('storagepreviews', resource, { version }, { signal, idleMs: SCAN_IDLE_MS }),
    migrate: (resource, { rate } = {}) => post<Migration>('storagemigrations', resource, { rate }),
    migration: (resource) => get<Migration>('storagemigrations', resource).catch(undefinedWhenAbsent),
    pause: (resource) => patch<Migration>('storagemigrations', resource, { paused: true }),
    abort: (resource) => one<Migration>({ method: 'DELETE', path: pathOf('storagemigrations', resource) }),
    verify: (resource, { deep = false, signal }) => post<Verification>('storageverifications', resource, { deep }, { signal, idleMs: SCAN_IDLE_MS }),
    trim: (resource) => post<StorageStatus>('storagetrims', resource),
    retire: (resource, version, { rate } = {}) => post<Migration>('storageretirements', resource, { version, rate }, { idleMs: SCAN_IDLE_MS }),
    listQuarantined: async (resource) => (await all<QuarantinedObject>('quarantinedobjects')).filter((found) => found.resource === resource),
    showQuarantined: (resource, key) => get<QuarantinedContent>('quarantinedobjects', quarantinedName(resource, key)),
    async replaceQuarantined(resource, key, object, { modRevision, sha256 }) {
      const name = quarantinedName(resource, key)
      const body = objectOf('quarantinedobjects', { name, uid: sha256, resourceVersion: String(modRevision) }, { object })
      return (await one<{ replacedAtRevision: number }>({ method: 'PUT', path: pathOf('quarantinedobjects', name), body })).replacedAtRevision
    },
    deleteQuarantined(resource, key, { modRevision, sha256 }) {
      const body = { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { uid: sha256, resourceVersion: String(modRevision) } }
      return one<QuarantinedContent>({ method: 'DELETE', path: pathOf('quarantinedobjects', quarantinedName(resource, key)), body })
    },
    backup: () => bundle(transport),
    close: async () => transport.close(),
  }
}

function pathOf(plural: AdminResourceName, name?: string): string {
  return `/apis/${ADMIN_GROUP}/${ADMIN_VERSION}/${plural}${name === undefined ? '' : `/${encodeURIComponent(name)}`}`
}

function objectOf(plural: AdminResourceName, metadata: JsonObject, spec: JsonObject): JsonObject {
  return { apiVersion: `${ADMIN_GROUP}/${ADMIN_VERSION}`, kind: ADMIN_DEFINITIONS[plural].names.kind, metadata, spec }
}

function undefinedWhenAbsent(error: unknown): undefined {
  if (error instanceof ApiError && error.code === 404) return undefined
  throw error
}

function openCalls(transport: Transport) {
  const call = async (request: Request): Promise<JsonObject> => await transport.json(request).catch((error: unknown) => {
    throw meaning(error)
  })
  return {
    transport,
    /** The status of the object that answers. */
    async one<T>(request: Request): Promise<T> {
      return statusOf(await call(request)) as T
    },
    async all<T>(plural: AdminResourceName): Promise<T[]> {
      const { items } = await call({ method: 'GET', path: pathOf(plural), idleMs: SCAN_IDLE_MS })
      return (Array.isArray(items) ? items : []).map((item) => statusOf(isObject(item) ? item : {}) as T)
    },
  }
}

function statusOf({ status }: JsonObject): unknown {
  if (!isObject(status)) throw new Unavailable('the server answers with something else: is it an mlops-apiserver, of a release with storage administration?')
  return status
}

// A refusal of the server is the same refusal here; no answer means that there is no server.
function meaning(error: unknown): unknown {
  if (!(error instanceof ApiError)) return new Unavailable(`the server does not answer: ${error instanceof Error ? error.message || String((error as NodeJS.ErrnoException).code) : String(error)}`, { cause: error })
  const refused = refusalOf({ details: error.details, message: error.message })
  if (refused) return refused
  if (error.code === 401 || error.code === 403) return new Refused('Forbidden', error.message, { cause: error })
  return error.code === 503 || error.code === 504 ? new Unavailable(error.message, { cause: error }) : error
}

async function* bundle(transport: Transport): AsyncGenerator<string> {
  const response = await transport.send({ method: 'GET', path: pathOf('storagebackups', 'current') }).catch((error: unknown) => {
    throw meaning(error)
  })
  if (response.statusCode !== 200) {
    await readAnswer(response).catch((error: unknown) => {
      throw meaning(error)
    })
  }
  try {
    for await (const line of createInterface({ input: response, crlfDelay: Infinity })) yield `${line}\n`
    if (!response.complete) throw new Unavailable('the server has cut the backup off')
  } finally {
    response.destroy()
  }
}
