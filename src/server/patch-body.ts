/**
 * PATCH bodies → a Transform for the registry's update loop.
 * upstream: apiserver/pkg/endpoints/handlers/patch.go
 */
import { checkDepth, DecodeError, decodeJson, encodeJson, encodePatched, findingsAsWarnings, kindOf, NULL_API_VERSION, type YamlDecoder } from '../api/codec.ts'
import { decodeText } from '../api/decode-text.ts'
import { jsonKind } from '../api/go-json-error.ts'
import { getKey, isObject, type Json, type JsonObject, type KubeObject } from '../api/object.ts'
import { applyJsonPatch, applyMergePatch, decodeJsonPatch, decodeMergePatch } from '../api/patch.ts'
import { receive, receiveMetadata } from '../api/receive.ts'
import type { VersionDefinition } from '../api/resource.ts'
import { applyStrategicMerge } from '../api/strategic-merge.ts'
import { badRequest, internalError, invalidPatch, StatusError, unsupportedMediaType } from '../api/status.ts'
import type { Configuration } from '../registry/apply.ts'
import type { ResourceStore } from '../registry/resource-store.ts'
import { checkName, settleNamespace } from '../registry/write.ts'
import { sentVersion } from './body.ts'
import { objectNamespace, type RequestContext } from './context.ts'
import type { FieldValidation } from './options.ts'

const JSON_PATCH = 'application/json-patch+json'
const MERGE_PATCH = 'application/merge-patch+json'
const STRATEGIC = 'application/strategic-merge-patch+json'
/** The media type of server-side apply. */
export const APPLY_PATCH = 'application/apply-patch+yaml'

/** The type of a PATCH: everything before `;`, case-sensitive. Throws 415. */
export function patchMediaType(header: string | undefined, store: ResourceStore): string {
  const type = (header ?? '').split(';')[0] ?? ''
  const served = [JSON_PATCH, MERGE_PATCH, ...(store.strategy.strategicMergeKeys ? [STRATEGIC] : []), APPLY_PATCH]
  if (!served.includes(type)) throw unsupportedMediaType(served)
  return type
}

/** What a patch makes of the live object, and its text as errors quote it. */
export interface Patched {
  readonly value: Json
  text(): string
}

/** What a patched object becomes; its faults are those of the patch. `findings` are what strict decoding refuses of the patch itself. Throws 400 and 422. */
export type ReceivePatched<T extends KubeObject> = (context: RequestContext, patched: Patched, findings: readonly string[], validation: FieldValidation) => T

/** The transform of a patch. It decodes at its first call, since a missing object is found before a bad patch; throws 400, 413 and what `receive` throws. */
export function createPatch<T extends KubeObject>(
  context: RequestContext, mediaType: string, bytes: Uint8Array, validation: FieldValidation, receive: ReceivePatched<T>,
): (live: KubeObject) => T {
  let decoded: DecodedPatch | undefined
  return (live) => {
    decoded ??= decode(context, mediaType, decodeText(bytes), validation !== 'Ignore')
    return receive(context, decoded.apply(live), decoded.findings, validation)
  }
}

/** The configuration of an apply: YAML, and so JSON as well. Throws 400 when it is decoded, or for duplicate keys under Strict. */
export function createConfiguration({ warnings }: RequestContext, yaml: YamlDecoder, bytes: Uint8Array, validation: FieldValidation): Configuration {
  let decoded: { readonly value: JsonObject; readonly duplicates: readonly string[] } | undefined
  return {
    decode() {
      decoded ??= decodeConfiguration(decodeText(bytes), yaml)
      return decoded.value
    },
    check() {
      const duplicates = decoded?.duplicates ?? []
      if (duplicates.length === 0 || validation === 'Ignore') return
      if (validation === 'Warn') for (const text of duplicates) warnings.add(text)
      else throw badRequest(`error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n${duplicates.map((line) => `  ${line}`).join('\n')}`)
    },
  }
}

