/** How a pod reaches the kube-apiserver of its cluster. upstream: client-go/rest/config.go: InClusterConfig */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ClusterAccess } from './kube-client.ts'

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'

/** The access of the pod's service account. Throws when `environment` is not that of a pod. */
export function inClusterAccess(environment: Readonly<Record<string, string | undefined>>, directory = SERVICE_ACCOUNT): ClusterAccess {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = environment
  if (!host || !port) throw new Error('not in a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set; name a kubeconfig instead')
  return {
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    async credentials() {
      const [token, ca] = await Promise.all([readFile(join(directory, 'token'), 'utf8'), readFile(join(directory, 'ca.crt'), 'utf8')])
      return { token: token.trim(), ca }
    },
  }
}
