/**
 * Validation of object metadata, with upstream's texts and order.
 * upstream: apimachinery/pkg/api/validation/objectmeta.go, apimachinery/pkg/apis/meta/v1/validation/validation.go
 */
import { addErrors, MAX_FIELD_ERRORS } from './error-limits.ts'
import { labelName, labelValueErrors, qualifiedNameErrors, type NameRule } from './names.ts'
import { deepEqual, parseApiVersion, type Json, type JsonObject, type ObjectMeta, type OwnerReference } from './object.ts'
import { fieldError, goQuote, isPrintable, renderJson, sortKeys, type FieldError } from './status.ts'

/** How the metadata of one object is validated. */
export interface MetadataRules {
  readonly namespaced: boolean
  readonly nameRule: NameRule
  /** The path of the metadata; `metadata` when absent. */
  readonly path?: string
}

const MAX_ANNOTATION_BYTES = 256 * 1024

/** Errors of metadata that has been through coerceMetadata. upstream: ValidateObjectMetaAccessor */
export function validateObjectMeta(meta: ObjectMeta, rules: MetadataRules): FieldError[] {
  const path = rules.path ?? 'metadata'
  const errors: FieldError[] = []
  const check = (field: string, value: string, messages: string[]): void => {
    for (const message of messages) errors.push(fieldError('FieldValueInvalid', `${path}.${field}`, value, message))
  }
  if (meta.generateName) check('generateName', meta.generateName, rules.nameRule(meta.generateName, true))
  if (meta.name) check('name', meta.name, rules.nameRule(meta.name, false))
  else errors.push(fieldError('FieldValueRequired', `${path}.name`, '', 'name or generateName is required'))
  if (!rules.namespaced) {
    if (meta.namespace) errors.push(fieldError('FieldValueForbidden', `${path}.namespace`, '', 'not allowed on this type'))
  } else if (meta.namespace) check('namespace', meta.namespace, labelName(meta.namespace, false))
  else errors.push(fieldError('FieldValueRequired', `${path}.namespace`, '', ''))
  if (meta.generation !== undefined && meta.generation < 0) {
    errors.push(fieldError('FieldValueInvalid', `${path}.generation`, meta.generation, 'must be greater than or equal to 0'))
  }
  addErrors(errors, validateLabels(meta.labels, `${path}.labels`), validateAnnotations(meta.annotations, `${path}.annotations`))
  addErrors(errors, validateOwnerReferences(meta.ownerReferences ?? [], `${path}.ownerReferences`))
  addErrors(errors, validateFinalizers(meta.finalizers ?? [], `${path}.finalizers`))
  return [...errors, ...validateManagedFields(meta.managedFields ?? [], `${path}.managedFields`)]
}

/** Errors of a change of metadata. upstream: ValidateObjectMetaAccessorUpdate (the resourceVersion is the registry's to demand) */
export function validateObjectMetaUpdate(meta: ObjectMeta, old: ObjectMeta): FieldError[] {
  const errors: FieldError[] = []
  if (old.deletionTimestamp !== undefined) addErrors(errors, validateNoNewFinalizers(meta.finalizers ?? [], old.finalizers ?? []))
  if ((meta.generation ?? 0) < (old.generation ?? 0)) {
    errors.push(fieldError('FieldValueInvalid', 'metadata.generation', meta.generation ?? 0, 'must not be decremented'))
  }
  for (const key of IMMUTABLE) {
    if (deepEqual(meta[key], old[key])) continue
    const absent = key === 'creationTimestamp' || key.startsWith('deletion') ? null : ''
    errors.push(fieldError('FieldValueInvalid', `metadata.${key}`, meta[key] ?? absent, 'field is immutable'))
  }
  return [
    ...errors,
    ...validateLabels(meta.labels, 'metadata.labels'),
    ...validateAnnotations(meta.annotations, 'metadata.annotations'),
    ...validateOwnerReferences(meta.ownerReferences ?? [], 'metadata.ownerReferences'),
    ...validateManagedFields(meta.managedFields ?? [], 'metadata.managedFields'),
  ]
}

const IMMUTABLE = ['name', 'namespace', 'uid', 'creationTimestamp', 'deletionTimestamp', 'deletionGracePeriodSeconds'] as const

function validateNoNewFinalizers(finalizers: string[], old: string[]): FieldError[] {
  const known = new Set(old)
  const added = sortKeys([...new Set(finalizers)].filter((finalizer) => !known.has(finalizer)))
  if (added.length === 0) return []
  const list = `[]string{${added.map(goQuote).join(', ')}}`
  const text = `no new finalizers can be added if the object is being deleted, found new finalizers ${list}`
  return [fieldError('FieldValueForbidden', 'metadata.finalizers', '', text)]
}

function validateLabels(labels: Record<string, string> | undefined, path: string): FieldError[] {
  if (labels === undefined) return []
  const errors: FieldError[] = []
  for (const [key, value] of Object.entries(labels)) {
    if (errors.length >= MAX_FIELD_ERRORS) break
    for (const message of qualifiedNameErrors(key)) errors.push(fieldError('FieldValueInvalid', path, key, message))
    for (const message of labelValueErrors(value)) errors.push(fieldError('FieldValueInvalid', path, value, message))
  }
  return errors
}

