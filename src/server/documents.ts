/** What is answered without a resource: discovery, OpenAPI, health, version, metrics; as handlers of the application. */
import type { RequestHandler, Response } from 'express'
import type { Backend } from '../../storage/backend.ts'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { MetricSet } from '../base/metrics.ts'
import type { ResourceDefinition } from '../api/resource.ts'
import type { Answer } from './answer.ts'
import { createDiscovery } from './discovery-answers.ts'
import { createHealth, ping, type HealthCheck } from './health.ts'
import { createOpenApi } from './openapi.ts'
import { negotiatePlain } from './negotiate.ts'
import { renderValue } from './respond.ts'
import { versionInfo } from './version.ts'
import { queryOf } from './query.ts'

export interface DocumentOptions {
  readonly definitions: readonly ResourceDefinition[]
  /** Resources that are not stored: in discovery, and not in OpenAPI. */
  readonly virtual: readonly ResourceDefinition[]
  /** What must hold before the server is ready, beside the store. */
  readonly checks: readonly HealthCheck[]
  readonly backend: Backend
  /** Aborted: the server stops, and is ready no more. */
  readonly stopping: AbortSignal
  readonly metrics: MetricSet
  /** Version of this program. */
  readonly ownVersion: string
  readonly clock: Clock
  readonly log: Log
}

/** The handlers, each of which goes on when the path is not its own. */
export function createDocuments(options: DocumentOptions): RequestHandler[] {
  const discovery = createDiscovery([...options.definitions, ...options.virtual])
  const openapi = createOpenApi([...options.definitions, ...options.virtual], options)
  const health = createHealth(healthChecks(options), options)
  const version = versionInfo(options.ownVersion)
  return [
    documents(async (req) => discovery({ path: req.path, url: req.url, headers: req.headers })),
    documents(async (req) => openapi({ path: req.path, url: req.url, headers: req.headers })),
    documents(async (req) => await health(req.path, queryOf(req.url))),
    documents(async (req) => {
      if (req.path !== '/version' && req.path !== '/version/') return undefined
      const negotiated = negotiatePlain(req.headers.accept, req)
      // For people, whoever asks. upstream: apiserver/pkg/server/routes/version.go, responsewriters.WriteRawJSON
      const body = negotiated.mediaType === 'application/json' ? JSON.stringify(version, null, 2) : renderValue(negotiated, version)
      return { code: 200, headers: { 'content-type': negotiated.mediaType }, body }
    }),
    documents(async (req) => (req.path === '/metrics' ? { code: 200, headers: { 'content-type': options.metrics.contentType }, body: await options.metrics.text() } : undefined)),
  ]
}

function healthChecks({ checks, backend, stopping }: DocumentOptions) {
  const store: HealthCheck = {
    name: 'store',
    async check() {
      await backend.currentRevision()
    },
  }
  const shutdown: HealthCheck = {
    name: 'shutdown',
    check() {
      if (stopping.aborted) throw new Error('process is shutting down')
    },
  }
  return { livez: [ping], healthz: [ping, store, ...checks], readyz: [ping, store, ...checks, shutdown] }
}

// Documents are read with GET or HEAD only; another method finds nothing there.
function documents(find: (req: Parameters<RequestHandler>[0]) => Promise<Answer | undefined>): RequestHandler {
  return async (req, res, next) => {
    const answer = req.method === 'GET' || req.method === 'HEAD' ? await find(req) : undefined
    if (answer) send(res, answer)
    else next()
  }
}

function send(res: Response, { code, headers, body }: Answer): void {
  res.statusCode = code
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value)
  res.setHeader('Content-Length', Buffer.byteLength(body))
  res.end(res.req.method === 'HEAD' || code === 304 ? undefined : body)
}
