/**
 * Request bodies → objects, with upstream's 400 texts.
 * upstream: apimachinery/pkg/runtime/serializer/json/{json,meta}.go, apiserver/pkg/endpoints/handlers/rest.go
 */
import { DecodeError, jsonKind } from './go-json-error.ts'
import { encodeJson } from './json-encode.ts'
import { decodeJson, type ReplacedMember } from './json-parse.ts'
import { formatApiVersion, getKey, isObject, type GroupVersionKind, type Json, type JsonObject, type KubeObject } from './object.ts'
import { badRequest, goQuote, type StatusError } from './status.ts'
import { decodeText } from './decode-text.ts'
import { decodeYaml, type YamlDecoder } from './yaml.ts'

/** The media types that a request body may have. */
export type BodyMediaType = 'application/json' | 'application/yaml'

/** A decoded body. `findings` are what strict decoding refuses: duplicate keys so far. */
export interface DecodedObject {
  readonly object: KubeObject
  readonly findings: string[]
  /** The version is another than expected: the error to answer with after all that strict decoding finds. */
  readonly wrongVersion?: StatusError
}

/**
 * Decodes a request body. Throws StatusError 400 with upstream's texts; another kind is left to validation. `strict` is true for
 * fieldValidation Strict and Warn, false for Ignore: one text depends on it, and Ignore collects no findings. `yaml` decodes a YAML body;
 * default: here and now.
 */
export function decodeObject(
  bytes: Uint8Array,
  mediaType: BodyMediaType,
  expected: GroupVersionKind,
  options: { readonly strict: boolean; readonly yaml?: YamlDecoder },
): DecodedObject {
  const body = readBody(bytes, mediaType, expected, options.yaml)
  const { value } = body
  const peeked = peek(body, bytes, expected)
  const kind = isObject(value) ? getKey(value, 'kind') : undefined
  if (!isObject(value) || typeof kind !== 'string' || kind === '') {
    if (options.strict) throw badRequest(`${unrecognized(expected)}: ${missingKind(body.text)} (${summarize(bytes)})`)
    throw badRequest(unhandled(peeked, expected, missingKind(mediaType === 'application/yaml' ? encodeJson(value) : body.text)))
  }
  return accept(value, expected, options.strict ? body.findings : [])
}

/**
 * Decodes a body that is an options object of the API machinery (DeleteOptions): kind and apiVersion may be absent, any apiVersion will do.
 * Throws StatusError 400. upstream: handlers/delete.go, with runtime.NewNotRegisteredErrForKind
 */
export function decodeOptions(bytes: Uint8Array, mediaType: BodyMediaType, expected: GroupVersionKind, yaml: YamlDecoder = decodeYaml): JsonObject {
  const { value, replaced } = readOptions(decodeText(bytes), mediaType, yaml)
  try {
    const actual = kindOf(value, expected, replaced)
    if (actual.kind !== expected.kind) throw notRegistered(actual)
    return isObject(value) ? value : {}
  } catch (error) {
    throw error instanceof DecodeError ? badRequest(error.message) : error
  }
}

function readOptions(text: string, mediaType: BodyMediaType, yaml: YamlDecoder): Pick<Body, 'value' | 'replaced'> {
  try {
    return mediaType === 'application/yaml' ? yaml(text) : decodeJson(text)
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    // A number beyond float64 is no fault of a field that nobody reads.
    if (isOutOfRange(error)) return { value: JSON.parse(text) as Json }
    throw badRequest(`${mediaType === 'application/json' ? PARSE_ERROR : ''}${error.message}`)
  }
}

const isOutOfRange = ({ message }: DecodeError): boolean => message.startsWith('json: cannot unmarshal number')

/** The kind of a decoded body; what it leaves out is taken from `defaults`. `replaced`: see DecodedJson. Throws DecodeError for what cannot have a kind. */
export function kindOf(value: Json, defaults: GroupVersionKind, replaced: readonly ReplacedMember[] = []): GroupVersionKind {
  return withDefaults(peekKind(value, replaced), defaults)
}

/** What is said of an apiVersion that is null. upstream: unstructured.NestedString */
export const NULL_API_VERSION = '.apiVersion accessor error: <nil> is of the type <nil>, expected string'

/** The error for a kind that an endpoint does not know. upstream: runtime.NewNotRegisteredErrForKind */
export function notRegistered({ group, version, kind }: GroupVersionKind): DecodeError {
  return new DecodeError(`no kind ${goQuote(kind)} is registered for version ${goQuote(formatApiVersion(group, version))} in scheme "pkg/runtime/scheme.go:111"`)
}

/** A parsed body. `outOfRange`: it has a number beyond float64, which upstream finds only in a second pass, when it knows the kind. */
interface Body {
  readonly text: string
  readonly value: Json
  readonly findings: string[]
  readonly replaced?: readonly ReplacedMember[]
  readonly outOfRange?: DecodeError
}

