/** `admin.mlops.dev` as a handler: request → verb → answer. */
import { once } from 'node:events'
import type { Request, RequestHandler, Response } from 'express'
import { EXIT_CODES, Refused, type RefusalReason } from '../../../storage/refused.ts'
import { DecodeError, decodeJson } from '../../api/codec.ts'
import { isObject, type JsonObject, type KubeObject } from '../../api/object.ts'
import type { ResourceDefinition } from '../../api/resource.ts'
import { badRequest, methodNotSupported, StatusError, unsupportedMediaType } from '../../api/status.ts'
import type { Clock } from '../../base/clock.ts'
import type { StorageAdmin } from '../../registry/storage-admin.ts'
import { bodyMediaType, readBody, yamlDecoder } from '../body.ts'
import { negotiate, type Negotiated } from '../negotiate.ts'
import type { RequestInfo } from '../request-info.ts'
import { respondValue } from '../respond.ts'
import { transformList, transformObject } from '../transform.ts'
import { Warnings } from '../warnings.ts'
import type { YamlBodies } from '../yaml-bodies.ts'
import { ADMIN_GROUP, ADMIN_VERSION, adminDefinition, type AdminResourceName } from './definitions.ts'
import { adminVerbs, type AdminResult } from './verbs.ts'

const MERGE_PATCH = 'application/merge-patch+json'
const WITH_BODY = new Set(['create', 'update', 'patch', 'delete'])

/** Serves the group; goes on for any other. */
export function serveAdmin({ storage, clock, yaml }: { readonly storage: StorageAdmin; readonly clock: Clock; readonly yaml: YamlBodies }): RequestHandler {
  const verbs = adminVerbs()
  return async (req, res, next) => {
    const info = req.requestInfo as RequestInfo
    const definition = info.isResourceRequest && info.group === ADMIN_GROUP && info.version === ADMIN_VERSION ? adminDefinition(info.resource) : undefined
    if (!definition || info.namespace !== '' || info.subresource !== '') return next()
    const verb = definition.verbs?.includes(info.verb) ? verbs[info.resource as AdminResourceName][info.verb] : undefined
    const resource = { group: ADMIN_GROUP, resource: info.resource }
    if (!verb || (info.verb === 'create' && info.namedInPath)) throw methodNotSupported(resource, info.verb)
    if (info.query.has('dryRun') && info.verb !== 'get' && info.verb !== 'list') throw badRequest('dryRun is not supported; create a storagepreview to see what a migration would do')
    const negotiated = negotiate(req.headers.accept, req)
    const gone = new AbortController()
    res.once('close', () => gone.abort())
    const body = WITH_BODY.has(info.verb) ? await readObject(req, info.verb, { yaml, signal: gone.signal }) : {}
    const result = await verb({ storage, name: info.name, body, gone: gone.signal }).catch((error: unknown) => {
      throw error instanceof Refused ? refusedStatus(error, info) : error
    })
    await answer({ req, res, info, definition, negotiated, now: clock.now() }, result, gone.signal)
  }
}

async function readObject(req: Request, verb: string, context: { readonly yaml: YamlBodies; readonly signal: AbortSignal }): Promise<JsonObject> {
  const bytes = await readBody(req)
  const type = req.headers['content-type']?.split(';')[0]?.trim().toLowerCase() ?? ''
  if (verb === 'patch' && type !== MERGE_PATCH) throw unsupportedMediaType([MERGE_PATCH])
  if (bytes.length === 0) return {}
  const mediaType = verb === 'patch' ? 'application/json' : bodyMediaType(type)
  if (mediaType !== 'application/json' && mediaType !== 'application/yaml') throw unsupportedMediaType(['application/json', 'application/yaml'])
  const decode = mediaType === 'application/yaml' ? await yamlDecoder(context, bytes, mediaType) : decodeJson
  try {
    const { value } = decode(bytes.toString('utf8'))
    if (isObject(value)) return value
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    throw badRequest(error.message)
  }
  throw badRequest('the body is no object')
}

const CODES: Partial<Record<RefusalReason, readonly [number, string]>> = {
  UnknownResource: [404, 'NotFound'],
  UnknownVersion: [422, 'Invalid'],
  UnusableReplacement: [422, 'Invalid'],
  StoreUnavailable: [503, 'ServiceUnavailable'],
}

/** A refusal as a Status; its reason is that of the first cause. */
export function refusedStatus({ reason, message }: Refused, { resource, name }: Pick<RequestInfo, 'resource' | 'name'>): StatusError {
  const [code, statusReason] = CODES[reason] ?? [409, 'Conflict']
  const details = { ...(name === '' ? {} : { name }), group: ADMIN_GROUP, kind: resource, causes: [{ reason, message }] }
  return new StatusError({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason: statusReason, details, code })
}

/** The refusal that such a Status stands for; undefined for any other. */
export function refusalOf(status: { readonly details?: unknown; readonly message?: unknown }): Refused | undefined {
  const causes = isObject(status.details) ? status.details.causes : undefined
  const [first] = Array.isArray(causes) ? causes : []
  const reason = isObject(first) ? first.reason : undefined
  return typeof reason === 'string' && Object.hasOwn(EXIT_CODES, reason) ? new Refused(reason as RefusalReason, String(status.message ?? '')) : undefined
}

interface Answering {
  readonly req: Request
  readonly res: Response
  readonly info: RequestInfo
  readonly definition: ResourceDefinition
  readonly negotiated: Negotiated
  readonly now: number
}

async function answer({ res, info, definition, negotiated, now }: Answering, result: AdminResult, gone: AbortSignal): Promise<void> {
  if (Symbol.asyncIterator in result) return await stream(res, result, gone)
  const version = definition.versions[0]!
  const context = { store: { strategy: {} }, version, info, now }
  const target = { res, warnings: new Warnings() }
  const isList = (value: typeof result): value is readonly KubeObject[] => Array.isArray(value)
  if (!isList(result)) {
    const code = info.verb === 'create' ? 201 : 200
    return respondValue(target, negotiated, negotiated.as === undefined ? result : transformObject(context, negotiated, result), code)
  }
  // Nothing here is versioned as one thing, so that a list is of no revision.
  const list = { apiVersion: `${ADMIN_GROUP}/${ADMIN_VERSION}`, items: result, kind: definition.names.listKind, metadata: {} }
  respondValue(target, negotiated, negotiated.as === undefined ? list : transformList(context, negotiated, result, { revision: 0, entries: [], continue: '' }), 200)
}

async function stream(res: Response, lines: AsyncIterable<string>, gone: AbortSignal): Promise<void> {
  let begun = false
  for await (const line of lines) {
    if (!begun) res.writeHead(200, { 'content-type': 'application/x-ndjson', 'cache-control': 'no-cache, private' })
    begun = true
    if (!res.write(line)) await once(res, 'drain', { signal: gone })
  }
  res.end()
}
