/** The verbs of `admin.mlops.dev`: each calls storage administration and makes an object of what it says. */
import type { Verification } from '../../../storage/verify.ts'
import { getKey, isObject, type JsonObject, type KubeObject } from '../../api/object.ts'
import { badRequest, notFound } from '../../api/status.ts'
import type { QuarantinedObject, StorageAdmin, VersionChange } from '../../registry/storage-admin.ts'
import { ADMIN_GROUP, type AdminResourceName } from './definitions.ts'
import { expectedOf, member, migrationObject, parseQuarantinedName, previewObject, quarantinedObject, storageObject, verificationObject } from './objects.ts'

/** A request, as far as a verb looks at it. `name` is "" where the path has none; `body` is empty where the request has none. */
export interface AdminRequest {
  readonly storage: StorageAdmin
  readonly name: string
  readonly body: JsonObject
  /** Aborts when the client has gone. */
  readonly gone: AbortSignal
}

/** What a verb answers. */
export type AdminResult = KubeObject | readonly KubeObject[] | AsyncIterable<string>
type Verb = (request: AdminRequest) => Promise<AdminResult>

/** All verbs, by resource; they are those of the definitions. */
export function adminVerbs(): Readonly<Record<AdminResourceName, Readonly<Record<string, Verb>>>> {
  const verifications = shareVerifications()
  return {
    storages: {
      get: async ({ storage, name }) => storageObject(await storage.status(name)),
      list: async ({ storage }) => (await storage.list()).map((status) => storageObject(status)),
      update: setVersion,
      patch: setVersion,
    },
    storagemigrations: {
      create: async ({ storage, body }) => migrationObject(await storage.migrate(named(body), rateOf(body))),
      get: async ({ storage, name }) => migrationObject(await lastMigration(storage, name)),
      list: listMigrations,
      update: steer,
      patch: steer,
      delete: async ({ storage, name }) => migrationObject(await storage.abort(name)),
    },
    storagepreviews: {
      create: async ({ storage, body, gone }) => {
        const version = text(body, 'version')
        return previewObject(named(body), await storage.preview(named(body), { signal: gone, ...(version !== undefined && { version }) }))
      },
    },
    storageverifications: {
      create: async ({ storage, body }) => {
        const deep = getKey(member(body, 'spec'), 'deep') === true
        return verificationObject(named(body), deep, await verifications(storage, named(body), deep))
      },
    },
    storagetrims: { create: async ({ storage, body }) => storageObject(await storage.trim(named(body)), 'StorageTrim') },
    storageretirements: { create: async ({ storage, body }) => migrationObject(await storage.retire(named(body), required(body, 'version'), rateOf(body)), 'StorageRetirement') },
    quarantinedobjects: { list: listQuarantined, get: getQuarantined, update: replaceQuarantined, delete: deleteQuarantined },
    storagebackups: {
      get: async ({ storage, name }) => {
        if (name !== 'current') throw notFound({ group: ADMIN_GROUP, resource: 'storagebackups' }, name)
        return storage.backup()
      },
    },
  }
}

function named(body: JsonObject): string {
  const name = getKey(member(body, 'metadata'), 'name')
  if (typeof name !== 'string' || name === '') throw badRequest('metadata.name must be the resource that is meant, for example "things.example.dev"')
  return name
}

function text(body: JsonObject, field: string): string | undefined {
  const value = getKey(member(body, 'spec'), field)
  if (value !== undefined && typeof value !== 'string') throw badRequest(`spec.${field} must be a string`)
  return value
}

function required(body: JsonObject, field: string): string {
  const value = text(body, field)
  if (value === undefined) throw badRequest(`spec.${field} is required`)
  return value
}

function rateOf(body: JsonObject): { rate?: number } {
  const rate = getKey(member(body, 'spec'), 'rate')
  if (rate === undefined) return {}
  if (typeof rate !== 'number' || !Number.isSafeInteger(rate) || rate < 0) throw badRequest('spec.rate must be a whole number of objects a second, 0 for no limit')
  return { rate }
}

async function setVersion({ storage, name, body }: AdminRequest): Promise<KubeObject> {
  const spec = member(body, 'spec')
  const dismissed = getKey(spec, 'dismissed')
  const change: VersionChange = {
    version: required(body, 'version'),
    ...(getKey(spec, 'acceptRollback') === true && { acceptRollback: true }),
    ...(Array.isArray(dismissed) && { dismissed: dismissed.map(String) }),
  }
  return storageObject(await storage.setVersion(name, change))
}

async function lastMigration(storage: StorageAdmin, resource: string) {
  const found = await storage.migration(resource)
  if (!found) throw notFound({ group: ADMIN_GROUP, resource: 'storagemigrations' }, resource)
  return found
}

async function listMigrations({ storage }: AdminRequest): Promise<KubeObject[]> {
  return (await storage.list()).flatMap(({ migration }) => (migration ? [migrationObject(migration)] : []))
}

async function steer({ storage, name, body }: AdminRequest): Promise<KubeObject> {
  const paused = getKey(member(body, 'spec'), 'paused')
  if (typeof paused !== 'boolean') throw badRequest('spec.paused must be true or false')
  return migrationObject(paused ? await storage.pause(name) : await storage.migrate(name, rateOf(body)))
}

// A scan goes on when its client has gone, and whoever asks meanwhile joins it.
function shareVerifications(): (storage: StorageAdmin, resource: string, deep: boolean) => Promise<Verification> {
  const running = new Map<string, Promise<Verification>>()
  return (storage, resource, deep) => {
    const key = `${resource} ${deep}`
    const found = running.get(key) ?? storage.verify(resource, { deep }).finally(() => running.delete(key))
    running.set(key, found)
    return found
  }
}

function quarantinedAt(name: string): { readonly resource: string; readonly key: string } {
  const at = parseQuarantinedName(name)
  if (!at) throw notFound({ group: ADMIN_GROUP, resource: 'quarantinedobjects' }, name)
  return at
}

async function listQuarantined({ storage }: AdminRequest): Promise<KubeObject[]> {
  const found: QuarantinedObject[] = []
  for (const { resource } of await storage.list()) found.push(...(await storage.listQuarantined(resource)))
  return found.map(quarantinedObject)
}

async function getQuarantined({ storage, name }: AdminRequest): Promise<KubeObject> {
  const { resource, key } = quarantinedAt(name)
  return quarantinedObject(await storage.showQuarantined(resource, key))
}

async function replaceQuarantined({ storage, name, body }: AdminRequest): Promise<KubeObject> {
  const { resource, key } = quarantinedAt(name)
  const expected = expectedOf(member(body, 'metadata'))
  const object = getKey(member(body, 'spec'), 'object')
  if (!expected) throw badRequest('metadata.uid and metadata.resourceVersion must name the value that is meant')
  if (!isObject(object)) throw badRequest('spec.object must be the whole object')
  const revision = await storage.replaceQuarantined(resource, key, object, expected)
  return { apiVersion: String(body.apiVersion), kind: 'QuarantinedObject', metadata: { name }, status: { resource, key, replacedAtRevision: revision } }
}

async function deleteQuarantined({ storage, name, body }: AdminRequest): Promise<KubeObject> {
  const { resource, key } = quarantinedAt(name)
  const expected = expectedOf(member(body, 'preconditions'))
  if (!expected) throw badRequest('preconditions.uid and preconditions.resourceVersion must name the value that is meant')
  return quarantinedObject(await storage.deleteQuarantined(resource, key, expected))
}
