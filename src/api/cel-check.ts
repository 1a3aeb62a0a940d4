/**
 * The check of a rule when its schema is compiled, so that a rule that names what is not there is refused then and not skipped
 * later. It knows the types of fields, items and loop variables; of other expressions it checks the parts.
 */
import type { CelEnv, CelFunc, parse } from '@bufbuild/cel'
import type { ValueType } from './cel-values.ts'

/** A parsed CEL expression. */
export type Expression = NonNullable<ReturnType<typeof parse>['expr']>

/** What the names in an expression stand for; undefined for values of a type that is not known. */
export type Scope = ReadonlyMap<string, ValueType | undefined>

const TYPES = new Set(['int', 'uint', 'double', 'bool', 'string', 'bytes', 'list', 'map', 'null_type', 'type'])
// What the evaluator does itself, without a function.
const BUILT_IN = new Set(['_[_]', '_?_:_', '_&&_', '_||_', '@not_strictly_false'])

/** Checks an expression; throws Error with the reason. Returns its type where it is known. */
export function check(expression: Expression, scope: Scope, env: CelEnv): ValueType | undefined {
  const { exprKind: node } = expression
  switch (node.case) {
    case 'identExpr':
      if (!scope.has(node.value.name) && !TYPES.has(node.value.name)) throw new Error(`undeclared reference to '${node.value.name}'`)
      return scope.get(node.value.name)
    case 'selectExpr':
      return node.value.operand && member(check(node.value.operand, scope, env), node.value.field)
    case 'callExpr':
      return checkCall(node.value.function, node.value.target, node.value.args, scope, env)
    case 'listExpr':
      for (const element of node.value.elements) check(element, scope, env)
      return undefined
    case 'structExpr':
      if (node.value.messageName !== '') throw new Error(`undeclared reference to '${node.value.messageName}'`)
      for (const { keyKind, value } of node.value.entries) {
        if (keyKind.case === 'mapKey') check(keyKind.value, scope, env)
        if (value) check(value, scope, env)
      }
      return undefined
    case 'comprehensionExpr': {
      const { iterRange, iterVar, accuInit, accuVar, loopCondition, loopStep, result } = node.value
      const inner = new Map(scope).set(accuVar, undefined).set(iterVar, iterRange && itemOf(check(iterRange, scope, env)))
      for (const part of [accuInit, loopCondition, loopStep, result]) if (part) check(part, inner, env)
      return undefined
    }
    default:
      return undefined
  }
}

function member(type: ValueType | undefined, name: string): ValueType | undefined {
  if (type === undefined || type.kind === 'dyn') return undefined
  if (type.kind === 'map') return type.element
  const field = type.kind === 'object' ? type.fields.get(name) : undefined
  if (field === undefined) throw new Error(`undefined field '${name}'`)
  return field.type
}

const STRING: ValueType = { kind: 'string', nullable: false }

function itemOf(type: ValueType | undefined): ValueType | undefined {
  if (type === undefined || type.kind === 'dyn') return undefined
  if (type.kind === 'list') return type.element
  if (type.kind === 'map') return STRING
  throw new Error(`expression of type '${type.kind}' cannot be range of a comprehension (must be list, map, or dynamic)`)
}

function checkCall(name: string, target: Expression | undefined, args: readonly Expression[], scope: Scope, env: CelEnv): ValueType | undefined {
  const types = args.map((argument) => check(argument, scope, env))
  const qualifier = target && qualifiedName(target)
  if (qualifier !== undefined && env.funcs.find(`${qualifier}.${name}`) !== undefined) {
    requireOverload(`${qualifier}.${name}`, false, args.length, env)
    return undefined
  }
  if (target !== undefined) check(target, scope, env)
  if (!BUILT_IN.has(name)) requireOverload(name, target !== undefined, args.length, env)
  const [first] = types
  if (name !== '_[_]' || first === undefined) return undefined
  return first.kind === 'list' || first.kind === 'map' ? first.element : undefined
}

function requireOverload(name: string, method: boolean, count: number, env: CelEnv): void {
  const group: Iterable<CelFunc> | undefined = env.funcs.find(name)
  if (group === undefined) throw new Error(`undeclared reference to '${name}'`)
  for (const overload of group) if ((overload.target !== undefined) === method && overload.arguments.length === count) return
  throw new Error(`found no matching overload for '${name}' with ${count} arguments`)
}

function qualifiedName({ exprKind: node }: Expression): string | undefined {
  if (node.case === 'identExpr') return node.value.name
  if (node.case !== 'selectExpr' || node.value.testOnly || node.value.operand === undefined) return undefined
  const parent = qualifiedName(node.value.operand)
  return parent && `${parent}.${node.value.field}`
}

/** Whether an expression refers to a name that is not a loop's own. */
export function refersTo(expression: Expression | undefined, name: string): boolean {
  if (expression === undefined) return false
  const { exprKind: node } = expression
  const any = (...parts: (Expression | undefined)[]): boolean => parts.some((part) => refersTo(part, name))
  switch (node.case) {
    case 'identExpr':
      return node.value.name === name
    case 'selectExpr':
      return any(node.value.operand)
    case 'callExpr':
      return any(node.value.target, ...node.value.args)
    case 'listExpr':
      return any(...node.value.elements)
    case 'structExpr':
      return node.value.entries.some(({ keyKind, value }) => any(value, keyKind.case === 'mapKey' ? keyKind.value : undefined))
    case 'comprehensionExpr':
      return any(node.value.iterRange, node.value.accuInit, node.value.loopCondition, node.value.loopStep, node.value.result)
    default:
      return false
  }
}
