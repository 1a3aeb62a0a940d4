/**
 * The check of a rule when its schema is compiled, so that a rule that names what is not there is refused then and not skipped later. It knows the
 * types of fields, items and loop variables; of other expressions it checks the parts. What comes out is the expression as the evaluator gets it:
 * macros expanded, accesses whose kind is only known later as calls, and each loop charged for its turns.
 */
import { callOf, constantOf, qualifiedName, type Expression } from './cel-expression.ts'
import { PartFault, RECURSION } from './cel-fault.ts'
import { expandMacro } from './cel-macros.ts'
import { CALL, NODE, OPERATOR } from './cel-meter.ts'
import type { Declaration } from './cel-function.ts'
import type { ValueType } from './cel-values.ts'

/** What a name or expression is known to be; undefined when that is only known when the rule runs. */
export type StaticType = ValueType | { readonly kind: 'optional'; readonly of: ValueType | undefined } | undefined

/** What the names in an expression stand for. */
export type Scope = ReadonlyMap<string, StaticType>

/** The functions of rules by name. */
export type Functions = ReadonlyMap<string, Declaration>

/** An expression for the evaluator. `units`: what it costs at least, without the turns of its loops. */
export interface Checked {
  readonly expression: Expression
  readonly type: StaticType
  readonly units: number
}

const TYPES = new Set([
  'int', 'uint', 'double', 'bool', 'string', 'bytes', 'list', 'map', 'null_type', 'type', 'optional_type', 'net.IP', 'net.CIDR', 'google.protobuf.Timestamp', 'google.protobuf.Duration',
])
// What the evaluator does itself, without a function.
const BUILT_IN = new Set(['_?_:_', '_&&_', '_||_', '@not_strictly_false'])
/** From how many units on it is worth a call to charge a branch or an operand by itself. */
const LONG_BRANCH = 4
const LONG_OPERAND = 25
/** upstream: cel-go parser maxRecursionDepth */
const MAX_DEPTH = 250
// upstream: cel-go ext/comprehensions.go
const TWO_VARIABLES: Readonly<Record<string, readonly number[]>> = {
  all: [3], exists: [3], existsOne: [3], exists_one: [3], transformList: [3, 4], transformMap: [3, 4], transformMapEntry: [3, 4],
}
// The parser leaves macros alone whose variable is no name. upstream: cel-go parser/macro.go
const LOOPS: Readonly<Record<string, readonly number[]>> = { all: [2], exists: [2], exists_one: [2], map: [2, 3], filter: [2] }

/** upstream: cel-go checker/errors.go undeclaredReference */
export const undeclared = (name: string): string => `undeclared reference to '${name}' (in container '')`

/** Checks an expression; throws PartFault with the reason. */
export function checkExpression(expression: Expression, scope: Scope, functions: Functions): Checked {
  return new Checker(functions).check(expression, scope)
}

class Checker {
  private readonly functions: Functions
  private depth = 0

  constructor(functions: Functions) {
    this.functions = functions
  }

  check(expression: Expression, scope: Scope): Checked {
    if (++this.depth > MAX_DEPTH) throw new PartFault(RECURSION, undefined)
    const checked = this.checkKind(expression, scope)
    this.depth--
    return { ...checked, units: checked.units + NODE }
  }

  private checkKind(expression: Expression, scope: Scope): Checked {
    const { exprKind: node } = expression
    switch (node.case) {
      case 'identExpr':
        if (!scope.has(node.value.name) && !TYPES.has(node.value.name)) throw new PartFault(undeclared(node.value.name), expression.id)
        return { expression, type: scope.get(node.value.name), units: 0 }
      case 'selectExpr':
        return this.checkSelect(expression, node.value, scope)
      case 'callExpr':
        return this.checkCall(expression, node.value, scope)
      case 'listExpr': {
        if (node.value.optionalIndices.length > 0) throw new PartFault('optional elements are not supported', expression.id, { missing: true })
        const [elements, units] = this.checkAll(node.value.elements, scope)
        return { expression: { ...expression, exprKind: { case: 'listExpr', value: { ...node.value, elements } } } as Expression, type: undefined, units }
      }
      case 'structExpr':
        return this.checkMap(expression, node.value, scope)
      case 'comprehensionExpr':
        return this.checkLoop(expression, node.value, scope)
      default:
        return { expression, type: undefined, units: 0 }
    }
  }

