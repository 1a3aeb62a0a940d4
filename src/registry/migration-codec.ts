/** What migrations and scans of storage/ need to know of a resource's objects. */
import { openEnvelope } from '../../storage/envelope.ts'
import { DecodeError, type ObjectCodec } from '../../storage/object-codec.ts'
import { encodeJson, parseStored } from '../api/codec.ts'
import { deepEqual, formatApiVersion, isObject, type Json, type JsonObject, type KubeObject, setKey } from '../api/object.ts'
import type { ResourceDefinition } from '../api/resource.ts'
import { relativeKey } from './relative-key.ts'
import type { StorageCodec } from './storage-codec.ts'

/** Builds it from the codec that the server uses, so that both agree on every byte. */
export function migrationCodec(definition: ResourceDefinition, codec: StorageCodec): ObjectCodec<KubeObject> {
  const versionOf = new Map(definition.versions.map(({ name }) => [formatApiVersion(definition.group, name), name]))
  const served = definition.versions.filter((version) => version.served).map(({ name }) => name)
  return {
    decodable: codec.decodable,
    decode: (value) => codec.open(value),
    encode: (hub, version) => codec.seal(hub, version),
    equal: (a, b) => deepEqual(a as Json, b as Json),
    canonical: (hub) => encodeJson(sorted(hub)),
    identity(value) {
      const body = parseStored(openEnvelope(value).payload)
      if (!isObject(body) || !isObject(body.metadata)) throw new DecodeError('ParseError', 'stored value is no object')
      const { name, namespace } = body.metadata as KubeObject['metadata']
      return { key: relativeKey(definition, namespace ?? '', name ?? ''), version: versionOf.get(String(body.apiVersion)) ?? String(body.apiVersion) }
    },
    view(hub) {
      for (const version of served) codec.view(hub, version)
    },
    names: codec.owners.names,
    settle: (hub, retirements) => codec.owners.settle(hub, retirements),
  }
}

function sorted<T extends Json>(value: T): T {
  if (Array.isArray(value)) return value.map(sorted) as T
  if (!isObject(value)) return value
  const made: JsonObject = {}
  for (const key of Object.keys(value).sort()) setKey(made, key, sorted(value[key] as Json))
  return made as T
}
