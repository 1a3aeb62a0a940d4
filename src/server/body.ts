/** Reading and decoding request bodies: steps 3 to 5 of the road. */
import type { Readable } from 'node:stream'
import {
  DecodeError, decodeObject, decodeOptions, decodeYaml, decodingError, strictDecodingError, findingsAsWarnings, notRegistered, summarize,
  type BodyMediaType, type DecodedObject, type YamlDecoder,
} from '../api/codec.ts'
import { isObject, parseApiVersion, type GroupVersionKind, type JsonObject, type KubeObject } from '../api/object.ts'
import { findVersion, type ResourceDefinition, type VersionDefinition } from '../api/resource.ts'
import { receive, receiveMetadata } from '../api/receive.ts'
import { badRequest, requestEntityTooLarge, StatusError, unsupportedMediaType } from '../api/status.ts'
import { DELETE_OPTIONS } from '../api/protobuf-meta.ts'
import { openKubeProtobuf } from '../api/protobuf.ts'
import type { RequestContext } from './context.ts'
import { PROTOBUF } from './negotiate.ts'
import type { FieldValidation } from './options.ts'

/** Largest request body. upstream: apiserver/pkg/server/config.go: MaxRequestBodyBytes */
export const MAX_BODY_BYTES = 3 * 1024 * 1024

const BODY_TYPES = ['application/json', 'application/yaml', PROTOBUF]

/** Reads a body whole; throws 413 beyond the limit, as soon as it is known. */
export async function readBody(req: Readable & { headers: Record<string, string | string[] | undefined> }): Promise<Buffer> {
  const tooLarge = () => requestEntityTooLarge(`limit is ${MAX_BODY_BYTES}`)
  if (Number(req.headers['content-length'] ?? 0) > MAX_BODY_BYTES) throw tooLarge()
  const chunks: Buffer[] = []
  let size = 0
  // What is not read is left to who answers: destroyed here, a client that still sends would not get to read why.
  for await (const chunk of req.iterator({ destroyOnReturn: false })) {
    size += (chunk as Buffer).length
    if (size > MAX_BODY_BYTES) throw tooLarge()
    chunks.push(chunk as Buffer)
  }
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)
}

/** The media type of a POST, PUT or DELETE body; an empty header means JSON. Throws 415. */
export function bodyMediaType(header: string | undefined): string {
  const type = (header ?? '').split(';')[0]?.trim().toLowerCase() ?? ''
  if (type === '') return 'application/json'
  if (!BODY_TYPES.includes(type)) throw unsupportedMediaType(BODY_TYPES)
  return type
}

/** What decodes a body, should it be YAML. Rejects as YamlBodies does. */
export async function yamlDecoder({ yaml, signal }: Pick<RequestContext, 'yaml' | 'signal'>, bytes: Uint8Array, mediaType: string): Promise<YamlDecoder> {
  return mediaType.includes('yaml') ? await yaml.prepare(bytes, signal) : decodeYaml
}

/** Decodes the body of a create or update into a pruned and defaulted object of the request version. Throws 400 and 415. */
export async function receiveBody(context: RequestContext, bytes: Uint8Array, mediaType: string, validation: FieldValidation): Promise<KubeObject> {
  const { store, version } = context
  const gvk = { group: store.definition.group, version: version.name, kind: store.definition.names.kind }
  const decoded: DecodedObject =
    mediaType === PROTOBUF
      ? { object: decodeProtobuf(context, bytes, validation), findings: [] }
      : decodeObject(bytes, mediaType as BodyMediaType, gvk, { strict: validation !== 'Ignore', yaml: await yamlDecoder(context, bytes, mediaType) })
  const received = receiveOr400(decoded.object, sentVersion(store.definition, decoded.object), gvk)
  const findings = [...decoded.findings, ...received.findings]
  if (validation === 'Strict' && findings.length > 0) throw strictDecodingError(decoded.object, gvk, findings)
  if (validation === 'Warn') for (const text of findingsAsWarnings(findings)) context.warnings.add(text)
  if (decoded.wrongVersion) throw decoded.wrongVersion
  return received.object
}

/**
 * The version by which a body is pruned: its own, which may be another than that of the request; one that is not defined has no fields. Nothing for another
 * kind, which is looked at no further: validation refuses it as it was sent. upstream: unstructuredSchemaCoercer.apply
 */
export function sentVersion(definition: ResourceDefinition, { apiVersion, kind }: Partial<KubeObject>): VersionDefinition | undefined {
  const { group, version } = parseApiVersion(apiVersion ?? '')
  if (group !== definition.group || kind !== definition.names.kind) return undefined
  return findVersion(definition, version) ?? { name: version, served: false, storage: false, schema: { type: 'object' } }
}

function receiveOr400(object: KubeObject, version: VersionDefinition | undefined, gvk: GroupVersionKind) {
  try {
    return version === undefined ? receiveMetadata(object) : receive(object, version)
  } catch (error) {
    if (error instanceof DecodeError) throw decodingError(object, gvk, error.message)
    throw error
  }
}

// A resource without protobuf refuses it. Under Ignore kube-apiserver looks first whether it is protobuf at all; otherwise its handler panics.
function decodeProtobuf({ store, version }: RequestContext, bytes: Uint8Array, validation: FieldValidation): KubeObject {
  const { group, names } = store.definition
  const decode = store.strategy.decodeProtobuf
  if (!decode && validation !== 'Ignore') throw unsupportedMediaType(BODY_TYPES.slice(0, 2))
  try {
    const object = (decode ?? openKubeProtobuf)(bytes) as JsonObject
    if (!decode) throw unsupportedMediaType(BODY_TYPES.slice(0, 2))
    const metadata = isObject(object.metadata) ? object.metadata : {}
    return { ...object, apiVersion: group === '' ? version.name : `${group}/${version.name}`, kind: names.kind, metadata }
  } catch (error) {
    if (error instanceof StatusError) throw error
    throw badRequest(`the object provided is unrecognized (must be of type ${names.kind}): ${error instanceof Error ? error.message : String(error)} (${summarize(bytes)})`)
  }
}

/** Decodes the body of a DELETE. Throws 400 and 415. */
export async function decodeDeleteOptions(context: RequestContext, bytes: Uint8Array, mediaType: string): Promise<JsonObject> {
  if (mediaType !== PROTOBUF) {
    const yaml = await yamlDecoder(context, bytes, mediaType)
    return decodeOptions(bytes, mediaType as BodyMediaType, { group: 'meta.k8s.io', version: 'v1', kind: 'DeleteOptions' }, yaml)
  }
  try {
    const { apiVersion, kind, decode } = openKubeProtobuf(bytes)
    if (kind !== '' && kind !== 'DeleteOptions') throw notRegistered({ ...parseApiVersion(apiVersion), kind })
    return decode(DELETE_OPTIONS)
  } catch (error) {
    throw badRequest(error instanceof Error ? error.message : String(error))
  }
}
