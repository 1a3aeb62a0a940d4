/** v1, the hub: final names. */
import type { JsonObject, ObjectMeta } from '../../api/object.ts'
import type { VersionDefinition } from '../../api/resource.ts'
import type { FromSchema, Schema } from '../../api/schema.ts'
import { decimal } from './core-types.ts'
import {
  comparisonFields, deadline, executionFields, gitFields, ignoreFields, jobFields, metadataPolicy, objectFields, path, podFields,
  retries, revision, toleranceDefaults, url,
} from './fields.ts'
import { goldenRule, immutable, mountRules, onlyLowered } from './rules.ts'
import { cellFields, cellIndex, cellOutcome, comparisonOutcome, counter, differences, maxCells, statusFields, summaryFields } from './status-fields.ts'

const git = {
  type: 'object',
  description: 'A git repository.',
  required: ['url'],
  properties: { url, revision, ...gitFields },
} as const satisfies Schema

const comparison = {
  type: 'object',
  description: 'How outputs are compared.',
  default: {},
  properties: {
    ...comparisonFields,
    tolerance: {
      type: 'object',
      description: 'What two numbers may differ by: |a-b| <= absolute + relative * |b|.',
      default: {},
      properties: {
        absolute: { ...decimal, description: 'Absolute tolerance, a decimal.', default: toleranceDefaults.absolute },
        relative: { ...decimal, description: 'Relative tolerance, a decimal.', default: toleranceDefaults.relative },
      },
    },
    ignore: { type: 'object', description: 'What is not compared.', default: {}, properties: ignoreFields },
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
      required: ['git', 'path'],
      properties: { git, path },
    },
    golden: {
      type: 'object',
      description: 'A notebook whose outputs are the expected ones.',
      required: ['path'],
      properties: { git: { ...git, description: 'Its repository; absent means the same source as the notebook.' }, path },
    },
    metadataPolicy,
    comparison,
    execution: { type: 'object', description: 'How the notebook is executed.', default: {}, properties: executionFields },
    podTemplate: {
      type: 'object',
      description: 'The pod that executes the notebook.',
      default: {},
      properties: podFields,
      'x-kubernetes-validations': mountRules,
    },
    activeDeadlineSeconds: deadline,
    backoffLimit: retries,
    ...jobFields,
  },
  'x-kubernetes-validations': [
    goldenRule('comparison'),
    ...['notebook', 'golden', 'metadataPolicy', 'comparison', 'execution', 'podTemplate'].map(immutable),
    onlyLowered('activeDeadlineSeconds'),
    ...['backoffLimit', 'imagePullTimeoutSeconds', 'results'].map(immutable),
  ],
} as const satisfies Schema

const cell = {
  type: 'object',
  required: ['index', 'outcome'],
  properties: {
    index: cellIndex,
    id: cellFields.id,
    type: cellFields.type,
    outcome: cellOutcome,
    executionCount: cellFields.executionCount,
    durationMilliseconds: cellFields.durationMilliseconds,
    output: {
      type: 'object',
      description: 'What the cell printed and returned.',
      required: ['text'],
      properties: { text: cellFields.output, bytes: cellFields.outputBytes, truncated: cellFields.outputTruncated },
    },
    error: {
      type: 'object',
      description: 'Why the cell failed, or how it differs.',
      required: ['message'],
      properties: {
        message: cellFields.errorMessage,
        name: cellFields.errorName,
        value: cellFields.errorValue,
        traceback: cellFields.traceback,
      },
    },
    comparison: {
      type: 'object',
      description: 'How the cell compares with its counterpart.',
      required: ['outcome'],
      properties: { outcome: comparisonOutcome, differences },
    },
  },
} as const satisfies Schema

const status = {
  type: 'object',
  description: 'What was observed.',
  properties: {
    ...statusFields,
    podRef: {
      type: 'object',
      description: 'The pod of the last attempt.',
      required: ['name'],
      properties: {
        name: { type: 'string', description: 'Name of the pod.' },
        uid: { type: 'string', description: 'UID of the pod.' },
      },
    },
    summary: {
      type: 'object',
      description: 'Counts of cells.',
      required: ['total', 'code', 'succeeded', 'failed', 'skipped', 'notRun', 'matched', 'mismatched', 'ignored'],
      properties: {
        ...summaryFields,
        matched: { ...counter, description: 'Cells that match.' },
        mismatched: { ...counter, description: 'Cells that do not match.' },
        ignored: { ...counter, description: 'Cells that were not compared.' },
      },
    },
    cells: {
      type: 'array',
      description: 'Results, cell by cell.',
      maxItems: maxCells,
      items: cell,
      'x-kubernetes-list-type': 'atomic',
    },
  },
} as const satisfies Schema

/** The schema of v1. */
export const schema = {
  type: 'object',
  description: 'A NotebookValidationJob executes a notebook once and compares its outputs, cell by cell.',
  required: ['spec'],
  properties: { ...objectFields, spec, status },
} as const satisfies Schema

/** A NotebookValidationJob in v1, as it may be written: fields with a default are optional. */
export type NotebookValidationJobV1 = Omit<FromSchema<typeof schema>, 'apiVersion' | 'kind' | 'metadata'> & {
  apiVersion: string
  kind: string
  metadata: ObjectMeta & JsonObject
}

/** v1 as the definition lists it. */
export const v1: VersionDefinition = {
  name: 'v1',
  served: true,
  storage: true,
  schema,
  subresources: { status: {} },
  selectableFields: [{ jsonPath: '.status.phase' }, { jsonPath: '.status.reason' }],
  additionalPrinterColumns: [
    { name: 'Status', type: 'string', jsonPath: '.status.reason', description: 'Reason of the condition Succeeded' },
    { name: 'Notebook', type: 'string', jsonPath: '.spec.notebook.path', description: 'Path of the notebook' },
    { name: 'Cells', type: 'string', jsonPath: '.status.summary.cells', description: 'Succeeded and all code cells' },
    { name: 'Mismatched', type: 'integer', jsonPath: '.status.summary.mismatched', description: 'Cells that do not match' },
    { name: 'Duration', type: 'string', jsonPath: '.status.summary.duration', description: 'How long the cells ran' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
    { name: 'Commit', type: 'string', jsonPath: '.status.source.commit', description: 'Commit of the notebook', priority: 1 },
    { name: 'Pod', type: 'string', jsonPath: '.status.podRef.name', description: 'Pod of the last attempt', priority: 1 },
    { name: 'Message', type: 'string', jsonPath: '.status.message', description: 'Message of the condition Succeeded', priority: 1 },
  ],
}
