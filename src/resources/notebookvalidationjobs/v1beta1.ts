/** v1beta1: restructured and complete; another form of v1, no less and no more. */
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
  properties: { url, ref: revision, ...gitFields },
} as const satisfies Schema

const comparisonConfig = {
  type: 'object',
  description: 'How outputs are compared.',
  default: {},
  properties: {
    reference: comparisonFields.reference,
    strategy: comparisonFields.mode,
    scope: comparisonFields.scope,
    floatingPointTolerance: { ...decimal, description: 'Absolute tolerance of numbers, a decimal.', default: toleranceDefaults.absolute },
    relativeTolerance: { ...decimal, description: 'Relative tolerance of numbers, a decimal.', default: toleranceDefaults.relative },
    normalizers: comparisonFields.normalizers,
    sanitizers: comparisonFields.replacements,
    ignoreOutputTypes: ignoreFields.outputTypes,
    ignoreStreams: ignoreFields.streams,
    ignoreMimeTypes: ignoreFields.mimeTypes,
    ignoreCellTags: ignoreFields.cellTags,
    ignoreCellIndexes: ignoreFields.cellIndexes,
    ignoreCellIDs: ignoreFields.cellIDs,
    images: comparisonFields.images,
    cellMatching: comparisonFields.cellMatching,
    sourceDrift: comparisonFields.sourceDrift,
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
    comparisonConfig,
    ...executionFields,
    podConfig: {
      type: 'object',
      description: 'The pod that executes the notebook.',
      default: {},
      properties: podFields,
      'x-kubernetes-validations': mountRules,
    },
    timeoutSeconds: deadline,
    maxRetries: retries,
    ...jobFields,
  },
  'x-kubernetes-validations': [
    goldenRule('comparisonConfig'),
    ...['notebook', 'golden', 'metadataPolicy', 'comparisonConfig', ...Object.keys(executionFields), 'podConfig'].map(immutable),
    onlyLowered('timeoutSeconds'),
    ...['maxRetries', 'imagePullTimeoutSeconds', 'results'].map(immutable),
  ],
} as const satisfies Schema

const cellResult = {
  type: 'object',
  required: ['cellIndex', 'status'],
  properties: {
    cellIndex,
    cellID: cellFields.id,
    type: cellFields.type,
    status: cellOutcome,
    executionCount: cellFields.executionCount,
    durationMilliseconds: cellFields.durationMilliseconds,
    output: cellFields.output,
    outputBytes: cellFields.outputBytes,
    outputTruncated: cellFields.outputTruncated,
    errorMessage: cellFields.errorMessage,
    errorName: cellFields.errorName,
    errorValue: cellFields.errorValue,
    traceback: cellFields.traceback,
    comparison: {
      type: 'object',
      description: 'How the cell compares with its counterpart.',
      required: ['outcome'],
      properties: { outcome: comparisonOutcome, diffs: differences },
    },
  },
  'x-kubernetes-validations': [
    {
      rule: 'has(self.output) || (!has(self.outputBytes) && !has(self.outputTruncated))',
      message: 'outputBytes and outputTruncated need output',
    },
    {
      rule: 'has(self.errorMessage) || (!has(self.errorName) && !has(self.errorValue) && !has(self.traceback))',
      message: 'errorName, errorValue and traceback need errorMessage',
    },
  ],
} as const satisfies Schema

const status = {
  type: 'object',
  description: 'What was observed.',
  properties: {
    ...statusFields,
    validationPodName: { type: 'string', description: 'Name of the pod of the last attempt.' },
    validationPodUID: { type: 'string', description: 'UID of the pod of the last attempt.' },
    summary: {
      type: 'object',
      description: 'Counts of cells.',
      required: ['total', 'code', 'succeeded', 'failed', 'skipped', 'notRun'],
      properties: summaryFields,
    },
    comparisonResult: {
      type: 'object',
      description: 'Counts of comparisons; there exactly when summary is.',
      required: ['matchedCells', 'mismatchedCells', 'ignoredCells'],
      properties: {
        matchedCells: { ...counter, description: 'Cells that match.' },
        mismatchedCells: { ...counter, description: 'Cells that do not match.' },
        ignoredCells: { ...counter, description: 'Cells that were not compared.' },
      },
    },
    cellResults: {
      type: 'array',
      description: 'Results, cell by cell.',
      maxItems: maxCells,
      items: cellResult,
      'x-kubernetes-list-type': 'atomic',
    },
  },
  'x-kubernetes-validations': [
    { rule: 'has(self.validationPodName) || !has(self.validationPodUID)', message: 'validationPodUID needs validationPodName' },
    { rule: 'has(self.summary) == has(self.comparisonResult)', message: 'summary and comparisonResult need each other' },
  ],
} as const satisfies Schema

/** The schema of v1beta1. */
export const schema = {
  type: 'object',
  description: 'A NotebookValidationJob executes a notebook once and compares its outputs, cell by cell.',
  required: ['spec'],
  properties: { ...objectFields, spec, status },
} as const satisfies Schema

/** A NotebookValidationJob in v1beta1, as it may be written: fields with a default are optional. */
export type NotebookValidationJobV1beta1 = Omit<FromSchema<typeof schema>, 'apiVersion' | 'kind' | 'metadata'> & {
  apiVersion: string
  kind: string
  metadata: ObjectMeta & JsonObject
}

/** v1beta1 as the definition lists it. */
export const v1beta1: VersionDefinition = {
  name: 'v1beta1',
  served: true,
  storage: false,
  schema,
  subresources: { status: {} },
  selectableFields: [{ jsonPath: '.status.phase' }, { jsonPath: '.status.reason' }],
  additionalPrinterColumns: [
    { name: 'Status', type: 'string', jsonPath: '.status.reason', description: 'Reason of the condition Succeeded' },
    { name: 'Notebook', type: 'string', jsonPath: '.spec.notebook.path', description: 'Path of the notebook' },
    { name: 'Cells', type: 'string', jsonPath: '.status.summary.cells', description: 'Succeeded and all code cells' },
    { name: 'Mismatched', type: 'integer', jsonPath: '.status.comparisonResult.mismatchedCells', description: 'Cells that do not match' },
    { name: 'Duration', type: 'string', jsonPath: '.status.summary.duration', description: 'How long the cells ran' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
    { name: 'Commit', type: 'string', jsonPath: '.status.source.commit', description: 'Commit of the notebook', priority: 1 },
    { name: 'Pod', type: 'string', jsonPath: '.status.validationPodName', description: 'Pod of the last attempt', priority: 1 },
    { name: 'Message', type: 'string', jsonPath: '.status.message', description: 'Message of the condition Succeeded', priority: 1 },
  ],
}
