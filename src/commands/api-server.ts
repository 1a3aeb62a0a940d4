/** Wiring of an API server: stores on a backend, the application over them, a TLS listener in front. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RequestHandler } from 'express'
import type { Authenticator, Authorizer } from '../../apiservice/auth.ts'
import { serveTls, type Certificates, type TlsServer } from '../../apiservice/serving.ts'
import type { Backend } from '../../storage/backend.ts'
import { ByteBudget } from '../../storage/watch-cache.ts'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { namespaceLifecycle, type NamespaceLookup } from '../registry/namespace-lifecycle.ts'
import { freshen, openResourceStore, type ResourceStore, type ServedResource } from '../registry/resource-store.ts'
import { createDocuments } from '../server/documents.ts'
import type { HealthCheck } from '../server/health.ts'
import { expressBridge } from '../server/express-bridge.ts'
import { openRequestMetrics } from '../server/request-metrics.ts'
import { createApp } from '../server/server.ts'

export interface ApiServerOptions {
  readonly backend: Backend
  /** What is served. One of them may be Namespace; the others' creations are then checked against it. */
  readonly resources: readonly ServedResource[]
  readonly certificates: Certificates
  readonly authenticate: Authenticator
  readonly authorize: Authorizer
  readonly host: string
  /** 0: any free one. */
  readonly port: number
  /** For JSON in versions other than the stored one. */
  readonly cacheBytes: number
  /** Handlers that ask for no identity. */
  readonly open?: readonly RequestHandler[]
  readonly clock: Clock
  readonly log: Log
}

/** A running server. */
export interface ApiServer {
  readonly url: string
  readonly stores: readonly ResourceStore[]
  /** The store of a kind. Throws for one that is not served. */
  store(kind: string): ResourceStore
  /** Ends watches, lets requests finish for at most `graceMs`, closes the stores (not the backend). */
  close(options: { readonly graceMs: number }): Promise<void>
}

/** Opens the stores, fills their caches and listens. */
export async function openApiServer(options: ApiServerOptions): Promise<ApiServer> {
  const { backend, clock, log } = options
  const stores = await openStores(options)
  const stopping = new AbortController()
  const definitions = stores.map(({ definition }) => definition)
  const metrics = openRequestMetrics({ clock, definitions })
  const documents = createDocuments({
    definitions,
    checks: stores.map(cacheCheck),
    backend,
    stopping: stopping.signal,
    metrics: metrics.set,
    ownVersion: readOwnVersion(),
    clock,
    log,
  })
  const { authenticate, authorize, open = [] } = options
  const app = createApp({ stores, authenticate, authorize, clock, log, measure: metrics.measure, open, documents, stopping: stopping.signal })
  const tls: TlsServer = await serveTls({ handler: expressBridge(app), ...options.certificates, host: options.host, port: options.port, log, clock }).catch(async (error) => {
    await closeStores(stores)
    throw error
  })
  return {
    url: `https://${options.host}:${tls.address.port}`,
    stores,
    store(kind) {
      const found = stores.find(({ definition }) => definition.names.kind === kind)
      if (!found) throw new Error(`no kind ${kind} is served`)
      return found
    },
    async close({ graceMs }) {
      stopping.abort()
      await tls.close({ graceMs })
      await closeStores(stores)
    },
  }
}

async function closeStores(stores: readonly ResourceStore[]): Promise<void> {
  for (const store of stores) await store[Symbol.asyncDispose]()
}

function cacheCheck({ cache, resource }: ResourceStore): HealthCheck {
  return {
    name: `watch-cache-${resource.resource}`,
    check() {
      if (!cache.ready) throw new Error('the cache is not complete')
    },
  }
}

// package.json lies beside src/, in a checkout and in what is built.
function readOwnVersion(): string {
  return String((JSON.parse(readFileSync(join(import.meta.dirname, '..', '..', 'package.json'), 'utf8')) as { version: string }).version)
}

// Namespace first: the others ask it whether they may create.
async function openStores({ backend, resources, cacheBytes, clock, log }: ApiServerOptions): Promise<ResourceStore[]> {
  const budget = new ByteBudget(cacheBytes)
  const isNamespace = ({ definition }: ServedResource) => definition.group === '' && definition.names.kind === 'Namespace'
  const served = resources.find(isNamespace)
  const namespaces = served && (await openResourceStore(served, { backend, budget, clock, log, admission: [] }))
  const admission = namespaces ? [namespaceLifecycle(lookup(namespaces))] : []
  const others = await Promise.allSettled(resources.filter((r) => !isNamespace(r)).map((r) => openResourceStore(r, { backend, budget, clock, log, admission })))
  const stores = [...(namespaces ? [namespaces] : []), ...others.flatMap((other) => (other.status === 'fulfilled' ? [other.value] : []))]
  const failed = others.find((other) => other.status === 'rejected')
  if (!failed) return stores
  await closeStores(stores)
  throw failed.reason
}

function lookup(namespaces: ResourceStore): NamespaceLookup {
  return async (name) => {
    // A namespace that the cache does not know may have been made a moment ago.
    if (!namespaces.cache.get(name)) await freshen(namespaces)
    const entry = namespaces.cache.get(name)
    return entry && { terminating: namespaces.codec.open(entry.value).metadata.deletionTimestamp !== undefined }
  }
}
