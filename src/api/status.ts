/**
 * Errors as metav1.Status values: one factory per reason, with upstream's texts.
 * A StatusError is thrown by the road's steps and written in one place (src/server/respond.ts).
 * upstream: apimachinery/pkg/api/errors/errors.go, apimachinery/pkg/util/validation/field/errors.go
 */
import { fittingErrors } from './error-limits.ts'
import { formatGoFloat, goQuote } from './go-text.ts'
import { encodeJson } from './json-encode.ts'
import { Float, type Json } from './object.ts'

export { compareBytes, formatGoFloat, formatJsonNumber, goJsonString, goQuote, isPrintable, sortKeys } from './go-text.ts'

export interface StatusCause {
  reason?: string
  message?: string
  field?: string
}

export interface StatusDetails {
  name?: string
  group?: string
  kind?: string
  uid?: string
  causes?: StatusCause[]
  retryAfterSeconds?: number
}

/** metav1.Status, keys in upstream's order. */
export interface Status {
  kind: 'Status'
  apiVersion: 'v1'
  metadata: { continue?: string }
  status: 'Failure' | 'Success'
  message?: string
  reason?: string
  details?: StatusDetails
  code?: number
}

/** A failure that a client sees: `status` is the body. */
export class StatusError extends Error {
  readonly status: Status & { code: number }
  constructor(status: Status & { code: number }) {
    super(status.message ?? '')
    this.name = 'StatusError'
    this.status = status
  }
  get code(): number {
    return this.status.code
  }
  get reason(): string | undefined {
    return this.status.reason
  }
}

/** The resource that a message names. `resource` is the plural. */
export interface GroupResource {
  readonly group: string
  readonly resource: string
}

const qualify = (group: string, name: string): string => (group === '' ? name : `${name}.${group}`)

function failure(code: number, reason: string | undefined, message: string, details?: StatusDetails): StatusError {
  const status: Status & { code: number } = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, code: 0 }
  delete (status as Partial<Status>).code
  if (reason !== undefined) status.reason = reason
  if (details !== undefined) status.details = dropEmpty(details)
  status.code = code
  return new StatusError(status)
}

// details keys in upstream's order; empty ones are omitted.
function dropEmpty(details: StatusDetails): StatusDetails {
  const out: StatusDetails = {}
  if (details.name) out.name = details.name
  if (details.group) out.group = details.group
  if (details.kind) out.kind = details.kind
  if (details.uid) out.uid = details.uid
  if (details.causes && details.causes.length > 0) out.causes = details.causes
  if (details.retryAfterSeconds) out.retryAfterSeconds = details.retryAfterSeconds
  return out
}

const about = (gr: GroupResource, name: string): StatusDetails => ({ name, group: gr.group, kind: gr.resource })

/** 404: `widgets.example "x" not found`. */
export const notFound = (gr: GroupResource, name: string): StatusError =>
  failure(404, 'NotFound', `${qualify(gr.group, gr.resource)} ${goQuote(name)} not found`, about(gr, name))

/** 409 AlreadyExists. `text` replaces the standard message, `retryAfterSeconds` is set when a generated name collided. */
export const alreadyExists = (gr: GroupResource, name: string, more: { prefix?: string; suffix?: string; retryAfterSeconds?: number } = {}): StatusError =>
  failure(409, 'AlreadyExists', `${more.prefix ?? ''}${qualify(gr.group, gr.resource)} ${goQuote(name)} already exists${more.suffix ?? ''}`, {
    ...about(gr, name),
    ...(more.retryAfterSeconds ? { retryAfterSeconds: more.retryAfterSeconds } : {}),
  })

/** 409: `Operation cannot be fulfilled on widgets.example "x": <cause>`. */
export const conflict = (gr: GroupResource, name: string, cause: string): StatusError =>
  failure(409, 'Conflict', `Operation cannot be fulfilled on ${qualify(gr.group, gr.resource)} ${goQuote(name)}: ${cause}`, about(gr, name))

/** 409 for an apply that conflicts with other managers: details with the causes only. upstream: errors.NewApplyConflict */
export const applyConflict = (causes: StatusCause[], message: string): StatusError => failure(409, 'Conflict', message, { causes })

