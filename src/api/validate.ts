/**
 * Validation of a value by its schema, with Kubernetes' texts and ratcheting.
 * upstream: apiextensions-apiserver/pkg/apiserver/validation/{validation,ratcheting}.go, kube-openapi/pkg/validation/validate/*.go
 */
import { fittingErrors, MAX_FIELD_ERRORS } from './error-limits.ts'
import { validateComposition } from './composition.ts'
import { Correlation } from './correlation.ts'
import { encodeJson } from './json-encode.ts'
import { Float, isInteger, isNumber, isObject, toNumber, type Json, type JsonObject } from './object.ts'
import type { Schema } from './schema.ts'
import { schemaNode, type SchemaNode } from './schema-node.ts'
import { fieldError, goQuote, NIL_PATH, type FieldError, type FieldErrorType } from './status.ts'
import { enumErrorDetail, inEnum } from './validate-enum.ts'
import { isJsonInteger, validateNumber } from './validate-number.ts'
import { validateString } from './validate-string.ts'

/** `old`: the value that this one replaces, for ratcheting. `status`: the value is an object's status, so fields begin with `status`. */
export interface ValidateOptions {
  readonly old?: Json
  readonly status?: boolean
}

/** Errors of a value against its schema; of equal ones only the first. */
export function validateSchema(value: Json, schema: Schema, options: ValidateOptions = {}): FieldError[] {
  const validation = new Validation(options.status === true)
  validation.node(schemaNode(schema), value, '', options.old === undefined ? undefined : new Correlation(schema, value, options.old))
  return validation.errors.length > 1 ? distinct(fittingErrors(validation.errors)) : validation.errors
}

function distinct(errors: readonly FieldError[]): FieldError[] {
  const seen = new Set<string>()
  return errors.filter(({ field, type, body }) => {
    const key = `${field}\n${type}\n${body}`
    return !seen.has(key) && seen.add(key)
  })
}

/**
 * One run over a value. Errors are appended to `errors`; every method returns how many checks matched, by which upstream picks the
 * best branch of a composition.
 */
export class Validation {
  errors: FieldError[] = []
  private readonly status: boolean

  constructor(status: boolean) {
    this.status = status
  }

  // One error makes the value invalid; nobody reads very many.
  private get full(): boolean {
    return this.errors.length >= MAX_FIELD_ERRORS
  }

  /** The field of an error: the path, below `status` for a status. Without a path it is the whole value. */
  field(path: string): string {
    const name = path.startsWith('.') ? path.slice(1) : path
    if (!this.status) return name === '' ? NIL_PATH : name
    return name === '' ? 'status' : `status.${name}`
  }

  /** Adds an error; `text` is the part of the message after the path. */
  add(type: FieldErrorType, path: string, value: unknown, text: string): void {
    this.errors.push(fieldError(type, this.field(path), value, `${path} in body ${text}`))
  }

  /** Validates a node and discards its errors when it is what it was. */
  node(node: SchemaNode, value: Json, path: string, old: Correlation | undefined): number {
    const before = this.errors.length
    const count = this.branch(node, value, path, old)
    if (this.errors.length > before && old !== undefined && old.unchanged) this.errors.length = before
    return count
  }

  /** Validates a node that is judged as part of another one, a branch of a composition. */
  branch(node: SchemaNode, value: Json, path: string, old: Correlation | undefined): number {
    if (value === null) return this.null(node, path)
    let count = 1
    if (node.types.length > 0 || node.format !== '') count += 1 + this.type(node, value, path)
    count += 1 + (node.composed ? validateComposition(this, node, value, path) : 1)
    if (typeof value === 'string') {
      count += 1
      validateString(this, node.limits, value, path)
      if (node.checkFormat !== undefined) count += this.format(node, value, path)
    } else if (isNumber(value)) {
      count += 2
      validateNumber(this, node, value, path)
    } else if (Array.isArray(value)) {
      count += 1 + this.array(node, value, path, old)
    }
    count += 1
    if (node.enum !== undefined) this.enum(node.enum, value, path)
    return isObject(value) ? count + 1 + this.object(node, value, path, old) : count
  }

  private null(node: SchemaNode, path: string): number {
    let count = 1
    if (node.types.length > 0 && !node.nullable) {
      count = 0
      this.wrongType(path, node.typeText, 'null')
    }
    if (node.enum !== undefined) this.enum(node.enum, null, path)
    return count
  }

  private wrongType(path: string, wanted: string, actual: string): void {
    this.add('FieldValueTypeInvalid', path, actual, `must be of type ${wanted}: ${JSON.stringify(actual)}`)
  }

