/**
 * Bytes ⇄ objects: request bodies (JSON and YAML) and stored objects.
 * upstream: apimachinery/pkg/runtime/serializer/json/json.go, .../json/meta.go, apiserver/pkg/endpoints/handlers/rest.go
 */
import { DecodeError, jsonKind } from './go-json-error.ts'
import { encodeJson, encodeString, sortedKeys } from './json-encode.ts'
import { decodeJson } from './json-parse.ts'
import { coerceMetadata } from './metadata-coerce.ts'
import { formatApiVersion, getKey, isObject, type GroupVersionKind, type Json, type JsonObject, type KubeObject } from './object.ts'
import { badRequest, StatusError } from './status.ts'
import { decodeYaml } from './yaml.ts'

export { decodeJson, type DecodedJson } from './json-parse.ts'
export { encodeJson } from './json-encode.ts'
export { decodeYaml, encodeYaml } from './yaml.ts'
export { DecodeError } from './go-json-error.ts'

/** The media types that a request body may have. */
export type BodyMediaType = 'application/json' | 'application/yaml'

/** A decoded body. `findings` are what strict decoding refuses: duplicate keys so far. */
export interface DecodedObject {
  readonly object: KubeObject
  readonly findings: string[]
  /** The kind is another than expected: nothing may be pruned or defaulted, and validation refuses it (422). */
  readonly wrongKind: boolean
}

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

/** Parses JSON that we stored ourselves. Throws DecodeError when it is broken. */
export function parseStored(bytes: Uint8Array): Json {
  const text = decodeText(bytes)
  if (UNSAFE_NUMBER.test(text)) return decodeJson(text).value
  try {
    return JSON.parse(text) as Json
  } catch {
    // For the text that names the place, and for nothing else.
    return decodeJson(text).value
  }
}

function decodeText(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
}

/**
 * Decodes a request body. Throws StatusError 400 with upstream's texts; a wrong kind is only reported. `strict` is true for
 * fieldValidation Strict and Warn, false for Ignore: one text depends on it, and Ignore collects no findings.
 */
export function decodeObject(
  bytes: Uint8Array,
  mediaType: BodyMediaType,
  expected: GroupVersionKind,
  options: { readonly strict: boolean },
): DecodedObject {
  const text = decodeText(bytes)
  let value: Json
  let findings: string[]
  let peeked: GroupVersionKind
  let json = text
  try {
    if (mediaType === 'application/yaml') {
      const decoded = decodeYaml(text)
      value = decoded.value
      findings = decoded.duplicates.length > 0 ? [yamlFinding(decoded.duplicates)] : []
      json = options.strict ? text : encodeJson(value)
      peeked = withDefaults(peekKind(value), expected)
    } else {
      const decoded = decodeForPeek(text)
      value = decoded.value
      findings = decoded.duplicates.map((path) => `duplicate field "${path}"`)
      peeked = withDefaults(peekKind(value), expected)
      if (decoded.error) throw badRequest(unhandled(peeked, expected, decoded.error.message))
    }
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    throw badRequest(`${unrecognized(expected)}: ${error.message} (${summarize(bytes)})`)
  }
  const kind = isObject(value) ? getKey(value, 'kind') : undefined
  if (!isObject(value) || typeof kind !== 'string' || kind === '') {
    const missing = `Object 'Kind' is missing in '${json}'`
    throw badRequest(options.strict ? `${unrecognized(expected)}: ${missing} (${summarize(bytes)})` : unhandled(peeked, expected, missing))
  }
  return accept(value, expected, options.strict ? findings : [])
}

// Numbers out of range are found by the second of upstream's two decoders, the one that knows the kind already.
function decodeForPeek(text: string): { value: Json; duplicates: string[]; error?: DecodeError } {
  try {
    return decodeJson(text)
  } catch (error) {
    if (error instanceof DecodeError && error.message.startsWith('json: cannot unmarshal number')) return { value: JSON.parse(text), duplicates: [], error }
    if (error instanceof DecodeError) throw new DecodeError(`couldn't get version/kind; json parse error: ${error.message}`)
    throw error
  }
}

function accept(value: JsonObject, expected: GroupVersionKind, findings: string[]): DecodedObject {
  const apiVersion = getKey(value, 'apiVersion')
  const object = { ...value, apiVersion: typeof apiVersion === 'string' ? apiVersion : '', kind: value.kind as string } as KubeObject
  const metadata = getKey(value, 'metadata')
  if (metadata === undefined || metadata === null) object.metadata = {}
  const wanted = formatApiVersion(expected.group, expected.version)
  const actual = object.apiVersion.startsWith('/') ? object.apiVersion.slice(1) : object.apiVersion
  if (actual !== wanted) {
    // Bad metadata and strict findings are decoding errors, and come before this check.
    receiveMetadata(object, expected)
    if (findings.length > 0) throw strictDecodingError(object, expected, findings)
    throw badRequest(`the API version in the data (${actual}) does not match the expected API version (${wanted})`)
  }
  return { object, findings, wrongKind: object.kind !== expected.kind }
}