/** The text of a lost optimistic lock. upstream: registry.OptimisticLockErrorMsg */
export const OPTIMISTIC_LOCK = 'the object has been modified; please apply your changes to the latest version and try again'

/** 400: free text, no details. */
export const badRequest = (message: string): StatusError => failure(400, 'BadRequest', message)

/** 403: `widgets.example "x" is forbidden: <text>`; without a name the quoted part is left out. */
export const forbidden = (gr: GroupResource, name: string, text: string, causes?: StatusCause[]): StatusError =>
  failure(403, 'Forbidden', `${qualify(gr.group, gr.resource)}${name === '' ? '' : ` ${goQuote(name)}`} is forbidden: ${text}`, {
    ...about(gr, name),
    ...(causes ? { causes } : {}),
  })

/** 403 for a path that names no resource. */
export const forbiddenPath = (text: string): StatusError => failure(403, 'Forbidden', `forbidden: ${text}`, {})

/** 401. */
export const unauthorized = (): StatusError => failure(401, 'Unauthorized', 'Unauthorized')

/** 405: `<verb> is not supported on resources of kind "widgets.example"`. */
export const methodNotSupported = (gr: GroupResource, verb: string): StatusError =>
  failure(405, 'MethodNotAllowed', `${verb} is not supported on resources of kind "${qualify(gr.group, gr.resource)}"`, { group: gr.group, kind: gr.resource })

/** 413. */
export const requestEntityTooLarge = (text: string): StatusError => failure(413, 'RequestEntityTooLarge', `Request entity too large: ${text}`)

/** 406. */
export const notAcceptable = (mediaTypes: readonly string[]): StatusError =>
  failure(406, 'NotAcceptable', `only the following media types are accepted: ${mediaTypes.join(', ')}`)

/** 406 with a free text. */
export const notAcceptableText = (message: string): StatusError => failure(406, 'NotAcceptable', message)

/** 415. */
export const unsupportedMediaType = (mediaTypes: readonly string[]): StatusError =>
  failure(415, 'UnsupportedMediaType', `the body of the request was in an unknown format - accepted media types include: ${mediaTypes.join(', ')}`)

/** 410 Expired. `continueToken` goes into metadata.continue. */
export function expired(message: string, continueToken?: string): StatusError {
  const error = failure(410, 'Expired', message)
  if (continueToken !== undefined) error.status.metadata = { continue: continueToken }
  return error
}

/** 503. */
export const serviceUnavailable = (message: string, retryAfterSeconds?: number): StatusError =>
  failure(503, 'ServiceUnavailable', message, retryAfterSeconds ? { retryAfterSeconds } : undefined)

/** 504. */
export const timeout = (text: string, more: { causes?: StatusCause[]; retryAfterSeconds?: number } = {}): StatusError =>
  failure(504, 'Timeout', `Timeout: ${text}`, more.causes || more.retryAfterSeconds ? { ...more } : undefined)

/** 504 for a resourceVersion of the future. upstream: apiserver/pkg/storage/errors.go: NewTooLargeResourceVersionError */
export const tooLargeResourceVersion = (wanted: bigint | number, current: number, retryAfterSeconds = 1): StatusError =>
  timeout(`Too large resource version: ${wanted}, current: ${current}`, {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    retryAfterSeconds,
  })

/** 507: the store has no room; nothing was written. */
export const insufficientStorage = (message: string): StatusError => failure(507, 'InsufficientStorage', message)

/** 500 with reason InternalError. */
export const internalError = (text: string): StatusError =>
  failure(500, 'InternalError', `Internal error occurred: ${text}`, { causes: [{ message: text }] })

/** 500 without a reason: what upstream answers for a Go error that is not a Status. */
export const rawError = (message: string): StatusError => failure(500, undefined, message)

/** 500 for a watch whose time is over before it begins. upstream: cacher: newErrWatcher */
export const deadlineExceeded = (): StatusError => failure(500, 'InternalError', 'context deadline exceeded')

/** 422 for a JSON patch that does not apply. */
export const unprocessablePatch = (): StatusError =>
  failure(422, 'Invalid', 'the server rejected our request due to an error in our request', {})

