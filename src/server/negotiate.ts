/**
 * Accept header → the form of the answer, with the quirks of upstream's parser.
 * upstream: apiserver/pkg/endpoints/handlers/negotiation/negotiate.go, github.com/munnerz/goautoneg
 */
import { notAcceptable } from '../api/status.ts'
import { parseQuery } from './query.ts'

/** The encodings of answers. Protobuf is only for metadata and errors, since custom resources have no messages: clients list JSON beside it. */
export type MediaType = 'application/json' | 'application/yaml' | typeof PROTOBUF

/** The media type of protobuf. */
export const PROTOBUF = 'application/vnd.kubernetes.protobuf'

/** How an answer is encoded, and which other form of the object is wanted. */
export interface Negotiated {
  readonly mediaType: MediaType
  readonly as?: 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList'
  /** Version of group meta.k8s.io; set with `as`. */
  readonly asVersion?: 'v1' | 'v1beta1'
  /** Indented by two blanks; never for YAML. */
  readonly pretty: boolean
}

/** What of a request decides about indentation: `?pretty=` and the User-Agent. `url` is the request target. */
export interface PrettySource {
  readonly url?: string | undefined
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
}

/** Media types in the order of preference, as 406 names them. */
const MEDIA_TYPES: readonly MediaType[] = ['application/json', 'application/yaml', PROTOBUF]
const STREAM_TYPES = ['application/json;stream=watch', `${PROTOBUF};stream=watch`]
const FORMS = ['Table', 'PartialObjectMetadata', 'PartialObjectMetadataList'] as const

/** The form of an object or a list. Throws 406 when nothing in the header can be served. */
export function negotiate(accept: string | undefined, request: PrettySource): Negotiated {
  const found = choose(accept, acceptResource)
  if (!found) throw notAcceptable(MEDIA_TYPES)
  return finish(found, request)
}

/** Checks that what `negotiate` chose can be streamed: YAML cannot. Throws 406. upstream: negotiation.NegotiateOutputMediaTypeStream */
export function checkStreamable({ mediaType }: Negotiated): void {
  if (mediaType === 'application/yaml') throw notAcceptable(STREAM_TYPES)
}

/**
 * The form of an answer that has no other forms (discovery documents). Throws 406. upstream: DefaultEndpointRestrictions
 */
export function negotiatePlain(accept: string | undefined, request: PrettySource): Negotiated {
  const found = choose(accept, acceptText)
  if (!found) throw notAcceptable(MEDIA_TYPES)
  return finish(found, request)
}

/** The form of an error. Where the header leaves none, indented JSON. upstream: responsewriters.ErrorNegotiated */
export function negotiateError(accept: string | undefined, request: PrettySource): Negotiated {
  const found = choose(accept, acceptPlain)
  return found ? finish(found, request) : { mediaType: 'application/json', pretty: true }
}

type Choice = Omit<Negotiated, 'pretty'> & { readonly prettyParameter: boolean }

function finish({ prettyParameter, ...chosen }: Choice, request: PrettySource): Negotiated {
  return { ...chosen, pretty: chosen.mediaType === 'application/json' && (prettyParameter || isPretty(request)) }
}

const PARSE_BOOL_TRUE = new Set(['1', 't', 'T', 'TRUE', 'true', 'True'])

/** Whether a person reads the answer. upstream: responsewriters.isPrettyPrint */
export function isPretty({ url = '', headers }: PrettySource): boolean {
  const mark = url.indexOf('?')
  const value = mark < 0 || !url.includes('pretty', mark) ? '' : (parseQuery(url.slice(mark + 1)).get('pretty') ?? '')
  if (value !== '') return PARSE_BOOL_TRUE.has(value)
  const agent = String(headers['user-agent'] ?? '')
  return agent.startsWith('curl') || agent.startsWith('Wget') || agent.startsWith('Mozilla/5.0')
}

/** One clause of an Accept header. */
export interface AcceptClause {
  readonly type: string
  readonly subtype: string
  readonly parameters: ReadonlyMap<string, string>
  readonly quality: number
}

/** The first acceptable pair of clause and encoding, clauses in order of preference. */
function choose(accept: string | undefined, accepts: (parameters: ReadonlyMap<string, string>, mediaType: MediaType) => Choice | undefined): Choice | undefined {
  if (!accept) return { mediaType: 'application/json', prettyParameter: false }
  for (const clause of parseAccept(accept)) {
    for (const mediaType of MEDIA_TYPES) {
      if (!matchesType(clause, mediaType)) continue
      const choice = accepts(clause.parameters, mediaType)
      if (choice) return choice
    }
  }
  return undefined
}

