/** Fields that have the same type, default and rule in more than one version, whatever their name and place there. */
import type { Schema } from '../../api/schema.ts'
import {
  affinity, env, envFrom, imagePullSecrets, localObjectReference, nodeSelector, podMetadata, resources, securityContext, text,
  tolerations, topologySpreadConstraints, volumeMounts, volumes,
} from './core-types.ts'
import { pathRules, patternRules, revisionRules, urlRules } from './rules.ts'

const int32 = { type: 'integer', format: 'int32' } as const satisfies Schema
const identifier = { ...text, pattern: '^[A-Za-z0-9._-]+$' } as const satisfies Schema

// Lists in defaults are declared by their element type: a default is JSON, not a tuple.
const defaultNormalizers: string[] = [
  'StripANSI', 'CarriageReturns', 'TrailingWhitespace', 'Timestamps', 'MemoryAddresses', 'UUIDs', 'ProgressBars',
]
const defaultCellTags: string[] = ['nbval-ignore-output']

/** apiVersion, kind and metadata, as every object has them. */
export const objectFields = {
  apiVersion: { type: 'string', description: 'Versioned schema of this representation of the object.' },
  kind: { type: 'string', description: 'The REST resource that this object represents.' },
  metadata: { type: 'object' },
} as const satisfies Record<string, Schema>

/** The URL of a repository. */
export const url = {
  type: 'string',
  description: 'URL of the repository, without a user or password.',
  maxLength: 2048,
  'x-kubernetes-validations': urlRules,
} as const satisfies Schema

/** What to check out. */
export const revision = {
  type: 'string',
  description: 'Branch, tag, full ref or commit.',
  default: 'main',
  minLength: 1,
  maxLength: 255,
  'x-kubernetes-validations': revisionRules,
} as const satisfies Schema

/** The path of a notebook. */
export const path = {
  ...text,
  description: 'Path of the notebook, relative to the root of the repository.',
  'x-kubernetes-validations': pathRules,
} as const satisfies Schema

/** Fields of a git source that v1beta1 and v1 share. */
export const gitFields = {
  credentialsSecretRef: {
    ...localObjectReference,
    description: 'Secret with credentials for the repository; an empty name means none.',
  },
  depth: { ...int32, description: 'How many commits to fetch; 0 is the full history.', default: 1, minimum: 0 },
  submodules: { type: 'string', description: 'Whether submodules are checked out.', enum: ['None', 'Recursive'], default: 'None' },
  lfs: { type: 'string', description: 'Whether files in Git LFS are fetched.', enum: ['None', 'Fetch'], default: 'None' },
} as const satisfies Record<string, Schema>

/** Checks on the metadata of the source notebook. */
export const metadataPolicy = {
  type: 'object',
  description: 'Checks on the metadata of the notebook.',
  properties: {
    kernelName: { ...identifier, description: 'Name that the kernelspec must have.' },
    language: { ...text, description: 'Language that the notebook must be written in.' },
    minNbformat: { ...text, description: 'Least notebook format, major.minor.', pattern: '^[0-9]+\\.[0-9]+$' },
    requireCellIDs: {
      type: 'string',
      description: 'Whether every cell must have an id.',
      enum: ['Optional', 'Required'],
      default: 'Optional',
    },
  },
} as const satisfies Schema

const textSet = { type: 'array', maxItems: 64, items: text, 'x-kubernetes-list-type': 'set' } as const satisfies Schema

