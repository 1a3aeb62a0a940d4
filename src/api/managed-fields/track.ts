/**
 * Ownership of fields. The step stands where upstream has it, before mutating admission; as long as server-side apply is
 * not served (415) nothing is tracked: objects carry no managedFields, and those that a client sends are dropped.
 * upstream: apimachinery/pkg/util/managedfields/fieldmanager.go: FieldManager.Update
 */
import type { KubeObject } from '../object.ts'

/** The object that a non-apply write makes, with its managedFields settled. */
export function trackUpdate(object: KubeObject): KubeObject {
  if (object.metadata.managedFields === undefined) return object
  const { managedFields: _dropped, ...metadata } = object.metadata
  return { ...object, metadata }
}
