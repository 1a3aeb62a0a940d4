/** The kind of the scale subresource. upstream: api/autoscaling/v1/types.go: Scale */
import { API_VERSION_DESCRIPTION, KIND_DESCRIPTION, metaTypeName, referTo, type Node } from './openapi-meta-types.ts'

const CONVENTIONS = 'https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md'

/** Its definitions by full name, as OpenAPI v3. */
export const SCALE_TYPES: Readonly<Record<string, Node>> = {
  'io.k8s.api.autoscaling.v1.Scale': {
    type: 'object',
    description: 'Scale represents a scaling request for a resource.',
    properties: {
      apiVersion: { type: 'string', description: API_VERSION_DESCRIPTION },
      kind: { type: 'string', description: KIND_DESCRIPTION },
      metadata: referTo(metaTypeName('ObjectMeta'), { default: {}, description: `Standard object metadata; More info: ${CONVENTIONS}#metadata.` }),
      spec: referTo('io.k8s.api.autoscaling.v1.ScaleSpec', { default: {}, description: `spec defines the behavior of the scale. More info: ${CONVENTIONS}#spec-and-status.` }),
      status: referTo('io.k8s.api.autoscaling.v1.ScaleStatus', { default: {}, description: `status is the current status of the scale. More info: ${CONVENTIONS}#spec-and-status. Read-only.` }),
    },
    'x-kubernetes-group-version-kind': [{ group: 'autoscaling', kind: 'Scale', version: 'v1' }],
  },
  'io.k8s.api.autoscaling.v1.ScaleSpec': {
    type: 'object',
    description: 'ScaleSpec describes the attributes of a scale subresource.',
    properties: { replicas: { type: 'integer', format: 'int32', default: 0, description: 'replicas is the desired number of instances for the scaled object.' } },
  },
  'io.k8s.api.autoscaling.v1.ScaleStatus': {
    type: 'object',
    description: 'ScaleStatus represents the current status of a scale subresource.',
    required: ['replicas'],
    properties: {
      replicas: { type: 'integer', format: 'int32', default: 0, description: 'replicas is the actual number of observed instances of the scaled object.' },
      selector: {
        type: 'string',
        description: 'selector is the label query over pods that should match the replicas count. This is same as the label selector but in the string format to avoid introspection by clients. The string will be in the same format as the query-param syntax. More info about label selectors: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/',
      },
    },
  },
}
