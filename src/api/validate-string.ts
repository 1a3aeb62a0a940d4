/**
 * Lengths and patterns of strings; the first failing check ends.
 * upstream: kube-openapi/pkg/validation/validate/{validator,values}.go stringValidator
 */
import { matchesPattern } from './pattern.ts'
import type { Limits } from './schema-node.ts'
import { fieldError } from './status.ts'
import type { Validation } from './validate.ts'

/** Checks a string against the limits of its schema. */
export function validateString(validation: Validation, limits: Limits, value: string, path: string): void {
  const { maxLength, minLength, pattern } = limits
  if (maxLength !== undefined && value.length > maxLength && characters(value) > maxLength) {
    const text = maxLength < 0 ? 'value is too long' : `may not be more than ${maxLength} ${maxLength === 1 ? 'byte' : 'bytes'}`
    validation.errors.push(fieldError('FieldValueTooLong', validation.field(path), value, text))
  } else if (minLength !== undefined && characters(value) < minLength) {
    validation.add('FieldValueInvalid', path, value, `should be at least ${minLength} chars long`)
  } else if (pattern !== undefined && !matchesPattern(pattern, value)) {
    validation.add('FieldValueInvalid', path, value, `should match '${pattern}'`)
  }
}

/** Unicode code points, as Go counts them. */
function characters(value: string): number {
  let count = 0
  for (let i = 0; i < value.length; i++) if ((value.charCodeAt(i) & 0xfc00) !== 0xdc00) count++
  return count
}
