/** The resources of `admin.mlops.dev`: virtual, made of what the storage is; a resource for each thing that a role may be allowed. */
import type { PrinterColumn, ResourceDefinition } from '../../api/resource.ts'
import { ADMIN_SCHEMAS } from './schemas.ts'

export const ADMIN_GROUP = 'admin.mlops.dev'
export const ADMIN_VERSION = 'v1alpha1'

const column = (name: string, jsonPath: string, type: PrinterColumn['type'] = 'string'): PrinterColumn => ({ name, type, jsonPath })

function define(kind: string, plural: keyof typeof ADMIN_SCHEMAS, verbs: readonly string[], columns: readonly PrinterColumn[]): ResourceDefinition {
  return {
    group: ADMIN_GROUP,
    scope: 'Cluster',
    names: { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
    versions: [{ name: ADMIN_VERSION, served: true, storage: true, schema: ADMIN_SCHEMAS[plural], additionalPrinterColumns: columns }],
    verbs,
  }
}

const VERIFIED = [column('Objects', '.status.proof.keys', 'integer'), column('Undecodable', '.status.proof.undecodable', 'integer'), column('Revision', '.status.proof.endRevision', 'integer')]
const STORED = [column('Written at', '.spec.version'), column('Stored', '.status.storedVersions[*].version'), column('Objects', '.status.objects', 'integer'), column('Next', '.status.next')]

/** By plural. Objects are named as the resource that they are about. */
export const ADMIN_DEFINITIONS = {
  /** The storage of a resource; an update of `spec.version` changes the version that objects are written in. */
  storages: define('Storage', 'storages', ['get', 'list', 'patch', 'update'], STORED),
  /** The migration of a resource: create begins or continues it, `spec.paused` pauses and resumes it, delete aborts it. */
  storagemigrations: define('StorageMigration', 'storagemigrations', ['create', 'delete', 'get', 'list', 'patch', 'update'], [
    column('Target', '.status.target'), column('Phase', '.status.phase'), column('Done', '.status.done', 'integer'), column('Total', '.status.total', 'integer'),
    column('Rewritten', '.status.counters.rewritten', 'integer'), column('Conflicts', '.status.counters.conflicts', 'integer'), column('Limited by', '.status.limitedBy'), column('Age', '.metadata.creationTimestamp', 'date'),
  ]),
  /** Create tells what a migration would do; nothing is written. */
  storagepreviews: define('StoragePreview', 'storagepreviews', ['create'], [column('Objects', '.status.objects', 'integer'), column('To rewrite', '.status.rewritten', 'integer')]),
  /** Create reads all objects and keeps the proof. */
  storageverifications: define('StorageVerification', 'storageverifications', ['create'], VERIFIED),
  /** Create takes away the versions that the last proof found no object at. */
  storagetrims: define('StorageTrim', 'storagetrims', ['create'], STORED),
  /** Create takes `spec.version` out of all objects and records that it is never stored again: a migration in all else, and steered as one. */
  storageretirements: define('StorageRetirement', 'storageretirements', ['create'], [column('Version', '.spec.version'), column('Phase', '.status.phase')]),
  /** Objects that cannot be used, named RESOURCE:NAMESPACE:NAME; uid and resourceVersion name the value. Update replaces it, delete is for good. */
  quarantinedobjects: define('QuarantinedObject', 'quarantinedobjects', ['delete', 'get', 'list', 'update'], [
    column('Class', '.status.class'), column('Bytes', '.status.bytes', 'integer'), column('Message', '.status.message'), column('Age', '.metadata.creationTimestamp', 'date'),
  ]),
  /** Get of the name `current` is the bundle itself, as lines of JSON. */
  storagebackups: define('StorageBackup', 'storagebackups', ['get'], []),
} as const satisfies Record<string, ResourceDefinition>

export type AdminResourceName = keyof typeof ADMIN_DEFINITIONS

/** The definition of a plural; undefined for any other. */
export function adminDefinition(plural: string): ResourceDefinition | undefined {
  return Object.hasOwn(ADMIN_DEFINITIONS, plural) ? ADMIN_DEFINITIONS[plural as AdminResourceName] : undefined
}