function decodeConfiguration(text: string, yaml: YamlDecoder): { value: JsonObject; duplicates: string[] } {
  const { value, duplicates } = decodeOr400(text, yaml)
  if (isObject(value)) return { value, duplicates }
  if (value === null) return { value: {}, duplicates }
  throw badRequest(`error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal ${jsonKind(value)} into Go value of type map[string]interface {}`)
}

function decodeOr400(text: string, yaml: YamlDecoder) {
  try {
    return yaml(text)
  } catch (error) {
    throw badRequest(`error decoding YAML: error converting YAML to JSON: ${error instanceof Error ? error.message : String(error)}`)
  }
}

interface DecodedPatch {
  readonly apply: (live: KubeObject) => Patched
  readonly findings: readonly string[]
}

function decode({ store }: RequestContext, mediaType: string, text: string, strict: boolean): DecodedPatch {
  if (mediaType === JSON_PATCH) {
    const { operations, findings } = decodeJsonPatch(text, { strict })
    return { apply: (live) => made(applyJsonPatch(live, operations), (value) => encodePatched(value, operations)), findings }
  }
  if (mediaType === MERGE_PATCH) {
    const { patch, findings } = decodeMergePatch(text, { strict })
    return { apply: (live) => made(applyMergePatch(live, patch), (value) => encodePatched(value, patch)), findings }
  }
  const patch = strategicPatch(text)
  const keys = store.strategy.strategicMergeKeys ?? {}
  return { apply: (live) => made(applyStrategicMerge(live, patch, keys), encodeJson), findings: [] }
}

const made = (value: Json, encode: (value: Json) => string): Patched => ({ value, text: () => encode(value) })

function strategicPatch(text: string): JsonObject {
  try {
    const { value } = decodeJson(text)
    if (isObject(value)) return value
  } catch (error) {
    throw badRequest(`error decoding patch: ${error instanceof Error ? error.message : String(error)}`)
  }
  throw badRequest('error decoding patch: json: cannot unmarshal into Go value of type map[string]interface {}')
}

/** A patched object goes the way of an update's body. Throws 400 and 422. */
export function receivePatched(context: RequestContext, { value: patched, text }: Patched, patchFindings: readonly string[], validation: FieldValidation): KubeObject {
  const { store, info, warnings } = context
  const refuse = (detail: string) => invalidPatch(text(), detail)
  checkType(context, patched, text, refuse)
  const sent = { apiVersion: '', ...(patched as object) } as KubeObject
  const received = receiveOr(sent, sentVersion(store.definition, sent), refuse)
  const findings = [...patchFindings, ...received.findings]
  if (validation === 'Strict' && findings.length > 0) throw refuse(`strict decoding error: ${findings.join(', ')}`)
  if (validation === 'Warn') for (const text of findingsAsWarnings(findings)) warnings.add(text)
  const object = settleNamespace(received.object, objectNamespace(context))
  checkName(object, info.name)
  if (object.apiVersion === '') throw internalError(NO_API_VERSION)
  return object
}

const NO_API_VERSION = "Object 'apiVersion' is missing in 'object has no apiVersion field'"

// A type that cannot be read is refused; another than the resource's is left to validation.
function checkType({ store, version }: RequestContext, patched: Json, text: Patched['text'], refuse: (detail: string) => StatusError): void {
  const { group, names } = store.definition
  try {
    kindOf(patched, { group, version: version.name, kind: names.kind })
  } catch (error) {
    throw error instanceof DecodeError ? refuse(error.message) : error
  }
  const kind = isObject(patched) ? getKey(patched, 'kind') : undefined
  if (!isObject(patched) || typeof kind !== 'string' || kind === '') throw refuse(`Object 'Kind' is missing in '${text()}'`)
  if (getKey(patched, 'apiVersion') === null) throw refuse(NULL_API_VERSION)
}

function receiveOr(object: KubeObject, version: VersionDefinition | undefined, refuse: (detail: string) => StatusError) {
  try {
    checkDepth(object)
    return version === undefined ? receiveMetadata(object) : receive(object, version)
  } catch (error) {
    throw refuse(error instanceof Error ? error.message : String(error))
  }
}
