/**
 * OpenAPI as answers to requests. Documents depend only on the definitions: each is made when it is first asked for.
 * upstream: kube-openapi/pkg/handler3/handler.go, kube-openapi/pkg/handler/handler.go
 */
import type { Clock } from '../base/clock.ts'
import type { ResourceDefinition } from '../api/resource.ts'
import { entityTag, matchesTag, type Answer } from './answer.ts'
import { servedGroups } from './discovery.ts'
import type { DocumentRequest } from './discovery-answers.ts'
import { encodeOpenApiV2 } from '../api/protobuf-openapi.ts'
import { parseAccept } from './negotiate.ts'
import { openApiV2, openApiV3 } from './openapi-documents.ts'
import { queryOf } from './query.ts'

/** Answers an OpenAPI path; undefined for any other path and for groups and versions that are not served. */
export type OpenApi = (request: DocumentRequest) => Answer | undefined

interface Document {
  readonly body: Buffer
  readonly tag: string
  /** The tag without its quotes. */
  readonly hash: string
}

const V3_ROOT = '/openapi/v3'
const YEAR = 365 * 86_400_000

/** OpenAPI v2 and v3 of these definitions. */
export function createOpenApi(definitions: readonly ResourceDefinition[], { clock }: { readonly clock: Clock }): OpenApi {
  const documents = new Map<string, () => Document>()
  for (const { group, versions } of servedGroups(definitions)) {
    for (const version of versions) {
      const key = group === '' ? `api/${version}` : `apis/${group}/${version}`
      documents.set(key, once(() => document(openApiV3(definitions, group, version))))
    }
  }
  const index = once(() => document({ paths: Object.fromEntries([...documents].map(([key, get]) => [key, { serverRelativeURL: address(key, get()) }])) }))
  const v2 = once(() => document(openApiV2(definitions)))
  const v2Protobuf = once(() => Buffer.from(encodeOpenApiV2(JSON.parse(v2().body.toString()))))
  return (request) => {
    const path = request.path.replace(/\/+$/, '')
    if (path === '/openapi/v2') return negotiatedV2(request, v2, v2Protobuf)
    if (path === V3_ROOT) return answer(request, index(), {})
    const get = path.startsWith(`${V3_ROOT}/`) ? documents.get(path.slice(V3_ROOT.length + 1)) : undefined
    return get && negotiated(request, get, (found) => checkHash(request, path, found, clock))
  }
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined
  return () => (made ??= { value: make() }).value
}

function document(value: unknown): Document {
  const body = Buffer.from(JSON.stringify(value))
  const tag = entityTag(body)
  return { body, tag, hash: tag.slice(1, -1) }
}

function address(key: string, { hash }: Document): string {
  return `${V3_ROOT}/${key}?hash=${hash}`
}

// A hash in the URL makes the answer cacheable for ever, or sends the client to the current document.
function checkHash({ url = '' }: DocumentRequest, path: string, { hash }: Document, clock: Clock): Answer | Readonly<Record<string, string>> {
  const wanted = queryOf(url).get('hash')
  if (!wanted) return {}
  if (wanted !== hash) return { code: 301, headers: { location: `${path}?hash=${hash}`, vary: 'Accept' }, body: '' }
  return { 'cache-control': 'public, immutable', expires: new Date(clock.now() + YEAR).toUTCString() }
}

function negotiated(request: DocumentRequest, get: () => Document, check?: (found: Document) => Answer | Readonly<Record<string, string>>): Answer {
  if (!acceptsJson(header(request, 'accept'))) return { code: 406, headers: { vary: 'Accept' }, body: '' }
  const found = get()
  const headers = check?.(found) ?? {}
  return isAnswer(headers) ? headers : answer(request, found, { vary: 'Accept', ...headers })
}

// The tag is that of the document, in whatever form.
function negotiatedV2(request: DocumentRequest, get: () => Document, getProtobuf: () => Buffer): Answer {
  const form = chooseV2(header(request, 'accept'))
  if (!form) return { code: 406, headers: { vary: 'Accept' }, body: '' }
  if (form === 'json') return answer(request, get(), { vary: 'Accept' })
  return answer(request, { ...get(), body: getProtobuf() }, { vary: 'Accept', 'content-type': `application/${V2_PROTOBUF}` })
}

const V2_PROTOBUF = 'com.github.proto-openapi.spec.v2.v1.0+protobuf'
/** As it was called before it was a media type, and as client-go still asks for it. */
const V2_PROTOBUF_OLD = 'com.github.proto-openapi.spec.v2@v1.0+protobuf'

function chooseV2(accept: string | undefined): 'json' | 'protobuf' | undefined {
  if (!accept) return 'json'
  for (const { type, subtype } of parseAccept(accept)) {
    if (type !== 'application' && type !== '*') continue
    if (subtype === 'json' || subtype === '*') return 'json'
    if (subtype === V2_PROTOBUF || subtype === V2_PROTOBUF_OLD) return 'protobuf'
  }
  return undefined
}

function isAnswer(value: Answer | Readonly<Record<string, string>>): value is Answer {
  return typeof value.code === 'number'
}

function answer(request: DocumentRequest, { body, tag }: Document, more: Readonly<Record<string, string>>): Answer {
  const headers = { etag: tag, ...more }
  if (matchesTag(header(request, 'if-none-match'), tag)) return { code: 304, headers, body: '' }
  return { code: 200, headers: { 'content-type': 'application/json', ...headers }, body }
}

// Not the negotiation of objects: here parameters do not count, and every part may be a wildcard by itself.
function acceptsJson(accept: string | undefined): boolean {
  return !accept || parseAccept(accept).some(({ type, subtype }) => (type === 'application' || type === '*') && (subtype === 'json' || subtype === '*'))
}

function header({ headers }: DocumentRequest, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}
