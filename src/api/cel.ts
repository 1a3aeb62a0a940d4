/**
 * CEL rules (x-kubernetes-validations): compiled once with the schema, evaluated on whole objects.
 * upstream: apiextensions-apiserver/pkg/apiserver/schema/cel/{validation,compilation}.go
 */
import type { Scope, StaticType } from './cel-check.ts'
import { CompileError } from './cel-fault.ts'
import { fixedPath } from './cel-field-path.ts'
import { LIMIT_TEXT } from './cel-meter.ts'
import { none, optionalOf } from './cel-optional.ts'
import { compileExpression, type Outcome, type Program } from './cel-program.ts'
import { isUnchanged, itemRatchet, memberRatchet, type Ratchet } from './cel-ratchet.ts'
import { trimSpace } from './cel-strings.ts'
import { valueType, wrap, type ValueType } from './cel-values.ts'
import { Correlation, oldItems } from './correlation.ts'
import { getKey, isObject, type Json, type JsonObject, type KubeObject } from './object.ts'
import type { Schema, ValidationRule } from './schema.ts'
import { fieldError, goQuote, NIL_PATH, NO_VALUE, type FieldError, type FieldErrorType } from './status.ts'

/** The rules of a schema, compiled. */
export interface CelRules {
  /** True when the schema has no rules. */
  readonly empty: boolean
  /**
   * Evaluates all rules on an object of the schema's version. `old` is the stored object in the same version, absent on create.
   * A failure of what an update did not touch is a warning: the complete text of the error, `field: body`.
   */
  evaluate(object: KubeObject, old: KubeObject | undefined): { errors: FieldError[]; warnings: string[] }
}

/** How much one rule may take, and all rules of an object together, in units of the meter: at most a tenth of a second and half a second. */
const RULE_LIMIT = 1_000_000
const TOTAL_LIMIT = 5_000_000
/** upstream: celconfig.MaxEvaluatedMessageExpressionSizeBytes */
const MAX_MESSAGE_BYTES = 5120

type Bindings = { self: unknown; oldSelf?: unknown }

interface Rule {
  readonly source: ValidationRule
  readonly program: Program
  readonly message: Program | undefined
  readonly transition: boolean
  /** What fieldPath adds to the node's path, "" for nothing. */
  readonly path: string
}

/** The rules of one schema node and below it. */
interface Node {
  readonly schema: Schema
  readonly type: ValueType
  readonly rules: readonly Rule[]
  readonly allOf: readonly Node[]
  readonly items: Node | undefined
  readonly values: Node | undefined
  readonly properties: ReadonlyMap<string, Node>
}

/** A rule that is not compiled: it is wrong, or it is right upstream and `missing` here. */
export class RuleError extends Error {
  /** Of the node, from the root: `spec.list[]`, "root" for the whole. */
  readonly path: string
  /** Which of the two expressions of the rule. */
  readonly field: 'rule' | 'messageExpression'
  /** What is wrong, in upstream's words where `missing` is false. */
  readonly detail: string
  readonly missing: boolean

  constructor(cause: Error, { path, field, text }: { readonly path: string; readonly field: 'rule' | 'messageExpression'; readonly text: string }) {
    super(`${path}: ${field} ${JSON.stringify(text)} does not compile: ${cause.message}`, { cause })
    this.name = 'RuleError'
    this.path = path
    this.field = field
    this.detail = cause.message
    this.missing = !(cause instanceof CompileError) || cause.missing
  }
}

/** Compiles the rules of a schema. Throws RuleError for one that is wrong or needs what is not there. */
export function compileRules(schema: Schema): CelRules {
  const type = valueType(schema, true)
  const root = hasRules(schema) && type !== undefined ? compileNode(schema, schema, type, '') : undefined
  if (root === undefined) return { empty: true, evaluate: () => ({ errors: [], warnings: [] }) }
  return {
    empty: false,
    evaluate(object, old) {
      const run: Run = { errors: [], warnings: [], left: TOTAL_LIMIT, stopped: false }
      visit(run, root, '', object, old, old === undefined ? {} : { current: new Correlation(root.schema, object, old) })
      return { errors: run.errors, warnings: run.warnings }
    },
  }
}

const isSchema = (value: Schema | boolean | undefined): value is Schema => typeof value === 'object'

// Rules that stand only inside of allOf make no validator, as upstream.
function hasRules(schema: Schema): boolean {
  if (schema['x-kubernetes-validations']?.length) return true
  if (schema.items && hasRules(schema.items)) return true
  if (isSchema(schema.additionalProperties) && hasRules(schema.additionalProperties)) return true
  return Object.values(schema.properties ?? {}).some(hasRules)
}

