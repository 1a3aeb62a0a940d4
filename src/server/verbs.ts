/**
 * RequestInfo → registry: one function a verb, its checks in upstream's order.
 * upstream: apiserver/pkg/endpoints/handlers/{create,update,patch,delete,get}.go
 */
import { dedupOwnerReferences } from '../api/metadata.ts'
import { exactName, parseFieldSelector } from '../api/selector.ts'
import { badRequest, deadlineExceeded, methodNotSupported } from '../api/status.ts'
import { apply } from '../registry/apply.ts'
import { create } from '../registry/create.ts'
import { remove, removeAll } from '../registry/delete.ts'
import { buildFilter } from '../registry/filter.ts'
import { get, list } from '../registry/read.ts'
import { update, type UpdateOptions } from '../registry/update.ts'
import { watch } from '../registry/watch.ts'
import { checkName, settleNamespace } from '../registry/write.ts'
import { bodyMediaType, decodeDeleteOptions, readBody, receiveBody, yamlDecoder } from './body.ts'
import { objectNamespace, type RequestContext } from './context.ts'
import { checkStreamable, negotiate } from './negotiate.ts'
import { parseDeleteBody, parseDeleteQuery, parseApplyOptions, parseGetOptions, parseListOptions, parseModifyOptions } from './options.ts'
import { APPLY_PATCH, createConfiguration, createPatch, patchMediaType, receivePatched } from './patch-body.ts'
import { respondEntry, respondList, respondObject, respondValue } from './respond.ts'
import { serveScale } from './scale.ts'
import { checkTableOptions } from './transform.ts'
import { streamWatch } from './watch-stream.ts'
import { requireName, writeOptions } from './write-options.ts'

/** A watch without timeoutSeconds ends after this long, and up to twice as long. upstream: MinRequestTimeout */
const MIN_WATCH_SECONDS = 1800

/** Serves one request of a known resource. Throws StatusError. */
export async function serveVerb(context: RequestContext): Promise<void> {
  const { verb, subresource, namedInPath } = context.info
  const { resource } = context.store
  if (subresource !== '' && (verb === 'create' || verb === 'delete' || verb === 'watch')) throw methodNotSupported(resource, verb)
  if (subresource === 'scale') return await serveScale(context)
  switch (verb) {
    case 'create':
      return await serveCreate(context)
    case 'get':
      return await serveGet(context)
    case 'list':
      return await serveList(context)
    case 'watch':
      return namedInPath && !context.info.watchPath ? await serveGet(context) : await serveWatch(context)
    case 'update':
      return await serveUpdate(context)
    case 'patch':
      return await servePatch(context)
    case 'delete':
      return await serveDelete(context)
    case 'deletecollection':
      return await serveDeleteCollection(context)
    default:
      throw methodNotSupported(resource, verb)
  }
}

async function serveCreate(context: RequestContext): Promise<void> {
  const { req, info, store } = context
  const negotiated = negotiate(context.req.headers.accept, context.req)
  const mediaType = bodyMediaType(req.headers['content-type'])
  const bytes = await readBody(req)
  const options = parseModifyOptions(info.query, 'CreateOptions')
  const body = await receiveBody(context, bytes, mediaType, options.fieldValidation)
  respondObject(context, negotiated, await create(store, body, writeOptions(context, options)))
}

async function serveUpdate(context: RequestContext): Promise<void> {
  const { req, info, store } = context
  const name = requireName(context)
  const negotiated = negotiate(req.headers.accept, req)
  const bytes = await readBody(req)
  const options = parseModifyOptions(info.query, 'UpdateOptions')
  const body = await receiveBody(context, bytes, bodyMediaType(req.headers['content-type']), options.fieldValidation)
  const settled = settleNamespace(body, objectNamespace(context))
  checkName(settled, name)
  // Before it is known whether there is such an object.
  const { object, warning } = dedupOwnerReferences(settled)
  if (warning) context.warnings.add(warning)
  const update_: UpdateOptions = { ...writeOptions(context, options), name, kind: 'put' }
  respondObject(context, negotiated, await update(store, () => object, update_))
}

async function servePatch(context: RequestContext): Promise<void> {
  const { req, info, store } = context
  const mediaType = patchMediaType(req.headers['content-type'], store)
  const name = requireName(context)
  const negotiated = negotiate(req.headers.accept, req)
  const bytes = await readBody(req)
  if (mediaType === APPLY_PATCH) {
    const options = parseApplyOptions(info.query)
    const configuration = createConfiguration(context, await yamlDecoder(context, bytes, mediaType), bytes, options.fieldValidation)
    respondObject(context, negotiated, await apply(store, configuration, { ...writeOptions(context, options), name, force: options.force }))
    return
  }
  const options = parseModifyOptions(info.query, 'PatchOptions')
  const patch = createPatch(context, mediaType, bytes, options.fieldValidation, receivePatched)
  const update_: UpdateOptions = { ...writeOptions(context, options), name, kind: 'patch' }
  respondObject(context, negotiated, await update(store, patch, update_))
}

