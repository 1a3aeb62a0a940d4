/** What the objects of `admin.mlops.dev` consist of, for OpenAPI and so for `kubectl explain`. */
import type { Schema } from '../../api/schema.ts'

const text = (description: string): Schema => ({ type: 'string', description })
const integer = (description: string): Schema => ({ type: 'integer', format: 'int64', description })
const flag = (description: string): Schema => ({ type: 'boolean', description })
const texts = (description: string): Schema => ({ type: 'array', description, items: { type: 'string' } })
const counts = (description: string): Schema => ({ type: 'object', description, additionalProperties: { type: 'integer', format: 'int64' } })
const values = (description: string): Schema => ({ type: 'array', description, items: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } })
const value = (description: string): Schema => ({ type: 'object', description, 'x-kubernetes-preserve-unknown-fields': true })

function objectOf(description: string, spec: Readonly<Record<string, Schema>>, status: Readonly<Record<string, Schema>>): Schema {
  const part = (properties: Readonly<Record<string, Schema>>, about: string): Record<string, Schema> =>
    Object.keys(properties).length === 0 ? {} : { [about]: { type: 'object', description: ABOUT[about] as string, properties } }
  return { type: 'object', description, properties: { ...part(spec, 'spec'), ...part(status, 'status') } }
}

const ABOUT: Readonly<Record<string, string>> = { spec: 'What is asked for.', status: 'What there is, or what was found.' }

const NAMED = 'Its name is the resource that it is about, as PLURAL.GROUP.'

const PROOF = value('The last scan of all objects: endRevision, at, keys, byVersion, undecodable.')

const STORAGE_STATUS = {
  versions: texts('Versions that the server knows, oldest first.'),
  objects: integer('Objects that are stored.'),
  bytes: integer('Their bytes.'),
  byVersion: counts('Objects by the version that they are stored at.'),
  encodingVersion: text('The version that objects are written at.'),
  storedVersions: values('Every version that an object may be stored at, with when and why it was entered.'),
  retiredVersions: values('Versions that nothing is stored at ever again.'),
  rollbackFloor: text('The oldest version that may be gone back to without acceptRollback.'),
  epoch: integer('Changes of the above, counted.'),
  mode: text('ReadWrite, ReadOnly or Importing.'),
  replicas: values('Servers on this store, and what they can read and write.'),
  proof: PROOF,
  quarantined: integer('Objects that cannot be used.'),
  migration: value('The last migration, as the status of its StorageMigration.'),
  next: text('What to do next.'),
  store: value('The store: engine, revision, compactedRevision, bytes, space.'),
}

const MIGRATION_STATUS = {
  id: text('Of this run.'),
  phase: text('Running, Paused, Verifying, Trimming, Succeeded, Blocked, Aborted or Failed.'),
  reason: text('Why it does not go on.'),
  message: text('The same in more words.'),
  from: texts('storedVersions when it began.'),
  target: text('The version that objects are written at.'),
  retiring: text('The version that it takes out of all objects; absent: it migrates.'),
  total: integer('Objects when it began.'),
  done: integer('Objects dealt with in this pass.'),
  counters: counts('What became of the objects: rewritten, current, vanished, quarantined; conflicts, each of which was done again.'),
  rateLimit: integer('Objects a second at most.'),
  rate: { type: 'number', description: 'Objects a second.' } satisfies Schema,
  etaSeconds: { type: 'number', description: 'Seconds until the phase ends at this rate.' } satisfies Schema,
  limitedBy: text('What holds it back: CommitLatency, OtherWriters, Rate, LowSpace, LeaderChange.'),
  owner: text('The process that runs it.'),
  proof: PROOF,
}

const QUARANTINED_STATUS = {
  resource: text('The resource that the object is of.'),
  key: text('namespace/name.'),
  class: text('What is the matter: Corrupt, Truncated, UnknownFormat, UnknownVersion, ParseError, ConversionError, LossyConversion, KeyMismatch.'),
  message: text('The same in more words.'),
  bytes: integer('Of the value.'),
  sha256: text('Of the value.'),
  modRevision: integer('Of the value.'),
  value: text('The value in base64, where one object is read.'),
}

/** By plural. */
export const ADMIN_SCHEMAS = {
  storages: objectOf(`The storage of a resource. ${NAMED}`, {
    version: text('The version that objects are written at; changing it leaves those that are there as they are.'),
    acceptRollback: flag('A version older than the rollback floor is meant.'),
    dismissed: texts('Replicas that have vanished and will not come back.'),
  }, STORAGE_STATUS),
  storagemigrations: objectOf(`The migration of a resource: create begins or continues it, delete aborts it. ${NAMED}`, {
    paused: flag('Lets it rest, whoever runs it; false continues it.'),
    rate: integer('Objects a second at most, kept until it is given anew; 0: as fast as others notice nothing.'),
  }, MIGRATION_STATUS),
  storagepreviews: objectOf(`What a migration would do; nothing is written. ${NAMED}`, { version: text('The version to migrate to; default: the one that is set.') }, {
    objects: integer('Objects that were read.'), rewritten: integer('Objects that would be rewritten.'), current: integer('Objects that are as they should be.'),
    quarantined: integer('Objects that cannot be used.'), bad: values('The first of them, and why.'),
  }),
  storageverifications: objectOf(`A scan of all objects, whose result is kept as the proof. ${NAMED}`, { deep: flag('Also decodes each object into every version, and makes a digest.') }, {
    proof: PROOF, bad: values('Objects that cannot be used, and why.'), digest: text('Of all objects, of which a migration changes nothing.'),
  }),
  storagetrims: objectOf(`Takes away the versions that the last proof found no object at. ${NAMED}`, {}, STORAGE_STATUS),
  storageretirements: objectOf(`Takes a version out of all objects and records that nothing is stored at it ever again. ${NAMED}`, { version: text('The version.') }, MIGRATION_STATUS),
  quarantinedobjects: objectOf('An object that cannot be used. Its name is RESOURCE:NAMESPACE:NAME; uid and resourceVersion name the value.', {
    object: { ...value('The whole object, in any version, that takes its place with an update.') },
  }, QUARANTINED_STATUS),
  storagebackups: objectOf('All objects of the store at one moment, as lines of JSON: the one of the name current.', {}, {}),
} satisfies Record<string, Schema>