  private checkAll(parts: readonly Expression[], scope: Scope): [Expression[], number, StaticType[]] {
    const checked = parts.map((part) => this.check(part, scope))
    return [checked.map(({ expression }) => expression), checked.reduce((sum, { units }) => sum + units, 0), checked.map(({ type }) => type)]
  }

  private checkSelect(expression: Expression, select: ValueOf<'selectExpr'>, scope: Scope): Checked {
    const name = qualifiedName(expression)
    if (name !== undefined && TYPES.has(name) && !scope.has(rootOf(name))) return { expression, type: undefined, units: 0 }
    if (select.operand === undefined) throw new Error('invalid select')
    const { expression: operand, type, units } = this.check(select.operand, scope)
    const found = member(type, select, expression)
    // Only a value of the schema is certain to be no optional.
    if (type !== undefined && type.kind !== 'optional') {
      return { expression: { ...expression, exprKind: { case: 'selectExpr', value: { ...select, operand } } } as Expression, type: select.testOnly ? undefined : found, units }
    }
    const call = callOf(expression, select.testOnly ? '$@has' : '$@index', [operand, constantOf(expression, select.field)])
    return { expression: call, type: select.testOnly ? undefined : found, units: units + CALL }
  }

  private checkMap(expression: Expression, struct: ValueOf<'structExpr'>, scope: Scope): Checked {
    const { messageName: message } = struct
    if (message.startsWith('google.')) throw new PartFault(`messages of protocol buffers (${message}) cannot be made`, expression.id, { missing: true })
    if (message !== '') throw new PartFault(undeclared(message), expression.id, { at: '{' })
    const parts = struct.entries.flatMap(({ keyKind, value, optionalEntry }) => {
      if (optionalEntry) throw new PartFault('optional entries are not supported', expression.id, { missing: true })
      return keyKind.case === 'mapKey' && value !== undefined ? [keyKind.value, value] : []
    })
    const [elements, units] = this.checkAll(parts, scope)
    const list = { ...expression, exprKind: { case: 'listExpr', value: { $typeName: 'cel.expr.Expr.CreateList', elements, optionalIndices: [] } } } as Expression
    return { expression: callOf(expression, '$@map', [list]), type: undefined, units: units + CALL }
  }

  private checkLoop(expression: Expression, loop: ValueOf<'comprehensionExpr'>, scope: Scope): Checked {
    const { iterRange, iterVar, accuVar, accuInit, loopCondition, loopStep, result } = loop
    if (loop.iterVar2 !== '') throw new PartFault(TWO_VARIABLES_TEXT, expression.id, { missing: true })
    if (iterRange === undefined || accuInit === undefined || loopCondition === undefined || loopStep === undefined || result === undefined) throw new Error('invalid comprehension')
    const range = this.check(iterRange, scope)
    const init = this.check(accuInit, scope)
    const bind = isFalse(loopCondition)
    const inner = new Map(scope).set(accuVar, bind ? init.type : undefined)
    const turn = new Map(inner).set(iterVar, itemOf(range.type, iterRange))
    const condition = this.check(loopCondition, turn)
    const step = this.check(loopStep, turn)
    const end = this.check(result, inner)
    const value = {
      ...loop, iterRange: range.expression, accuInit: init.expression, loopStep: step.expression, result: end.expression,
      loopCondition: bind ? condition.expression : callOf(expression, '_&&_', [charge(expression, CALL + condition.units + step.units), condition.expression]),
    }
    return {
      expression: { ...expression, exprKind: { case: 'comprehensionExpr', value } } as Expression,
      type: bind ? end.type : undefined,
      units: range.units + init.units + end.units,
    }
  }

  private checkCall(expression: Expression, { function: name, target, args }: ValueOf<'callExpr'>, scope: Scope): Checked {
    const qualifier = target && qualifiedName(target)
    if (qualifier !== undefined && this.functions.has(`${qualifier}.${name}`)) return this.checkGlobal(expression, `${qualifier}.${name}`, args, scope)
    if (target === undefined) return this.checkGlobal(expression, name, args, scope)
    const macro = expandMacro(expression, name, target, args)
    if (macro !== undefined) return this.check(macro, scope)
    const receiver = this.check(target, scope)
    if (has(TWO_VARIABLES, name, args.length)) throw new PartFault(TWO_VARIABLES_TEXT, expression.id, { missing: true })
    if (has(LOOPS, name, args.length)) throw new PartFault('argument is not an identifier', args[0]?.id)
    const [checked, units] = this.checkAll(args, scope)
    this.requireOverload(expression, name, true, args)
    return { expression: callOf(expression, `$${name}`, checked, receiver.expression), type: resultOf(name, receiver.type), units: receiver.units + units + CALL }
  }

