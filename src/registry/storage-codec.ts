/**
 * Objects ↔ stored bytes: the only place that converts to and from the storage version.
 * A stored value is an envelope around the object's JSON at the encoding version and, where that version is poorer
 * than the hub, the remainder.
 */
import { createHash } from 'node:crypto'
import { encodeJson, encodeObject, parseStored } from '../api/codec.ts'
import type { Conversion } from '../api/conversion.ts'
import { getKey, isObject, type JsonObject, type KubeObject } from '../api/object.ts'
import { shape } from '../api/receive.ts'
import { findVersion, type ResourceDefinition, type Strategy, type VersionDefinition } from '../api/resource.ts'
import { openEnvelope, sealEnvelope } from '../../storage/envelope.ts'
import { DecodeError } from '../../storage/object-codec.ts'
import type { Codec, IndexedFields, ReadyBytes } from '../../storage/watch-cache.ts'
import { openFieldOwners, type FieldOwners } from './field-owners.ts'
import { fieldValue } from './field-value.ts'

/** Between objects and the store's bytes, for one resource. */
export interface StorageCodec extends Codec {
  /**
   * Hub object (its resourceVersion is left out) → stored bytes at `version`. `unread`: members of metadata that are stored beside the object's own, as they were
   * sent, though no reader sees them. An object that is not read as it is stored says so by its digest, and the next write of it is one, as upstream.
   */
  seal(hubObject: KubeObject, version: string, unread?: JsonObject): Uint8Array
  /** Stored bytes → hub object without resourceVersion. Throws for bytes that cannot be decoded. */
  open(value: Uint8Array): KubeObject
  /** Hub object → the form of a version, as a reader of that version sees it. */
  view(hubObject: KubeObject, version: string): KubeObject
  /** Who owns the fields of objects, and the versions that they name. */
  readonly owners: FieldOwners
  /** Whether the bytes are read as they are: nothing is dropped or filled. */
  isSettled(value: Uint8Array): boolean
  /** What a request of a version wrote → hub object; `live` is the hub object that it replaces. Like upstream's converter it drops what the hub version does not know. */
  lift(object: KubeObject, version: string, live?: KubeObject): KubeObject
  /** Versions whose stored bytes can be decoded. */
  readonly decodable: readonly string[]
}

/** SHA-256 of a version's schema, cut to 32 hex digits: bytes written under it need no pruning or defaulting when they are read. */
export function schemaDigest(version: VersionDefinition): string {
  return createHash('sha256').update(encodeJson(version.schema as JsonObject)).digest('hex').slice(0, 32)
}

/** In place of a digest: the bytes are pruned and defaulted whenever they are read. */
const UNSETTLED = '0'.repeat(32)

