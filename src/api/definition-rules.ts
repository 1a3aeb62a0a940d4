/**
 * x-kubernetes-validations of a node: the fields of each rule, and the rules as CEL.
 * upstream: apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go ValidateCustomResourceDefinitionOpenAPISchema
 */
import { compileRules, RuleError } from './cel.ts'
import { usesOldSelf } from './cel-program.ts'
import { valueType } from './cel-values.ts'
import type { RefusedRule } from './definition-defaults.ts'
import { itemSchema, type RuleProps, type SchemaProps } from './definition-props.ts'
import { renderRule } from './definition-rendering.ts'
import { structuralFault } from './definition-structural.ts'
import { resolveFieldPath } from './field-path.ts'
import type { Schema, ValidationRule } from './schema.ts'
import { fieldError, type FieldError } from './status.ts'

/** What the reason of a rule may be. */
export const REASONS: readonly string[] = ['FieldValueDuplicate', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueRequired']
const NEWLINE = /[\n\r]/

/** Errors of the fields of a node's rules. */
export function ruleErrors(schema: SchemaProps, path: string): FieldError[] {
  return (schema['x-kubernetes-validations'] ?? []).flatMap((rule, i) => {
    const at = `${path}.x-kubernetes-validations[${i}]`
    return [...textErrors(rule, at), ...reasonErrors(rule, at), ...fieldPathErrors(rule, schema, at)]
  })
}

const required = (field: string, detail: string): FieldError => fieldError('FieldValueRequired', field, '', detail)
const invalid = (field: string, value: unknown, detail: string): FieldError => fieldError('FieldValueInvalid', field, value, detail)

// Go trims more than JavaScript in one place and less in another; neither stands in a rule.
function textErrors({ rule = '', message = '', messageExpression = '' }: RuleProps, at: string): FieldError[] {
  const errors: FieldError[] = []
  if (rule.trim() === '') errors.push(required(`${at}.rule`, 'rule is not specified'))
  else if (message !== '' && message.trim() === '') errors.push(invalid(`${at}.message`, message, 'must be non-empty if specified'))
  else if (NEWLINE.test(message.trim())) errors.push(invalid(`${at}.message`, message, 'must not contain line breaks'))
  else if (NEWLINE.test(rule.trim()) && message.trim() === '') errors.push(required(`${at}.message`, 'message must be specified if rule contains line breaks'))
  if (messageExpression !== '' && messageExpression.trim() === '') {
    errors.push(required(`${at}.messageExpression`, 'messageExpression must be non-empty if specified'))
  }
  return errors
}

function reasonErrors({ reason }: RuleProps, at: string): FieldError[] {
  if (reason === undefined || REASONS.includes(reason)) return []
  return [fieldError('FieldValueNotSupported', `${at}.reason`, reason, `supported values: ${REASONS.map((one) => `"${one}"`).join(', ')}`)]
}

function fieldPathErrors({ fieldPath = '' }: RuleProps, schema: SchemaProps, at: string): FieldError[] {
  const errors: FieldError[] = []
  if (fieldPath === '') return errors
  if (fieldPath.trim() === '') errors.push(invalid(`${at}.fieldPath`, fieldPath, 'must be non-empty if specified'))
  if (NEWLINE.test(fieldPath)) errors.push(invalid(`${at}.fieldPath`, fieldPath, 'must not contain line breaks'))
  if (structuralFault(schema) === undefined && !fieldPathFits(fieldPath, schema)) errors.push(invalid(`${at}.fieldPath`, fieldPath, 'must be a valid path'))
  return errors
}

/** Whether the fieldPath of a rule leads to a field of its node. */
export function fieldPathFits(path: string, schema: SchemaProps): boolean {
  try {
    resolveFieldPath(path, schema, { arrays: true })
    return true
  } catch {
    return false
  }
}

/** `root`: the node is a whole object. `uncorrelated`: the node above, below which old and new values cannot be matched. */
export interface CelScope {
  readonly root: boolean
  readonly uncorrelated?: string
}

/** Whether no types can be made for the rules of a node. */
export function isTypeless(schema: SchemaProps, root: boolean): boolean {
  return valueType(schema as unknown as Schema, root) === undefined
}

/** The error of rules that no types can be made for, at their node or above it. */
export function typelessError(path: string): FieldError {
  const text = 'internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert structural schema to CEL declarations'
  return fieldError('InternalError', `${path}.x-kubernetes-validations`, '', text)
}

/**
 * Errors of a node's rules as CEL, where it has a type for them; a rule that is refused by us and not by upstream is named apart.
 * upstream: the end of ValidateCustomResourceDefinitionOpenAPISchema
 */
export function celErrors(schema: SchemaProps, path: string, scope: CelScope): { errors: FieldError[]; refused: RefusedRule[] } {
  const errors: FieldError[] = []
  const refused: RefusedRule[] = []
  const rules = schema['x-kubernetes-validations'] ?? []
  const bare = withoutRules(schema)
  for (const [i, rule] of rules.entries()) {
    const at = `${path}.x-kubernetes-validations[${i}]`
    const fault = compileFault(bare, neverOld(rule) ? { ...rule, optionalOldSelf: false } : rule, scope.root)
    if (fault?.missing) refused.push({ field: `${at}.${fault.field}`, text: fault.message.replace(/^(?:root|self): /, '') })
    else if (fault !== undefined) errors.push(compileFieldError(fault, rule, at))
    // Of a rule that does not compile upstream does not know that it uses the old value.
    if (fault?.field === 'rule' && !fault.missing) errors.push(...unusedOldSelf(rule, at))
    else if (fault === undefined || fault.field === 'messageExpression' || neverOld(rule)) errors.push(...oldSelfErrors(rule, at, scope.uncorrelated))
  }
  return { errors, refused }
}

// What it says of the old value then does not matter for whether it compiles.
function neverOld({ rule = '' }: RuleProps): boolean {
  try {
    return !usesOldSelf(rule)
  } catch {
    return false
  }
}

function oldSelfErrors(rule: RuleProps, at: string, uncorrelated: string | undefined): FieldError[] {
  if (!usesOldSelf(rule.rule ?? '')) return unusedOldSelf(rule, at)
  if (uncorrelated === undefined) return []
  return [invalid(`${at}.rule`, rule.rule, `oldSelf cannot be used on the uncorrelatable portion of the schema within ${uncorrelated}`)]
}

function unusedOldSelf({ optionalOldSelf }: RuleProps, at: string): FieldError[] {
  return optionalOldSelf === undefined ? [] : [invalid(`${at}.optionalOldSelf`, optionalOldSelf, 'may not be set if oldSelf is not used in rule')]
}

function compileFieldError({ field, detail }: RuleError, rule: RuleProps, at: string): FieldError {
  const lead = field === 'rule' ? 'compilation failed' : 'messageExpression compilation failed'
  return { type: 'FieldValueInvalid', field: `${at}.${field}`, body: `Invalid value: ${renderRule(rule)}: ${lead}: ${detail}` }
}

// Only this rule, and what is below its node for the types; a field's node stands as the only field of an object.
function compileFault(bare: SchemaProps, rule: RuleProps, root: boolean): RuleError | undefined {
  const alone = { ...bare, 'x-kubernetes-validations': [rule as ValidationRule] } as unknown as Schema
  try {
    compileRules(root ? alone : { type: 'object', properties: { self: alone } })
    return undefined
  } catch (error) {
    if (error instanceof RuleError) return error
    throw error
  }
}

function withoutRules(schema: SchemaProps): SchemaProps {
  const { 'x-kubernetes-validations': _, ...rest } = schema
  const own = itemSchema(schema)
  const items = own === undefined ? {} : { items: withoutRules(own) }
  const additional = typeof schema.additionalProperties === 'object' ? { additionalProperties: withoutRules(schema.additionalProperties) } : {}
  const properties =
    schema.properties === undefined ? {} : { properties: Object.fromEntries(Object.entries(schema.properties).map(([name, one]) => [name, withoutRules(one)])) }
  return { ...rest, ...items, ...additional, ...properties }
}
