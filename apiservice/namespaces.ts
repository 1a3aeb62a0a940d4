/** The namespaces of the cluster. upstream: apiserver/pkg/admission/plugin/namespace/lifecycle/admission.go: Admit */
import { KubeStatusError, type KubeJson } from './kube-client.ts'
import { reflect, type ReflectAround } from './reflect.ts'

/** What is known of a namespace. */
export interface KnownNamespace {
  readonly uid: string
  readonly terminating: boolean
}

export interface ClusterNamespaces {
  /** A namespace; undefined: there is none. One that the watch does not know is asked for. Rejects when nobody can tell. */
  find(name: string): Promise<KnownNamespace | undefined>
  /** Resolves when they were listed for the first time. */
  readonly synced: Promise<void>
}

/** Follows the namespaces until the signal aborts. */
export function followNamespaces(around: ReflectAround): ClusterNamespaces {
  let known = new Map<string, KnownNamespace>()
  const synced = Promise.withResolvers<void>()
  void reflect({
    path: '/api/v1/namespaces',
    metadataOnly: true,
    replace(objects) {
      known = new Map(objects.map(readNamespace))
      synced.resolve()
    },
    change(object, gone) {
      const [name, namespace] = readNamespace(object)
      if (gone) known.delete(name)
      else known.set(name, namespace)
    },
  }, around)
  return {
    synced: synced.promise,
    async find(name) {
      const namespace = known.get(name)
      if (namespace) return namespace
      // It may have been made a moment ago.
      try {
        return readNamespace(await around.client.request({ method: 'GET', path: `/api/v1/namespaces/${encodeURIComponent(name)}` }))[1]
      } catch (error) {
        if (error instanceof KubeStatusError && error.code === 404) return undefined
        throw error
      }
    },
  }
}

function readNamespace(object: KubeJson): [string, KnownNamespace] {
  const { name, uid, deletionTimestamp } = (object.metadata ?? {}) as KubeJson
  return [String(name), { uid: String(uid), terminating: deletionTimestamp !== undefined }]
}
