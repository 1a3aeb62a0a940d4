/** The CustomResourceDefinitions of the fallback, and the policies without which their annotation could be written by anybody. */
import { printDefinition } from '../../api/definition-print.ts'
import { isObject, type JsonObject } from '../../api/object.ts'
import { qualifiedName } from '../../api/resource.ts'
import { MAX_ANNOTATIONS_BYTES, MAX_REMAINDER_BYTES, REMAINDER_ANNOTATION } from '../../webhook/remainder.ts'
import type { ConvertedResource } from '../../webhook/convert-object.ts'

/** Where the webhook runs in a cluster. */
export interface WebhookPlace {
  readonly namespace: string
  readonly service: string
}

/** The CustomResourceDefinition of a resource, converted by the webhook at `place`; who has certificates for it adds the caBundle. */
export function fallbackDefinition({ definition, conversion }: ConvertedResource, { namespace, service }: WebhookPlace): JsonObject {
  const printed = printDefinition(definition)
  if (!isObject(printed.spec)) throw new Error(`${qualifiedName(definition)} has no spec`)
  if (conversion.renamesOnly) return printed
  const clientConfig = { service: { namespace, name: service, path: '/convert', port: 443 } }
  return { ...printed, spec: { ...printed.spec, conversion: { strategy: 'Webhook', webhook: { clientConfig, conversionReviewVersions: ['v1'] } } } }
}

/** Bytes of the annotations that clients write: there must be room for the remainder beside them, or nobody could list the objects in a poorer version. */
const OWN_ANNOTATIONS_BYTES = MAX_ANNOTATIONS_BYTES - MAX_REMAINDER_BYTES - REMAINDER_ANNOTATION.length

/**
 * The ValidatingAdmissionPolicy, and its binding, that refuses an update whose annotation is not the live object's, and annotations that leave no
 * room for it; nothing where no version needs it. Requests are looked at in their own version: converted into another one, the annotation would be another.
 */
export function remainderPolicy({ definition, conversion }: ConvertedResource): JsonObject[] {
  if (conversion.poorer === undefined || conversion.poorer.length === 0) return []
  const name = `remainder.${qualifiedName(definition)}`
  const { plural } = definition.names
  const annotationOf = (object: string): string => `${object}.metadata.?annotations[?'${REMAINDER_ANNOTATION}']`
  return [
    {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name },
      spec: {
        failurePolicy: 'Fail',
        matchConstraints: {
          matchPolicy: 'Exact',
          resourceRules: [{
            apiGroups: [definition.group],
            apiVersions: definition.versions.map((version) => version.name),
            operations: ['CREATE', 'UPDATE'],
            resources: [plural, `${plural}/status`, `${plural}/scale`].filter((resource) => hasSubresource(definition.versions, resource.split('/')[1])),
          }],
        },
        validations: [{
          expression: `object.metadata.?annotations.orValue({}).map(key, key == '${REMAINDER_ANNOTATION}' ? 0 : bytes(key).size() + bytes(object.metadata.annotations[key]).size()).sum() <= ${OWN_ANNOTATIONS_BYTES}`,
          message: `annotations may have ${OWN_ANNOTATIONS_BYTES} bytes, so that there is room for what a version cannot show`,
          reason: 'Invalid',
        }, {
          expression: `request.operation == 'CREATE' || ${annotationOf('object')} == ${annotationOf('oldObject')}`,
          message: `the annotation ${REMAINDER_ANNOTATION} holds what this version cannot show: send it as it was read, patch the object, or write through ${conversion.hub}`,
          reason: 'Invalid',
        }],
      },
    },
    {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name },
      spec: { policyName: name, validationActions: ['Deny'] },
    },
  ]
}

function hasSubresource(versions: ConvertedResource['definition']['versions'], subresource: string | undefined): boolean {
  return subresource === undefined || versions.some(({ subresources }) => subresources?.[subresource as 'status' | 'scale'] !== undefined)
}
