/**
 * The parts of a pod that a job may set, by name and type as Kubernetes 1.36 publishes them, bounded for the cost of
 * CEL rules. Published defaults are not taken over. affinity, securityContext and the selectors of
 * topologySpreadConstraints keep what they hold unread: the pod's own server validates them.
 */
import type { Schema } from '../../api/schema.ts'
import {
  environmentRules, finiteRules, intOrStringQuantityRules, mountPathRules, podMetadataRules, quantityRules, requestRules, volumeNameRules, volumeRules,
} from './rules.ts'

/** A string of the spec that has no bound of its own. */
export const text = { type: 'string', maxLength: 1024 } as const satisfies Schema

const bool = { type: 'boolean' } as const satisfies Schema
const int32 = { type: 'integer', format: 'int32' } as const satisfies Schema
const int64 = { type: 'integer', format: 'int64' } as const satisfies Schema

/** A map of strings to strings. */
export const textMap = { type: 'object', additionalProperties: text, maxProperties: 64 } as const satisfies Schema

const amount = '(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?'

// The pattern that Kubernetes publishes for quantities.
const quantityPattern = `^(\\+|-)?${amount}$`

/** A quantity of a resource where only a string is taken. */
export const quantityText = { ...text, pattern: quantityPattern, 'x-kubernetes-validations': quantityRules } as const satisfies Schema

// A quantity of a resource: a string, or an integer that stays one.
const quantity = {
  'x-kubernetes-int-or-string': true,
  anyOf: [{ type: 'integer' }, { type: 'string' }],
  maxLength: 1024,
  pattern: quantityPattern,
  'x-kubernetes-validations': intOrStringQuantityRules,
} as const satisfies Schema

// A quantity in places so many that a rule on each would cost too much.
const positiveQuantity = { ...text, pattern: `^\\+?${amount}$` } as const satisfies Schema

/** A decimal number that is finite and not negative, as a string: the API has no floats. */
export const decimal = {
  ...text,
  pattern: '^[0-9]+(\\.[0-9]+)?([eE][+-]?[0-9]{1,2})?$',
  'x-kubernetes-validations': finiteRules,
} as const satisfies Schema

// The cost estimate of rules takes an int-or-string for as long as a whole request; 16 entries would exceed the budget.
const quantities = { type: 'object', additionalProperties: quantity, maxProperties: 15 } as const satisfies Schema

/** What an absent map of requests stands for. */
export const defaultRequests = { cpu: '500m', memory: '2Gi' } as const

/** What an absent map of limits stands for. */
export const defaultLimits = { cpu: '1', memory: '4Gi' } as const

/** core/v1 ResourceRequirements without claims. */
export const resources = {
  type: 'object',
  description: 'Compute resources of the container that executes the notebook.',
  default: {},
  properties: {
    requests: { ...quantities, default: defaultRequests, description: 'What the scheduler reserves, by resource name.' },
    limits: { ...quantities, default: defaultLimits, description: 'The most that may be used, by resource name.' },
  },
  'x-kubernetes-validations': requestRules,
} as const satisfies Schema

/** core/v1 LocalObjectReference, with the name required. */
export const localObjectReference = {
  type: 'object',
  required: ['name'],
  properties: { name: text },
  'x-kubernetes-map-type': 'atomic',
} as const satisfies Schema

/** Labels and annotations of the pod. */
export const podMetadata = {
  type: 'object',
  description: 'Labels and annotations of the pod.',
  properties: {
    labels: { ...textMap, 'x-kubernetes-validations': podMetadataRules },
    annotations: { ...textMap, 'x-kubernetes-validations': podMetadataRules },
  },
} as const satisfies Schema

/** A list of core/v1 LocalObjectReference, by name. */
export const imagePullSecrets = {
  type: 'array',
  description: 'Secrets with which the image is pulled.',
  maxItems: 64,
  items: localObjectReference,
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['name'],
} as const satisfies Schema

const keySelector = {
  type: 'object',
  required: ['key'],
  properties: { key: text, name: text, optional: bool },
  'x-kubernetes-map-type': 'atomic',
} as const satisfies Schema

const fieldSelector = {
  type: 'object',
  required: ['fieldPath'],
  properties: { apiVersion: text, fieldPath: text },
  'x-kubernetes-map-type': 'atomic',
} as const satisfies Schema

const resourceSelector = {
  type: 'object',
  required: ['resource'],
  properties: { containerName: text, divisor: positiveQuantity, resource: text },
  'x-kubernetes-map-type': 'atomic',
} as const satisfies Schema

/** A list of core/v1 EnvVar. */
export const env = {
  type: 'array',
  description: 'Environment variables of the notebook.',
  maxItems: 128,
  items: {
    type: 'object',
    required: ['name'],
    properties: {
      name: { ...text, 'x-kubernetes-validations': environmentRules },
      value: text,
      valueFrom: {
        type: 'object',
        properties: {
          configMapKeyRef: keySelector,
          fieldRef: fieldSelector,
          fileKeyRef: {
            type: 'object',
            required: ['volumeName', 'path', 'key'],
            properties: { key: text, optional: bool, path: text, volumeName: text },
            'x-kubernetes-map-type': 'atomic',
          },
          resourceFieldRef: resourceSelector,
          secretKeyRef: keySelector,
        },
      },
    },
  },
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['name'],
} as const satisfies Schema

const environmentSource = { type: 'object', properties: { name: text, optional: bool } } as const satisfies Schema

