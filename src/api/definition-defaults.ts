/**
 * Whether the defaults of a schema are valid values of it: pruned, with good metadata, by its limits and by its rules.
 * upstream: apiextensions-apiserver/pkg/apiserver/schema/defaulting/{validation,surroundingobject}.go
 */
import { compileRules, RuleError } from './cel.ts'
import { valueType } from './cel-values.ts'
import { itemSchema, type SchemaProps } from './definition-props.ts'
import { fieldPathFits, REASONS } from './definition-rules.ts'
import { schemaNames } from './definition-structural.ts'
import { coerceEmbeddedValue, embeddedValueErrors } from './embedded.ts'
import { DecodeError } from './go-json-error.ts'
import { deepEqual, isObject, type Json, type JsonObject, type KubeObject } from './object.ts'
import { prune } from './prune.ts'
import { keepFormats } from './schema-node.ts'
import type { Schema, ValidationRule } from './schema.ts'
import { fieldError, NIL_PATH, type FieldError } from './status.ts'
import { validateSchema } from './validate.ts'

/** A rule or message that our CEL does not take. upstream may well take it: these are never upstream's texts. */
export interface RefusedRule {
  readonly field: string
  readonly text: string
}

/** What is wrong with defaults. */
export interface DefaultFaults {
  readonly errors: FieldError[]
  readonly refused: RefusedRule[]
}

/** Checks the defaults of a structural schema. upstream: defaulting.ValidateDefaults */
export function defaultFaults(schema: SchemaProps, path: string): DefaultFaults {
  const faults: DefaultFaults = { errors: [], refused: [] }
  const root = { ...schema, 'x-kubernetes-embedded-resource': true }
  visit({ faults, root, surround: ROOT, insideMeta: false }, root, path)
  return faults
}

interface Walk {
  readonly faults: DefaultFaults
  /** The nearest schema of a whole object. */
  readonly root: SchemaProps
  /** Makes the whole object around a value that stands here. */
  readonly surround: (value: Json) => JsonObject
  readonly insideMeta: boolean
}

const ROOT: Walk['surround'] = (value) => ({ kind: 'Validation', apiVersion: 'validation/v1', ...(isObject(value) ? value : {}) })

// additionalProperties are not followed: upstream forbids what would matter there.
function visit(walk: Walk, schema: SchemaProps, path: string): void {
  const embedded = schema['x-kubernetes-embedded-resource'] === true
  const here = embedded ? { ...walk, root: schema, surround: ROOT, insideMeta: false } : walk
  if (schema.default !== undefined) checkDefault(here, schema, schema.default, path)
  const items = itemSchema(schema)
  if (items !== undefined) visit({ ...here, surround: (value) => here.surround([value]) }, items, `${path}.items`)
  for (const name of schemaNames(schema.properties)) {
    const meta = here.insideMeta || (embedded && (name === 'metadata' || name === 'apiVersion' || name === 'kind'))
    const surround: Walk['surround'] = (value) => here.surround({ [name]: value })
    visit({ ...here, surround, insideMeta: meta }, schema.properties?.[name] as SchemaProps, `${path}.properties[${name}]`)
  }
}

function checkDefault({ faults, root, surround, insideMeta }: Walk, schema: SchemaProps, value: Json, path: string): void {
  const at = `${path}.default`
  const own = schema as unknown as Schema
  const invalid = (shown: Json, detail: string): void => void faults.errors.push(fieldError('FieldValueInvalid', at, shown, detail))
  let coerced = value
  let metaErrors: FieldError[] = []
  if (insideMeta) {
    const fault = metadataFault(surround(value), { ...root, 'x-kubernetes-embedded-resource': true } as unknown as Schema)
    if (fault !== undefined) return invalid(value, `must result in valid metadata: ${fault}`)
  } else {
    const { value: pruned } = prune(value, own, { root: false })
    if (!deepEqual(pruned, value)) invalid(value, 'must not have unknown fields')
    try {
      coerced = coerceEmbeddedValue(value, own, at)
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error
      return void faults.errors.push(asFieldError(error.message, at))
    }
    metaErrors = embeddedValueErrors(coerced, own, at)
  }
  if (metaErrors.length > 0) return void faults.errors.push(...metaErrors)
  const plain = withoutIntOrString(own)
  keepFormats(plain)
  const errors = validateSchema(coerced, plain).map((error) => below(error, at))
  if (errors.length > 0) return void faults.errors.push(...errors)
  checkRules(faults, own, coerced, at)
}

