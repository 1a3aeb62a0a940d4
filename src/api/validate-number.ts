/**
 * Ranges, multiples and limits of numbers. For integers the limits of the schema are cut to int64 first, as upstream does.
 * upstream: kube-openapi/pkg/validation/validate/{validator,values}.go numberValidator
 */
import { Float, isInteger, toNumber } from './object.ts'
import type { SchemaNode } from './schema-node.ts'
import { fieldError, formatGoFloat } from './status.ts'
import type { Validation } from './validate.ts'

/** Checks a number against its schema's type and format, then multipleOf, minimum and maximum. */
export function validateNumber(validation: Validation, node: SchemaNode, value: number | bigint | Float, path: string): void {
  const { multipleOf, minimum, maximum, exclusiveMinimum, exclusiveMaximum } = node.limits
  fits(validation, node, 'Checked', value, path)
  // A limit that is no value of the type is an error of every value, and is then compared with as a float.
  const compared = (name: string, limit: number): number | bigint | Float => (fits(validation, node, name, new Float(limit), path) ? value : new Float(toNumber(value)))
  if (multipleOf !== undefined) checkMultiple(validation, multipleOf, compared('MultipleOf', multipleOf), path)
  if (minimum !== undefined) {
    const shown = compared('Minimum boundary', minimum)
    const [order, text] = compare(shown, minimum)
    if (exclusiveMinimum ? order <= 0 : order < 0) {
      validation.add('FieldValueInvalid', path, shown, `should be greater than ${exclusiveMinimum ? '' : 'or equal to '}${text}`)
    }
  }
  if (maximum !== undefined) {
    const shown = compared('Maximum boundary', maximum)
    const [order, text] = compare(shown, maximum)
    if (exclusiveMaximum ? order >= 0 : order > 0) {
      validation.add('FieldValueInvalid', path, shown, `should be less than ${exclusiveMaximum ? '' : 'or equal to '}${text}`)
    }
  }
}

function fits(validation: Validation, node: SchemaNode, name: string, value: number | bigint | Float, path: string): boolean {
  if (inRange(node, value)) return true
  const format = node.format === '' ? '(default format)' : `with format ${node.format}`
  validation.errors.push(fieldError('FieldValueInvalid', validation.field(''), '', `${name} value must be of type ${node.typeText} ${format} in ${path}`))
  return false
}

function compare(value: number | bigint | Float, limit: number): [order: number, text: string] {
  if (!isInteger(value)) return [toNumber(value) - limit, formatGoFloat(limit)]
  const whole = toInt64(limit)
  return [value < whole ? -1 : value > whole ? 1 : 0, String(whole)]
}

function isMultiple(value: number | bigint, factor: number | bigint): boolean {
  if (typeof value === 'number' && typeof factor === 'number') return value % factor === 0
  return BigInt(value) % BigInt(factor) === 0n
}

const MAX_FLOAT32 = 3.4028235677973366e38

// upstream: IsValueValidAgainstRange, in force since 1.36
function inRange(node: SchemaNode, value: number | bigint | Float): boolean {
  if (node.typeText === 'number') return node.format !== 'float' || Math.abs(toNumber(value)) < MAX_FLOAT32
  if (node.typeText !== 'integer') return true
  if (!isInteger(value) && !Number.isInteger(toNumber(value))) return false
  const number = toNumber(value)
  if (node.format === 'int32') return number >= -(2 ** 31) && number < 2 ** 31
  return isInteger(value) || (number >= -(2 ** 63) && number < 2 ** 63)
}

// What becomes of a float beyond int64 on the machines that Kubernetes mostly runs on (amd64).
const LEAST = -(2n ** 63n)

function toInt64(limit: number): number | bigint {
  if (Number.isSafeInteger(Math.trunc(limit))) return Math.trunc(limit)
  const whole = BigInt(Math.trunc(limit))
  return whole >= -LEAST || whole < LEAST ? LEAST : whole
}

function checkMultiple(validation: Validation, factor: number, value: number | bigint | Float, path: string): void {
  if (isInteger(value)) {
    const whole = toInt64(factor)
    if (whole <= 0) {
      const text = `factor MultipleOf declared for ${path} must be positive: ${whole}`
      validation.errors.push(fieldError('FieldValueInvalid', validation.field(path), whole, text))
    } else if (!isMultiple(value, whole)) validation.add('FieldValueInvalid', path, value, `should be a multiple of ${whole}`)
    return
  }
  const number = toNumber(value)
  if (factor <= 0) {
    const text = `factor MultipleOf declared for ${path} must be positive: ${formatGoFloat(factor)}`
    validation.errors.push(fieldError('FieldValueInvalid', validation.field(path), new Float(factor), text))
    return
  }
  if (isJsonInteger(factor < 1 ? (1 / factor) * number : number / factor)) return
  validation.add('FieldValueInvalid', path, value, `should be a multiple of ${formatGoFloat(factor)}`)
}

const EPSILON = 1e-9

/** Whether a float is a whole number that JSON can hold, or nearly one from above. upstream: swag.IsFloat64AJSONInteger, of which this keeps the faults */
export function isJsonInteger(float: number): boolean {
  if (Math.abs(float) > Number.MAX_SAFE_INTEGER) return false
  if (Number.isInteger(float)) return true
  const whole = Math.trunc(float)
  return whole > 0 && (float - whole) / (float + whole) < EPSILON
}
