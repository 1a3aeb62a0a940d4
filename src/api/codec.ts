/**
 * Bytes ⇄ objects: what the rest of the code needs of request bodies (decode-object.ts) and stored objects.
 */
import { encodeJson, encodeString, sortedKeys } from './json-encode.ts'
import { decodeJson } from './json-parse.ts'
import type { Json, JsonObject, KubeObject } from './object.ts'
import { decodeText } from './decode-text.ts'

export { checkDepth, decodeJson, type DecodedJson } from './json-parse.ts'
export { encodeInOrder, encodeJson, encodePatched } from './json-encode.ts'
export { decodeYaml, encodeYaml, type DecodedYaml, type YamlDecoder } from './yaml.ts'
export { DecodeError } from './go-json-error.ts'
export {
  decodeObject,
  summarize,
  decodeOptions,
  decodingError,
  findingsAsWarnings,
  kindOf,
  NULL_API_VERSION,
  notRegistered,
  strictDecodingError,
  type BodyMediaType,
  type DecodedObject,
} from './decode-object.ts'

/** JSON of an object without its resourceVersion. `place` is the UTF-8 byte offset where `spliceRevision` puts it. */
export interface EncodedObject {
  readonly text: string
  readonly place: number
}

const REVISION_KEY = 'resourceVersion'

/** Canonical JSON of an object without metadata.resourceVersion, and the place where that belongs. */
export function encodeObject(object: KubeObject): EncodedObject {
  let before = '{'
  let after = ''
  let found = false
  for (const key of sortedKeys(object)) {
    const comma = before.length > 1 ? ',' : ''
    if (key !== 'metadata') {
      const member = `${comma}${encodeString(key)}:${encodeJson(object[key] as Json)}`
      if (found) after += member
      else before += member
      continue
    }
    const [left, right] = encodeMetadata(object.metadata)
    before += `${comma}"metadata":{${left}`
    after = `${right}}`
    found = true
  }
  const place = Buffer.byteLength(before)
  return { text: `${before}${after}}`, place }
}

// The members before and after the resourceVersion; the comma between two members stands at the end of the left part.
function encodeMetadata(metadata: JsonObject): [string, string] {
  let left = ''
  let right = ''
  for (const key of sortedKeys(metadata)) {
    if (key === REVISION_KEY) continue
    const member = `${encodeString(key)}:${encodeJson(metadata[key] as Json)}`
    if (key < REVISION_KEY) left += left === '' ? member : `,${member}`
    else right += right === '' ? member : `,${member}`
  }
  return [left !== '' && right !== '' ? `${left},` : left, right]
}

const BRACE_OPEN = 0x7b
const BRACE_CLOSE = 0x7d

/** Writes `"resourceVersion":"<revision>"` at `place`, with the comma on the side where another member stands. */
export function spliceRevision(bytes: Uint8Array, place: number, revision: number | string): Uint8Array {
  return Buffer.concat([bytes.subarray(0, place), Buffer.from(revisionMember(bytes, place, revision)), bytes.subarray(place)])
}

/** The text that `spliceRevision` writes at `place`: the member, with the comma that it needs there. */
export function revisionMember(bytes: Uint8Array, place: number, revision: number | string): string {
  const last = bytes[place] === BRACE_CLOSE
  const only = last && bytes[place - 1] === BRACE_OPEN
  return `${last && !only ? ',' : ''}"${REVISION_KEY}":"${revision}"${last ? '' : ','}`
}

// Numbers that JSON.parse would change: 16 digits and more, and floats that are or may be integral. A match in a string only costs time.
const UNSAFE_NUMBER = /[:,[]\s*-?\d(?:\d{15}|\d*\.\d*0(?!\d)|[\d.]*[eE])/

/** Parses JSON that we stored ourselves, however deep it nests. Throws DecodeError when it is broken. */
export function parseStored(bytes: Uint8Array): Json {
  const text = decodeText(bytes)
  if (UNSAFE_NUMBER.test(text)) return decodeJson(text, { maxDepth: Infinity }).value
  try {
    return JSON.parse(text) as Json
  } catch {
    // For the text that names the place, and for nothing else.
    return decodeJson(text, { maxDepth: Infinity }).value
  }
}