/** The type of a field error; it is the `reason` of its cause. upstream: field.ErrorType */
export type FieldErrorType =
  | 'FieldValueNotFound'
  | 'FieldValueRequired'
  | 'FieldValueDuplicate'
  | 'FieldValueInvalid'
  | 'FieldValueNotSupported'
  | 'FieldValueForbidden'
  | 'FieldValueTooLong'
  | 'FieldValueTooMany'
  | 'FieldValueTypeInvalid'
  | 'InternalError'

/** One error of a field. `body` is the message without the field: `Invalid value: 5: must be …`. An empty path is shown as `<nil>`. */
export interface FieldError {
  readonly type: FieldErrorType
  readonly field: string
  readonly body: string
}

/** The path of the whole object in field errors. */
export const NIL_PATH = '<nil>'

const LEADS: Record<FieldErrorType, string> = {
  FieldValueNotFound: 'Not found',
  FieldValueRequired: 'Required value',
  FieldValueDuplicate: 'Duplicate value',
  FieldValueInvalid: 'Invalid value',
  FieldValueNotSupported: 'Unsupported value',
  FieldValueForbidden: 'Forbidden',
  FieldValueTooLong: 'Too long',
  FieldValueTooMany: 'Too many',
  FieldValueTypeInvalid: 'Invalid value',
  InternalError: 'Internal error',
}
const VALUELESS = new Set<FieldErrorType>(['FieldValueRequired', 'FieldValueForbidden', 'FieldValueTooLong', 'InternalError'])

/** Marks a field error that shows no value although its type usually does. */
export const NO_VALUE = Symbol('no value')

/**
 * Builds a field error. `value` is rendered as field.Error does since 1.34; it is ignored for the types that never show one.
 * upstream: field.Error.ErrorBody
 */
export function fieldError(type: FieldErrorType, field: string, value: unknown, detail: string): FieldError {
  let body = LEADS[type]
  if (!VALUELESS.has(type) && value !== NO_VALUE) body += `: ${renderValue(value)}`
  if (detail !== '') body += `: ${detail}`
  return { type, field, body }
}

/** Renders a value for a field error: strings quoted as Go's %q, floats as %v, the rest as compact JSON with sorted keys. */
export function renderValue(value: unknown): string {
  if (typeof value === 'string') return goQuote(value)
  if (typeof value === 'bigint' || typeof value === 'boolean') return String(value)
  if (typeof value === 'number') return Number.isInteger(value) ? String(value) : formatGoFloat(value)
  if (value instanceof Float) return formatGoFloat(value.value)
  return renderJson(value)
}

/** Compact JSON as Go's encoding/json writes a map: sorted keys, `<`, `>` and `&` escaped. */
export function renderJson(value: unknown): string {
  return encodeJson(value as Json)
}

/** 422 for an object: `Kind.group "name" is invalid: …`. upstream: errors.NewInvalid */
export function invalid(kind: { group: string; kind: string }, name: string, errors: readonly FieldError[]): StatusError {
  const shown = fittingErrors(errors)
  const lines = [...new Set(shown.map((e) => `${e.field}: ${e.body}`))]
  const aggregate = lines.length === 0 ? '' : lines.length === 1 ? `: ${lines[0]}` : `: [${lines.join(', ')}]`
  return failure(422, 'Invalid', `${qualify(kind.group, kind.kind)} ${goQuote(name)} is invalid${aggregate}`, {
    name,
    group: kind.group,
    kind: kind.kind,
    causes: shown.map((e) => ({ reason: e.type, message: e.body, field: e.field })),
  })
}

/** 422 for a patched object that does not decode: the message starts with a blank, since kind and name are empty. */
export const invalidPatch = (patched: string, detail: string): StatusError =>
  invalid({ group: '', kind: '' }, '', [fieldError('FieldValueInvalid', 'patch', patched, detail)])

/** The Success status that a deletion answers. */
export const deleted = (gr: GroupResource, name: string, uid: string | undefined): Status => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Success',
  details: dropEmpty({ name, group: gr.group, kind: gr.resource, ...(uid ? { uid } : {}) }),
})