/** Metadata through Go's ObjectMeta, with upstream's 400 for fields of a wrong type. Returns the object and the unknown fields' paths. */
export function receiveMetadata(object: KubeObject, expected: GroupVersionKind): { object: KubeObject; unknown: string[] } {
  try {
    return coerceMetadata(object, { lenient: false })
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    throw decodingError(object, expected, error.message)
  }
}

/** 400: `Kind in version "v1" cannot be handled as a Kind: <text>`. upstream: transformDecodeError */
export function decodingError(object: KubeObject, expected: GroupVersionKind, text: string): StatusError {
  const version = object.apiVersion.slice(object.apiVersion.indexOf('/') + 1)
  return badRequest(unhandled({ ...expected, kind: object.kind, version: version || expected.version }, expected, text))
}

/** 400 for findings under fieldValidation Strict. upstream: runtime.NewStrictDecodingError */
export function strictDecodingError(object: KubeObject, expected: GroupVersionKind, findings: readonly string[]): StatusError {
  return decodingError(object, expected, `strict decoding error: ${findings.join(', ')}`)
}

const YAML_LEAD = 'yaml: unmarshal errors:'

function yamlFinding(duplicates: readonly string[]): string {
  return [YAML_LEAD, ...duplicates.map((line) => `  ${line}`)].join('\n')
}

/** The findings as warnings: the one of a YAML body becomes one per line. upstream: addStrictDecodingWarnings, parseYAMLWarnings */
export function findingsAsWarnings(findings: readonly string[]): string[] {
  return findings.flatMap((finding) => {
    if (!finding.startsWith(YAML_LEAD)) return [finding]
    return finding
      .split('\n')
      .slice(1)
      .map((line) => line.trim())
  })
}

function unrecognized(expected: GroupVersionKind): string {
  return `the object provided is unrecognized (must be of type ${expected.kind})`
}

function unhandled(actual: GroupVersionKind, expected: GroupVersionKind, text: string): string {
  return `${actual.kind} in version "${actual.version}" cannot be handled as a ${expected.kind}: ${text}`
}

// upstream: runtime/serializer/json/json.go gvkWithDefaults
function withDefaults(actual: GroupVersionKind, defaults: GroupVersionKind): GroupVersionKind {
  const bare = actual.version === '' && actual.group === ''
  return {
    kind: actual.kind || defaults.kind,
    group: bare ? defaults.group : actual.group,
    version: bare || (actual.version === '' && actual.group === defaults.group) ? defaults.version : actual.version,
  }
}

const PEEK_STRUCT = String.raw`struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }`

/** apiVersion and kind as encoding/json finds them: any case of the key will do. upstream: json.SimpleMetaFactory.Interpret */
function peekKind(value: Json): GroupVersionKind {
  const fail = (text: string): never => {
    throw new DecodeError(`couldn't get version/kind; json parse error: json: cannot unmarshal ${text}`)
  }
  if (value === null) return { group: '', version: '', kind: '' }
  if (!isObject(value)) return fail(`${jsonKind(value)} into Go value of type ${PEEK_STRUCT}`)
  let apiVersion = ''
  let kind = ''
  for (const [key, member] of Object.entries(value)) {
    const field = key.length <= 10 ? key.toLowerCase() : ''
    if ((field !== 'kind' && field !== 'apiversion') || member === null) continue
    if (typeof member !== 'string') return fail(`${jsonKind(member)} into Go struct field .${field === 'kind' ? field : 'apiVersion'} of type string`)
    if (field === 'kind') kind = member
    else apiVersion = member
  }
  return { ...splitGroupVersion(apiVersion), kind }
}

/** upstream: schema.ParseGroupVersion */
function splitGroupVersion(text: string): { group: string; version: string } {
  if (text === '' || text === '/') return { group: '', version: '' }
  const parts = text.split('/')
  if (parts.length > 2) throw new DecodeError(`unexpected GroupVersion string: ${text}`)
  return parts.length === 1 ? { group: '', version: text } : { group: parts[0] as string, version: parts[1] as string }
}

/** upstream: handlers.summarizeData */
function summarize(bytes: Uint8Array): string {
  if (bytes.length === 0) return '<empty>'
  const more = bytes.length > 30 ? ' ...' : ''
  const head = Buffer.from(bytes.subarray(0, 30))
  return `${bytes[0] === BRACE_OPEN ? head.toString('utf8') : head.toString('hex')}${more}`
}
