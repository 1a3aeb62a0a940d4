/**
 * The value of a selectable field.
 * upstream: apiextensions-apiserver/pkg/registry/customresource/strategy.go: selectableFields
 */
import { Float, getKey, isObject, type Json, type KubeObject } from '../api/object.ts'

/** The field at a simple path (`.spec.host`) as text; "" when it is missing. */
export function fieldValue(object: KubeObject, jsonPath: string): string {
  let value: Json | undefined = object
  for (const segment of jsonPath.slice(1).split('.')) {
    if (!isObject(value)) return ''
    value = getKey(value, segment)
  }
  if (value === undefined || value === null) return ''
  return value instanceof Float ? String(value.value) : typeof value === 'object' ? '' : String(value)
}
