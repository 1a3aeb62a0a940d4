/** One Lease of coordination.k8s.io/v1: an interface, so that tests can take its place, and the same over HTTPS. */
import { isObject, type JsonObject } from '../api/object.ts'
import type { Transport } from './api-client.ts'
import { isApiError } from './job-client.ts'

/** The Lease, as far as it is read. Times are RFC 3339 with microseconds. */
export type Lease = {
  readonly resourceVersion: string
  readonly spec: {
    readonly holderIdentity?: string
    readonly leaseDurationSeconds?: number
    readonly acquireTime?: string
    readonly renewTime?: string
    readonly leaseTransitions?: number
  }
}

/** Reads and writes the Lease. Both throw ApiError for an answer that is no success. */
export interface LeaseClient {
  /** Undefined when there is none. */
  read(signal: AbortSignal): Promise<Lease | undefined>
  /** Writes over `resourceVersion`, or creates when it is absent. Throws ApiError 409 when somebody else was first. */
  write(spec: Lease['spec'], resourceVersion: string | undefined, signal: AbortSignal): Promise<Lease>
}

/** How long an answer may take: far less than the Lease lasts. */
const IDLE_MS = 5_000

/** Opens the client for the Lease of a name. */
export function openLeaseClient(transport: Transport, namespace: string, name: string): LeaseClient {
  const collection = `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/leases`
  const path = `${collection}/${encodeURIComponent(name)}`
  return {
    read: async (signal) => {
      try {
        return readLease(await transport.json({ method: 'GET', path, signal, idleMs: IDLE_MS }))
      } catch (error) {
        if (isApiError(error, 404)) return undefined
        throw error
      }
    },
    write: async (spec, resourceVersion, signal) => {
      const metadata = { namespace, name, ...(resourceVersion === undefined ? {} : { resourceVersion }) }
      const body: JsonObject = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec: spec as JsonObject }
      const place = resourceVersion === undefined ? { method: 'POST', path: collection } : { method: 'PUT', path }
      return readLease(await transport.json({ ...place, body, signal, idleMs: IDLE_MS }))
    },
  }
}

function readLease(object: JsonObject): Lease {
  const { resourceVersion } = isObject(object.metadata) ? object.metadata : {}
  return { resourceVersion: typeof resourceVersion === 'string' ? resourceVersion : '', spec: (isObject(object.spec) ? object.spec : {}) as Lease['spec'] }
}
