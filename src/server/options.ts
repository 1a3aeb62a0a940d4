/**
 * Query parameters → options, with upstream's errors.
 * upstream: apimachinery/pkg/runtime/conversion.go, apimachinery/pkg/apis/meta/v1/validation/validation.go
 */
import type { DeleteOptions } from '../registry/delete.ts'
import { defaultListOptions, validateListOptions, type ListOptions } from '../registry/list-options.ts'
import { jsonKind } from '../api/go-json-error.ts'
import { validateFieldManager } from '../api/metadata-validate.ts'
import { getKey, isInteger, isNumber, isObject, type Json, type JsonObject } from '../api/object.ts'
import { parseFieldSelector, parseLabelSelector } from '../api/selector.ts'
import { badRequest, fieldError, goQuote, invalid, renderJson, type FieldError } from '../api/status.ts'

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

/** Parses the options of a get. Throws 400 for what is not supported any more. */
export function parseGetOptions(query: URLSearchParams): { readonly resourceVersion: string } {
  const exported = query.get('export') ?? ''
  if (exported !== '' && exported !== 'false') throw badRequest('the export parameter, deprecated since v1.14, is no longer supported')
  return { resourceVersion: query.get('resourceVersion') ?? '' }
}

const VALIDATIONS = ['', 'Ignore', 'Strict', 'Warn']

/** Parses the options of a create, update or patch that is no apply. `kind` names the options in errors. Throws 422. */
export function parseModifyOptions(query: URLSearchParams, kind: 'CreateOptions' | 'UpdateOptions' | 'PatchOptions'): ModifyOptions {
  return parseModify(query, kind, kind === 'PatchOptions' && parseBool(query, 'force') !== undefined ? [fieldError('FieldValueForbidden', 'force', '', 'may not be specified for non-apply patch')] : [])
}

/** Parses the options of an apply, which needs a field manager. Throws 422. */
export function parseApplyOptions(query: URLSearchParams): ModifyOptions & { readonly force: boolean } {
  const nameless = (query.get('fieldManager') ?? '') === ''
  const errors = nameless ? [fieldError('FieldValueRequired', 'fieldManager', '', 'is required for apply patch')] : []
  return { ...parseModify(query, 'PatchOptions', errors), force: parseBool(query, 'force') ?? false }
}

function parseModify(query: URLSearchParams, kind: string, found: readonly FieldError[]): ModifyOptions {
  const dryRun = query.getAll('dryRun')
  const validation = query.get('fieldValidation') ?? ''
  const manager = query.get('fieldManager') ?? ''
  const errors = [...found, ...validateFieldManager(manager, 'fieldManager'), ...dryRunErrors(dryRun)]
  if (!VALIDATIONS.includes(validation)) {
    errors.push(fieldError('FieldValueNotSupported', 'fieldValidation', validation, `supported values: ${VALIDATIONS.map(goQuote).join(', ')}`))
  }
  if (errors.length > 0) throw invalid({ group: META, kind }, '', errors)
  return { dryRun: dryRun.length > 0, fieldValidation: (validation || 'Warn') as FieldValidation, fieldManager: manager }
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
  // Selectors are decoded with the other parameters, so what does not parse is found before what is not valid.
  parseLabelSelector(options.labelSelector)
  parseFieldSelector(options.fieldSelector)
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
export function parseDeleteBody(body: JsonObject): ParsedDeleteOptions {
  const field = typedField(body, 'DeleteOptions.')
  const read = {
    gracePeriodSeconds: () => field('gracePeriodSeconds', 'int64', isInteger),
    preconditions() {
      const precondition = typedField(field('preconditions', 'v1.Preconditions', isObject) ?? {}, 'Preconditions.preconditions.')
      return { uid: precondition('uid', 'types.UID', isText), resourceVersion: precondition('resourceVersion', 'string', isText) }
    },
    orphanDependents: () => field('orphanDependents', 'bool', isBoolean),
    propagationPolicy: () => field('propagationPolicy', 'v1.DeletionPropagation', isText),
    dryRun: () =>
      (field('dryRun', '[]string', isList) ?? []).map((item) => {
        if (isText(item)) return item
        throw wrongType(item, 'DeleteOptions.dryRun', 'string')
      }),
  }
  // Of several faults the one that stands first in the body is told.
  for (const name of Object.keys(body)) if (Object.hasOwn(read, name)) read[name as keyof typeof read]()
  const { orphanDependents, propagationPolicy, dryRun, preconditions } = read
  return checkDelete({ ...preconditions(), orphanDependents: orphanDependents(), propagationPolicy: propagationPolicy(), dryRun: dryRun() })
}

const isText = (value: Json): value is string => typeof value === 'string'
const isBoolean = (value: Json): value is boolean => typeof value === 'boolean'
const isList = (value: Json): value is Json[] => Array.isArray(value)

// Reads fields of an object as Go decodes them: null is absent, another type is refused. `path` names the struct and the way to it.
function typedField(object: JsonObject, path: string) {
  return <T extends Json>(name: string, type: string, matches: (value: Json) => value is T): T | undefined => {
    const value = getKey(object, name)
    if (value === undefined || value === null) return undefined
    if (!matches(value)) throw wrongType(value, `${path}${name}`, type)
    return value
  }
}

function wrongType(value: Json, field: string, type: string) {
  // Of a number that is of the wrong kind of number, the text is named too.
  const found = type === 'int64' && isNumber(value) ? `number ${renderJson(value)}` : jsonKind(value)
  return badRequest(`json: cannot unmarshal ${found} into Go struct field ${field} of type ${type}`)
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
