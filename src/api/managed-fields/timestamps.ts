/**
 * Writes that change nothing but times of managedFields change nothing.
 * upstream: apiserver/pkg/endpoints/handlers/fieldmanager/equality.go IgnoreManagedFieldsTimestampsTransformer
 */
import { deepEqual, type JsonObject, type KubeObject } from '../object.ts'
import { withoutManagedFields } from './update.ts'

/** `next` with the times of `old` when nothing else differs, managedFields entry by entry; else `next` as it is. */
export function ignoreTimestamps(next: KubeObject, old: KubeObject): KubeObject {
  const entries = next.metadata.managedFields ?? []
  const before = old.metadata.managedFields ?? []
  if (entries.length === 0 || entries.length !== before.length) return next
  if (entries.every((entry, i) => entry.time === before[i]?.time)) return next
  if (!deepEqual(entries.map(timeless), before.map(timeless))) return next
  if (!deepEqual(withoutManagedFields(next), withoutManagedFields(old))) return next
  return { ...next, metadata: { ...next.metadata, managedFields: before } }
}

function timeless(entry: JsonObject): JsonObject {
  return { ...entry, time: undefined }
}
