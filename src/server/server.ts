/**
 * The HTTP server as one visible list of steps. Everything after identity is either a document (discovery, OpenAPI, health)
 * or a verb on a resource.
 */
import express, { type ErrorRequestHandler, type Express, type Request, type RequestHandler, type Response } from 'express'
import type { Authenticator, Authorizer } from '../../apiservice/auth.ts'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { findVersion, type VersionDefinition } from '../api/resource.ts'
import { internalError, notFound, serviceUnavailable, StatusError, timeout } from '../api/status.ts'
import { refusal } from '../registry/commit-object.ts'
import { undecodableStatus, type ResourceStore } from '../registry/resource-store.ts'
import { deprecationWarning } from './deprecation.ts'
import { identify, ANONYMOUS } from './identity.ts'
import { limitInFlight } from './in-flight.ts'
import { negotiateError } from './negotiate.ts'
import { parseRequest, type RequestInfo } from './request-info.ts'
import { respondError, respondText } from './respond.ts'
import { serveVerb } from './verbs.ts'
import { Warnings } from './warnings.ts'
import type { YamlBodies } from './yaml-bodies.ts'

/** Everything but watches must be done in this time. upstream: apiserver/pkg/server/config.go: RequestTimeout */
const REQUEST_TIMEOUT_MS = 60_000
/** How long a client may go on to send the body of a request that is answered. */
const LEFT_BODY_MS = 10_000
/** When to ask again a server that cannot serve what is stored. */
const RETRY_SECONDS = 5

export interface ServerOptions {
  readonly stores: readonly ResourceStore[]
  readonly authenticate: Authenticator
  readonly authorize: Authorizer
  readonly clock: Clock
  readonly log: Log
  /** Counts and times every request; the first step. */
  readonly measure: RequestHandler
  /** What answers before anybody is asked who they are. */
  readonly open: readonly RequestHandler[]
  /** What is served besides the stores, once it is known who is calling and that they may. */
  readonly virtual: readonly RequestHandler[]
  /** Documents (discovery, OpenAPI, health, version, metrics) and whatever else answers before resources do. */
  readonly documents: readonly RequestHandler[]
  readonly yaml: YamlBodies
  /** Aborts when the server stops: ends the watches. */
  readonly stopping: AbortSignal
}

/** Builds the application; serve it through the bridge of src/server/express-bridge.ts. */
export function createApp(options: ServerOptions): Express {
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.use(options.measure)
  app.use(limitInFlight(isLongRunning))
  for (const handler of options.open) app.use(handler)
  app.use(identify(options.authenticate, options.authorize))
  for (const document of options.documents) app.use(document)
  for (const handler of options.virtual) app.use(handler)
  app.use(serveResource(options))
  app.use((_req, res) => respondText(res, 404, '404 page not found\n'))
  app.use(handleError(options))
  return app
}

/** True for a watch, which no limit of number or time holds for. */
export function isLongRunning(target: string): boolean {
  return target.includes('watch') && parseRequest('GET', target).verb === 'watch'
}

function serveResource(options: ServerOptions): RequestHandler {
  const stores = new Map(options.stores.map((store) => [`${store.definition.group}/${store.definition.names.plural}`, store]))
  return async (req, res, next) => {
    const info = req.requestInfo as RequestInfo
    const store = info.isResourceRequest ? stores.get(`${info.group}/${info.resource}`) : undefined
    const version = store && findVersion(store.definition, info.version)
    if (!store || !version?.served || !inScope(store, info)) return next()
    const warnings = new Warnings()
    res.locals.warnings = warnings
    const deprecated = deprecationWarning(store.definition, version)
    if (deprecated) warnings.add(deprecated)
    checkServable(store, info)
    if (!hasSubresource(version, info.subresource)) throw notFound(store.resource, info.name)
    const lifetime = new Lifetime(res, options, info.verb === 'watch' ? [options.stopping, store.started.able] : undefined)
    try {
      const now = options.clock.now()
      await lifetime.race(serveVerb({ req, res, info, user: req.user ?? ANONYMOUS, store, version, warnings, yaml: options.yaml, signal: lifetime.signal, now }))
    } finally {
      lifetime.end()
    }
  }
}

