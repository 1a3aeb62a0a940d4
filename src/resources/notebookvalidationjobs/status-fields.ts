/** Fields of status that have the same type in more than one version, whatever their name and place there. */
import type { Schema } from '../../api/schema.ts'

const line = { type: 'string' } as const satisfies Schema
const int32 = { type: 'integer', format: 'int32' } as const satisfies Schema
const int64 = { type: 'integer', format: 'int64' } as const satisfies Schema
const time = { type: 'string', format: 'date-time' } as const satisfies Schema

/** A summary of the job's state. */
export const phase = {
  ...line,
  description: 'Summary of the state; the conditions say more.',
  enum: ['Pending', 'Running', 'Succeeded', 'Failed'],
} as const satisfies Schema

/** The fields of a condition that every version shows. */
export const conditionFields = {
  type: { ...line, description: 'Type of the condition.' },
  status: { ...line, description: 'True, False or Unknown.', enum: ['True', 'False', 'Unknown'] },
  lastTransitionTime: { ...time, description: 'When the status last changed.' },
  reason: { ...line, description: 'Reason of the status, in one word.' },
  message: { ...line, description: 'Details for a person.' },
} as const satisfies Record<string, Schema>

/** The list of conditions of v1beta1 and v1. */
export const conditions = {
  type: 'array',
  description: 'Succeeded, SourceReady, PodReady, Executed and Compared.',
  items: {
    type: 'object',
    required: ['type', 'status'],
    properties: { ...conditionFields, observedGeneration: { ...int64, description: 'Generation that the condition is about.' } },
  },
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['type'],
} as const satisfies Schema

/** The place of a cell in the source notebook. */
export const cellIndex = { ...int32, description: 'Index of the cell in the notebook, from 0.', minimum: 0 } as const satisfies Schema

/** Most results in a status. */
export const maxCells = 2000

/** What became of a cell. */
export const cellOutcome = {
  ...line,
  description: 'What became of the cell.',
  enum: ['Succeeded', 'Failed', 'TimedOut', 'KernelDied', 'Skipped', 'NotRun'],
} as const satisfies Schema

/** Fields of a cell's result that v1beta1 and v1 share, and those that only their place differs in. */
export const cellFields = {
  id: { ...line, description: 'Id of the cell.' },
  type: { ...line, description: 'Type of the cell.', enum: ['Code', 'Markdown', 'Raw'] },
  executionCount: { ...int32, description: 'The number that the kernel gave the execution.' },
  durationMilliseconds: { ...int64, description: 'How long the cell ran.' },
  output: { ...line, description: 'The outputs as text.' },
  outputBytes: { ...int64, description: 'Size of the outputs before they were cut.' },
  outputTruncated: { type: 'boolean', description: 'Whether the text was cut.' },
  errorMessage: { ...line, description: 'Why the cell failed, or how it differs.' },
  errorName: { ...line, description: 'Name of the exception.' },
  errorValue: { ...line, description: 'Text of the exception.' },
  traceback: { ...line, description: 'Traceback, without colours.' },
} as const satisfies Record<string, Schema>

/** How a cell compares with its counterpart. */
export const comparisonOutcome = {
  ...line,
  description: 'How the cell compares with its counterpart.',
  enum: ['Matched', 'Mismatched', 'Ignored', 'Missing', 'Extra'],
} as const satisfies Schema

/** The differences of a cell. */
export const differences = {
  type: 'array',
  description: 'Where the outputs differ.',
  maxItems: 50,
  items: {
    type: 'object',
    required: ['kind'],
    properties: {
      outputIndex: { ...int32, description: 'Index of the output in the cell.' },
      kind: {
        ...line,
        description: 'What differs.',
        enum: ['Text', 'Number', 'Image', 'OutputType', 'MissingOutput', 'ExtraOutput', 'Source'],
      },
      mimeType: { ...line, description: 'MIME type of the output.' },
      expected: { ...line, description: 'The output of the reference.' },
      actual: { ...line, description: 'The output of this run.' },
      diff: { ...line, description: 'The difference, line by line.' },
    },
  },
  'x-kubernetes-list-type': 'atomic',
} as const satisfies Schema

/** A counter. */
export const counter = int32

/** The fields of summary in both v1beta1 and v1. */
export const summaryFields = {
  total: { ...int32, description: 'Cells of the notebook.' },
  code: { ...int32, description: 'Code cells.' },
  succeeded: { ...int32, description: 'Code cells that succeeded.' },
  failed: { ...int32, description: 'Code cells that failed.' },
  skipped: { ...int32, description: 'Code cells that were skipped.' },
  notRun: { ...int32, description: 'Code cells that were not reached.' },
  durationMilliseconds: { ...int64, description: 'How long the cells ran.' },
  cells: { ...line, description: 'Succeeded and all code cells, as 5/6.' },
  duration: { ...line, description: 'The duration as text, as 1m12s.' },
} as const satisfies Record<string, Schema>

/** Fields of status that v1beta1 and v1 share. */
export const statusFields = {
  observedGeneration: { ...int64, description: 'Generation that the status is about.' },
  conditions,
  phase,
  reason: { ...line, description: 'Reason of the condition Succeeded.' },
  message: { ...line, description: 'Message of the condition Succeeded.' },
  startTime: { ...time, description: 'When work on the job began.' },
  completionTime: { ...time, description: 'When the job ended.' },
  attempts: { ...int32, description: 'How often the job was tried.' },
  source: {
    type: 'object',
    description: 'The source of the notebook.',
    properties: { commit: { ...line, description: 'The commit that was checked out.' } },
  },
  goldenSource: {
    type: 'object',
    description: 'The source of the golden notebook.',
    properties: { commit: { ...line, description: 'The commit that was checked out.' } },
  },
  runtime: {
    type: 'object',
    description: 'What the notebook ran on.',
    properties: {
      imageID: { ...line, description: 'Image, with digest.' },
      kernelName: { ...line, description: 'Kernel.' },
      language: { ...line, description: 'Language of the notebook.' },
      nbformat: { ...line, description: 'Format of the notebook, major.minor.' },
    },
  },
  truncated: { type: 'boolean', description: 'Whether results were left out for the size of the status.' },
  artifacts: {
    type: 'object',
    description: 'What was written.',
    properties: { executedNotebook: { ...line, description: 'Executed notebook, claimName/path.' } },
  },
} as const satisfies Record<string, Schema>
