/**
 * The messages of API machinery.
 * upstream: apimachinery/pkg/apis/meta/v1/generated.proto
 */
import type { Message } from './protobuf.ts'

const OWNER_REFERENCE: Message = {
  1: { name: 'kind', type: 'string' },
  3: { name: 'name', type: 'string' },
  4: { name: 'uid', type: 'string' },
  5: { name: 'apiVersion', type: 'string' },
  6: { name: 'controller', type: 'bool', pointer: true },
  7: { name: 'blockOwnerDeletion', type: 'bool', pointer: true },
}

const MANAGED_FIELDS_ENTRY: Message = {
  1: { name: 'manager', type: 'string' },
  2: { name: 'operation', type: 'string' },
  3: { name: 'apiVersion', type: 'string' },
  4: { name: 'time', type: 'time', pointer: true },
  6: { name: 'fieldsType', type: 'string' },
  7: { name: 'fieldsV1', type: 'rawJson', pointer: true },
  8: { name: 'subresource', type: 'string' },
}

/** metav1.ObjectMeta */
export const OBJECT_META: Message = {
  1: { name: 'name', type: 'string' },
  2: { name: 'generateName', type: 'string' },
  3: { name: 'namespace', type: 'string' },
  4: { name: 'selfLink', type: 'string' },
  5: { name: 'uid', type: 'string' },
  6: { name: 'resourceVersion', type: 'string' },
  7: { name: 'generation', type: 'int' },
  8: { name: 'creationTimestamp', type: 'time' },
  9: { name: 'deletionTimestamp', type: 'time', pointer: true },
  10: { name: 'deletionGracePeriodSeconds', type: 'int', pointer: true },
  11: { name: 'labels', type: 'stringMap' },
  12: { name: 'annotations', type: 'stringMap' },
  13: { name: 'ownerReferences', type: OWNER_REFERENCE, repeated: true },
  14: { name: 'finalizers', type: 'string', repeated: true },
  17: { name: 'managedFields', type: MANAGED_FIELDS_ENTRY, repeated: true },
}

const LIST_META: Message = {
  1: { name: 'selfLink', type: 'string' },
  2: { name: 'resourceVersion', type: 'string' },
  3: { name: 'continue', type: 'string' },
  4: { name: 'remainingItemCount', type: 'int', pointer: true },
}

/** metav1.PartialObjectMetadata */
export const PARTIAL_OBJECT_METADATA: Message = { 1: { name: 'metadata', type: OBJECT_META } }

/** metav1.PartialObjectMetadataList */
export const PARTIAL_OBJECT_METADATA_LIST: Message = {
  1: { name: 'metadata', type: LIST_META },
  2: { name: 'items', type: PARTIAL_OBJECT_METADATA, repeated: true },
}

const STATUS_CAUSE: Message = {
  1: { name: 'reason', type: 'string' },
  2: { name: 'message', type: 'string' },
  3: { name: 'field', type: 'string' },
}

const STATUS_DETAILS: Message = {
  1: { name: 'name', type: 'string' },
  2: { name: 'group', type: 'string' },
  3: { name: 'kind', type: 'string' },
  4: { name: 'causes', type: STATUS_CAUSE, repeated: true },
  5: { name: 'retryAfterSeconds', type: 'int' },
  6: { name: 'uid', type: 'string' },
}

/** metav1.Status */
export const STATUS: Message = {
  1: { name: 'metadata', type: LIST_META },
  2: { name: 'status', type: 'string' },
  3: { name: 'message', type: 'string' },
  4: { name: 'reason', type: 'string' },
  5: { name: 'details', type: STATUS_DETAILS, pointer: true },
  6: { name: 'code', type: 'int' },
}

/** metav1.DeleteOptions */
export const DELETE_OPTIONS: Message = {
  1: { name: 'gracePeriodSeconds', type: 'int', pointer: true },
  2: { name: 'preconditions', type: { 1: { name: 'uid', type: 'string', pointer: true }, 2: { name: 'resourceVersion', type: 'string', pointer: true } }, pointer: true },
  3: { name: 'orphanDependents', type: 'bool', pointer: true },
  4: { name: 'propagationPolicy', type: 'string', pointer: true },
  5: { name: 'dryRun', type: 'string', repeated: true },
  6: { name: 'ignoreStoreReadErrorWithClusterBreakingPotential', type: 'bool', pointer: true },
}
