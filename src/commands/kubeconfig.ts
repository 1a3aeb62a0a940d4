/** The kubeconfig of a standalone server. upstream: client-go/tools/clientcmd/api/v1/types.go */
import { encodeYaml } from '../api/yaml.ts'
import { writeSecret } from './pki.ts'

/** What a kubeconfig says. Certificates are PEM and are embedded, so that the file works wherever it is copied to. */
export interface KubeconfigOptions {
  /** `https://127.0.0.1:7443` */
  readonly server: string
  readonly ca: string
  readonly cert: string
  readonly key: string
  /** Name of its cluster, user and context. */
  readonly name: string
}

/** Writes a kubeconfig with one context in the namespace `default`, mode 0600, whole or not at all. */
export async function writeKubeconfig(path: string, options: KubeconfigOptions): Promise<void> {
  await writeSecret(path, formatKubeconfig(options))
}

/** The text of a kubeconfig. */
export function formatKubeconfig({ server, ca, cert, key, name }: KubeconfigOptions): string {
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  return encodeYaml({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server, 'certificate-authority-data': base64(ca) } }],
    contexts: [{ name, context: { cluster: name, namespace: 'default', user: name } }],
    'current-context': name,
    preferences: {},
    users: [{ name, user: { 'client-certificate-data': base64(cert), 'client-key-data': base64(key) } }],
  })
}
