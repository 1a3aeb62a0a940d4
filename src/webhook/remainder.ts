/** The annotation in which an object of a poorer version carries what that version cannot show. It is input like any other. */
import { decodeJson, DecodeError, encodeJson } from '../api/codec.ts'
import type { Remainder } from '../api/conversion.ts'
import { getKey, isObject, setKey, type JsonObject } from '../api/object.ts'

/** The annotation; its value is the remainder as canonical JSON. Its absence means that there is none: the richer version takes its defaults. */
export const REMAINDER_ANNOTATION = 'mlops.dev/remainder'
/** Bytes of the annotation's value. What does not fit fails the conversion and is never dropped. */
export const MAX_REMAINDER_BYTES = 128 * 1024
/** Bytes of the keys and values of all annotations. upstream: apimachinery/pkg/api/validation/objectmeta.go: TotalAnnotationSizeLimitB */
export const MAX_ANNOTATIONS_BYTES = 256 * 1024

/** Why an object cannot be converted, in words for whoever sent it. */
export class ConversionError extends Error {}

/** Metadata without the annotation; the same value when it has none. An empty map of annotations goes with it. */
export function dropRemainder(metadata: JsonObject): JsonObject {
  const annotations = annotationsOf(metadata)
  if (!Object.hasOwn(annotations, REMAINDER_ANNOTATION)) return metadata
  const { [REMAINDER_ANNOTATION]: _, ...others } = annotations
  if (Object.keys(others).length > 0) return { ...metadata, annotations: others }
  const { annotations: __, ...rest } = metadata
  return rest
}

/** What the annotation holds; undefined where there is none. Throws ConversionError for one that is no remainder. */
export function readRemainder(metadata: JsonObject): Remainder | undefined {
  const text = getKey(annotationsOf(metadata), REMAINDER_ANNOTATION)
  if (text === undefined) return undefined
  if (typeof text !== 'string') throw new ConversionError(`the annotation ${REMAINDER_ANNOTATION} is no string`)
  checkSize(text)
  const value = parse(text)
  if (!isObject(value)) throw new ConversionError(`the annotation ${REMAINDER_ANNOTATION} is no JSON object`)
  return value
}

function parse(text: string): unknown {
  try {
    return decodeJson(text).value
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    throw new ConversionError(`the annotation ${REMAINDER_ANNOTATION} is no JSON: ${error.message}`, { cause: error })
  }
}

/** Metadata, which has no such annotation, with a remainder. Throws ConversionError when there is no room for it. */
export function addRemainder(metadata: JsonObject, remainder: Remainder): JsonObject {
  const text = encodeJson(remainder)
  checkSize(text)
  const annotations: JsonObject = { ...annotationsOf(metadata) }
  setKey(annotations, REMAINDER_ANNOTATION, text)
  let bytes = 0
  for (const [key, value] of Object.entries(annotations)) bytes += Buffer.byteLength(key) + Buffer.byteLength(String(value))
  if (bytes > MAX_ANNOTATIONS_BYTES) {
    throw new ConversionError(`with what this version cannot show the annotations have ${bytes} bytes, more than the ${MAX_ANNOTATIONS_BYTES} that an object may have`)
  }
  return { ...metadata, annotations }
}

function checkSize(text: string): void {
  const bytes = Buffer.byteLength(text)
  if (bytes > MAX_REMAINDER_BYTES) {
    throw new ConversionError(`what this version cannot show has ${bytes} bytes, more than the ${MAX_REMAINDER_BYTES} that the annotation ${REMAINDER_ANNOTATION} may have`)
  }
}

function annotationsOf(metadata: JsonObject): JsonObject {
  const annotations = getKey(metadata, 'annotations')
  return isObject(annotations) ? annotations : {}
}
