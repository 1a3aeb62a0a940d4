/** A Deployment of our image that the restricted Pod Security Standard admits. */
import type { JsonObject } from '../../api/object.ts'

/** The image's name in manifests, without registry and tag: a kustomization says which one is meant. */
export const IMAGE = 'mlops-apiserver'

/** What is different from one Deployment to another. */
export interface DeploymentOptions {
  readonly name: string
  readonly namespace: string
  readonly replicas: number
  readonly args: readonly string[]
  /** Environment, by name. */
  readonly env?: Readonly<Record<string, string>>
  /** HTTPS port with `/livez` and `/readyz`. */
  readonly port?: number
  readonly resources: JsonObject
}

/** The labels by which what belongs to a program is found. */
export function labelsOf(name: string): Record<string, string> {
  return { 'app.kubernetes.io/name': name, 'app.kubernetes.io/part-of': 'mlops-apiserver' }
}

/** The Deployment, with a ServiceAccount of the same name. */
export function deployment({ name, namespace, replicas, args, env, port, resources }: DeploymentOptions): JsonObject[] {
  const labels = labelsOf(name)
  const metadata = { name, namespace, labels }
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata,
      spec: {
        replicas,
        selector: { matchLabels: { 'app.kubernetes.io/name': name } },
        strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
        template: {
          metadata: { labels },
          spec: {
            serviceAccountName: name,
            terminationGracePeriodSeconds: 30,
            securityContext: { runAsNonRoot: true, runAsUser: 1000, runAsGroup: 1000, fsGroup: 1000, seccompProfile: { type: 'RuntimeDefault' } },
            topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'kubernetes.io/hostname', whenUnsatisfiable: 'ScheduleAnyway', labelSelector: { matchLabels: { 'app.kubernetes.io/name': name } } }],
            containers: [{
              name: 'main',
              image: IMAGE,
              args: [...args],
              ...(env && { env: Object.entries(env).map(([variable, value]) => ({ name: variable, value })) }),
              ...(port === undefined ? {} : { ports: [{ name: 'https', containerPort: port }], livenessProbe: probe('/livez', port), readinessProbe: probe('/readyz', port) }),
              resources,
              securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
              volumeMounts: [{ name: 'tmp', mountPath: '/tmp' }],
            }],
            volumes: [{ name: 'tmp', emptyDir: {} }],
          },
        },
      },
    },
  ]
}

function probe(path: string, port: number): JsonObject {
  return { httpGet: { scheme: 'HTTPS', path, port }, periodSeconds: 5, failureThreshold: 3 }
}

/** A role with its binding to the ServiceAccount of a program: of the cluster, or of its namespace. */
export function grant(kind: 'Role' | 'ClusterRole', { name, namespace, rules }: { readonly name: string; readonly namespace: string; readonly rules: readonly JsonObject[] }): JsonObject[] {
  const metadata = { name, labels: labelsOf(name), ...(kind === 'Role' ? { namespace } : {}) }
  return [
    { apiVersion: 'rbac.authorization.k8s.io/v1', kind, metadata, rules: [...rules] },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: `${kind}Binding`,
      metadata,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name },
      subjects: [{ kind: 'ServiceAccount', name, namespace }],
    },
  ]
}
