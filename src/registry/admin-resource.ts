/** What storage administration needs to know of a resource, made of its definition: nothing here needs it to be served. */
import type { ObjectCodec } from '../../storage/object-codec.ts'
import { Refused } from '../../storage/refused.ts'
import { compileRules } from '../api/cel.ts'
import { checkCreate } from '../api/check.ts'
import { formatApiVersion, isObject, type JsonObject, type KubeObject } from '../api/object.ts'
import { receive } from '../api/receive.ts'
import { qualifiedName, type ResourceDefinition } from '../api/resource.ts'
import { oldestFirst } from '../api/version-order.ts'
import { migrationCodec } from './migration-codec.ts'
import type { ServedResource } from './resource-store.ts'
import { createStorageCodec, schemaDigest } from './storage-codec.ts'

/** A resource whose storage can be administered. */
export interface AdminResource {
  /** `<plural>.<group>` */
  readonly resource: string
  /** All versions, oldest first. */
  readonly order: readonly string[]
  readonly codec: ObjectCodec<KubeObject>
  /** Digest of a version's present schema. */
  schemaDigest(version: string): string | undefined
  /** A whole object as a person writes it, in any version → hub form. Throws Refused for one that could not be stored. */
  accept(object: JsonObject): KubeObject
}

/** Makes it. */
export function adminResource({ definition, conversion, strategy = {} }: ServedResource): AdminResource {
  const storage = createStorageCodec(definition, conversion, strategy)
  const digests = new Map(definition.versions.map((version) => [version.name, schemaDigest(version)]))
  return {
    resource: qualifiedName(definition),
    order: oldestFirst(definition.versions.map(({ name }) => name)),
    codec: migrationCodec(definition, storage),
    schemaDigest: (version) => digests.get(version),
    accept(object) {
      const whole = checked(definition, object)
      return conversion.lift(whole, whole.apiVersion.slice(whole.apiVersion.indexOf('/') + 1))
    },
  }
}

const SYSTEM_FIELDS = ['name', 'uid', 'creationTimestamp'] as const

// Nothing is made up: what the server would set when an object is created must be in a replacement, or references to the old one would dangle.
function checked(definition: ResourceDefinition, object: JsonObject): KubeObject {
  const { group, names, scope } = definition
  const version = definition.versions.find(({ name }) => object.apiVersion === formatApiVersion(group, name))
  const { metadata } = object
  if (!version || object.kind !== names.kind || !isObject(metadata)) {
    const versions = definition.versions.map(({ name }) => formatApiVersion(group, name)).join(', ')
    throw new Refused('UnusableReplacement', `the replacement is no ${names.kind} of ${versions}`)
  }
  const missing = SYSTEM_FIELDS.filter((field) => typeof metadata[field] !== 'string' || metadata[field] === '')
  if (missing.length > 0) throw new Refused('UnusableReplacement', `the replacement has no ${missing.map((field) => `metadata.${field}`).join(', ')}: give it those of the object, which what refers to it goes by (quarantine show prints its bytes; where they no longer tell, a backup that is restored into another store does)`)
  const { resourceVersion: _, ...kept } = metadata
  try {
    const { object: whole } = receive({ ...(object as KubeObject), metadata: kept }, version)
    const { errors } = checkCreate(whole, version, compileRules(version.schema), { group, kind: names.kind, namespaced: scope === 'Namespaced' })
    if (errors.length === 0) return whole
    throw new Refused('UnusableReplacement', `the replacement is not valid: ${errors.map(({ field, body }) => `${field}: ${body}`).join(', ')}`)
  } catch (error) {
    if (error instanceof Refused) throw error
    throw new Refused('UnusableReplacement', `the replacement cannot be read: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  }
}
