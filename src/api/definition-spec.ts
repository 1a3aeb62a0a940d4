/**
 * spec of a definition: group, scope, versions, names, columns, selectable fields, conversion.
 * upstream: apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go validateCustomResourceDefinitionSpec
 */
import { columnErrors, selectableErrors, subresourceErrors } from './definition-columns.ts'
import { defaultFaults, type RefusedRule } from './definition-defaults.ts'
import type { InternalSpec } from './definition-internal.ts'
import { openApiErrors } from './definition-openapi.ts'
import type { NamesProps, SchemaProps, VersionProps } from './definition-props.ts'
import { renderSchema, renderVersions } from './definition-rendering.ts'
import { structuralErrors, structuralFault } from './definition-structural.ts'
import { conversionErrors } from './definition-webhook.ts'
import { dns1035Errors, subdomainErrors } from './names.ts'
import { fieldError, isPrintable, type FieldError } from './status.ts'

/** What was found in a spec: upstream's errors, and the rules that only we refuse. */
export interface SpecFaults {
  readonly errors: FieldError[]
  readonly refused: RefusedRule[]
}

const required = (field: string, detail = ''): FieldError => fieldError('FieldValueRequired', field, '', detail)
const invalid = (field: string, value: unknown, detail: string): FieldError => fieldError('FieldValueInvalid', field, value, detail)

/** Checks a spec on create. */
export function specFaults(spec: InternalSpec): SpecFaults {
  const faults: SpecFaults = { errors: [...groupErrors(spec), ...scopeErrors(spec.scope), ...schemaPresence(spec)], refused: [] }
  const versions = spec.versions ?? []
  const perVersion = versions.some((version) => version.subresources !== undefined)
  for (const [i, version] of versions.entries()) {
    const path = `spec.versions[${i}]`
    const names = dns1035Errors(version.name ?? '')
    if (names.length > 0) faults.errors.push(invalid(`${path}.name`, version.name ?? '', names.join(',')))
    const subresources = perVersion ? versions.find((one) => one.name === version.name)?.subresources : spec.subresources
    checkVersion(version, path, subresources?.status !== undefined, faults)
  }
  faults.errors.push(...versionListErrors(spec), ...requiredNames(spec.names), ...nameErrors(spec.names))
  const anyStatus = spec.subresources?.status !== undefined || versions.some((version) => version.subresources?.status !== undefined)
  if (spec.validation !== undefined) checkValidation(spec.validation, anyStatus, 'spec.validation', faults)
  faults.errors.push(...subresourceErrors(spec.subresources, 'spec.subresources'))
  faults.errors.push(...(spec.additionalPrinterColumns ?? []).flatMap((column, i) => columnErrors(column, `spec.additionalPrinterColumns[${i}]`)))
  faults.errors.push(...topSelectableErrors(spec))
  if (spec.conversion.strategy !== 'None' && spec.preserveUnknownFields) {
    faults.errors.push(invalid('spec.conversion.strategy', spec.conversion.strategy ?? '', 'must be None if spec.preserveUnknownFields is true'))
  }
  faults.errors.push(...conversionErrors(spec.conversion, 'spec.conversion'))
  return faults
}

function groupErrors({ group }: InternalSpec): FieldError[] {
  if (group === '') return [required('spec.group')]
  const texts = subdomainErrors(group)
  if (texts.length > 0) return [invalid('spec.group', group, texts.join(','))]
  return group.includes('.') ? [] : [invalid('spec.group', group, 'should be a domain with at least one dot')]
}

function scopeErrors(scope: string): FieldError[] {
  if (scope === '') return [required('spec.scope')]
  if (scope === 'Cluster' || scope === 'Namespaced') return []
  return [fieldError('FieldValueNotSupported', 'spec.scope', scope, 'supported values: "Cluster", "Namespaced"')]
}

function schemaPresence(spec: InternalSpec): FieldError[] {
  const errors: FieldError[] = []
  if (spec.validation?.openAPIV3Schema === undefined) {
    for (const [i, version] of (spec.versions ?? []).entries()) {
      if (version.schema?.openAPIV3Schema === undefined) errors.push(required(`spec.versions[${i}].schema.openAPIV3Schema`))
    }
  }
  if (spec.preserveUnknownFields && schemasOf(spec).some((schema) => holdsDefault(schema))) {
    errors.push(invalid('spec.preserveUnknownFields', true, 'must be false in order to use defaults in the schema'))
  }
  return errors
}

