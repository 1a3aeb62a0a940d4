/** How to reach the kube-apiserver of a cluster: as a pod in it, or as a kubeconfig says. */
import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { inClusterAccess } from '../../apiservice/in-cluster.ts'
import type { ClusterAccess, ClusterCredentials } from '../../apiservice/kube-client.ts'
import { getKey, isObject, type Json, type JsonObject } from '../api/object.ts'
import { decodeYaml } from '../api/yaml.ts'
import { ConfigError } from '../config.ts'

/** The value of the setting that stands for the service account of the pod. */
export const IN_CLUSTER = 'in-cluster'

/** Reads where it is. Rejects with ConfigError for a kubeconfig that cannot be used; the files that it names are read when they are needed, and again. */
export async function clusterAccess(cluster: string, environment: Readonly<Record<string, string | undefined>>): Promise<ClusterAccess> {
  try {
    if (cluster === IN_CLUSTER) return inClusterAccess(environment)
    return kubeconfigAccess(decodeYaml(await readFile(cluster, 'utf8')).value, dirname(resolve(cluster)))
  } catch (error) {
    throw new ConfigError([`--cluster: ${cluster === IN_CLUSTER ? '' : `${cluster}: `}${error instanceof Error ? error.message : String(error)}`])
  }
}

/** The access of the current context. `directory` is what relative paths start from. Throws for what a server cannot use. */
export function kubeconfigAccess(kubeconfig: Json, directory: string): ClusterAccess {
  const context = entryOf(kubeconfig, 'contexts', textOf(kubeconfig, 'current-context'), 'context')
  const cluster = entryOf(kubeconfig, 'clusters', textOf(context, 'cluster'), 'cluster')
  const user = entryOf(kubeconfig, 'users', textOf(context, 'user'), 'user')
  for (const field of ['exec', 'auth-provider', 'username']) {
    if (getKey(user, field) !== undefined) throw new Error(`the user has ${field}, which a server cannot use: give a client certificate, a token or a tokenFile`)
  }
  if (getKey(cluster, 'insecure-skip-tls-verify') === true) throw new Error('the cluster has insecure-skip-tls-verify: whom a server trusts must not be told by anybody')
  const server = textOf(cluster, 'server')
  if (!URL.canParse(server) || new URL(server).protocol !== 'https:') throw new Error(`the cluster's server must be an https URL, got "${server}"`)
  const name = textOf(cluster, 'tls-server-name')
  const read = async (from: JsonObject, field: string): Promise<string | undefined> => {
    const data = textOf(from, `${field}-data`)
    if (data !== '') return Buffer.from(data, 'base64').toString('utf8')
    const path = textOf(from, field)
    return path === '' ? undefined : await readFile(resolve(directory, path), 'utf8')
  }
  return {
    server,
    ...(name === '' ? {} : { tlsServerName: name }),
    async credentials() {
      const [ca, cert, key] = await Promise.all([read(cluster, 'certificate-authority'), read(user, 'client-certificate'), read(user, 'client-key')])
      const file = textOf(user, 'tokenFile')
      const token = file === '' ? textOf(user, 'token') : (await readFile(resolve(directory, file), 'utf8')).trim()
      return defined({ ca, cert, key, token: token === '' ? undefined : token })
    },
  }
}

function defined(credentials: { readonly [K in keyof ClusterCredentials]: ClusterCredentials[K] | undefined }): ClusterCredentials {
  return Object.fromEntries(Object.entries(credentials).filter(([, value]) => value !== undefined))
}

function entryOf(kubeconfig: Json, list: string, name: string, field: string): JsonObject {
  const entries = isObject(kubeconfig) ? getKey(kubeconfig, list) : undefined
  const entry = Array.isArray(entries) ? entries.find((item) => isObject(item) && getKey(item, 'name') === name) : undefined
  const value = isObject(entry) ? getKey(entry, field) : undefined
  if (!isObject(value)) throw new Error(`the kubeconfig has no ${field} "${name}"`)
  return value
}

function textOf(object: Json, field: string): string {
  const value = isObject(object) ? getKey(object, field) : undefined
  return typeof value === 'string' ? value : ''
}
