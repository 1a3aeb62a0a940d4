/** The warning of a deprecated version. upstream: apiextensions-apiserver/pkg/apiserver/customresource_handler.go: getOrCreateServingInfoFor */
import { formatApiVersion } from '../api/object.ts'
import type { ResourceDefinition, VersionDefinition } from '../api/resource.ts'
import { compareVersions } from '../api/version-order.ts'

/** The warning that every request of this version carries, or undefined. */
export function deprecationWarning(definition: ResourceDefinition, version: VersionDefinition): string | undefined {
  if (!version.deprecated) return undefined
  if (version.deprecationWarning !== undefined) return version.deprecationWarning
  const describe = (name: string) => `${formatApiVersion(definition.group, name)} ${definition.names.kind}`
  const newest = definition.versions.filter((v) => v.served && !v.deprecated).map((v) => v.name).sort(compareVersions)[0]
  const use = newest !== undefined && compareVersions(newest, version.name) < 0 ? `; use ${describe(newest)}` : ''
  return `${describe(version.name)} is deprecated${use}`
}
