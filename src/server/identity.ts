/** Step 2 of the road: who is calling, and may they. */
import type { Http2ServerRequest } from 'node:http2'
import type { Socket } from 'node:net'
import type { Request, RequestHandler } from 'express'
import { InvalidCredentials, TrustUnavailable, type Attributes, type Authenticator, type Authorizer, type Decision, type User } from '../../apiservice/auth.ts'
import { forbidden, forbiddenPath, internalError, serviceUnavailable, unauthorized } from '../api/status.ts'
import { readImpersonation } from './impersonation.ts'
import { parseRequest, type RequestInfo } from './request-info.ts'
import { selectorAttributes } from './selector-attributes.ts'

declare module 'express-serve-static-core' {
  interface Request {
    /** Set by `identify`. */
    requestInfo?: RequestInfo
    user?: User
  }
}

/** The user of a request without credentials. upstream: user.Anonymous */
export const ANONYMOUS: User = { name: 'system:anonymous', groups: ['system:unauthenticated'] }

// Discovery, OpenAPI, health and version are open to everybody, as upstream's system:public-info-viewer and system:discovery give them.
const OPEN = /^\/(healthz|livez|readyz|version|openapi|api|apis)?(\/.*)?$/

/** When to ask again, in seconds, a server that cannot tell who is calling. */
const RETRY_SECONDS = 1

/**
 * Sets `requestInfo` and `user`; throws 401 for a caller without identity where one is needed and for one with a false one, 403 for one that may not, 400 for
 * bad Impersonate headers, 503 and 500 where nobody can tell who it is and whether it may.
 */
export function identify(authenticate: Authenticator, authorize: Authorizer): RequestHandler {
  return async (req, _res, next) => {
    const info = parseRequest(req.method, req.originalUrl)
    const caller = await whoCalls(req, authenticate)
    const user = await actingAs(req, caller, authorize)
    req.requestInfo = info
    req.user = user ?? ANONYMOUS
    if (isOpen(info)) return next()
    if (!user) throw unauthorized()
    await check(req, info, user, authorize)
    next()
  }
}

// upstream answers 401 where the token cannot be reviewed, on which clients throw it away.
async function whoCalls(req: Request, authenticate: Authenticator): Promise<User | undefined> {
  try {
    return await authenticate({ headers: req.headers, rawHeaders: req.rawHeaders, socket: connectionOf(req) })
  } catch (error) {
    if (error instanceof InvalidCredentials) throw unauthorized()
    if (error instanceof TrustUnavailable) throw serviceUnavailable(`who is calling cannot be found out: ${error.message}`, RETRY_SECONDS)
    throw error
  }
}

// Over HTTP/2 every request has a socket object of its own, so that nothing could be known of the connection.
function connectionOf(req: Request): Socket {
  const session = req.httpVersionMajor === 2 ? (req as unknown as Http2ServerRequest).stream.session : undefined
  return session?.socket ?? req.socket
}

function isOpen(info: RequestInfo): boolean {
  return !info.isResourceRequest && info.verb === 'get' && OPEN.test(info.path)
}

async function actingAs(req: Request, caller: User | undefined, authorize: Authorizer): Promise<User | undefined> {
  const impersonation = readImpersonation(req.rawHeaders, caller ?? ANONYMOUS)
  if (!impersonation) return caller
  if (!caller) throw unauthorized()
  for (const permission of impersonation.permissions) await demand(permission, authorize)
  return impersonation.user
}

async function check(req: Request, info: RequestInfo, user: User, authorize: Authorizer): Promise<void> {
  const { verb, group, version, resource, subresource, namespace, name, path } = info
  const common = { user, group, version, resource, subresource, namespace, name, path }
  if (info.isResourceRequest) await demand({ ...common, verb, ...selectorAttributes(info) }, authorize)
  else await demand({ ...common, verb: req.method.toLowerCase() }, authorize, false)
}

async function demand(attributes: Attributes, authorize: Authorizer, ofResource = true): Promise<void> {
  const decision = await decide(attributes, authorize)
  if (decision.allowed) return
  const { user, verb, group, resource, subresource, namespace, name, path } = attributes
  const reason = decision.reason ? `: ${decision.reason}` : ''
  if (!ofResource) throw forbiddenPath(escape(`User "${user.name}" cannot ${verb} path "${path}"${reason}`))
  const what = subresource === '' ? resource : `${resource}/${subresource}`
  const where = namespace === '' ? 'at the cluster scope' : `in the namespace "${namespace}"`
  throw forbidden({ group, resource }, name, escape(`User "${user.name}" cannot ${verb} resource "${what}" in API group "${group}" ${where}${reason}`))
}

// upstream: filters.WithAuthorization, responsewriters.InternalError
async function decide(attributes: Attributes, authorize: Authorizer): Promise<Decision> {
  try {
    return await authorize(attributes)
  } catch (error) {
    throw error instanceof TrustUnavailable ? internalError(error.message) : error
  }
}

// upstream: responsewriters.Forbidden escapes what a browser could take for markup
function escape(text: string): string {
  return text.replace(/[&<>]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[c] ?? c)
}