/** Fields of the comparison, by their names in v1. */
export const comparisonFields = {
  reference: {
    type: 'string',
    description: 'What outputs are compared with. Absent: Golden if golden is set, else None.',
    enum: ['None', 'Golden', 'StoredOutputs'],
  },
  mode: {
    type: 'string',
    description: 'Exact switches normalizers and tolerance off.',
    enum: ['Exact', 'Normalized'],
    default: 'Normalized',
  },
  scope: { type: 'string', description: 'Which cells are compared.', enum: ['AllCells', 'TaggedCells'], default: 'AllCells' },
  normalizers: {
    type: 'array',
    description: 'What is made alike before outputs are compared; applied in a fixed order.',
    default: defaultNormalizers,
    maxItems: 64,
    items: {
      type: 'string',
      enum: [
        'StripANSI', 'CarriageReturns', 'TrailingWhitespace', 'Timestamps', 'MemoryAddresses', 'UUIDs', 'ProgressBars',
        'Durations', 'MatplotlibFigureSize', 'TemporaryPaths', 'CollapseWhitespace',
      ],
    },
    'x-kubernetes-list-type': 'set',
  },
  replacements: {
    type: 'array',
    description: 'Texts that are replaced before outputs are compared, in order.',
    maxItems: 32,
    items: {
      type: 'object',
      required: ['pattern', 'replacement'],
      properties: {
        pattern: {
          type: 'string',
          description: 'Regular expression in RE2 syntax.',
          maxLength: 512,
          'x-kubernetes-validations': patternRules,
        },
        replacement: { ...text, description: 'What matches become.' },
        mimeTypes: {
          type: 'array',
          description: 'Outputs that are concerned; absent means all.',
          maxItems: 64,
          items: text,
          'x-kubernetes-list-type': 'atomic',
        },
      },
    },
    'x-kubernetes-list-type': 'atomic',
  },
  images: { type: 'string', description: 'How images are compared.', enum: ['Ignore', 'Exact'], default: 'Ignore' },
  cellMatching: {
    type: 'string',
    description: 'How cells find their counterpart. Auto: by id, else by source, else by index.',
    enum: ['Auto', 'Index', 'ID'],
    default: 'Auto',
  },
  sourceDrift: {
    type: 'string',
    description: 'What it means when the source of the golden cell differs.',
    enum: ['Ignore', 'Warn', 'Fail'],
    default: 'Warn',
  },
} as const satisfies Record<string, Schema>

/** What two numbers may differ by: |a-b| <= absolute + relative * |b|; by their names in v1. */
export const toleranceDefaults = { absolute: '1e-8', relative: '1e-5' } as const

/** Outputs that are not compared, by their names in v1. */
export const ignoreFields = {
  outputTypes: { ...textSet, description: 'Output types that are not compared.' },
  streams: {
    type: 'array',
    description: 'Streams that are not compared.',
    maxItems: 64,
    items: { type: 'string', enum: ['stdout', 'stderr'] },
    'x-kubernetes-list-type': 'set',
  },
  mimeTypes: { ...textSet, description: 'MIME types that are not compared.' },
  cellTags: { ...textSet, description: 'Cells with one of these tags are not compared.', default: defaultCellTags },
  cellIndexes: {
    type: 'array',
    description: 'Cells at these indexes are not compared.',
    maxItems: 64,
    items: { ...int32, minimum: 0 },
    'x-kubernetes-list-type': 'set',
  },
  cellIDs: { ...textSet, description: 'Cells with these ids are not compared.' },
} as const satisfies Record<string, Schema>

/** How the notebook is executed. */
export const executionFields = {
  kernelName: { ...identifier, description: 'Kernel that executes the notebook; absent means the one that it names.' },
  parameters: {
    type: 'array',
    description: 'Values for the variables of the cell tagged parameters. Not for secrets.',
    maxItems: 64,
    items: {
      type: 'object',
      required: ['name', 'value'],
      properties: {
        name: { ...text, description: 'Name of the variable.' },
        value: { description: 'Any JSON value.', nullable: true, 'x-kubernetes-preserve-unknown-fields': true },
      },
    },
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['name'],
  },
  cellTimeoutSeconds: { ...int32, description: 'How long a cell may run; absent means no limit of its own.', minimum: 1, maximum: 86400 },
  startupTimeoutSeconds: { ...int32, description: 'How long the kernel may take to start.', default: 60, minimum: 1, maximum: 3600 },
  errorPolicy: {
    type: 'string',
    description: 'Whether execution goes on after a cell that fails.',
    enum: ['FailFast', 'Continue'],
    default: 'FailFast',
  },
  allowedErrorNames: { ...textSet, description: 'Exceptions that do not make a cell fail.' },
  expectedErrors: {
    type: 'string',
    description: 'Whether a cell tagged raises-exception must raise.',
    enum: ['Required', 'Optional'],
    default: 'Required',
  },
  failOn: {
    type: 'array',
    description: 'What else makes a cell or the notebook fail.',
    maxItems: 64,
    items: { type: 'string', enum: ['Stderr', 'PythonWarnings', 'NoCodeCells'] },
    'x-kubernetes-list-type': 'set',
  },
  workingDirectory: {
    type: 'string',
    description: 'Where the notebook runs.',
    enum: ['NotebookDirectory', 'RepositoryRoot'],
    default: 'NotebookDirectory',
  },
} as const satisfies Record<string, Schema>

