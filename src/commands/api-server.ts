/** Wiring of an API server: stores on a backend, the application over them, a TLS listener in front. */
import type { RequestHandler } from 'express'
import type { Authenticator, Authorizer } from '../../apiservice/auth.ts'
import { serveTls, type Certificates, type TlsServer } from '../../apiservice/serving.ts'
import { measureConversions } from '../registry/conversion-metrics.ts'
import type { ResourceStore } from '../registry/resource-store.ts'
import { measureStorage } from '../registry/storage-metrics.ts'
import { serveAdmin } from '../server/admin/admin.ts'
import { ADMIN_DEFINITIONS } from '../server/admin/definitions.ts'
import { createDocuments } from '../server/documents.ts'
import type { HealthCheck } from '../server/health.ts'
import { expressBridge } from '../server/express-bridge.ts'
import { openRequestMetrics } from '../server/request-metrics.ts'
import { createApp } from '../server/server.ts'
import { openYamlBodies } from '../server/yaml-bodies.ts'
import { openStores, type StoresOptions } from './open-stores.ts'
import { programName, readOwnVersion } from './own-version.ts'
import { openServerStorage } from './server-storage.ts'

export interface ApiServerOptions extends StoresOptions {
  readonly certificates: Certificates
  readonly authenticate: Authenticator
  readonly authorize: Authorizer
  readonly host: string
  /** 0: any free one. */
  readonly port: number
  /** Handlers that ask for no identity. */
  readonly open?: readonly RequestHandler[]
  /** What is served besides the stores, to who may. */
  readonly virtual?: readonly RequestHandler[]
  /** What must hold before the server is ready, beside its stores. */
  readonly checks?: readonly HealthCheck[]
}

/** A running server. */
export interface ApiServer {
  readonly url: string
  readonly stores: readonly ResourceStore[]
  /** The store of a kind. Throws for one that is not served. */
  store(kind: string): ResourceStore
  /** Uses other certificates for new connections. */
  setCertificates(certificates: Certificates): void
  /**
   * Is ready no more, and serves on for `drainMs`, so that who balances the load hears of it; then ends connections and watches, lets requests finish for at
   * most `graceMs`, closes the stores (not the backend).
   */
  close(options: { readonly graceMs: number; readonly drainMs?: number }): Promise<void>
}

/** Opens the stores, fills their caches and listens. Rejects with Refused when the store must not be served. */
export async function openApiServer(options: ApiServerOptions): Promise<ApiServer> {
  const { backend, clock, log } = options
  const program = { name: programName(), replica: `${process.pid}-${clock.uuid().slice(0, 8)}`, clock, log }
  const definitions = options.resources.map(({ definition }) => definition)
  const virtual = Object.values(ADMIN_DEFINITIONS)
  const metrics = openRequestMetrics({ clock, definitions: [...definitions, ...virtual] })
  const opened = await openStores({ ...options, resources: measureConversions(options.resources, metrics.set, clock) }, program)
  const { stores } = opened
  const storage = openServerStorage(backend, stores, program)
  measureStorage({ set: metrics.set, storage, stores, clock })
  const leaving = new AbortController()
  const stopping = new AbortController()
  const documents = createDocuments({
    definitions,
    virtual,
    checks: [...stores.map(storeCheck), ...(options.checks ?? [])],
    backend,
    stopping: leaving.signal,
    metrics: metrics.set,
    ownVersion: readOwnVersion(),
    clock,
    log,
  })
  const { authenticate, authorize, open = [] } = options
  const yaml = openYamlBodies({ clock })
  const app = createApp({ stores, authenticate, authorize, clock, log, measure: metrics.measure, open, documents, virtual: [serveAdmin({ storage, clock, yaml }), ...(options.virtual ?? [])], yaml, stopping: stopping.signal })
  const tls: TlsServer = await serveTls({ handler: expressBridge(app), ...options.certificates, host: options.host, port: options.port, log, clock }).catch(async (error) => {
    await storage.close()
    await opened[Symbol.asyncDispose]()
    throw error
  })
  return {
    url: `https://${options.host.includes(':') ? `[${options.host}]` : options.host}:${tls.address.port}`,
    setCertificates: (certificates) => tls.setCertificates(certificates),
    stores,
    store(kind) {
      const found = stores.find(({ definition }) => definition.names.kind === kind)
      if (!found) throw new Error(`no kind ${kind} is served`)
      return found
    },
    async close({ graceMs, drainMs = 0 }) {
      leaving.abort()
      if (drainMs > 0) await clock.sleep(drainMs)
      // Connections hear first that they end, so that a client whose watch ends begins the next one elsewhere.
      const closed = tls.close({ graceMs, told: () => stopping.abort() })
      await storage.close()
      await closed
      stopping.abort()
      await yaml.close()
      await opened[Symbol.asyncDispose]()
    },
  }
}

function storeCheck({ cache, resource, started }: ResourceStore): HealthCheck {
  return {
    name: `watch-cache-${resource.resource}`,
    check() {
      if (started.state === 'Unable') throw started.problem ?? new Error('a stored version cannot be decoded')
      if (!cache.ready) throw new Error('the cache is not complete')
    },
  }
}