  private checkGlobal(expression: Expression, name: string, args: readonly Expression[], scope: Scope): Checked {
    if (BUILT_IN.has(name)) return this.checkOperator(expression, name, args, scope)
    if (name === 'has' && args.length === 1) throw new PartFault('invalid argument to has() macro', args[0]?.id)
    const [checked, units, types] = this.checkAll(args, scope)
    if (name === '_[_]') return { expression: callOf(expression, '$@index', checked), type: elementOf(types[0]), units: units + CALL }
    this.requireOverload(expression, name, false, args)
    return { expression: callOf(expression, `$${name}`, checked), type: undefined, units: units + CALL }
  }

  /** An operator that may not look at all of its operands: the long ones are charged when they are looked at. */
  private checkOperator(expression: Expression, name: string, args: readonly Expression[], scope: Scope): Checked {
    const checked = args.map((argument) => this.check(argument, scope))
    const long = name === '_?_:_' ? LONG_BRANCH : LONG_OPERAND
    let units = OPERATOR
    const operands = checked.map((operand, i) => {
      const apart = i > 0 && operand.units > long
      if (!apart) units += operand.units
      return apart ? callOf(expression, '_?_:_', [charge(expression, operand.units + CALL), operand.expression, constantOf(expression, true)]) : operand.expression
    })
    const type = name === '_?_:_' && checked[1]?.type === checked[2]?.type ? checked[1]?.type : undefined
    return { expression: callOf(expression, name, operands), type, units }
  }

  private requireOverload({ id }: Expression, name: string, method: boolean, { length: count }: readonly Expression[]): void {
    const declaration = this.functions.get(name)
    if (declaration === undefined) throw new PartFault(undeclared(name), id, { at: '(' })
    const parameters = count + (method ? 1 : 0)
    if (declaration.overloads.some((overload) => overload.member === method && overload.parameters.length === parameters)) return
    throw new PartFault(`found no matching overload for '${name}' with ${count} arguments`, id, { at: '(' })
  }
}

const TWO_VARIABLES_TEXT = 'comprehensions of two variables are not supported'

const has = (macros: Readonly<Record<string, readonly number[]>>, name: string, count: number): boolean => Object.hasOwn(macros, name) && (macros[name] ?? []).includes(count)

type ValueOf<C> = Extract<Expression['exprKind'], { case: C }>['value']

const charge = (like: Expression, units: number): Expression => callOf(like, '$@charge', [constantOf(like, BigInt(units))])

const rootOf = (name: string): string => name.split('.', 1)[0] as string

const isFalse = ({ exprKind: node }: Expression): boolean =>
  node.case === 'constExpr' && node.value.constantKind.case === 'boolValue' && !node.value.constantKind.value

function member(type: StaticType, select: ValueOf<'selectExpr'>, expression: Expression): StaticType {
  if (type === undefined || type.kind === 'dyn') return undefined
  if (type.kind === 'optional') return { kind: 'optional', of: schemaType(member(type.of, select, expression)) }
  if (type.kind === 'map') return type.element
  const field = type.kind === 'object' ? type.fields.get(select.field) : undefined
  if (field === undefined) throw new PartFault(`undefined field '${select.field}'`, expression.id, select.testOnly ? { at: '(' } : {})
  return field.type
}

const schemaType = (type: StaticType): ValueType | undefined => (type?.kind === 'optional' ? undefined : type)

function elementOf(type: StaticType): StaticType {
  if (type?.kind === 'optional') return { kind: 'optional', of: schemaType(elementOf(type.of)) }
  return type?.kind === 'list' || type?.kind === 'map' ? type.element : undefined
}

function resultOf(name: string, receiver: StaticType): StaticType {
  if (name === 'value' && receiver?.kind === 'optional') return receiver.of
  return (name === 'first' || name === 'last') && receiver?.kind === 'list' ? { kind: 'optional', of: receiver.element } : undefined
}

const STRING: ValueType = { kind: 'string', nullable: false }

function itemOf(type: StaticType, { id }: Expression): StaticType {
  if (type === undefined || type.kind === 'dyn') return undefined
  if (type.kind === 'list') return type.element
  if (type.kind === 'map') return STRING
  throw new PartFault(`expression of type '${type.kind === 'optional' ? 'optional_type' : type.kind}' cannot be range of a comprehension (must be list, map, or dynamic)`, id)
}
