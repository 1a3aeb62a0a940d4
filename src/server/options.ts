/**
 * Query parameters → options, with upstream's errors.
 * upstream: apimachinery/pkg/runtime/conversion.go, apimachinery/pkg/apis/meta/v1/validation/validation.go
 */
import type { DeleteOptions } from '../registry/delete.ts'
import { defaultListOptions, validateListOptions, type ListOptions } from '../registry/list-options.ts'
import { getKey, isInteger, isObject, type Json, type JsonObject } from '../api/object.ts'
import { badRequest, fieldError, goQuote, invalid, isPrintable, type FieldError } from '../api/status.ts'

export type FieldValidation = 'Strict' | 'Warn' | 'Ignore'

/** CreateOptions, UpdateOptions and PatchOptions. */
export interface ModifyOptions {
  readonly dryRun: boolean
  readonly fieldValidation: FieldValidation
  readonly fieldManager: string
}

const META = 'meta.k8s.io'

/** `0` and `false` are false, everything else true, the empty text included; absent is undefined. */
function parseBool(query: URLSearchParams, name: string): boolean | undefined {
  const value = query.get(name)
  return value === null ? undefined : value !== '0' && value.toLowerCase() !== 'false'
}

const INT64 = /^[+-]?[0-9]+$/

/** Go's ParseInt on a parameter; undefined when absent, 400 when it does not parse. */
function parseInt64(query: URLSearchParams, name: string): number | undefined {
  const value = query.get(name)
  if (value === null) return undefined
  if (!INT64.test(value)) throw badRequest(`strconv.ParseInt: parsing ${goQuote(value)}: invalid syntax`)
  const number = BigInt(value)
  if (number > 2n ** 63n - 1n || number < -(2n ** 63n)) throw badRequest(`strconv.ParseInt: parsing ${goQuote(value)}: value out of range`)
  return Number(number)
}

function dryRunErrors(values: readonly string[]): FieldError[] {
  return values.every((value) => value === 'All') ? [] : [fieldError('FieldValueNotSupported', 'dryRun', values, 'supported values: "All"')]
}

const VALIDATIONS = ['', 'Ignore', 'Strict', 'Warn']

/** Parses the options of a create, update or patch. `kind` names the options in errors. Throws 422. */
export function parseModifyOptions(query: URLSearchParams, kind: 'CreateOptions' | 'UpdateOptions' | 'PatchOptions'): ModifyOptions {
  const dryRun = query.getAll('dryRun')
  const validation = query.get('fieldValidation') ?? ''
  const manager = query.get('fieldManager') ?? ''
  const errors = dryRunErrors(dryRun)
  if (kind === 'PatchOptions' && parseBool(query, 'force') !== undefined) {
    errors.unshift(fieldError('FieldValueForbidden', 'force', '', 'may not be specified for non-apply patch'))
  }
  errors.push(...fieldManagerErrors(manager))
  if (!VALIDATIONS.includes(validation)) {
    errors.push(fieldError('FieldValueNotSupported', 'fieldValidation', validation, `supported values: ${VALIDATIONS.map(goQuote).join(', ')}`))
  }
  if (errors.length > 0) throw invalid({ group: META, kind }, '', errors)
  return { dryRun: dryRun.length > 0, fieldValidation: (validation || 'Warn') as FieldValidation, fieldManager: manager }
}