  private type(node: SchemaNode, value: Json, path: string): 0 | 1 {
    const wanted = mismatch(node, value)
    if (wanted === undefined) return 1
    this.wrongType(path, wanted, wanted === node.format ? formatOf(value) : typeOf(value))
    return 0
  }

  private format(node: SchemaNode, value: string, path: string): number {
    if (!node.checkFormat?.(value)) {
      this.add('FieldValueTypeInvalid', path, value, `must be of type ${node.format}: ${goQuote(value)}`)
    }
    return 1
  }

  private enum(members: readonly Json[], value: Json, path: string): void {
    if (inEnum(members, value)) return
    this.errors.push(fieldError('FieldValueNotSupported', this.field(path), value, enumErrorDetail(members)))
  }

  private array(node: SchemaNode, value: Json[], path: string, old: Correlation | undefined): number {
    let count = 1
    const { items, limits } = node
    if (items !== undefined) {
      for (let i = 0; i < value.length && !this.full; i++) count += this.node(items, value[i] as Json, `${path}[${i}]`, old?.item(i))
    }
    const { length } = value
    if (limits.minItems !== undefined && length < limits.minItems) {
      this.add('FieldValueInvalid', path, length, `should have at least ${limits.minItems} items`)
    }
    if (limits.maxItems !== undefined && length > limits.maxItems) this.tooMany(path, length, limits.maxItems)
    if (limits.uniqueItems && new Set(value.map(encodeJson)).size < length) {
      this.add('FieldValueInvalid', path, '', "shouldn't contain duplicates")
    }
    return count
  }

  private tooMany(path: string, actual: number, max: number): void {
    const text = max < 0 ? 'has too many items' : `must have at most ${max} ${max === 1 ? 'item' : 'items'}`
    this.errors.push(fieldError('FieldValueTooMany', this.field(path), actual, text))
  }

  private object(node: SchemaNode, value: JsonObject, path: string, old: Correlation | undefined): number {
    const { limits } = node
    if (limits.minProperties !== undefined || limits.maxProperties !== undefined) {
      const size = Object.values(value).filter((member) => member !== undefined).length
      if (limits.minProperties !== undefined && size < limits.minProperties) {
        this.add('FieldValueInvalid', path, size, `should have at least ${limits.minProperties} properties`)
      }
      if (limits.maxProperties !== undefined && size > limits.maxProperties) this.tooMany(path, size, limits.maxProperties)
    }
    const count = this.members(node, value, path, old)
    for (const name of node.required) {
      if (Object.hasOwn(value, name) && value[name] !== undefined) continue
      this.errors.push(fieldError('FieldValueRequired', this.field(`${path}.${name}`), '', ''))
    }
    return count
  }

  private members(node: SchemaNode, value: JsonObject, path: string, old: Correlation | undefined): number {
    let count = 0
    for (const key in value) {
      const member = value[key]
      if (this.full) break
      if (member === undefined || !Object.hasOwn(value, key)) continue
      const property = node.properties.get(key)
      if (property !== undefined) {
        // Only the names of an object's type are never ratcheted.
        const typeMeta = path === '' && !this.status && (key === 'apiVersion' || key === 'kind')
        count += this.node(property, member, path === '' ? key : `${path}.${key}`, typeMeta ? undefined : old?.member(key))
      } else if (typeof node.additional === 'object') {
        count += this.node(node.additional, member, `${path}.${key}`, old?.member(key))
      } else if (node.additional === false) {
        this.errors.push(fieldError('FieldValueInvalid', this.field(path), key, `${path}.${key} in body is a forbidden property`))
      }
    }
    return count
  }
}

function typeOf(value: Json): string {
  if (typeof value === 'string' || typeof value === 'boolean') return typeof value
  if (Array.isArray(value)) return 'array'
  if (isNumber(value)) return isInteger(value) ? 'integer' : 'number'
  return 'object'
}

// What upstream takes for the format of a value that has none: the Go type of numbers.
function formatOf(value: Json): string {
  if (!isNumber(value)) return ''
  return isInteger(value) ? 'int64' : 'float64'
}

/** What the value should be and is not: the format, when that decides, or the types. upstream: type.go typeValidator.Validate */
function mismatch(node: SchemaNode, value: Json): string | undefined {
  const { types, format } = node
  const actual = typeOf(value)
  if (types.includes(actual)) return undefined
  if (actual === 'integer' && types.includes('number')) return undefined
  if (actual === 'number' && types.includes('integer') && isJsonInteger(toNumber(value as Float))) return undefined
  if (format !== '') {
    if (actual !== 'string' && actual !== 'array') return format === formatOf(value) ? node.typeText : format
    if (!types.includes('integer') && !types.includes('number')) return undefined
  }
  return node.typeText
}