// The validator of defaults knows nothing of the extension: upstream: Structural.ToKubeOpenAPI, which gives such nodes no types.
function withoutIntOrString(schema: Schema): Schema {
  const { 'x-kubernetes-int-or-string': _, items, properties, additionalProperties: additional, ...rest } = schema
  return {
    ...rest,
    ...(items && { items: withoutIntOrString(items) }),
    ...(properties && { properties: Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, withoutIntOrString(one)])) }),
    ...(additional !== undefined && { additionalProperties: typeof additional === 'object' ? withoutIntOrString(additional) : additional }),
  }
}

// The message is `path: text`, where the path goes on from the place of the default.
function asFieldError(message: string, at: string): FieldError {
  const end = message.indexOf(': Invalid value', at.length)
  return { type: 'FieldValueInvalid', field: message.slice(0, end), body: message.slice(end + ': '.length) }
}

function metadataFault(object: JsonObject, root: Schema): string | undefined {
  try {
    const lines = [...new Set(embeddedValueErrors(coerceEmbeddedValue(object, root, ''), root, '').map((error) => `${error.field}: ${error.body}`))]
    return lines.length > 1 ? `[${lines.join(', ')}]` : lines[0]
  } catch (error) {
    if (error instanceof DecodeError) return error.message
    throw error
  }
}

function below(error: FieldError, path: string): FieldError {
  return { ...error, field: error.field === NIL_PATH ? path : `${path}.${error.field}` }
}

// The default stands as the only field of an object, so that its schema counts as a field's and not as a whole object's.
const FIELD = 'value'

function checkRules(faults: DefaultFaults, schema: Schema, value: Json, at: string): void {
  if (schema['x-kubernetes-validations']?.length && valueType(schema, schema['x-kubernetes-embedded-resource'] === true) === undefined) {
    const text = 'rule compiler initialization error: failed to convert to declType for CEL validation rules'
    faults.errors.push(fieldError('FieldValueInvalid', at, schema.type ?? '', text))
    return
  }
  let rules: ReturnType<typeof compileRules>
  try {
    rules = compileRules({ type: 'object', properties: { [FIELD]: withGoodRules(schema) } })
  } catch (error) {
    if (!(error instanceof RuleError)) throw error
    if (error.missing) faults.refused.push({ field: at, text: error.message })
    // Of the default's own rules this is an error of the default; of those below it, where the rules are checked.
    else if (error.path === FIELD && error.field === 'rule') faults.errors.push(fieldError('FieldValueInvalid', at, schema.type ?? '', `rule compile error: compilation failed: ${error.detail}`))
    return
  }
  if (rules.empty) return
  const object = { apiVersion: '', kind: '', metadata: {}, [FIELD]: value } as KubeObject
  const { errors } = rules.evaluate(object, undefined)
  // Rules that look at the old value see the default itself; what fails without one fails again.
  const again = rules.evaluate(object, object).errors.filter(({ field, body }) => !errors.some((error) => error.field === field && error.body === body))
  for (const error of [...errors, ...again]) faults.errors.push({ ...error, field: `${at}${error.field.slice(FIELD.length)}` })
}

// What is wrong with the fields of a rule is an error elsewhere, and passes here.
function withGoodRules(schema: Schema): Schema {
  const { 'x-kubernetes-validations': rules = [], items, properties, additionalProperties: additional, ...rest } = schema
  const good = ({ fieldPath = '', reason, ...rule }: ValidationRule): ValidationRule => ({
    ...rule,
    ...(fieldPathFits(fieldPath, schema as unknown as SchemaProps) ? { fieldPath } : {}),
    ...(reason !== undefined && REASONS.includes(reason) ? { reason } : {}),
  })
  return {
    ...rest,
    'x-kubernetes-validations': rules.filter(({ rule = '' }) => rule.trim() !== '').map(good),
    ...(items && { items: withGoodRules(items) }),
    ...(properties && { properties: Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, withGoodRules(one)])) }),
    ...(additional !== undefined && { additionalProperties: typeof additional === 'object' ? withGoodRules(additional) : additional }),
  }
}
