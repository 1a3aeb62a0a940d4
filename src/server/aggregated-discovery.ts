/**
 * The aggregated form of discovery: all groups with all resources in one document.
 * upstream: apiserver/pkg/endpoints/discovery/aggregated, api/apidiscovery/v2/types.go
 */
import { matchesType, parseAccept } from './negotiate.ts'
import { RESOURCE_VERBS, servedGroups, servedResources, shortcuts, SUBRESOURCE_VERBS } from './discovery.ts'
import type { ResourceDefinition, VersionDefinition } from '../api/resource.ts'

/** The versions of the document, which have the same content. v2beta1 is what clients and aggregators before 1.30 ask for. */
export const AGGREGATED_VERSIONS = ['v2', 'v2beta1'] as const
export type AggregatedVersion = (typeof AGGREGATED_VERSIONS)[number]

/** The media type of a document. Aggregators and client-go compare it word for word. */
export function aggregatedMediaType(version: AggregatedVersion): string {
  return `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`
}

/** The version of the aggregated document that an Accept header asks for, if it does. upstream: aggregated.WrappedHandler.ServeHTTP */
export function wantsAggregated(accept: string | undefined): AggregatedVersion | undefined {
  for (const clause of parseAccept(accept ?? '')) {
    const { parameters } = clause
    const version = AGGREGATED_VERSIONS.find((v) => v === parameters.get('v'))
    if (!version || !matchesType(clause, 'application/json')) continue
    if (parameters.get('g') === 'apidiscovery.k8s.io' && parameters.get('as') === 'APIGroupDiscoveryList') return version
  }
  return undefined
}

/** APIGroupDiscoveryList of the core group (`/api`) or of all others (`/apis`). */
export function aggregatedDiscovery(definitions: readonly ResourceDefinition[], scope: { readonly core: boolean }, version: AggregatedVersion): object {
  const groups = servedGroups(definitions).filter(({ group }) => (group === '') === scope.core)
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: `apidiscovery.k8s.io/${version}`,
    metadata: {},
    items: groups.map(({ group, versions }) => ({
      metadata: group === '' ? {} : { name: group },
      versions: versions.map((name) => ({
        version: name,
        resources: servedResources(definitions, group, name).map((s) => resource(s.definition, s.version)),
        freshness: 'Current',
      })),
    })),
  }
}

function resource(definition: ResourceDefinition, version: VersionDefinition): object {
  const { group, names, scope } = definition
  const responseKind = { group, version: version.name, kind: names.kind }
  const subresources = [
    ...(version.subresources?.status ? [{ subresource: 'status', responseKind, verbs: SUBRESOURCE_VERBS }] : []),
    ...(version.subresources?.scale ? [{ subresource: 'scale', responseKind: { group: 'autoscaling', version: 'v1', kind: 'Scale' }, verbs: SUBRESOURCE_VERBS }] : []),
  ]
  return {
    resource: names.plural,
    responseKind,
    scope: scope === 'Namespaced' ? 'Namespaced' : 'Cluster',
    singularResource: names.singular,
    verbs: definition.verbs ?? RESOURCE_VERBS,
    ...shortcuts(definition),
    ...(subresources.length > 0 ? { subresources } : {}),
  }
}
