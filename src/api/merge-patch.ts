/**
 * JSON merge patch (RFC 7386) with the quirks of the library that upstream uses.
 * upstream: apiserver/pkg/endpoints/handlers/patch.go: jsonPatcher.applyJSPatch; evanphx/json-patch v4 merge.go
 */
import { DecodeError, jsonKind } from './go-json-error.ts'
import { decodeJson } from './json-parse.ts'
import { getKey, isObject, setKey, type Json, type JsonObject } from './object.ts'
import { badRequest, unprocessablePatch } from './status.ts'

/** A decoded merge patch: an object, or with fieldValidation Ignore possibly an array. `findings` are what field validation warns of or refuses. */
export interface DecodedMergePatch {
  readonly patch: JsonObject | Json[]
  readonly findings: readonly string[]
}

/** The 400 for a body that is no merge patch. upstream: jsonpatch.ErrBadJSONPatch */
const INVALID = 'Invalid JSON Patch'

/** Decodes the body of a merge patch. `strict` is true unless fieldValidation is Ignore. Throws 400. */
export function decodeMergePatch(text: string, { strict }: { strict: boolean }): DecodedMergePatch {
  let decoded
  try {
    decoded = decodeJson(text)
  } catch (error) {
    if (error instanceof DecodeError) throw badRequest(strict ? `error decoding patch: ${error.message}` : INVALID)
    throw error
  }
  const { value, duplicates } = decoded
  if (isObject(value)) return { patch: value, findings: strict ? duplicates.map((path) => `duplicate field "${path}"`) : [] }
  if (strict && value !== null) throw badRequest(`error decoding patch: json: cannot unmarshal ${jsonKind(value)} into Go value of type map[string]interface {}`)
  if (!Array.isArray(value)) throw badRequest(INVALID)
  return { patch: value, findings: [] }
}

/**
 * Merges a patch into a value: null deletes, arrays replace. As upstream, nulls inside of what is new disappear, also in
 * objects within arrays, but an array that takes the place of an object keeps its nulls. Throws 422 for what nests too deep for the stack.
 */
export function applyMergePatch(target: Json, patch: Json): Json {
  try {
    return isObject(target) && isObject(patch) ? mergeObjects(target, patch) : withoutNulls(patch)
  } catch (error) {
    if (error instanceof RangeError) throw unprocessablePatch()
    throw error
  }
}

function mergeObjects(target: JsonObject, patch: JsonObject): JsonObject {
  const merged = { ...target }
  for (const key of Object.keys(patch)) {
    const change = patch[key] ?? null
    const current = getKey(target, key) ?? null
    if (change === null) delete merged[key]
    else if (!isObject(current)) setKey(merged, key, withoutNulls(change))
    else setKey(merged, key, isObject(change) ? mergeObjects(current, change) : change)
  }
  return merged
}

function withoutNulls(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (!isObject(value)) return value
  const kept: JsonObject = {}
  for (const key of Object.keys(value)) {
    const member = value[key] ?? null
    if (member !== null) setKey(kept, key, withoutNulls(member))
  }
  return kept
}
