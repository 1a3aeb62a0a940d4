/**
 * Discovery as answers to requests: which document a path names, in the form that the client accepts. All are made once.
 * upstream: apiserver/pkg/endpoints/discovery/{root,group,version,legacy}.go, .../discovery/aggregated/handler.go
 */
import type { ResourceDefinition } from '../api/resource.ts'
import { AGGREGATED_VERSIONS, aggregatedDiscovery, aggregatedMediaType, wantsAggregated, type AggregatedVersion } from './aggregated-discovery.ts'
import { entityTag, matchesTag, type Answer } from './answer.ts'
import { apiGroup, apiGroupList, apiResourceList, apiVersions } from './discovery.ts'
import { negotiatePlain, type PrettySource } from './negotiate.ts'
import { renderValue } from './respond.ts'

/** A request for a document. `path` is without the query; header names are lower case. */
export interface DocumentRequest extends PrettySource {
  readonly path: string
}

/** Answers a discovery path; undefined for any other path and for groups and versions that are not served. Throws 406. */
export type Discovery = (request: DocumentRequest) => Answer | undefined

/** Discovery of these definitions. */
export function createDiscovery(definitions: readonly ResourceDefinition[]): Discovery {
  const aggregated = { api: bothVersions(definitions, true), apis: bothVersions(definitions, false) }
  return (request) => {
    const parts = request.path.replace(/^\/+|\/+$/g, '').split('/')
    const [root, first = '', second = ''] = parts
    if (root !== 'api' && root !== 'apis') return undefined
    const accept = header(request, 'accept')
    if (parts.length === 1) {
      const version = wantsAggregated(accept)
      if (version) return aggregatedAnswer(aggregated[root], version, header(request, 'if-none-match'))
    }
    const document = root === 'api' ? coreDocument(definitions, parts, hostOf(request)) : groupDocument(definitions, parts.length, first, second)
    if (!document) return undefined
    const negotiated = negotiatePlain(accept, request)
    return {
      code: 200,
      // The two forms of /api and /apis have one address.
      headers: { 'content-type': negotiated.mediaType, 'cache-control': 'no-cache, private', ...(parts.length === 1 ? { vary: 'Accept' } : {}) },
      body: renderValue(negotiated, document),
    }
  }
}

function header({ headers }: PrettySource, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}

// HTTP/2 has :authority in place of Host.
function hostOf(request: PrettySource): string {
  return header(request, ':authority') ?? header(request, 'host') ?? ''
}

function coreDocument(definitions: readonly ResourceDefinition[], parts: readonly string[], host: string): object | undefined {
  if (parts.length === 1) return apiVersions(definitions, host)
  return parts.length === 2 ? apiResourceList(definitions, '', parts[1] ?? '') : undefined
}

function groupDocument(definitions: readonly ResourceDefinition[], length: number, group: string, version: string): object | undefined {
  if (length === 1) return apiGroupList(definitions)
  if (length === 2) return apiGroup(definitions, group)
  return length === 3 && group !== '' ? apiResourceList(definitions, group, version) : undefined
}

interface Aggregated {
  readonly body: string
  readonly tag: string
}

function bothVersions(definitions: readonly ResourceDefinition[], core: boolean): Readonly<Record<AggregatedVersion, Aggregated>> {
  const [v2, v2beta1] = AGGREGATED_VERSIONS.map((version) => {
    const body = `${JSON.stringify(aggregatedDiscovery(definitions, { core }, version))}\n`
    return { body, tag: entityTag(body) }
  }) as [Aggregated, Aggregated]
  return { v2, v2beta1 }
}

function aggregatedAnswer(documents: Readonly<Record<AggregatedVersion, Aggregated>>, version: AggregatedVersion, ifNoneMatch: string | undefined): Answer {
  const { body, tag } = documents[version]
  const headers = { etag: tag, vary: 'Accept', 'cache-control': 'public' }
  if (matchesTag(ifNoneMatch, tag)) return { code: 304, headers, body: '' }
  return { code: 200, headers: { 'content-type': aggregatedMediaType(version), ...headers }, body }
}