/** The image that the notebook runs in. */
export const image = {
  type: 'string',
  description: 'Container image that the notebook runs in.',
  default: 'quay.io/jupyter/datascience-notebook:latest',
  minLength: 1,
  maxLength: 1024,
} as const satisfies Schema

/** The service account that the notebook runs as. */
export const serviceAccountName = {
  ...text,
  description: 'Service account of the pod.',
  default: 'default',
} as const satisfies Schema

/** Fields of the pod that v1beta1 and v1 share. */
export const podFields = {
  metadata: podMetadata,
  image,
  imagePullPolicy: { type: 'string', description: 'When the image is pulled.', enum: ['Always', 'IfNotPresent', 'Never'] },
  imagePullSecrets,
  serviceAccountName,
  automountServiceAccountToken: {
    type: 'boolean',
    description: 'Whether the notebook gets a token of its service account.',
    default: false,
  },
  priorityClassName: { ...text, description: 'Priority class of the pod.' },
  runtimeClassName: { ...text, description: 'Runtime class of the pod.' },
  securityContext,
  nodeSelector,
  tolerations,
  affinity,
  topologySpreadConstraints,
  resources,
  env,
  envFrom,
  volumes,
  volumeMounts,
} as const satisfies Record<string, Schema>

/** How long a job may take from its start to its end. */
export const deadline = {
  type: 'integer',
  format: 'int64',
  description: 'Seconds that the job may take; may only be lowered.',
  default: 3600,
  minimum: 60,
  maximum: 86400,
} as const satisfies Schema

/** How often the job is tried again after a failure of infrastructure. */
export const retries = {
  ...int32,
  description: 'Retries after failures of infrastructure; a failing cell is never retried.',
  default: 2,
  minimum: 0,
  maximum: 10,
} as const satisfies Schema

/** Further fields of spec that v1beta1 and v1 share. */
export const jobFields = {
  imagePullTimeoutSeconds: { ...int32, description: 'How long pulling the image may fail; 0 is not at all.', default: 300, minimum: 0, maximum: 3600 },
  suspend: { type: 'boolean', description: 'Whether the job waits, or stops and waits.', default: false },
  ttlSecondsAfterFinished: { ...int32, description: 'When the finished job is deleted; absent means never.', minimum: 0 },
  results: {
    type: 'object',
    description: 'What is kept of the results.',
    default: {},
    properties: {
      outputPolicy: {
        type: 'string',
        description: 'Whose outputs go into status.',
        enum: ['None', 'Failed', 'All'],
        default: 'All',
      },
      maxOutputBytes: { ...int32, description: 'Most bytes of output in status, per cell.', default: 2048, minimum: 0, maximum: 16384 },
      executedNotebook: {
        type: 'object',
        description: 'Where the executed notebook, an HTML report and JUnit XML are written.',
        required: ['persistentVolumeClaim'],
        properties: {
          persistentVolumeClaim: {
            type: 'object',
            required: ['claimName'],
            properties: {
              claimName: { ...text, description: 'Name of the claim.' },
              subPath: { ...text, description: 'Folder within the volume.' },
            },
          },
        },
      },
    },
  },
} as const satisfies Record<string, Schema>
