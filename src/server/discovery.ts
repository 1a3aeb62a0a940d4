/**
 * The discovery documents of the older form, from the served definitions. Keys stand in upstream's order.
 * upstream: apiextensions-apiserver/pkg/apiserver/customresource_discovery_controller.go, apimachinery/pkg/apis/meta/v1/types.go
 */
import { createHash } from 'node:crypto'
import { formatApiVersion } from '../api/object.ts'
import { findVersion, type ResourceDefinition, type VersionDefinition } from '../api/resource.ts'
import { compareBytes } from '../api/status.ts'
import { compareVersions } from '../api/version-order.ts'

/** In this order, which is not alphabetical. */
export const RESOURCE_VERBS = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'] as const
/** The verbs of `status` and `scale`. */
export const SUBRESOURCE_VERBS = ['get', 'patch', 'update'] as const

/** A group that is served, with its versions in kube-aware order; the first is the preferred one. */
export interface ServedGroup {
  readonly group: string
  readonly versions: readonly string[]
}

/** The groups of some definitions, by name; the core group has the name "". */
export function servedGroups(definitions: readonly ResourceDefinition[]): ServedGroup[] {
  const names = [...new Set(definitions.map(({ group }) => group))].sort(compareBytes)
  return names.map((group) => ({ group, versions: servedVersions(definitions.filter((d) => d.group === group)) })).filter(({ versions }) => versions.length > 0)
}

function servedVersions(definitions: readonly ResourceDefinition[]): string[] {
  const names = definitions.flatMap(({ versions }) => versions.filter(({ served }) => served).map(({ name }) => name))
  return [...new Set(names)].sort(compareVersions)
}

/** The definitions that a group serves in a version, by plural, each with that version. */
export function servedResources(definitions: readonly ResourceDefinition[], group: string, version: string): { definition: ResourceDefinition; version: VersionDefinition }[] {
  return definitions
    .flatMap((definition) => {
      const found = definition.group === group ? findVersion(definition, version) : undefined
      return found?.served ? [{ definition, version: found }] : []
    })
    .sort((a, b) => compareBytes(a.definition.names.plural, b.definition.names.plural))
}

/** `GET /api`: the versions of the core group. `address` is where the client reached us (`host:port`). */
export function apiVersions(definitions: readonly ResourceDefinition[], address: string): object {
  const core = servedGroups(definitions).find(({ group }) => group === '')
  return { kind: 'APIVersions', versions: core?.versions ?? [], serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: address }] }
}

/** `GET /apis`: every group but the core one. */
export function apiGroupList(definitions: readonly ResourceDefinition[]): object {
  const groups = servedGroups(definitions).filter(({ group }) => group !== '')
  return { kind: 'APIGroupList', apiVersion: 'v1', groups: groups.map(groupBody) }
}

/** `GET /apis/<group>`; undefined for one that is not served. */
export function apiGroup(definitions: readonly ResourceDefinition[], group: string): object | undefined {
  const served = group === '' ? undefined : servedGroups(definitions).find((g) => g.group === group)
  return served && { kind: 'APIGroup', apiVersion: 'v1', ...groupBody(served) }
}

function groupBody({ group, versions }: ServedGroup): object {
  const list = versions.map((version) => ({ groupVersion: formatApiVersion(group, version), version }))
  return { name: group, versions: list, preferredVersion: list[0] }
}

/** `GET /apis/<group>/<version>` and `/api/v1`; undefined where nothing is served. */
export function apiResourceList(definitions: readonly ResourceDefinition[], group: string, version: string): object | undefined {
  const served = servedResources(definitions, group, version)
  if (served.length === 0) return undefined
  return {
    kind: 'APIResourceList',
    ...(group === '' ? {} : { apiVersion: 'v1' }),
    groupVersion: formatApiVersion(group, version),
    resources: served.flatMap((s) => resourceEntries(s.definition, s.version)),
  }
}

function resourceEntries(definition: ResourceDefinition, version: VersionDefinition): object[] {
  const { names } = definition
  const namespaced = definition.scope === 'Namespaced'
  const entry = { name: names.plural, singularName: names.singular, namespaced, kind: names.kind, verbs: definition.verbs ?? RESOURCE_VERBS }
  const entries: object[] = [{ ...entry, ...shortcuts(definition), ...(definition.verbs ? {} : { storageVersionHash: storageVersionHash(definition) }) }]
  if (version.subresources?.status) {
    entries.push({ name: `${names.plural}/status`, singularName: '', namespaced, kind: names.kind, verbs: SUBRESOURCE_VERBS })
  }
  if (version.subresources?.scale) {
    entries.push({ name: `${names.plural}/scale`, singularName: '', namespaced, group: 'autoscaling', version: 'v1', kind: 'Scale', verbs: SUBRESOURCE_VERBS })
  }
  return entries
}

/** Short names and categories, left out where there are none. */
export function shortcuts({ names }: ResourceDefinition): { shortNames?: readonly string[]; categories?: readonly string[] } {
  return {
    ...(names.shortNames?.length ? { shortNames: names.shortNames } : {}),
    ...(names.categories?.length ? { categories: names.categories } : {}),
  }
}

/** The same for every version of a resource while it is stored in one version. upstream: discovery.StorageVersionHash */
export function storageVersionHash({ group, versions, names }: ResourceDefinition): string {
  const stored = versions.find(({ storage }) => storage)
  return createHash('sha256').update(`${group}/${stored?.name}/${names.kind}`).digest().subarray(0, 8).toString('base64')
}
