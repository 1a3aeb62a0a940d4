/**
 * The options of list and watch: their types and their validation.
 * upstream: apimachinery/pkg/apis/meta/internalversion/validation/validation.go: ValidateListOptions
 */
import { fieldError, invalid, type FieldError } from '../api/status.ts'

/** ListOptions after query decoding; numbers and booleans parsed, selectors still text. */
export interface ListOptions {
  readonly labelSelector: string
  readonly fieldSelector: string
  readonly watch: boolean
  readonly allowWatchBookmarks: boolean
  readonly resourceVersion: string
  readonly resourceVersionMatch: string
  readonly timeoutSeconds?: number
  readonly limit: number
  readonly continue: string
  readonly sendInitialEvents?: boolean
}

/** A legacy watch from scratch asks for initial events implicitly. upstream: internalversion/defaults.go: SetListOptionsDefaults */
export function defaultListOptions(options: ListOptions): ListOptions {
  const fromScratch = options.resourceVersion === '' || options.resourceVersion === '0'
  if (!options.watch || options.sendInitialEvents !== undefined || options.resourceVersionMatch !== '' || !fromScratch) return options
  return { ...options, sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' }
}

/** Throws 422 when the options contradict each other. `watching` is the verb, which the deprecated watch paths have without `watch=true`. */
export function validateListOptions(options: ListOptions): void {
  const errors = options.watch ? watchErrors(options) : listErrors(options)
  if (errors.length > 0) throw invalid({ group: 'meta.k8s.io', kind: 'ListOptions' }, '', errors)
}

const MATCH = 'resourceVersionMatch'
const refuse = (field: string, detail: string): FieldError => fieldError('FieldValueForbidden', field, '', detail)

function watchErrors({ sendInitialEvents, resourceVersionMatch: match, continue: token }: ListOptions): FieldError[] {
  const errors: FieldError[] = []
  if (sendInitialEvents !== undefined && match !== 'NotOlderThan') {
    errors.push(refuse(MATCH, 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan'))
  }
  if (match !== '') {
    if (sendInitialEvents === undefined) errors.push(refuse(MATCH, 'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided'))
    if (match !== 'NotOlderThan') errors.push(fieldError('FieldValueNotSupported', MATCH, match, 'supported values: "NotOlderThan"'))
    if (token !== '') errors.push(refuse(MATCH, 'resourceVersionMatch is forbidden when continue is provided'))
  }
  return errors
}

function listErrors({ sendInitialEvents, resourceVersion, resourceVersionMatch: match, continue: token }: ListOptions): FieldError[] {
  const errors: FieldError[] = []
  if (match !== '') {
    if (resourceVersion === '') errors.push(refuse(MATCH, 'resourceVersionMatch is forbidden unless resourceVersion is provided'))
    if (token !== '') errors.push(refuse(MATCH, 'resourceVersionMatch is forbidden when continue is provided'))
    if (match !== 'Exact' && match !== 'NotOlderThan') {
      errors.push(fieldError('FieldValueNotSupported', MATCH, match, 'supported values: "Exact", "NotOlderThan", ""'))
    }
    if (match === 'Exact' && resourceVersion === '0') {
      errors.push(refuse(MATCH, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'))
    }
  }
  if (sendInitialEvents !== undefined) errors.push(refuse('sendInitialEvents', 'sendInitialEvents is forbidden for list'))
  return errors
}
