/** Values of storage administration ↔ objects of `admin.mlops.dev`; the client of the commands reads what is written here. */
import type { DryRun } from '../../../storage/migrate-dry-run.ts'
import type { Expected } from '../../../storage/quarantine.ts'
import type { Verification } from '../../../storage/verify.ts'
import { formatApiVersion, getKey, isObject, type JsonObject, type KubeObject } from '../../api/object.ts'
import type { Migration, QuarantinedContent, QuarantinedObject, StorageStatus } from '../../registry/storage-admin.ts'
import { ADMIN_GROUP, ADMIN_VERSION } from './definitions.ts'

const apiVersion = formatApiVersion(ADMIN_GROUP, ADMIN_VERSION)

// Plain data of ours: nothing in it that JSON has no word for.
function make(kind: string, metadata: JsonObject, spec: object, status: object): KubeObject {
  return { apiVersion, kind, metadata, spec: spec as JsonObject, status: status as JsonObject }
}

/** The storage of a resource, under the kind that was asked for. */
export function storageObject(status: StorageStatus, kind = 'Storage'): KubeObject {
  return make(kind, { name: status.resource, resourceVersion: String(status.fenceRevision) }, { version: status.encodingVersion }, status)
}

/** A migration, under the kind that was asked for. */
export function migrationObject(migration: Migration, kind = 'StorageMigration'): KubeObject {
  const { resource, id, startedAt, phase, target, retiring } = migration
  return make(kind, { name: resource, uid: id, creationTimestamp: startedAt.replace(/\.\d+/, '') }, { version: retiring ?? target, paused: phase === 'Paused' }, migration)
}

export function previewObject(resource: string, run: DryRun): KubeObject {
  return make('StoragePreview', { name: resource }, { version: run.target }, run)
}

export function verificationObject(resource: string, deep: boolean, found: Verification): KubeObject {
  return make('StorageVerification', { name: resource }, { deep }, found)
}

export function quarantinedObject(found: QuarantinedObject | QuarantinedContent): KubeObject {
  const { resource, key, sha256, modRevision, since } = found
  const metadata = { name: quarantinedName(resource, key), uid: sha256, resourceVersion: String(modRevision), creationTimestamp: since.replace(/\.\d+/, '') }
  return make('QuarantinedObject', metadata, {}, found)
}

/** The name of an object in quarantine. No name of an object or a namespace has a colon. */
export function quarantinedName(resource: string, key: string): string {
  return [resource, ...key.split('/')].join(':')
}

/** Resource and key of such a name; undefined for any other. */
export function parseQuarantinedName(name: string): { readonly resource: string; readonly key: string } | undefined {
  const [resource = '', ...parts] = name.split(':')
  return resource === '' || parts.length === 0 || parts.includes('') ? undefined : { resource, key: parts.join('/') }
}

/** The value that `uid` and `resourceVersion` name; undefined when one is missing or malformed. */
export function expectedOf(named: JsonObject | undefined): Expected | undefined {
  const [uid, revision] = named ? [getKey(named, 'uid'), getKey(named, 'resourceVersion')] : []
  if (typeof uid !== 'string' || typeof revision !== 'string' || !/^\d+$/.test(revision)) return undefined
  return { sha256: uid, modRevision: Number(revision) }
}

/** An object's member that is an object; empty where there is none. */
export function member(object: JsonObject, name: string): JsonObject {
  const value = getKey(object, name)
  return isObject(value) ? value : {}
}
