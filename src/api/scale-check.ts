/**
 * Checks of the fields that the scale subresource reads.
 * upstream: apiextensions-apiserver/pkg/registry/customresource/validator.go ValidateScaleSpec, ValidateScaleStatus
 */
import { nestedValue, WrongType } from './nested-value.ts'
import { isInteger, type Json, type KubeObject } from './object.ts'
import type { ScaleDefinition } from './resource.ts'
import { fieldError, type FieldError } from './status.ts'

const MAX_INT32 = 2147483647

/** Errors of spec.replicas, as the scale subresource sees it. */
export function scaleSpecErrors(object: KubeObject, scale: ScaleDefinition): FieldError[] {
  return replicasErrors(object, scale.specReplicasPath)
}

/** Errors of status.replicas and of the label selector. */
export function scaleStatusErrors(object: KubeObject, scale: ScaleDefinition): FieldError[] {
  const errors = replicasErrors(object, scale.statusReplicasPath)
  const path = scale.labelSelectorPath
  if (path === undefined || path === '') return errors
  const found = nested(object, path, 'string', (value) => typeof value === 'string')
  if (found.error !== undefined) errors.push(fieldError('FieldValueInvalid', path, '', found.error))
  return errors
}

function replicasErrors(object: KubeObject, path: string): FieldError[] {
  const { value, error } = nested(object, path, 'int64', isInteger)
  if (error !== undefined) return [fieldError('FieldValueInvalid', path, 0, error)]
  if (value === undefined || !isInteger(value)) return []
  if (value < 0) return [fieldError('FieldValueInvalid', path, value, 'should be a non-negative integer')]
  return value > MAX_INT32 ? [fieldError('FieldValueInvalid', path, value, `should be less than or equal to ${MAX_INT32}`)] : []
}

function nested(object: KubeObject, path: string, wanted: string, accepts: (value: Json) => boolean): { value?: Json; error?: string } {
  try {
    const value = nestedValue(object, path, wanted, accepts)
    return value === undefined ? {} : { value }
  } catch (error) {
    if (error instanceof WrongType) return { error: error.message }
    throw error
  }
}