/** `rules` is where the rules stand: the node's own schema, or one in its allOf. */
function compileNode(rules: Schema, schema: Schema, type: ValueType, path: string): Node | undefined {
  const child = (inner: Schema | undefined, node: Schema | undefined, innerType: ValueType | undefined, step: string): Node | undefined =>
    inner && node && innerType && compileNode(inner, node, innerType, `${path}${step}`)
  const element = type.kind === 'list' || type.kind === 'map' ? type.element : undefined
  const values = isSchema(rules.additionalProperties) && isSchema(schema.additionalProperties) ? rules.additionalProperties : undefined
  const properties = new Map<string, Node>()
  for (const [name, inner] of Object.entries(rules.properties ?? {})) {
    const property = schema.properties && Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined
    const compiled = child(inner, property, property && valueType(property, property['x-kubernetes-embedded-resource'] === true), `.${name}`)
    if (compiled) properties.set(name, compiled)
  }
  const node: Node = {
    schema,
    type,
    rules: (rules['x-kubernetes-validations'] ?? []).map((rule) => compileRule(rule, schema, type, path)),
    allOf: (rules.allOf ?? []).map((branch) => compileNode(branch, schema, type, path)).filter((branch) => branch !== undefined),
    items: child(rules.items, schema.items, element, '[]'),
    values: values && child(values, schema.additionalProperties as Schema, element, '[]'),
    properties,
  }
  return node.rules.length + node.allOf.length + properties.size > 0 || node.items || node.values ? node : undefined
}

function compileRule(source: ValidationRule, schema: Schema, type: ValueType, path: string): Rule {
  const place = path === '' ? 'root' : path.replace(/^\./, '')
  const scope: Scope = new Map<string, StaticType>([['self', type], ['oldSelf', source.optionalOldSelf ? { kind: 'optional', of: type } : type]])
  const attempt = <T>(field: RuleError['field'], text: string, work: () => T): T => {
    try {
      return work()
    } catch (error) {
      throw new RuleError(error as Error, { path: place, field, text })
    }
  }
  const program = attempt('rule', source.rule, () => compileExpression(source.rule, scope))
  const { messageExpression: message, fieldPath } = source
  return {
    source,
    program,
    message: message === undefined ? undefined : attempt('messageExpression', message, () => compileExpression(message, scope)),
    transition: program.usesOldSelf,
    path: fieldPath === undefined ? '' : attempt('rule', source.rule, () => fixedPath(fieldPath, schema)),
  }
}

/** One evaluation: what it found, and how much it may still take. */
interface Run {
  readonly errors: FieldError[]
  readonly warnings: string[]
  left: number
  stopped: boolean
}

function visit(run: Run, node: Node, path: string, value: Json, old: Json | undefined, ratchet: Ratchet): void {
  if (value === null || run.stopped) return
  if (node.rules.length > 0) evaluateRules(run, node, path, value, old ?? undefined, ratchet)
  // rules inside of allOf ratchet with the ancestor only
  for (const branch of node.allOf) visit(run, branch, path, value, old, ratchet.parent ? { parent: ratchet.parent } : {})
  if (Array.isArray(value)) visitItems(run, node, path, value, old, ratchet)
  else if (isObject(value)) visitMembers(run, node, path, value, isObject(old) ? old : undefined, ratchet)
}

function visitItems(run: Run, node: Node, path: string, value: readonly Json[], old: Json | undefined, ratchet: Ratchet): void {
  if (node.items === undefined) return
  const find = oldItems(node.schema, Array.isArray(old) ? old : undefined)
  for (const [i, item] of value.entries()) {
    const oldItem = find(item)
    visit(run, node.items, `${path}[${i}]`, item, oldItem, itemRatchet(ratchet, i))
  }
}

function visitMembers(run: Run, node: Node, path: string, value: JsonObject, old: JsonObject | undefined, ratchet: Ratchet): void {
  const member = (key: string, child: Node, childPath: string): void => {
    const oldMember = old && getKey(old, key)
    visit(run, child, childPath, value[key] ?? null, oldMember, memberRatchet(ratchet, key))
  }
  if (node.values) for (const key of Object.keys(value)) member(key, node.values, `${path}[${key}]`)
  if (node.properties.size === 0) return
  for (const key of Object.keys(value)) {
    const child = node.properties.get(key)
    if (child) member(key, child, path === '' ? key : `${path}.${key}`)
  }
}

