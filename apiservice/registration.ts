/** The APIService objects by which kube-apiserver passes requests on to this server: one for each served version of a group. */

/** A Service of the cluster and its port. */
export interface ServiceReference {
  readonly namespace: string
  readonly name: string
  readonly port: number
}

/** A group and its served versions, the preferred one first. */
export interface ServedGroup {
  readonly group: string
  readonly versions: readonly string[]
}

/** The part of an APIService that is ours. upstream: kube-aggregator/pkg/apis/apiregistration/v1/types.go: APIService */
export interface ApiService {
  readonly apiVersion: 'apiregistration.k8s.io/v1'
  readonly kind: 'APIService'
  readonly metadata: { readonly name: string }
  readonly spec: {
    readonly group: string
    readonly version: string
    readonly groupPriorityMinimum: number
    readonly versionPriority: number
    readonly service: ServiceReference
    /** Base64 of PEM. Absent: something else keeps it. */
    readonly caBundle?: string
  }
}

// As a CRD's: among groups it is one of many.
const GROUP_PRIORITY = 1000
const HIGHEST_VERSION_PRIORITY = 100

/** The objects, by which the first version of each group is the preferred one. `ca` is PEM. */
export function apiServices(groups: readonly ServedGroup[], { service, ca }: { readonly service: ServiceReference; readonly ca?: string }): ApiService[] {
  return groups.flatMap(({ group, versions }) => versions.map((version, i) => ({
    apiVersion: 'apiregistration.k8s.io/v1' as const,
    kind: 'APIService' as const,
    metadata: { name: `${version}.${group}` },
    spec: {
      group,
      version,
      groupPriorityMinimum: GROUP_PRIORITY,
      versionPriority: Math.max(1, HIGHEST_VERSION_PRIORITY - i),
      service,
      ...(ca === undefined ? {} : { caBundle: Buffer.from(ca).toString('base64') }),
    },
  })))
}