function schemasOf(spec: InternalSpec): SchemaProps[] {
  return [spec.validation, ...(spec.versions ?? []).map((version) => version.schema)].flatMap((validation) => validation?.openAPIV3Schema ?? [])
}

// A value of default or of an enum may have a member of that name too, which only makes the answer to a definition with more errors longer.
function holdsDefault(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return (!Array.isArray(value) && Object.hasOwn(value, 'default') && typeof (value as { default: unknown }).default !== 'undefined') || Object.values(value).some(holdsDefault)
}

function checkVersion(version: VersionProps, path: string, status: boolean, faults: SpecFaults): void {
  for (const text of deprecationErrors(version)) faults.errors.push(invalid(`${path}.deprecationWarning`, version.deprecationWarning ?? '', text))
  if (version.schema !== undefined) checkValidation(version.schema, status, `${path}.schema`, faults)
  faults.errors.push(...subresourceErrors(version.subresources, `${path}.subresources`))
  faults.errors.push(...(version.additionalPrinterColumns ?? []).flatMap((column, i) => columnErrors(column, `${path}.additionalPrinterColumns[${i}]`)))
  if ((version.selectableFields ?? []).length === 0) return
  const schema = version.schema?.openAPIV3Schema
  if (schema === undefined) {
    faults.errors.push(invalid(`${path}.selectableFields`, '', 'may only be set when `version.schema.openAPIV3Schema` is not included'))
    return
  }
  faults.errors.push(...selectable(version.selectableFields ?? [], schema, `${path}.selectableFields`, `${path}.schema.openAPIV3Schema`))
}

function topSelectableErrors(spec: InternalSpec): FieldError[] {
  const fields = spec.selectableFields ?? []
  if (fields.length === 0) return []
  if (spec.validation === undefined) return [invalid('spec.selectableFields', '', 'may only be set when validations.schema is included')]
  return selectable(fields, spec.validation.openAPIV3Schema ?? {}, 'spec.selectableFields', 'spec.schema.openAPIV3Schema')
}

function selectable(fields: NonNullable<VersionProps['selectableFields']>, schema: SchemaProps, path: string, schemaPath: string): FieldError[] {
  const fault = structuralFault(schema)
  return [...(fault === undefined ? [] : [invalid(schemaPath, '', fault)]), ...selectableErrors(fields, fault === undefined ? schema : {}, path)]
}

/** upstream: validateDeprecationWarning */
function deprecationErrors({ deprecated, deprecationWarning: warning }: VersionProps): string[] {
  if (warning === undefined) return []
  if (!deprecated) return ['can only be set for deprecated versions']
  const errors: string[] = []
  if (Buffer.byteLength(warning) > 256) errors.push('must be <= 256 characters long')
  if (warning === '') errors.push('must not be an empty string')
  const at = [...warning].findIndex((char) => !isPrintable(char))
  if (at >= 0) {
    const index = Buffer.byteLength([...warning].slice(0, at).join(''))
    errors.push(`must only contain printable UTF-8 characters; non-printable character found at index ${index}`)
  }
  return errors
}

function versionListErrors(spec: InternalSpec): FieldError[] {
  const versions = spec.versions ?? []
  const errors: FieldError[] = []
  const list = (detail: string): void => {
    errors.push({ type: 'FieldValueInvalid', field: 'spec.versions', body: `Invalid value: ${renderVersions(spec.versions)}: ${detail}` })
  }
  const names = versions.map((version) => version.name ?? '')
  if (new Set(names).size < names.length) list('must contain unique version names')
  if (versions.filter((version) => version.storage).length !== 1) list('must have exactly one version marked as storage version')
  const [first = ''] = names
  const texts = first === '' ? [] : dns1035Errors(first)
  if (texts.length > 0) errors.push(invalid('spec.version', first, texts.join(',')))
  return errors
}

function requiredNames(names: NamesProps): FieldError[] {
  return (['plural', 'singular', 'kind', 'listKind'] as const).filter((key) => !names[key]).map((key) => required(`spec.names.${key}`))
}