function evaluateRules(run: Run, node: Node, path: string, value: Json, old: Json | undefined, ratchet: Ratchet): void {
  if (run.left <= 0) return stop(run, node, path, OUT_OF_BUDGET)
  const bindings = bind(node.type, value, old)
  for (const rule of node.rules) {
    const { optionalOldSelf } = rule.source
    if (rule.transition && bindings.oldSelf === undefined && !optionalOldSelf) continue
    const outcome = execute(run, rule.program, optionalOldSelf ? withOptional(bindings) : bindings)
    if (outcome === 'limit') {
      return stop(run, node, path, `'${LIMIT_TEXT}': no further validation rules will be run due to call cost exceeds limit for rule: ${ruleText(rule)}`)
    }
    if (outcome === 'budget') return stop(run, node, path, OUT_OF_BUDGET)
    if ('error' in outcome) run.errors.push(fieldError('FieldValueInvalid', path || NIL_PATH, node.schema.type ?? '', errorDetail(outcome.error, rule)))
    else if (outcome.value !== true) reportFailure(run, node, rule, path, value, bindings, ratchet)
    if (run.stopped) return
  }
}

const OUT_OF_BUDGET = 'validation failed due to running out of cost budget, no further validation rules will be run'

// Without a prototype, so that no name finds anything but these two.
function bind(type: ValueType, value: Json, old: Json | undefined): Bindings {
  const bindings = Object.create(null) as Bindings
  bindings.self = wrap(value, type)
  if (old !== undefined && old !== null) bindings.oldSelf = wrap(old, type)
  return bindings
}

function withOptional({ self, oldSelf }: Bindings): Bindings {
  return Object.assign(Object.create(null) as Bindings, { self, oldSelf: oldSelf === undefined ? none() : optionalOf(oldSelf as never) })
}

function stop(run: Run, node: Node, path: string, detail: string): void {
  run.stopped = true
  run.errors.push(fieldError('FieldValueInvalid', path || NIL_PATH, node.schema.type ?? '', detail))
}

/** `limit`: it takes more than one rule may; `budget`: it takes more than is left for the object. */
function execute(run: Run, program: Program, bindings: Bindings): Outcome | 'budget' {
  const limit = Math.min(RULE_LIMIT, run.left)
  const { outcome, used } = program.evaluate(bindings, limit)
  run.left -= used
  return outcome === 'limit' && limit < RULE_LIMIT ? 'budget' : outcome
}

function reportFailure(run: Run, node: Node, rule: Rule, path: string, value: Json, bindings: Bindings, ratchet: Ratchet): void {
  const message = evaluateMessage(run, rule, bindings)
  if (typeof message === 'object') {
    run.stopped = true
    report(run, fieldError('FieldValueInvalid', failedPath(rule, path), node.schema.type ?? '', message.stop), rule, ratchet)
  } else report(run, failure(rule, path, value, message ?? ruleMessage(rule)), rule, ratchet)
}

function report(run: Run, error: FieldError, rule: Rule, ratchet: Ratchet): void {
  if (!rule.transition && isUnchanged(ratchet)) run.warnings.push(`${error.field}: ${error.body}`)
  else run.errors.push(error)
}

const failedPath = ({ path: suffix }: Rule, path: string): string => (suffix === '' ? path : path === '' ? suffix : `${path}.${suffix}`) || NIL_PATH

/** The error of a rule that gave false. Objects and lists show no value, as upstream since 1.35. */
function failure(rule: Rule, path: string, value: Json, detail: string): FieldError {
  const shown = Array.isArray(value) || isObject(value) ? NO_VALUE : value
  const type: FieldErrorType = rule.source.reason ?? 'FieldValueInvalid'
  return fieldError(type, failedPath(rule, path), shown, type === 'FieldValueDuplicate' ? '' : detail)
}

/**
 * The result of messageExpression, undefined when it is of no use; `stop` is the text when it takes too much. It sees oldSelf as it is, even when its
 * rule has it as an optional value, for which it was compiled: that is upstream's mistake. upstream: evalMessageExpression
 */
function evaluateMessage(run: Run, rule: Rule, bindings: Bindings): string | undefined | { stop: string } {
  if (rule.message === undefined) return undefined
  const outcome = execute(run, rule.message, bindings)
  if (outcome === 'budget') return { stop: 'messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run' }
  if (outcome === 'limit') {
    return { stop: `no further validation rules will be run due to call cost exceeds limit for messageExpression: ${goQuote(rule.source.messageExpression ?? '')}` }
  }
  if ('error' in outcome || typeof outcome.value !== 'string') return undefined
  const message = trimSpace(outcome.value)
  return message === '' || message.includes('\n') || Buffer.byteLength(message) > MAX_MESSAGE_BYTES ? undefined : message
}

const ruleText = ({ source }: Rule): string => trimSpace(source.message || source.rule)
const ruleMessage = ({ source }: Rule): string => (source.message ? trimSpace(source.message) : `failed rule: ${trimSpace(source.rule)}`)

function errorDetail(error: string, rule: Rule): string {
  if (error.startsWith('no such overload')) return `'${error}': call arguments did not match a supported operator, function or macro signature for rule: ${ruleText(rule)}`
  return `${error} evaluating rule: ${ruleText(rule)}`
}