/** Whether a clause asks for a media type, exactly or by a wildcard. */
export function matchesType({ type, subtype }: AcceptClause, mediaType: string): boolean {
  if (type === '*') return subtype === '*'
  return `${type}/${subtype}` === mediaType || (subtype === '*' && mediaType.startsWith(`${type}/`))
}

// upstream: acceptMediaTypeOptions with the restrictions of a resource's RequestScope
function acceptResource(parameters: ReadonlyMap<string, string>, mediaType: MediaType): Choice | undefined {
  if (!allowsStream(parameters, mediaType)) return undefined
  const served = parameters.get('sv') ?? ''
  if (served !== '' && served !== 'v1') return undefined
  const prettyParameter = parameters.get('pretty') === '1'
  if (!parameters.has('as') && !parameters.has('g') && !parameters.has('v')) return mediaType === PROTOBUF ? undefined : { mediaType, prettyParameter }
  const as = FORMS.find((form) => form === parameters.get('as'))
  const asVersion = (['v1', 'v1beta1'] as const).find((version) => version === parameters.get('v'))
  if (!as || !asVersion || parameters.get('g') !== 'meta.k8s.io' || (as === 'Table' && mediaType === PROTOBUF)) return undefined
  return { mediaType, as, asVersion, prettyParameter }
}

// upstream: acceptMediaTypeOptions with DefaultEndpointRestrictions
function acceptPlain(parameters: ReadonlyMap<string, string>, mediaType: MediaType): Choice | undefined {
  if (['as', 'g', 'v'].some((name) => parameters.has(name)) || !allowsStream(parameters, mediaType) || parameters.get('sv')) return undefined
  return { mediaType, prettyParameter: parameters.get('pretty') === '1' }
}

// Documents are not encoded in protobuf.
function acceptText(parameters: ReadonlyMap<string, string>, mediaType: MediaType): Choice | undefined {
  return mediaType === PROTOBUF ? undefined : acceptPlain(parameters, mediaType)
}

function allowsStream(parameters: ReadonlyMap<string, string>, mediaType: MediaType): boolean {
  const stream = parameters.get('stream') ?? ''
  return stream === '' || (stream === 'watch' && mediaType !== 'application/yaml')
}

/** The clauses of an Accept header in upstream's order. What is no media type is dropped. */
export function parseAccept(header: string): AcceptClause[] {
  const clauses: AcceptClause[] = []
  for (const part of header.split(',')) {
    const clause = parseClause(part.trim())
    if (clause) clauses.push(clause)
  }
  return sortClauses(clauses)
}

function parseClause(text: string): AcceptClause | undefined {
  const [range = '', ...pieces] = text.split(';')
  const [type = '', subtype, ...more] = range.split('/').map((piece) => piece.trim())
  if (more.length > 0 || (!subtype && type !== '*')) return undefined
  const parameters = new Map<string, string>()
  let quality = 1
  for (const piece of pieces) {
    const [name = '', value, ...rest] = piece.split('=')
    if (!value || rest.length > 0) continue
    if (name.trim() === 'q') quality = parseQuality(value)
    else parameters.set(name.trim(), value.trim())
  }
  return { type, subtype: subtype || '*', parameters, quality }
}

// Go's ParseFloat(…, 32): what is no number counts as 0, and a quality of 0 excludes nothing.
function parseQuality(text: string): number {
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Math.fround(Number(text)) : 0
}

// upstream's comparison is not transitive, so the result depends on the algorithm: Go sorts up to 12 by insertion.
const INSERTION_LIMIT = 12

function sortClauses(clauses: AcceptClause[]): AcceptClause[] {
  if (clauses.length > INSERTION_LIMIT) return clauses.sort((a, b) => (isBefore(a, b) ? -1 : isBefore(b, a) ? 1 : 0))
  for (let i = 1; i < clauses.length; i++) {
    for (let j = i; j > 0; j--) {
      const [left, right] = [clauses[j - 1] as AcceptClause, clauses[j] as AcceptClause]
      if (!isBefore(right, left)) break
      clauses[j - 1] = right
      clauses[j] = left
    }
  }
  return clauses
}

function isBefore(a: AcceptClause, b: AcceptClause): boolean {
  if (a.quality > b.quality) return true
  return (a.type !== '*' && b.type === '*') || (a.subtype !== '*' && b.subtype === '*')
}
