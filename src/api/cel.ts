/**
 * CEL rules (x-kubernetes-validations): compiled once with the schema, evaluated on whole objects.
 * upstream: apiextensions-apiserver/pkg/apiserver/schema/cel/{validation,compilation}.go
 */
import { celEnv, isCelError, parse, plan, type CelError, type CelResult } from '@bufbuild/cel'
import { strings } from '@bufbuild/cel/ext'
import { check, refersTo, type Scope } from './cel-check.ts'
import { fixedPath } from './cel-field-path.ts'
import { kubernetesFunctions } from './cel-library.ts'
import { isUnchanged, itemRatchet, memberRatchet, type Ratchet } from './cel-ratchet.ts'
import { Correlation, oldItems } from './correlation.ts'
import { meter, valueType, wrap, type ValueType } from './cel-values.ts'
import { getKey, isObject, type Json, type JsonObject, type KubeObject } from './object.ts'
import type { Schema, ValidationRule } from './schema.ts'
import { fieldError, NIL_PATH, NO_VALUE, type FieldError, type FieldErrorType } from './status.ts'

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

/** How many steps (see meter) one rule may take, and all rules of an object together: about 0.1 and 0.5 seconds at most. */
const RULE_STEPS = 100_000
const TOTAL_STEPS = 500_000
/** upstream: celconfig.MaxEvaluatedMessageExpressionSizeBytes */
const MAX_MESSAGE_BYTES = 5120

type Bindings = { self: unknown; oldSelf?: unknown }
type Program = (bindings: Bindings) => CelResult

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

const env = celEnv({ funcs: [...strings, ...kubernetesFunctions] })

