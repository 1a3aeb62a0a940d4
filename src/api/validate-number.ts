/**
 * Ranges, multiples and limits of numbers. For integers the limits of the schema are cut to int64 first, as upstream does.
 * upstream: kube-openapi/pkg/validation/validate/{validator,values}.go numberValidator
 */
import { isInteger, toNumber, type Float } from './object.ts'
import type { SchemaNode } from './schema-node.ts'
import { fieldError, formatGoFloat } from './status.ts'
import type { Validation } from './validate.ts'

/** Checks a number against its schema's type and format, then multipleOf, minimum and maximum. */
export function validateNumber(validation: Validation, node: SchemaNode, value: number | bigint | Float, path: string): void {
  if (!inRange(node, value)) {
    const format = node.format === '' ? '(default format)' : `with format ${node.format}`
    const text = `Checked value must be of type ${node.typeText} ${format} in ${path}`
    validation.errors.push(fieldError('FieldValueInvalid', validation.field(''), '', text))
  }
  const { multipleOf, minimum, maximum, exclusiveMinimum, exclusiveMaximum } = node.limits
  if (multipleOf !== undefined) checkMultiple(validation, multipleOf, value, path)
  const compare = (limit: number): [order: number, text: string] => {
    if (!isInteger(value)) return [toNumber(value) - limit, formatGoFloat(limit)]
    const whole = toInt64(limit)
    return [value < whole ? -1 : value > whole ? 1 : 0, String(whole)]
  }
  if (minimum !== undefined) {
    const [order, text] = compare(minimum)
    if (exclusiveMinimum ? order <= 0 : order < 0) {
      validation.add('FieldValueInvalid', path, value, `should be greater than ${exclusiveMinimum ? '' : 'or equal to '}${text}`)
    }
  }
  if (maximum !== undefined) {
    const [order, text] = compare(maximum)
    if (exclusiveMaximum ? order >= 0 : order > 0) {
      validation.add('FieldValueInvalid', path, value, `should be less than ${exclusiveMaximum ? '' : 'or equal to '}${text}`)
    }
  }
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

function toInt64(limit: number): number | bigint {
  if (Number.isSafeInteger(Math.trunc(limit))) return Math.trunc(limit)
  const whole = BigInt(Math.trunc(limit))
  const max = 2n ** 63n - 1n
  return whole > max ? max : whole < -max - 1n ? -max - 1n : whole
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
  const multiple = factor < 1 ? (1 / factor) * number : number / factor
  if (Number.isSafeInteger(multiple)) return
  validation.add('FieldValueInvalid', path, value, `should be a multiple of ${formatGoFloat(factor)}`)
}
