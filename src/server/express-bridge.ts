/**
 * Express 5 on node:http2. Express gives each request and response its own prototypes, which inherit from those of HTTP/1.1; on
 * an HTTP/2 object that throws. Here an HTTP/2 request gets the same Express methods over the prototypes of node:http2.
 */
import { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import type { Express } from 'express'
import type { HttpHandler } from '../../apiservice/serving.ts'

/**
 * The application as a handler of both protocols. Mounted sub-applications are not supported (use routers), since Express gives
 * the prototypes of its own back after one; `req.hostname` and `req.host` are undefined over HTTP/2, which has `:authority`.
 */
export function expressBridge(app: Express): HttpHandler {
  const handle = app as unknown as HttpHandler
  // The same application with other prototypes for what it handles.
  const http2App = Object.create(app, {
    request: { value: onto(Http2ServerRequest.prototype, app.request, app) },
    response: { value: onto(Http2ServerResponse.prototype, app.response, app) },
  }) as { handle: HttpHandler }
  return (request, response) => {
    if (request.httpVersionMajor === 2) http2App.handle(request, response)
    else handle(request, response)
  }
}

// Express's own layer stands between `prototype` of the application and that of HTTP/1.1.
function onto(base: object, prototype: object, app: Express): object {
  const methods = Object.getOwnPropertyDescriptors(Object.getPrototypeOf(prototype) as object)
  const layer = Object.create(base, methods) as object
  return Object.create(layer, { app: { configurable: true, enumerable: true, writable: true, value: app } }) as object
}
