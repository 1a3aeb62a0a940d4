/**
 * Validation of whole objects for create, update and status update: every check, in upstream's order and multiplicity.
 * upstream: apiextensions-apiserver/pkg/registry/customresource/{strategy,validator,status_strategy}.go, apiserver/pkg/registry/rest/update.go BeforeUpdate
 */
import { addErrors } from './error-limits.ts'
import { embeddedErrors } from './embedded.ts'
import { listTypeErrors } from './list-type.ts'
import { validateObjectMeta, validateObjectMetaUpdate } from './metadata-validate.ts'
import { pathSegmentName, subdomainName, type NameRule } from './names.ts'
import { formatApiVersion, type KubeObject } from './object.ts'
import type { VersionDefinition } from './resource.ts'
import { scaleSpecErrors, scaleStatusErrors } from './scale-check.ts'
import { fieldError, NIL_PATH, type FieldError, type FieldErrorType } from './status.ts'
import { validateSchema } from './validate.ts'

/** The compiled CEL rules of a version. `old` is the stored object in the same version, absent on create. */
export interface CelRules {
  /** True when the schema has no rules. */
  readonly empty: boolean
  evaluate(object: KubeObject, old: KubeObject | undefined): { errors: FieldError[]; warnings: string[] }
}

/** What a check knows besides the objects. `strategyErrors` are the kind's own; they come last. `nameRule` is for a new object; without one names are subdomains. */
export interface CheckContext {
  readonly group: string
  readonly kind: string
  readonly namespaced: boolean
  readonly nameRule?: NameRule
  readonly strategyErrors?: readonly FieldError[]
}

/** Errors for one 422, and warnings for the client. */
export interface CheckResult {
  readonly errors: FieldError[]
  readonly warnings: string[]
}

/** Validates a new object, which has been received, stamped and prepared. */
export function checkCreate(object: KubeObject, version: VersionDefinition, rules: CelRules | undefined, context: CheckContext): CheckResult {
  const errors = typeMetaErrors(object, version, context)
  if (errors.length === 0) {
    addErrors(errors, validateObjectMeta(object.metadata, { namespaced: context.namespaced, nameRule: context.nameRule ?? subdomainName }))
    addErrors(errors, validateSchema(object, version.schema), scaleErrors(object, version))
  }
  addErrors(errors, embeddedErrors(object, version.schema), listTypeErrors(object, version.schema))
  return finish(errors, object, undefined, rules, context)
}

/** Validates an updated object against the one it replaces, in the same version. */
export function checkUpdate(
  object: KubeObject,
  old: KubeObject,
  version: VersionDefinition,
  rules: CelRules | undefined,
  context: CheckContext,
): CheckResult {
  const errors = metadataErrors(object, old, context)
  const typeErrors = typeMetaErrors(object, version, context)
  addErrors(errors, typeErrors)
  if (typeErrors.length === 0) {
    addErrors(errors, validateObjectMetaUpdate(object.metadata, old.metadata))
    addErrors(errors, validateSchema(object, version.schema, { old }), scaleErrors(object, version))
  }
  addErrors(errors, embeddedErrors(object, version.schema), listTypeErrors(object, version.schema, old))
  return finish(errors, object, old, rules, context)
}

/** Validates an object whose status was updated, against the one it replaces, in the same version. */
export function checkStatusUpdate(
  object: KubeObject,
  old: KubeObject,
  version: VersionDefinition,
  rules: CelRules | undefined,
  context: CheckContext,
): CheckResult {
  const errors = metadataErrors(object, old, context)
  const typeErrors = typeMetaErrors(object, version, context)
  addErrors(errors, typeErrors)
  if (typeErrors.length === 0) {
    addErrors(errors, validateObjectMetaUpdate(object.metadata, old.metadata), statusErrors(object, old, version))
  }
  addErrors(errors, listTypeErrors(object, version.schema, old))
  return finish(errors, object, old, rules, context)
}

function statusErrors(object: KubeObject, old: KubeObject, version: VersionDefinition): FieldError[] {
  const schema = version.schema.properties?.status
  const errors =
    schema === undefined || object.status === undefined
      ? []
      : validateSchema(object.status, schema, { status: true, ...(old.status === undefined ? {} : { old: old.status }) })
  const scale = version.subresources?.scale
  return scale === undefined ? errors : [...errors, ...scaleStatusErrors(object, scale)]
}

function scaleErrors(object: KubeObject, version: VersionDefinition): FieldError[] {
  const scale = version.subresources?.scale
  return scale === undefined ? [] : [...scaleSpecErrors(object, scale), ...scaleStatusErrors(object, scale)]
}

// What every update goes through before the strategy looks, so that some errors come twice or three times.
function metadataErrors(object: KubeObject, old: KubeObject, context: CheckContext): FieldError[] {
  return [
    ...validateObjectMeta(object.metadata, { namespaced: context.namespaced, nameRule: pathSegmentName }),
    ...validateObjectMetaUpdate(object.metadata, old.metadata),
  ]
}

function typeMetaErrors(object: KubeObject, version: VersionDefinition, context: CheckContext): FieldError[] {
  const errors: FieldError[] = []
  const apiVersion = formatApiVersion(context.group, version.name)
  if (object.kind !== context.kind) errors.push(fieldError('FieldValueInvalid', 'kind', object.kind, `must be ${context.kind}`))
  if (object.apiVersion !== apiVersion) errors.push(fieldError('FieldValueInvalid', 'apiVersion', object.apiVersion, `must be ${apiVersion}`))
  return errors
}

// After errors of these types rules may see what they do not expect.
const BLOCKING = new Set<FieldErrorType>(['FieldValueNotSupported', 'FieldValueRequired', 'FieldValueTooLong', 'FieldValueTooMany', 'FieldValueTypeInvalid'])
const NOT_CHECKED = 'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation'

function finish(
  errors: FieldError[],
  object: KubeObject,
  old: KubeObject | undefined,
  rules: CelRules | undefined,
  context: CheckContext,
): CheckResult {
  const own = context.strategyErrors ?? []
  if (rules === undefined || rules.empty) return { errors: [...errors, ...own], warnings: [] }
  if (errors.some((error) => BLOCKING.has(error.type))) {
    return { errors: [...errors, fieldError('FieldValueInvalid', NIL_PATH, null, NOT_CHECKED), ...own], warnings: [] }
  }
  const { errors: ruleErrors, warnings } = rules.evaluate(object, old)
  return { errors: [...errors, ...ruleErrors, ...own], warnings }
}
