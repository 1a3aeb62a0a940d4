/**
 * Bytes → a CustomResourceDefinition as kube-apiserver holds it after decoding and defaulting, with the 400 texts of its create.
 * upstream: apiextensions-apiserver/pkg/apis/apiextensions/v1/defaults.go, apiserver/pkg/endpoints/handlers/create.go
 */
import { decodeObject, decodingError, duplicateFindings, findingsAsWarnings, strictDecodingError, type BodyMediaType } from './decode-object.ts'
import { decodeText } from './decode-text.ts'
import type { DefinitionProps } from './definition-props.ts'
import { DEFINITION } from './definition-types.ts'
import { DecodeError } from './go-json-error.ts'
import { decodeGoStruct } from './go-struct.ts'
import { decodeJson } from './json-parse.ts'
import { isObject, type Json, type JsonObject, type KubeObject } from './object.ts'
import { badRequest } from './status.ts'
import { decodeYaml } from './yaml.ts'

/** The kind of the manifests. */
export const DEFINITION_KIND = { group: 'apiextensions.k8s.io', version: 'v1', kind: 'CustomResourceDefinition' } as const

const API_VERSION = 'apiextensions.k8s.io/v1'
/** A version that upstream can still decode, and then refuses. */
const RETIRED = 'apiextensions.k8s.io/v1beta1'

/** Whether unknown fields and duplicate keys are refused (as kubectl asks for) or only warned of (as a server does unless it is asked). */
export type FieldValidation = 'Strict' | 'Warn'

/** A decoded manifest, with the warnings of its decoding. */
export interface DecodedDefinition {
  readonly definition: DefinitionProps
  readonly warnings: readonly string[]
}

/** Decodes a manifest and fills what it leaves out; zero values are left out. Throws StatusError 400. */
export function decodeDefinition(bytes: Uint8Array, mediaType: BodyMediaType, fieldValidation: FieldValidation): DecodedDefinition {
  const { value, duplicates } = parse(bytes, mediaType)
  const object = withKind(value)
  if (object.kind !== DEFINITION_KIND.kind || (object.apiVersion !== API_VERSION && object.apiVersion !== RETIRED)) throw unregistered(object)
  if (object.apiVersion === RETIRED) throw badRequest(`the API version in the data (${RETIRED}) does not match the expected API version (${API_VERSION})`)
  try {
    const decoded = decodeGoStruct(object, DEFINITION, { sorted: mediaType === 'application/yaml' })
    const findings = [...duplicateFindings(duplicates, mediaType), ...decoded.unknown.map((path) => `unknown field "${path}"`)]
    if (findings.length > 0 && fieldValidation === 'Strict') throw strictDecodingError(object, DEFINITION_KIND, findings)
    return { definition: withDefaults(decoded.value), warnings: findingsAsWarnings(findings) }
  } catch (error) {
    throw error instanceof DecodeError ? decodingError(object, DEFINITION_KIND, error.message) : error
  }
}

// What is no object with a kind goes through the decoder of all objects, for its texts.
function parse(bytes: Uint8Array, mediaType: BodyMediaType): { value: JsonObject; duplicates: string[] } {
  const text = decodeText(bytes)
  let parsed: { value: Json; duplicates: string[] } | undefined
  try {
    parsed = mediaType === 'application/yaml' ? decodeYaml(text) : decodeJson(text)
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
  }
  if (parsed !== undefined && isObject(parsed.value) && isText(parsed.value.kind) && isText(parsed.value.apiVersion)) {
    return { value: parsed.value, duplicates: parsed.duplicates }
  }
  return { value: decodeObject(bytes, mediaType, DEFINITION_KIND, { strict: true }).object, duplicates: [] }
}

const isText = (value: Json | undefined): boolean => value === undefined || value === null || typeof value === 'string'

// A body without kind or apiVersion is of the kind of its URL.
function withKind(value: JsonObject): KubeObject {
  return { ...value, apiVersion: (value.apiVersion as string) || API_VERSION, kind: (value.kind as string) || DEFINITION_KIND.kind } as KubeObject
}

function unregistered(object: KubeObject): Error {
  const text = `no kind "${object.kind}" is registered for version "${object.apiVersion}" in scheme "pkg/runtime/scheme.go:111"`
  return decodingError(object, DEFINITION_KIND, text)
}

function withDefaults(manifest: JsonObject): DefinitionProps {
  const spec = isObject(manifest.spec) ? manifest.spec : {}
  const names: JsonObject = isObject(spec.names) ? { ...spec.names } : {}
  const kind = typeof names.kind === 'string' ? names.kind : ''
  if (names.singular === undefined && kind !== '') names.singular = kind.toLowerCase()
  if (names.listKind === undefined && kind !== '') names.listKind = `${kind}List`
  const conversion = isObject(spec.conversion) ? withPort(spec.conversion) : { strategy: 'None' }
  return { ...manifest, metadata: manifest.metadata ?? {}, spec: { ...spec, names, conversion } } as unknown as DefinitionProps
}

function withPort(conversion: JsonObject): JsonObject {
  const { webhook } = conversion
  if (!isObject(webhook) || !isObject(webhook.clientConfig) || !isObject(webhook.clientConfig.service)) return conversion
  const service = { port: 443, ...webhook.clientConfig.service }
  return { ...conversion, webhook: { ...webhook, clientConfig: { ...webhook.clientConfig, service } } }
}
