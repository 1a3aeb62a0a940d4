/** All that a cluster without aggregation needs: `deploy/crd/`, file by file. */
import { encodeYaml } from '../../api/codec.ts'
import type { JsonObject } from '../../api/object.ts'
import { qualifiedName } from '../../api/resource.ts'
import type { ConvertedResource } from '../../webhook/convert-object.ts'
import { fallbackDefinition, remainderPolicy } from './crd.ts'
import { deployment, grant, IMAGE, labelsOf } from './deployment.ts'

const NAMESPACE = 'mlops-system'
const WEBHOOK = 'mlops-webhook'
const CERTIFICATE = 'mlops-webhook-certificate'
const WORKER = 'mlops-worker'
const PORT = 8443
/** The image of the pods that the worker makes: kustomize gives it the name that the worker itself has. */
const POD_IMAGE = 'MLOPS_POD_IMAGE'
const MADE = '# Made by `mlops-apiserver manifests crd`: change the definition or src/commands/manifests, and write it again.\n'

/** Files of the folder, by name. Definitions converted without a webhook have none. */
export function fallbackManifests(resources: readonly ConvertedResource[]): ReadonlyMap<string, string> {
  const place = { namespace: NAMESPACE, service: WEBHOOK }
  const converted = resources.filter(({ conversion }) => !conversion.renamesOnly)
  const files: [string, JsonObject[]][] = [
    ['namespace.yaml', [namespace()]],
    ['customresourcedefinition.yaml', resources.map((resource) => fallbackDefinition(resource, place))],
    ['policy.yaml', converted.flatMap(remainderPolicy)],
    ['roles.yaml', resources.flatMap(userRoles)],
    ['webhook.yaml', converted.length === 0 ? [] : webhook(converted)],
    ['worker.yaml', worker()],
  ]
  const filled = files.filter(([, objects]) => objects.length > 0)
  const kustomization = {
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    resources: filled.map(([name]) => name),
    images: [{ name: IMAGE, newTag: 'latest' }],
    replacements: [{
      source: { kind: 'Deployment', name: WORKER, fieldPath: 'spec.template.spec.containers.0.image' },
      targets: [{ select: { kind: 'Deployment', name: WORKER }, fieldPaths: [`spec.template.spec.containers.[name=main].env.[name=${POD_IMAGE}].value`] }],
    }],
  }
  return new Map([...filled, ['kustomization.yaml', [kustomization]] as const].map(([name, objects]) => [name, `${MADE}${objects.map(encodeYaml).join('---\n')}`]))
}

function namespace(): JsonObject {
  return {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: NAMESPACE, labels: { 'pod-security.kubernetes.io/enforce': 'restricted', 'pod-security.kubernetes.io/enforce-version': 'latest' } },
  }
}

// upstream: the aggregation of ClusterRoles into admin, edit and view (plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go)
function userRoles({ definition }: ConvertedResource): JsonObject[] {
  const role = (name: string, aggregates: readonly string[], verbs: readonly string[]): JsonObject => ({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: `${qualifiedName(definition)}:${name}`, labels: Object.fromEntries(aggregates.map((to) => [`rbac.authorization.k8s.io/aggregate-to-${to}`, 'true'])) },
    rules: [{ apiGroups: [definition.group], resources: [definition.names.plural], verbs: [...verbs] }],
  })
  return [
    role('view', ['view', 'edit', 'admin'], ['get', 'list', 'watch']),
    role('edit', ['edit', 'admin'], ['create', 'update', 'patch', 'delete', 'deletecollection']),
  ]
}

function webhook(converted: readonly ConvertedResource[]): JsonObject[] {
  const labels = labelsOf(WEBHOOK)
  const metadata = { name: WEBHOOK, namespace: NAMESPACE, labels }
  return [
    ...deployment({
      name: WEBHOOK,
      namespace: NAMESPACE,
      replicas: 2,
      args: ['webhook', '--bind-address=0.0.0.0', `--port=${PORT}`, '--cluster=in-cluster', `--service=${NAMESPACE}/${WEBHOOK}`, `--certificate-secret=${CERTIFICATE}`, '--log-level=info'],
      port: PORT,
      resources: { requests: { cpu: '50m', memory: '128Mi' }, limits: { memory: '512Mi' } },
    }),
    { apiVersion: 'v1', kind: 'Service', metadata, spec: { selector: { 'app.kubernetes.io/name': WEBHOOK }, ports: [{ name: 'https', port: 443, targetPort: PORT }] } },
    { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata, spec: { minAvailable: 1, selector: { matchLabels: { 'app.kubernetes.io/name': WEBHOOK } } } },
    // Without data: the webhook fills it, and needs no right to create Secrets.
    { apiVersion: 'v1', kind: 'Secret', metadata: { name: CERTIFICATE, namespace: NAMESPACE, labels }, type: 'Opaque' },
    ...grant('Role', { name: WEBHOOK, namespace: NAMESPACE, rules: [{ apiGroups: [''], resources: ['secrets'], resourceNames: [CERTIFICATE], verbs: ['get', 'update'] }] }),
    ...grant('ClusterRole', {
      name: WEBHOOK,
      namespace: NAMESPACE,
      rules: [{ apiGroups: ['apiextensions.k8s.io'], resources: ['customresourcedefinitions'], resourceNames: converted.map(({ definition }) => qualifiedName(definition)), verbs: ['get', 'update'] }],
    }),
  ]
}

function worker(): JsonObject[] {
  return [
    ...deployment({
      name: WORKER,
      namespace: NAMESPACE,
      replicas: 2,
      args: ['worker', '--kubeconfig=in-cluster', '--executor=pods', `--lease=${NAMESPACE}/${WORKER}`, '--status-kibibytes=96', '--log-level=info'],
      env: { [POD_IMAGE]: IMAGE },
      resources: { requests: { cpu: '100m', memory: '192Mi' }, limits: { memory: '512Mi' } },
    }),
    ...grant('ClusterRole', {
      name: WORKER,
      namespace: NAMESPACE,
      rules: [
        { apiGroups: ['mlops.dev'], resources: ['notebookvalidationjobs'], verbs: ['get', 'list', 'watch', 'delete'] },
        { apiGroups: ['mlops.dev'], resources: ['notebookvalidationjobs/status'], verbs: ['patch'] },
        { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'] },
        { apiGroups: [''], resources: ['pods/log'], verbs: ['get'] },
        { apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] },
      ],
    }),
    ...grant('Role', { name: WORKER, namespace: NAMESPACE, rules: [{ apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'create', 'update'] }] }),
  ]
}
