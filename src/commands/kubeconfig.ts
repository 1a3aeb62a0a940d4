/** The kubeconfig of a standalone server. upstream: client-go/tools/clientcmd/api/v1/types.go */
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
  // A JSON string is a YAML string too.
  const [id, address] = [JSON.stringify(name), JSON.stringify(server)]
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  return `apiVersion: v1
kind: Config
clusters:
- name: ${id}
  cluster:
    server: ${address}
    certificate-authority-data: ${base64(ca)}
contexts:
- name: ${id}
  context:
    cluster: ${id}
    namespace: default
    user: ${id}
current-context: ${id}
preferences: {}
users:
- name: ${id}
  user:
    client-certificate-data: ${base64(cert)}
    client-key-data: ${base64(key)}
`
}
