/** v1alpha1: frozen fields, types, enums, defaults and url pattern; it shows a part of v1 and is deprecated. */
import type { JsonObject, ObjectMeta } from '../../api/object.ts'
import type { VersionDefinition } from '../../api/resource.ts'
import type { FromSchema, Schema } from '../../api/schema.ts'
import { defaultLimits, defaultRequests, quantityText, text } from './core-types.ts'
import { deadline, image, objectFields, path, revision, serviceAccountName, url } from './fields.ts'
import { cpuAndMemoryRequestRules, immutable, onlyLowered } from './rules.ts'
import { cellFields, cellIndex, conditionFields, maxCells, phase } from './status-fields.ts'

const git = {
  type: 'object',
  description: 'A git repository and the notebook in it.',
  required: ['url', 'path'],
  properties: {
    url: { ...url, pattern: '^https?://.*' },
    ref: revision,
    path,
    credentialsSecret: { ...text, description: 'Secret with credentials for the repository; empty means none.' },
  },
} as const satisfies Schema

const spec = {
  type: 'object',
  description: 'The notebook, and how it is validated.',
  required: ['notebook'],
  properties: {
    notebook: {
      type: 'object',
      description: 'The notebook to validate.',
      required: ['git'],
      properties: {
        git,
        golden: {
          type: 'object',
          description: 'A notebook whose outputs are the expected ones.',
          required: ['git'],
          properties: { git },
        },
      },
    },
    podConfig: {
      type: 'object',
      description: 'The pod that executes the notebook.',
      default: {},
      properties: {
        containerImage: image,
        serviceAccountName,
        resources: {
          type: 'object',
          description: 'Compute resources of the container that executes the notebook.',
          default: {},
          properties: {
            requests: {
              type: 'object',
              description: 'What the scheduler reserves.',
              default: {},
              properties: {
                cpu: { ...quantityText, description: 'CPU.', default: defaultRequests.cpu },
                memory: { ...quantityText, description: 'Memory.', default: defaultRequests.memory },
              },
            },
            limits: {
              type: 'object',
              description: 'The most that may be used.',
              default: {},
              properties: {
                cpu: { ...quantityText, description: 'CPU.', default: defaultLimits.cpu },
                memory: { ...quantityText, description: 'Memory.', default: defaultLimits.memory },
              },
            },
          },
          'x-kubernetes-validations': cpuAndMemoryRequestRules,
        },
      },
    },
    timeoutSeconds: deadline,
  },
  'x-kubernetes-validations': [...['notebook', 'podConfig'].map(immutable), onlyLowered('timeoutSeconds')],
} as const satisfies Schema

const status = {
  type: 'object',
  description: 'What was observed.',
  properties: {
    phase,
    conditions: {
      type: 'array',
      description: 'Succeeded, SourceReady, PodReady, Executed and Compared.',
      items: { type: 'object', required: ['type', 'status'], properties: conditionFields },
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['type'],
    },
    results: {
      type: 'array',
      description: 'Results, cell by cell.',
      maxItems: maxCells,
      items: {
        type: 'object',
        required: ['cellIndex', 'status'],
        properties: {
          cellIndex,
          status: { type: 'string', description: 'Whether the cell ran and compares well.', enum: ['Success', 'Failure'] },
          output: cellFields.output,
          error: cellFields.errorMessage,
        },
      },
      'x-kubernetes-list-type': 'atomic',
    },
  },
} as const satisfies Schema

/** The schema of v1alpha1. */
export const schema = {
  type: 'object',
  description: 'A NotebookValidationJob executes a notebook once and compares its outputs, cell by cell.',
  required: ['spec'],
  properties: { ...objectFields, spec, status },
} as const satisfies Schema

/** A NotebookValidationJob in v1alpha1, as it may be written: fields with a default are optional. */
export type NotebookValidationJobV1alpha1 = Omit<FromSchema<typeof schema>, 'apiVersion' | 'kind' | 'metadata'> & {
  apiVersion: string
  kind: string
  metadata: ObjectMeta & JsonObject
}

/** v1alpha1 as the definition lists it. */
export const v1alpha1: VersionDefinition = {
  name: 'v1alpha1',
  served: true,
  storage: false,
  deprecated: true,
  deprecationWarning: 'mlops.dev/v1alpha1 NotebookValidationJob is deprecated; use mlops.dev/v1 NotebookValidationJob',
  schema,
  subresources: { status: {} },
  selectableFields: [{ jsonPath: '.status.phase' }],
  additionalPrinterColumns: [
    { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
}
