/** One request on its way: what every step needs. */
import type { Request, Response } from 'express'
import type { User } from '../../apiservice/auth.ts'
import type { VersionDefinition } from '../api/resource.ts'
import type { ResourceStore } from '../registry/resource-store.ts'
import type { RequestInfo } from './request-info.ts'
import type { Warnings } from './warnings.ts'
import type { YamlBodies } from './yaml-bodies.ts'

export interface RequestContext {
  readonly req: Request
  readonly res: Response
  readonly info: RequestInfo
  readonly user: User
  readonly store: ResourceStore
  readonly version: VersionDefinition
  readonly warnings: Warnings
  readonly yaml: YamlBodies
  /** Aborts when the client is gone, the deadline has passed or the server stops. */
  readonly signal: AbortSignal
  /** Milliseconds since the epoch. */
  readonly now: number
}

/** The namespace that a request's objects are in: "" for a cluster-scoped resource, also where the path names one (`/namespaces/x`). */
export function objectNamespace({ info, store }: Pick<RequestContext, 'info' | 'store'>): string {
  return store.definition.scope === 'Namespaced' ? info.namespace : ''
}