function readBody(bytes: Uint8Array, mediaType: BodyMediaType, expected: GroupVersionKind, yaml: YamlDecoder = decodeYaml): Body {
  const text = decodeText(bytes)
  try {
    if (mediaType === 'application/yaml') {
      const { value, duplicates } = yaml(text)
      return { text, value, findings: duplicateFindings(duplicates, mediaType) }
    }
    const { value, duplicates, replaced } = decodeJson(text)
    return { text, value, findings: duplicateFindings(duplicates, mediaType), replaced }
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    if (isOutOfRange(error)) return { text, value: JSON.parse(text), findings: [], outOfRange: error }
    const lead = mediaType === 'application/json' ? PARSE_ERROR : ''
    throw badRequest(`${unrecognized(expected)}: ${lead}${error.message} (${summarize(bytes)})`)
  }
}

function peek(body: Body, bytes: Uint8Array, expected: GroupVersionKind): GroupVersionKind {
  try {
    const peeked = kindOf(body.value, expected, body.replaced)
    if (body.outOfRange) throw badRequest(unhandled(peeked, expected, body.outOfRange.message))
    return peeked
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    throw badRequest(`${unrecognized(expected)}: ${error.message} (${summarize(bytes)})`)
  }
}

function missingKind(text: string): string {
  return `Object 'Kind' is missing in '${text}'`
}

function accept(value: JsonObject, expected: GroupVersionKind, findings: string[]): DecodedObject {
  const apiVersion = getKey(value, 'apiVersion')
  const object = { ...value, apiVersion: typeof apiVersion === 'string' ? apiVersion : '', kind: value.kind as string } as KubeObject
  if (apiVersion === null) {
    throw badRequest(unhandled({ ...expected, kind: object.kind, version: '' }, expected, NULL_API_VERSION))
  }
  const metadata = getKey(value, 'metadata')
  if (metadata === undefined || metadata === null) object.metadata = {}
  const wanted = formatApiVersion(expected.group, expected.version)
  const actual = object.apiVersion.startsWith('/') ? object.apiVersion.slice(1) : object.apiVersion
  const decoded = { object, findings }
  if (actual === wanted) return decoded
  return { ...decoded, wrongVersion: badRequest(`the API version in the data (${actual}) does not match the expected API version (${wanted})`) }
}

/** 400: `Kind in version "v1" cannot be handled as a Kind: <text>`. upstream: transformDecodeError */
export function decodingError(object: KubeObject, expected: GroupVersionKind, text: string): StatusError {
  const version = object.apiVersion.slice(object.apiVersion.indexOf('/') + 1)
  return badRequest(unhandled({ ...expected, kind: object.kind, version }, expected, text))
}

/** 400 for findings under fieldValidation Strict. upstream: runtime.NewStrictDecodingError */
export function strictDecodingError(object: KubeObject, expected: GroupVersionKind, findings: readonly string[]): StatusError {
  // The object has been decoded into what was to know its kind.
  if (object.apiVersion === '') return badRequest("Object 'apiVersion' is missing in 'object has no apiVersion field'")
  return decodingError(object, { ...expected, kind: object.kind }, `strict decoding error: ${findings.join(', ')}`)
}

const YAML_LEAD = 'yaml: unmarshal errors:'

/** What strict decoding says about the duplicate keys of a body: one finding for all of a YAML body, else one for each. */
export function duplicateFindings(duplicates: readonly string[], mediaType: BodyMediaType): string[] {
  if (mediaType === 'application/json') return duplicates.map((path) => `duplicate field "${path}"`)
  return duplicates.length > 0 ? [[YAML_LEAD, ...duplicates.map((line) => `  ${line}`)].join('\n')] : []
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

const PARSE_ERROR = "couldn't get version/kind; json parse error: "
const PEEK_STRUCT = String.raw`struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }`

/**
 * apiVersion and kind as encoding/json finds them: any case of the key will do, and every value that a key has is read. Throws DecodeError (`couldn't get version/kind; …`)
 * for what is no object and for members that are no strings. upstream: json.SimpleMetaFactory.Interpret
 */
function peekKind(value: Json, replaced: readonly ReplacedMember[]): GroupVersionKind {
  const fail = (text: string): never => {
    throw new DecodeError(`${PARSE_ERROR}json: cannot unmarshal ${text}`)
  }
  if (value === null) return { group: '', version: '', kind: '' }
  if (!isObject(value)) return fail(`${jsonKind(value)} into Go value of type ${PEEK_STRUCT}`)
  let apiVersion = ''
  let kind = ''
  const members = Object.entries(value).flatMap((last) => [...replaced.filter(([key]) => key === last[0]), last])
  for (const [key, member] of members) {
    const field = key.length <= 10 ? key.toLowerCase() : ''
    if ((field !== 'kind' && field !== 'apiversion') || member === null || member === undefined) continue
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
/** What an error shows of a body. upstream: handlers/rest.go: summarizeData */
export function summarize(bytes: Uint8Array): string {
  if (bytes.length === 0) return '<empty>'
  const more = bytes.length > 30 ? ' ...' : ''
  const head = Buffer.from(bytes.subarray(0, 30))
  return `${bytes[0] === 0x7b ? cutText(head) : head.toString('hex')}${more}`
}

// Of a character that is cut off, each byte counts as one that cannot be read.
function cutText(head: Buffer): string {
  const lead = head.findLastIndex((byte) => (byte & 0xc0) !== 0x80)
  const byte = head[lead] ?? 0
  const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
  const whole = lead + length > head.length ? lead : head.length
  return head.toString('utf8', 0, whole) + '\ufffd'.repeat(head.length - whole)
}