// upstream: metav1validation.ValidateFieldManager
function fieldManagerErrors(manager: string): FieldError[] {
  const errors: FieldError[] = []
  if (Buffer.byteLength(manager) > 128) errors.push(fieldError('FieldValueTooLong', 'fieldManager', '', 'may not be more than 128 bytes'))
  let position = 0
  for (const char of manager) {
    if (!isPrintable(char)) {
      const code = (char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')
      errors.push(fieldError('FieldValueInvalid', 'fieldManager', manager, `invalid character U+${code} (at position ${position})`))
    }
    position += Buffer.byteLength(char)
  }
  return errors
}

/** Parses and validates the options of a list, watch or deletecollection. Throws 400 and 422. */
export function parseListOptions(query: URLSearchParams, watching = false): ListOptions {
  const timeoutSeconds = parseInt64(query, 'timeoutSeconds')
  const limit = parseInt64(query, 'limit') ?? 0
  const sendInitialEvents = parseBool(query, 'sendInitialEvents')
  const options = defaultListOptions({
    labelSelector: query.get('labelSelector') ?? '',
    fieldSelector: query.get('fieldSelector') ?? '',
    watch: parseBool(query, 'watch') ?? false,
    allowWatchBookmarks: parseBool(query, 'allowWatchBookmarks') ?? false,
    resourceVersion: query.get('resourceVersion') ?? '',
    resourceVersionMatch: query.get('resourceVersionMatch') ?? '',
    limit,
    continue: query.get('continue') ?? '',
    ...(timeoutSeconds === undefined ? {} : { timeoutSeconds }),
    ...(sendInitialEvents === undefined ? {} : { sendInitialEvents }),
  })
  validateListOptions(watching ? { ...options, watch: true } : options)
  return options
}

/** Options of a deletion with whether it is a dry run. */
export interface ParsedDeleteOptions extends DeleteOptions {
  readonly dryRun: boolean
}

/** DeleteOptions from query parameters: what counts when the request has no body. Throws 400 and 422. */
export function parseDeleteQuery(query: URLSearchParams): ParsedDeleteOptions {
  parseInt64(query, 'gracePeriodSeconds')
  return checkDelete({
    orphanDependents: parseBool(query, 'orphanDependents'),
    propagationPolicy: query.get('propagationPolicy') ?? undefined,
    dryRun: query.getAll('dryRun'),
    uid: query.get('uid') ?? undefined,
    resourceVersion: query.get('resourceVersion') ?? undefined,
  })
}

/** DeleteOptions from a decoded body. Throws 400 for fields of a wrong type and 422. */
export function parseDeleteBody(body: Json): ParsedDeleteOptions {
  const object: JsonObject = isObject(body) ? body : {}
  const kind = getKey(object, 'kind')
  if (kind !== undefined && kind !== 'DeleteOptions') {
    const version = String(getKey(object, 'apiVersion') ?? 'meta.k8s.io/v1')
    throw badRequest(`no kind ${goQuote(String(kind))} is registered for version ${goQuote(version)} in scheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27"`)
  }
  const preconditions = getKey(object, 'preconditions')
  const grace = getKey(object, 'gracePeriodSeconds')
  if (grace !== undefined && grace !== null && !isInteger(grace)) throw wrongType(grace, 'gracePeriodSeconds', 'int64')
  const dryRun = getKey(object, 'dryRun')
  return checkDelete({
    orphanDependents: boolean(object, 'orphanDependents'),
    propagationPolicy: text(object, 'propagationPolicy'),
    dryRun: Array.isArray(dryRun) ? dryRun.map(String) : [],
    uid: isObject(preconditions) ? text(preconditions, 'uid') : undefined,
    resourceVersion: isObject(preconditions) ? text(preconditions, 'resourceVersion') : undefined,
  })
}

function text(object: JsonObject, name: string): string | undefined {
  const value = getKey(object, name)
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'string') throw wrongType(value, name, 'string')
  return value
}

function boolean(object: JsonObject, name: string): boolean | undefined {
  const value = getKey(object, name)
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'boolean') throw wrongType(value, name, 'bool')
  return value
}

function wrongType(value: Json, field: string, type: string) {
  const kind = Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value === 'string' ? 'string' : isObject(value) ? 'object' : 'number'
  return badRequest(`json: cannot unmarshal ${kind} into Go struct field DeleteOptions.${field} of type ${type}`)
}

interface RawDelete {
  readonly orphanDependents: boolean | undefined
  readonly propagationPolicy: string | undefined
  readonly dryRun: readonly string[]
  readonly uid: string | undefined
  readonly resourceVersion: string | undefined
}

const POLICIES = ['Foreground', 'Background', 'Orphan']

// upstream: metav1validation.ValidateDeleteOptions
function checkDelete({ orphanDependents, propagationPolicy: policy, dryRun, uid, resourceVersion }: RawDelete): ParsedDeleteOptions {
  const errors: FieldError[] = []
  if (orphanDependents !== undefined && policy !== undefined) {
    errors.push(fieldError('FieldValueInvalid', 'propagationPolicy', policy, 'orphanDependents and deletionPropagation cannot be both set'))
  }
  if (policy !== undefined && !POLICIES.includes(policy)) {
    errors.push(fieldError('FieldValueNotSupported', 'propagationPolicy', policy, 'supported values: "Foreground", "Background", "Orphan", "nil"'))
  }
  errors.push(...dryRunErrors(dryRun))
  if (errors.length > 0) throw invalid({ group: META, kind: 'DeleteOptions' }, '', errors)
  return {
    dryRun: dryRun.length > 0,
    ...(orphanDependents === undefined ? {} : { orphanDependents }),
    ...(policy === undefined ? {} : { propagationPolicy: policy as 'Foreground' | 'Background' | 'Orphan' }),
    ...(uid === undefined && resourceVersion === undefined
      ? {}
      : { preconditions: { ...(uid === undefined ? {} : { uid }), ...(resourceVersion === undefined ? {} : { resourceVersion }) } }),
  }
}
