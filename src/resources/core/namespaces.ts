/** Namespace, as much of core/v1 as standalone mode needs. upstream: pkg/registry/core/namespace/strategy.go */
import { noConversion } from '../../api/lens-conversion.ts'
import { labelName } from '../../api/names.ts'
import { getKey, isObject, type KubeObject } from '../../api/object.ts'
import { decodeKubeProtobuf, type Message } from '../../api/protobuf.ts'
import { OBJECT_META } from '../../api/protobuf-meta.ts'
import type { ComputedColumn, ResourceDefinition, Strategy } from '../../api/resource.ts'
import { CREATED_AT, NAME } from './columns.ts'
import { withoutGeneration } from './generation.ts'

const definition: ResourceDefinition = {
  group: '',
  scope: 'Cluster',
  names: { plural: 'namespaces', singular: 'namespace', kind: 'Namespace', listKind: 'NamespaceList', shortNames: ['ns'] },
  versions: [
    {
      name: 'v1',
      served: true,
      storage: true,
      subresources: { status: {} },
      schema: {
        type: 'object',
        description: 'Namespace provides a scope for Names.',
        properties: {
          spec: {
            type: 'object',
            properties: { finalizers: { type: 'array', items: { type: 'string' }, description: 'What must be done before the namespace is gone.' } },
          },
          status: {
            type: 'object',
            properties: { phase: { type: 'string', description: 'Active or Terminating.' } },
          },
        },
      },
    },
  ],
}

const MESSAGE: Message = {
  1: { name: 'metadata', type: OBJECT_META },
  2: { name: 'spec', type: { 1: { name: 'finalizers', type: 'string', repeated: true } } },
  3: { name: 'status', type: { 1: { name: 'phase', type: 'string' } } },
}

/** Namespaces that cannot be deleted. upstream: plugin/pkg/admission/namespace/lifecycle: immortalNamespaces */
const IMMORTAL = new Set(['default'])
const COLUMNS: readonly ComputedColumn[] = [
  NAME,
  { name: 'Status', type: 'string', description: 'The status of the namespace', cell: (object) => phase(object) },
  CREATED_AT,
]

function phase(object: KubeObject): string {
  const status = getKey(object, 'status')
  return isObject(status) ? String(status.phase ?? '') : ''
}

function finalizers(object: KubeObject): unknown[] {
  const spec = getKey(object, 'spec')
  const list = isObject(spec) ? spec.finalizers : undefined
  return Array.isArray(list) ? list : []
}

// upstream: pkg/apis/core/v1/defaults.go: SetDefaults_Namespace
function withNameLabel(object: KubeObject): KubeObject {
  return { ...object, metadata: { ...object.metadata, labels: { ...object.metadata.labels, 'kubernetes.io/metadata.name': object.metadata.name ?? '' } } }
}

const strategy: Strategy = {
  allowUnconditionalUpdate: true,
  columns: COLUMNS,
  strategicMergeKeys: { 'metadata.ownerReferences': 'uid', 'status.conditions': 'type' },
  decodeProtobuf: (bytes) => decodeKubeProtobuf(bytes, MESSAGE),
  settleDecoded: (object) => (object.metadata.name ? withNameLabel(object) : object),
  // One whose name is generated has it only now.
  prepareForCreate: (object) => withoutGeneration({
    ...withNameLabel(object),
    spec: { finalizers: ['kubernetes'] },
    status: { phase: 'Active' },
  }),
  // Its finalizers are taken away by who empties it, never by an ordinary write.
  prepareForUpdate: (object, old) => withoutGeneration({ ...object, ...(old.spec === undefined ? {} : { spec: old.spec }) }),
  nameRule: labelName,
  forbidDelete: (object) => (IMMORTAL.has(object.metadata.name ?? '') ? 'this namespace may not be deleted' : undefined),
  holdDeletion: (object) => (finalizers(object).length > 0 ? { ...object, status: { phase: 'Terminating' } } : undefined),
}

/** The Namespace resource. */
export const namespaces = { definition, strategy, conversion: noConversion(definition) }