function validateAnnotations(annotations: Record<string, string> | undefined, path: string): FieldError[] {
  if (annotations === undefined) return []
  const errors: FieldError[] = []
  let bytes = 0
  for (const [key, value] of Object.entries(annotations)) {
    if (errors.length < MAX_FIELD_ERRORS) for (const message of qualifiedNameErrors(key.toLowerCase())) errors.push(fieldError('FieldValueInvalid', path, key, message))
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value)
  }
  if (bytes > MAX_ANNOTATION_BYTES) errors.push(tooLong(path, MAX_ANNOTATION_BYTES))
  return errors
}

function tooLong(path: string, max: number): FieldError {
  return fieldError('FieldValueTooLong', path, '', `may not be more than ${max} bytes`)
}

function validateOwnerReferences(references: OwnerReference[], path: string): FieldError[] {
  const errors: FieldError[] = []
  let controller: string | undefined
  let all: string | undefined
  for (const reference of references) {
    if (errors.length >= MAX_FIELD_ERRORS) break
    addErrors(errors, validateOwnerReference(reference, path))
    if (!reference.controller) continue
    const name = `${reference.kind}/${reference.name}`
    if (controller === undefined) controller = name
    else {
      all ??= `[${references.map(referenceJson).join(',')}]`
      errors.push(invalidJson(path, all, `Only one reference can have Controller set to true. Found "true" in references for ${controller} and ${name}`))
    }
  }
  return errors
}

function validateOwnerReference(reference: OwnerReference, path: string): FieldError[] {
  const errors: FieldError[] = []
  const check = (field: string, value: string, bad: boolean, text: string): void => {
    if (bad) errors.push(fieldError('FieldValueInvalid', `${path}.${field}`, value, text))
  }
  const bad = reference.apiVersion === '/' || reference.apiVersion.split('/').length > 2
  const { group, version } = bad ? { group: '', version: '' } : parseApiVersion(reference.apiVersion)
  check('apiVersion', reference.apiVersion, version === '', 'version must not be empty')
  check('kind', '', reference.kind === '', 'must not be empty')
  check('name', '', reference.name === '', 'must not be empty')
  check('uid', '', reference.uid === '', 'must not be empty')
  if (group === '' && version === 'v1' && reference.kind === 'Event') {
    errors.push(invalidJson(path, referenceJson(reference), '/v1, Kind=Event is disallowed from being an owner'))
  }
  return errors
}

// A Go struct's JSON has its keys in the order of its fields, not sorted.
function referenceJson(reference: OwnerReference): string {
  const keys = ['apiVersion', 'kind', 'name', 'uid', 'controller', 'blockOwnerDeletion'] as const
  return `{${keys
    .filter((key) => reference[key] !== undefined)
    .map((key) => `"${key}":${renderJson(reference[key])}`)
    .join(',')}}`
}

function invalidJson(field: string, json: string, detail: string): FieldError {
  return { type: 'FieldValueInvalid', field, body: `Invalid value: ${json}: ${detail}` }
}

function validateFinalizers(finalizers: string[], path: string): FieldError[] {
  const errors: FieldError[] = []
  for (const finalizer of finalizers) {
    if (errors.length >= MAX_FIELD_ERRORS) break
    for (const text of qualifiedNameErrors(finalizer)) errors.push(fieldError('FieldValueInvalid', path, finalizer, text))
  }
  if (finalizers.includes('orphan') && finalizers.includes('foregroundDeletion')) {
    errors.push(fieldError('FieldValueInvalid', path, finalizers, 'finalizer orphan and foregroundDeletion cannot be both set'))
  }
  return errors
}

function validateManagedFields(entries: readonly JsonObject[], path: string): FieldError[] {
  const errors: FieldError[] = []
  const invalid = (field: string, value: Json | undefined, text: string): void => {
    errors.push(fieldError('FieldValueInvalid', field, value ?? '', text))
  }
  for (const [i, { operation, fieldsType, manager, subresource }] of entries.entries()) {
    if (errors.length >= MAX_FIELD_ERRORS) break
    const at = `${path}[${i}]`
    if (operation !== 'Apply' && operation !== 'Update') invalid(`${at}.operation`, operation, 'must be `Apply` or `Update`')
    if (fieldsType !== undefined && fieldsType !== 'FieldsV1') invalid(`${at}.fieldsType`, fieldsType, 'must be `FieldsV1`')
    if (typeof manager === 'string') addErrors(errors, validateFieldManager(manager, `${at}.manager`))
    if (typeof subresource === 'string' && Buffer.byteLength(subresource) > 256) errors.push(tooLong(`${at}.subresource`, 256))
  }
  return errors
}

const MAX_SHOWN_MANAGER = 1024

/** Errors of a field manager's name. upstream: ValidateFieldManager */
export function validateFieldManager(manager: string, path: string): FieldError[] {
  const errors: FieldError[] = []
  if (Buffer.byteLength(manager) > 128) errors.push(tooLong(path, 128))
  // Each error shows the whole of it.
  if (manager.length > MAX_SHOWN_MANAGER) return errors
  let position = 0
  for (const char of manager) {
    if (!isPrintable(char)) {
      const code = (char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')
      errors.push(fieldError('FieldValueInvalid', path, manager, `invalid character U+${code} (at position ${position})`))
    }
    position += Buffer.byteLength(char)
  }
  return errors
}
