/**
 * The way from client-side apply to server-side apply, for the manager `kubectl`: the annotation with the last configuration.
 * upstream: apimachinery/pkg/util/managedfields/internal/{lastapplied,lastappliedmanager,lastappliedupdater}.go
 */
import { DecodeError } from '../go-json-error.ts'
import { encodeJson } from '../json-encode.ts'
import { decodeJson } from '../json-parse.ts'
import { getKey, isObject, setKey, type JsonObject, type KubeObject } from '../object.ts'
import { compareTyped } from './compare.ts'
import { difference, type FieldSet } from './field-set.ts'
import type { Scope } from './scope.ts'
import { toFieldSet } from './to-field-set.ts'
import { requestType } from './updater.ts'
import { TypeMismatch, validateTyped } from './validate.ts'

/** The only manager that this is for. */
export const KUBECTL_MANAGER = 'kubectl'

const ANNOTATION = 'kubectl.kubernetes.io/last-applied-configuration'
const MAX_ANNOTATIONS_BYTES = 256 * 1024

/** Fields of the annotation that are as in the live object: they may be taken over without force. Nothing when there is no usable annotation. */
export function fieldsLastApplied(scope: Scope, live: KubeObject): FieldSet | undefined {
  const text = getKey(live.metadata.annotations ?? {}, ANNOTATION)
  if (typeof text !== 'string' || text === '') return undefined
  try {
    const config = decodeJson(text).value
    if (!isObject(config) || config.apiVersion !== scope.apiVersion || config.kind !== scope.kind) return undefined
    const type = requestType(scope)
    validateTyped(live, type, { allowDuplicates: false })
    validateTyped(config, type, { allowDuplicates: false })
    const { added, modified, removed } = compareTyped(config, live, type)
    return [modified, added, removed].reduce(difference, toFieldSet(config, type))
  } catch (error) {
    if (error instanceof TypeMismatch || error instanceof DecodeError) return undefined
    throw error
  }
}

/** The object with its annotation, if it has one, set to the configuration that was applied; without it when annotations would be too big. */
export function updateLastApplied(object: KubeObject, config: JsonObject): KubeObject {
  const annotations = isObject(object.metadata) ? object.metadata.annotations : undefined
  if (!annotations || !getKey(annotations, ANNOTATION)) return object
  const { [ANNOTATION]: _, ...others } = annotations
  const text = `${encodeJson(withoutAnnotation(config))}\n`
  const next: JsonObject = { ...others }
  if (sizeOf({ ...others, [ANNOTATION]: text }) <= MAX_ANNOTATIONS_BYTES) setKey(next, ANNOTATION, text)
  return { ...object, metadata: { ...object.metadata, annotations: next as Record<string, string> } }
}

function withoutAnnotation(config: JsonObject): JsonObject {
  const { metadata } = config
  if (!isObject(metadata) || !Object.hasOwn(metadata, 'annotations')) return config
  const { annotations, ...rest } = metadata
  if (!isObject(annotations)) return { ...config, metadata: rest }
  const { [ANNOTATION]: _, ...others } = annotations
  return { ...config, metadata: { ...metadata, annotations: others } }
}

function sizeOf(annotations: Record<string, string>): number {
  return Object.entries(annotations).reduce((size, [key, value]) => size + Buffer.byteLength(key) + Buffer.byteLength(value), 0)
}