function parseJson(bytes: Uint8Array, what: string): JsonObject {
  let parsed
  try {
    parsed = parseStored(bytes)
  } catch (cause) {
    throw new DecodeError('ParseError', `stored ${what} is no JSON: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
  }
  if (!isObject(parsed)) throw new DecodeError('ParseError', `stored ${what} is no object`)
  return parsed
}

/** Builds the codec of a resource. */
export function createStorageCodec(definition: ResourceDefinition, conversion: Conversion, strategy: Strategy = {}): StorageCodec {
  const digests = new Map(definition.versions.map((version) => [version.name, schemaDigest(version)]))

  const version = (name: string): VersionDefinition => {
    const found = findVersion(definition, name)
    if (!found) throw new DecodeError('UnknownVersion', `unknown version "${name}"`)
    return found
  }

  // What is stored, as an object of its own version: pruned and defaulted with that version's present schema.
  const read = (value: Uint8Array): { object: KubeObject; version: string; remainder?: JsonObject; current: boolean } => {
    const envelope = openEnvelope(value)
    const stored = version(envelope.version)
    const parsed = parseJson(envelope.payload, 'value')
    if (!isObject(parsed.metadata)) throw new DecodeError('ParseError', 'stored value is no object')
    const current = envelope.digest === digests.get(envelope.version)
    const object = current ? (parsed as KubeObject) : shape(parsed as KubeObject, stored, { defaults: true })
    const remainder = envelope.remainder && parseJson(envelope.remainder, 'remainder')
    return { object, version: envelope.version, current, ...(remainder ? { remainder } : {}) }
  }

  const load = (value: Uint8Array): KubeObject => {
    const { object, version: stored, remainder } = read(value)
    return conversion.load({ version: stored, object, ...(remainder ? { remainder } : {}) })
  }

  const view = (hubObject: KubeObject, name: string): KubeObject => {
    const shown = conversion.show(hubObject, name)
    return name === conversion.hub ? shown : shape(shown, version(name), { defaults: false })
  }

  return {
    owners: openFieldOwners(definition, conversion, view),
    decodable: definition.versions.map((v) => v.name),
    open: load,
    isSettled: (value) => openEnvelope(value).digest !== UNSETTLED,
    view,
    lift(object, name, live) {
      const lifted = conversion.lift(object, name, live)
      return name === conversion.hub ? lifted : shape(lifted, version(conversion.hub), { defaults: false })
    },
    seal(hubObject, name, unread) {
      const stored = conversion.store(hubObject, name)
      const known = name === conversion.hub ? stored.object : shape(stored.object, version(name), { defaults: false })
      const object = unread === undefined ? known : { ...known, metadata: { ...unread, ...known.metadata } }
      const settled = shape(object, version(name), { defaults: true }) === object
      const { text, place } = encodeObject(object)
      return sealEnvelope({
        version: name,
        digest: settled ? (digests.get(name) as string) : UNSETTLED,
        payload: Buffer.from(text),
        place,
        ...(stored.remainder ? { remainder: Buffer.from(encodeJson(stored.remainder)) } : {}),
      })
    },
    index(_key, value) {
      // Labels and uid are the same in every version, so nothing is converted here: this runs for every object at start.
      const { metadata } = read(value).object
      return new ObjectIndex(metadata, () => selectableFields(definition, strategy, load(value), view))
    },
    encode(_key, value, name): ReadyBytes {
      const envelope = openEnvelope(value)
      // Bytes of this version, written under its present schema, are the answer as they are.
      if (envelope.version === name && envelope.digest === digests.get(name)) return { bytes: envelope.payload, place: envelope.place }
      const { text, place } = encodeObject(view(load(value), name))
      return { bytes: Buffer.from(text), place }
    },
  }
}

type Fields = Readonly<Record<string, Readonly<Record<string, string>>>>

// Field selectors are rare: their values are made when the first one asks, and kept.
class ObjectIndex implements IndexedFields {
  readonly labels: Readonly<Record<string, string>>
  readonly uid: string
  #fields: Fields | (() => Fields)
  constructor(metadata: KubeObject['metadata'], fields: () => Fields) {
    const labels = getKey(metadata, 'labels')
    this.labels = isObject(labels) ? (labels as Record<string, string>) : NO_LABELS
    this.uid = metadata.uid ?? ''
    this.#fields = fields
  }
  get fields(): Fields {
    if (typeof this.#fields === 'function') this.#fields = this.#fields()
    return this.#fields
  }
}

const NO_LABELS: Readonly<Record<string, string>> = Object.freeze({})

function selectableFields(
  definition: ResourceDefinition,
  strategy: Strategy,
  hubObject: KubeObject,
  view: (hubObject: KubeObject, version: string) => KubeObject,
): Fields {
  const { name = '', namespace = '' } = hubObject.metadata
  const common: Record<string, string> = { 'metadata.name': name, 'metadata.namespace': namespace }
  for (const [label, value] of Object.entries(strategy.selectableFields ?? {})) common[label] = value(hubObject)
  const fields: Record<string, Record<string, string>> = { '': common }
  for (const version of definition.versions) {
    if (!version.selectableFields?.length) continue
    const shown = view(hubObject, version.name)
    const values: Record<string, string> = {}
    for (const { jsonPath } of version.selectableFields) values[jsonPath.slice(1)] = fieldValue(shown, jsonPath)
    fields[version.name] = values
  }
  return fields
}