/** upstream: ValidateCustomResourceDefinitionNames */
function nameErrors(names: NamesProps): FieldError[] {
  const errors: FieldError[] = []
  for (const key of ['plural', 'singular'] as const) {
    const texts = names[key] ? dns1035Errors(names[key]) : []
    if (texts.length > 0) errors.push(invalid(`spec.names.${key}`, names[key], texts.join(',')))
  }
  for (const key of ['kind', 'listKind'] as const) {
    const texts = names[key] ? dns1035Errors(names[key].toLowerCase()) : []
    if (texts.length > 0) errors.push(invalid(`spec.names.${key}`, names[key], `may have mixed case, but should otherwise match: ${texts.join(',')}`))
  }
  const each = (key: 'shortNames' | 'categories'): void => {
    for (const [i, name] of (names[key] ?? []).entries()) {
      const texts = dns1035Errors(name)
      if (texts.length > 0) errors.push(invalid(`spec.names.${key}[${i}]`, name, texts.join(',')))
    }
  }
  each('shortNames')
  if (names.kind && names.kind === names.listKind) errors.push(invalid('spec.names.listKind', names.listKind, 'kind and listKind may not be the same'))
  each('categories')
  return errors
}

// Of a schema whose status is validated apart, these may stand at the root; in Go's names and order, by the name in JSON.
const AT_ROOT: readonly (readonly [go: string, key: string])[] = [
  ['Description', 'description'],
  ['Type', 'type'],
  ['Format', 'format'],
  ['Title', 'title'],
  ['Maximum', 'maximum'],
  ['ExclusiveMaximum', 'exclusiveMaximum'],
  ['Minimum', 'minimum'],
  ['ExclusiveMinimum', 'exclusiveMinimum'],
  ['MaxLength', 'maxLength'],
  ['MinLength', 'minLength'],
  ['Pattern', 'pattern'],
  ['MaxItems', 'maxItems'],
  ['MinItems', 'minItems'],
  ['UniqueItems', 'uniqueItems'],
  ['MultipleOf', 'multipleOf'],
  ['Required', 'required'],
  ['Items', 'items'],
  ['Properties', 'properties'],
  ['ExternalDocs', 'externalDocs'],
  ['Example', 'example'],
  ['XPreserveUnknownFields', 'x-kubernetes-preserve-unknown-fields'],
  ['XValidations', 'x-kubernetes-validations'],
]

// What stands before the type in Go's struct is looked at first, and the first fault ends the look.
const BEFORE_TYPE = ['id', '$schema', '$ref']

function rootErrors(schema: SchemaProps, path: string): FieldError[] {
  const stray = Object.keys(schema).filter((key) => !AT_ROOT.some(([, allowed]) => allowed === key))
  const first = stray.find((key) => BEFORE_TYPE.includes(key))
  if (first === undefined && schema.type !== undefined && schema.type !== 'object') {
    return [invalid(`${path}.type`, schema.type, 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled')]
  }
  if (stray.length === 0) return []
  const detail = `only [${AT_ROOT.map(([go]) => go).join(' ')}] fields are allowed at the root of the schema if the status subresource is enabled`
  return [{ type: 'FieldValueInvalid', field: path, body: `Invalid value: ${renderSchema(schema)}: ${detail}` }]
}

/** upstream: validateCustomResourceDefinitionValidation */
function checkValidation(validation: NonNullable<VersionProps['schema']>, status: boolean, parent: string, faults: SpecFaults): void {
  const schema = validation.openAPIV3Schema
  if (schema === undefined) return
  const path = `${parent}.openAPIV3Schema`
  const errors: FieldError[] = status ? rootErrors(schema, path) : []
  if (schema.nullable) errors.push(fieldError('FieldValueForbidden', `${path}.nullable`, '', 'nullable cannot be true at the root'))
  const fault = structuralFault(schema)
  let structural = false
  if (fault === undefined) {
    const found = structuralErrors(schema, path)
    const defaults = found.length > 0 ? { errors: found, refused: [] } : defaultFaults(schema, path)
    errors.push(...defaults.errors)
    faults.refused.push(...defaults.refused)
    structural = defaults.errors.length === 0
  }
  const openApi = openApiErrors(schema, path, { cel: structural })
  errors.push(...openApi.errors)
  faults.refused.push(...openApi.refused)
  if (errors.length === 0 && fault !== undefined) errors.push(invalid(path, '', fault))
  faults.errors.push(...errors)
}