function hasSubresource({ subresources }: VersionDefinition, subresource: string): boolean {
  return subresource === '' || ((subresource === 'status' || subresource === 'scale') && subresources?.[subresource] !== undefined)
}

const READING = new Set(['get', 'list', 'watch'])

// Never 404 and never a shorter list: another replica, or a newer release of this one, can.
function checkServable({ started, fence }: ResourceStore, { verb }: RequestInfo): void {
  if (started.state === 'Unable') throw serviceUnavailable(started.problem?.message ?? `a stored version of ${fence.resource} cannot be decoded`, RETRY_SECONDS)
  if (started.state === 'ReadOnly' && !READING.has(verb)) {
    throw serviceUnavailable(`this server cannot write ${fence.resource} at ${fence.current().encodingVersion}, which is its encoding version`, RETRY_SECONDS)
  }
}

// Only list and watch may span namespaces; a cluster-scoped resource has none.
function inScope(store: ResourceStore, info: RequestInfo): boolean {
  if (store.definition.scope === 'Cluster') return info.namespace === '' || info.resource === 'namespaces'
  return info.namespace !== '' || (!info.namedInPath && (info.verb === 'list' || info.verb === 'watch' || info.verb === ''))
}

// Every request ends with it: one for all, since an error's stack costs more than a small answer.
const GONE = new DOMException('the request is over', 'AbortError')

// How long a request may live: until its client has gone, its time is over, or (a watch, which has no such time) one of `ends` aborts: the server stops, or can no
// longer serve the resource. The stream then ends in order, as upstream's does when its storage is torn down: clients resume from what they have seen, elsewhere or later.
class Lifetime {
  readonly signal: AbortSignal
  readonly #gone = new AbortController()
  readonly #deadline = new AbortController()
  readonly #timer
  constructor(res: Response, { clock }: ServerOptions, ends: readonly AbortSignal[] | undefined) {
    res.once('close', () => this.#gone.abort(GONE))
    this.#timer = ends ? undefined : clock.schedule(REQUEST_TIMEOUT_MS, () => this.#deadline.abort())
    this.signal = AbortSignal.any([this.#gone.signal, this.#deadline.signal, ...(ends ?? [])])
  }

  /** Settles as `work` does, or with 504 at the deadline. */
  async race(work: Promise<void>): Promise<void> {
    const late = new Promise<never>((_resolve, reject) => {
      this.#deadline.signal.addEventListener('abort', () => reject(timeout('request did not complete within the allotted timeout')), { once: true })
    })
    await Promise.race([work, late])
  }

  end(): void {
    this.#timer?.cancel()
  }
}

// The rest of a body after the answer is read and forgotten, so that a client that still sends gets to read it; but not for ever.
function leaveBody(req: Request, res: Response, clock: Clock): void {
  req.resume()
  const timer = clock.schedule(LEFT_BODY_MS, () => res.destroy())
  res.once('close', () => timer.cancel())
}

function handleError({ log, clock }: ServerOptions): ErrorRequestHandler {
  return (error: unknown, req: Request, res: Response, _next) => {
    if (res.headersSent || res.destroyed) {
      // Too late for a Status: the client must see that the body is not whole.
      res.destroy()
      return
    }
    const known = refusal(undecodableStatus(error))
    if (!(known instanceof StatusError)) log.error('request failed', { err: error, method: req.method, path: req.path })
    const status = known instanceof StatusError ? known : internalError(known instanceof Error ? known.message : String(known))
    if (status.code === 413 && req.httpVersionMajor === 1) res.setHeader('Connection', 'close')
    try {
      respondError(res, negotiateError(req.headers.accept, req), status, (res.locals.warnings as Warnings | undefined) ?? new Warnings())
    } catch (failure) {
      // Else the framework would answer with a page of its own.
      log.error('an error could not be written', { err: failure, method: req.method, path: req.path })
      res.destroy()
    }
    if (!req.readableEnded) leaveBody(req, res, clock)
  }
}