/** A list of core/v1 EnvFromSource. */
export const envFrom = {
  type: 'array',
  description: 'ConfigMaps and Secrets whose keys become environment variables.',
  maxItems: 64,
  items: {
    type: 'object',
    properties: {
      configMapRef: environmentSource,
      prefix: { ...text, 'x-kubernetes-validations': environmentRules },
      secretRef: environmentSource,
    },
  },
  'x-kubernetes-list-type': 'atomic',
} as const satisfies Schema

/** core/v1 PodSpec.nodeSelector. */
export const nodeSelector = {
  ...textMap,
  description: 'Labels that the node must have.',
  'x-kubernetes-map-type': 'atomic',
} as const satisfies Schema

/** A list of core/v1 Toleration. */
export const tolerations = {
  type: 'array',
  description: 'Taints that the pod tolerates.',
  maxItems: 64,
  items: {
    type: 'object',
    properties: { effect: text, key: text, operator: text, tolerationSeconds: int64, value: text },
  },
  'x-kubernetes-list-type': 'atomic',
} as const satisfies Schema

/** core/v1 PodSecurityContext. */
export const securityContext = {
  type: 'object',
  description: 'Security attributes of the pod, as in core/v1 PodSecurityContext.',
  'x-kubernetes-preserve-unknown-fields': true,
} as const satisfies Schema

/** core/v1 Affinity. */
export const affinity = {
  type: 'object',
  description: 'Scheduling constraints, as in core/v1 Affinity.',
  'x-kubernetes-preserve-unknown-fields': true,
} as const satisfies Schema

/** A list of core/v1 TopologySpreadConstraint. */
export const topologySpreadConstraints = {
  type: 'array',
  description: 'How pods spread over the cluster, as in core/v1 TopologySpreadConstraint.',
  maxItems: 64,
  items: {
    type: 'object',
    required: ['topologyKey', 'whenUnsatisfiable'],
    properties: { topologyKey: text, whenUnsatisfiable: text },
    'x-kubernetes-preserve-unknown-fields': true,
  },
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['topologyKey', 'whenUnsatisfiable'],
} as const satisfies Schema

const keysToPaths = {
  type: 'array',
  maxItems: 64,
  items: { type: 'object', required: ['key', 'path'], properties: { key: text, mode: int32, path: text } },
  'x-kubernetes-list-type': 'atomic',
} as const satisfies Schema

const keyProjection = { type: 'object', properties: { items: keysToPaths, name: text, optional: bool } } as const satisfies Schema

const labelSelector = {
  type: 'object',
  properties: {
    matchExpressions: {
      type: 'array',
      maxItems: 64,
      items: {
        type: 'object',
        required: ['key', 'operator'],
        properties: {
          key: text,
          operator: text,
          values: { type: 'array', maxItems: 64, items: text, 'x-kubernetes-list-type': 'atomic' },
        },
      },
      'x-kubernetes-list-type': 'atomic',
    },
    matchLabels: textMap,
  },
  'x-kubernetes-map-type': 'atomic',
} as const satisfies Schema

const projection = {
  type: 'object',
  properties: {
    clusterTrustBundle: {
      type: 'object',
      required: ['path'],
      properties: { labelSelector, name: text, optional: bool, path: text, signerName: text },
    },
    configMap: keyProjection,
    downwardAPI: {
      type: 'object',
      properties: {
        items: {
          type: 'array',
          maxItems: 64,
          items: {
            type: 'object',
            required: ['path'],
            properties: { fieldRef: fieldSelector, mode: int32, path: text, resourceFieldRef: resourceSelector },
          },
          'x-kubernetes-list-type': 'atomic',
        },
      },
    },
    podCertificate: {
      type: 'object',
      required: ['signerName', 'keyType'],
      properties: {
        certificateChainPath: text,
        credentialBundlePath: text,
        keyPath: text,
        keyType: text,
        maxExpirationSeconds: int32,
        signerName: text,
        userAnnotations: textMap,
      },
    },
    secret: keyProjection,
    serviceAccountToken: {
      type: 'object',
      required: ['path'],
      properties: { audience: text, expirationSeconds: int64, path: text },
    },
  },
} as const satisfies Schema

/** A list of core/v1 Volume, with the sources that a job may use. */
export const volumes = {
  type: 'array',
  description: 'Volumes that the notebook may mount.',
  maxItems: 64,
  items: {
    type: 'object',
    required: ['name'],
    properties: {
      name: { ...text, 'x-kubernetes-validations': volumeNameRules },
      persistentVolumeClaim: { type: 'object', required: ['claimName'], properties: { claimName: text, readOnly: bool } },
      configMap: { type: 'object', properties: { defaultMode: int32, items: keysToPaths, name: text, optional: bool } },
      secret: { type: 'object', properties: { defaultMode: int32, items: keysToPaths, optional: bool, secretName: text } },
      emptyDir: { type: 'object', properties: { medium: text, sizeLimit: positiveQuantity } },
      projected: {
        type: 'object',
        properties: {
          defaultMode: int32,
          sources: { type: 'array', maxItems: 64, items: projection, 'x-kubernetes-list-type': 'atomic' },
        },
      },
    },
    'x-kubernetes-validations': volumeRules,
  },
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['name'],
} as const satisfies Schema

/** A list of core/v1 VolumeMount, with the fields that a job may use. */
export const volumeMounts = {
  type: 'array',
  description: 'Where the volumes appear in the container that executes the notebook.',
  maxItems: 64,
  items: {
    type: 'object',
    required: ['name', 'mountPath'],
    properties: { name: text, mountPath: { ...text, 'x-kubernetes-validations': mountPathRules }, subPath: text, readOnly: bool },
  },
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['mountPath'],
} as const satisfies Schema