/** Compiles the rules of a schema. Throws Error, naming the place and the rule, for a rule that is wrong or needs what is not there. */
export function compileRules(schema: Schema): CelRules {
  const type = valueType(schema, true)
  const root = hasRules(schema) && type !== undefined ? compileNode(schema, schema, type, '') : undefined
  if (root === undefined) return { empty: true, evaluate: () => ({ errors: [], warnings: [] }) }
  return {
    empty: false,
    evaluate(object, old) {
      const run: Run = { errors: [], warnings: [], left: TOTAL_STEPS, stopped: false }
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
  try {
    if (source.optionalOldSelf) throw new Error('optionalOldSelf needs optional types, which are not supported')
    const scope: Scope = new Map([['self', type], ['oldSelf', type]])
    const rule = compileExpression(source.rule, scope)
    const message = source.messageExpression === undefined ? undefined : compileExpression(source.messageExpression, scope)
    return {
      source,
      program: rule.program,
      message: message?.program,
      transition: rule.transition,
      path: source.fieldPath === undefined ? '' : fixedPath(source.fieldPath, schema),
    }
  } catch (error) {
    throw new Error(`${path === '' ? 'root' : path.replace(/^\./, '')}: rule ${JSON.stringify(source.rule)} does not compile: ${(error as Error).message}`, { cause: error })
  }
}

function compileExpression(text: string, scope: Scope): { program: Program; transition: boolean } {
  const parsed = parse(text)
  if (parsed.expr === undefined) throw new Error('empty expression')
  check(parsed.expr, scope, env)
  return { program: plan(env, parsed) as unknown as Program, transition: refersTo(parsed.expr, 'oldSelf') }
}

/** Whether a rule looks at the object as it was. Throws Error for a rule that does not parse. */
export function usesOldSelf(rule: string): boolean {
  return refersTo(parse(rule).expr, 'oldSelf')
}

/** One evaluation: what it found, and how many steps it may still take. */
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
  let bindings: Bindings | undefined
  for (const rule of node.rules) {
    if (rule.transition && (old === undefined || old === null)) continue
    if (run.left <= 0) return stop(run, node, path, 'validation failed due to running out of cost budget, no further validation rules will be run')
    bindings ??= bind(node.type, value, old)
    const result = execute(run, rule.program, bindings)
    if (result === OVER_BUDGET) {
      return stop(run, node, path, `'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: ${ruleText(rule)}`)
    }
    if (result === true) continue
    if (isCelError(result)) {
      run.errors.push(fieldError('FieldValueInvalid', path || NIL_PATH, node.schema.type ?? '', errorDetail(result, rule)))
      continue
    }
    report(run, failure(rule, path, value, evaluateMessage(run, rule, bindings) ?? ruleMessage(rule)), rule, ratchet)
  }
}

// Without a prototype, so that no name finds anything but these two.
function bind(type: ValueType, value: Json, old: Json | undefined): Bindings {
  const bindings = Object.create(null) as Bindings
  bindings.self = wrap(value, type)
  if (old !== undefined && old !== null) bindings.oldSelf = wrap(old, type)
  return bindings
}

function stop(run: Run, node: Node, path: string, detail: string): void {
  run.stopped = true
  run.errors.push(fieldError('FieldValueInvalid', path || NIL_PATH, node.schema.type ?? '', detail))
}

const OVER_BUDGET = Symbol('over budget')

function execute(run: Run, program: Program, bindings: Bindings): CelResult | typeof OVER_BUDGET {
  const limit = Math.min(RULE_STEPS, run.left)
  meter.left = limit
  const result = program(bindings)
  run.left -= Math.max(limit - meter.left, 1)
  return meter.left < 0 ? OVER_BUDGET : result
}

function report(run: Run, error: FieldError, rule: Rule, ratchet: Ratchet): void {
  if (!rule.transition && isUnchanged(ratchet)) run.warnings.push(`${error.field}: ${error.body}`)
  else run.errors.push(error)
}

/** The error of a rule that gave false. Objects and lists show no value, as upstream since 1.35. */
function failure({ source, path: suffix }: Rule, path: string, value: Json, detail: string): FieldError {
  const field = suffix === '' ? path : path === '' ? suffix : `${path}.${suffix}`
  const shown = Array.isArray(value) || isObject(value) ? NO_VALUE : value
  const type: FieldErrorType = source.reason ?? 'FieldValueInvalid'
  return fieldError(type, field || NIL_PATH, shown, type === 'FieldValueDuplicate' ? '' : detail)
}

/** The result of messageExpression, undefined when it is of no use. upstream: evalMessageExpression */
function evaluateMessage(run: Run, rule: Rule, bindings: Bindings): string | undefined {
  const result = rule.message && execute(run, rule.message, bindings)
  if (typeof result !== 'string') return undefined
  const message = result.trim()
  return message === '' || message.includes('\n') || Buffer.byteLength(message) > MAX_MESSAGE_BYTES ? undefined : message
}

const ruleText = ({ source }: Rule): string => (source.message || source.rule).trim()
const ruleMessage = ({ source }: Rule): string => (source.message ? source.message.trim() : `failed rule: ${source.rule.trim()}`)

const NO_OVERLOAD = /^(found no matching overload|no such overload|type mismatch)/

function errorDetail(error: CelError, rule: Rule): string {
  if (NO_OVERLOAD.test(error.message)) {
    return `'no such overload': call arguments did not match a supported operator, function or macro signature for rule: ${ruleText(rule)}`
  }
  return `${errorText(error.message)} evaluating rule: ${ruleText(rule)}`
}

// The library's texts, and cel-go's for the same.
const TEXTS: readonly [RegExp, string][] = [
  [/^field not found: (.*)$/s, 'no such key: $1'],
  [/^index (-?\d+) out of bounds \[.*$/, 'index out of bounds: $1'],
  [/^u?int divide by zero$/, 'division by zero'],
  [/^u?int modulus by zero$/, 'modulus by zero'],
  [/^u?int overflow during .*$/, 'integer overflow'],
]

function errorText(message: string): string {
  const known = TEXTS.find(([pattern]) => pattern.test(message))
  return known ? message.replace(known[0], known[1]) : message
}