async function serveGet(context: RequestContext): Promise<void> {
  const { req, info, store } = context
  const name = requireName(context)
  const negotiated = negotiate(req.headers.accept, req)
  respondEntry(context, negotiated, await get(store, objectNamespace(context), name, parseGetOptions(info.query).resourceVersion))
}

function scopeOf(context: RequestContext, options: { readonly labelSelector: string; readonly fieldSelector: string }) {
  const { info, version } = context
  const { labelSelector } = options
  const selector = info.watchPath && info.namedInPath ? selectName(options.fieldSelector, info.name) : options.fieldSelector
  return { version: version.name, namespace: objectNamespace(context), labelSelector, fieldSelector: selector }
}

// The deprecated watch path of one object is a watch with a name selector. upstream: handlers.ListResource
function selectName(fieldSelector: string, name: string): string {
  const asked = exactName(parseFieldSelector(fieldSelector))
  if (asked !== undefined && asked !== name) throw badRequest("fieldSelector metadata.name doesn't match requested name")
  return [fieldSelector, `metadata.name=${name}`].filter(Boolean).join(',')
}

async function serveList(context: RequestContext): Promise<void> {
  const { req, info, store } = context
  const negotiated = negotiate(req.headers.accept, req)
  const options = parseListOptions(info.query)
  await respondList(context, negotiated, await list(store, scopeOf(context, options), options))
}

async function serveWatch(context: RequestContext): Promise<void> {
  const { req, info, store, signal } = context
  const negotiated = negotiate(req.headers.accept, req)
  const options = parseListOptions(info.query, info.watchPath)
  const seconds = options.timeoutSeconds || MIN_WATCH_SECONDS * (1 + store.clock.random())
  const ended = new AbortController()
  const alive = AbortSignal.any([signal, ended.signal])
  const timer = store.clock.schedule(seconds * 1000, () => ended.abort())
  // What is stuck in a full connection never gets to an orderly end.
  const onSlow = () => {
    store.log.info('a watch was cut off: its client reads too slowly', { user: context.user.name })
    context.res.destroy()
  }
  try {
    const stream = watch(store, scopeOf(context, options), options, { signal: alive, endsAfterMs: seconds * 1000, onSlow })
    checkTableOptions(negotiated, info.query)
    checkStreamable(negotiated)
    const progress = options.allowWatchBookmarks
    if (seconds < 0) return await streamWatch({ ...context, signal }, negotiated, { items: overdue(), initialEvents: false }, { progress: false, end: false })
    await streamWatch({ ...context, signal: alive }, negotiated, stream, { progress, end: progress && options.sendInitialEvents === true })
  } finally {
    timer.cancel()
    ended.abort()
  }
}

// oxlint-disable-next-line require-yield -- it only fails
async function* overdue(): AsyncGenerator<never> {
  throw deadlineExceeded()
}

async function serveDelete(context: RequestContext): Promise<void> {
  const { req, store } = context
  const name = requireName(context)
  const negotiated = negotiate(req.headers.accept, req)
  const options = await readDeleteOptions(context)
  const outcome = await remove(store, name, options, writeOptions(context, options))
  if (outcome.kind === 'removed') respondValue(context, { mediaType: negotiated.mediaType, pretty: negotiated.pretty }, outcome.status, 200)
  else respondObject(context, negotiated, outcome.result, options.orphanDependents === false ? 202 : 200)
}

async function serveDeleteCollection(context: RequestContext): Promise<void> {
  const { req, info, store } = context
  const negotiated = negotiate(req.headers.accept, req)
  const list_ = parseListOptions(info.query)
  const scope = scopeOf(context, list_)
  // An unsupported field is found before a bad body.
  buildFilter(store, scope)
  const options = await readDeleteOptions(context)
  const page = await list(store, scope, list_)
  await removeAll(store, page.entries, options, writeOptions(context, options))
  await respondList(context, negotiated, page)
}

async function readDeleteOptions(context: RequestContext) {
  const { req, info } = context
  const bytes = await readBody(req)
  if (bytes.length === 0) return parseDeleteQuery(info.query)
  return parseDeleteBody(await decodeDeleteOptions(context, bytes, bodyMediaType(req.headers['content-type'])))
}
