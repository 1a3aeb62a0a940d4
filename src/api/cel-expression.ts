/** Expressions as trees, and how to make new ones. */
import type { parse } from '@bufbuild/cel'

/** A parsed CEL expression. */
export type Expression = NonNullable<ReturnType<typeof parse>['expr']>
type Kind = Expression['exprKind']
type Comprehension = Extract<Kind, { case: 'comprehensionExpr' }>['value']

const node = (exprKind: Kind, like: Expression): Expression => ({ ...like, exprKind })

/** A call; with a receiver a method's. */
export const callOf = (like: Expression, name: string, args: Expression[], target?: Expression): Expression =>
  node({ case: 'callExpr', value: { $typeName: 'cel.expr.Expr.Call', function: name, args, ...(target === undefined ? {} : { target }) } } as Kind, like)

/** A name. */
export const nameOf = (like: Expression, name: string): Expression => node({ case: 'identExpr', value: { $typeName: 'cel.expr.Expr.Ident', name } } as Kind, like)

/** A list. */
export const listOf = (like: Expression, elements: Expression[]): Expression =>
  node({ case: 'listExpr', value: { $typeName: 'cel.expr.Expr.CreateList', elements, optionalIndices: [] } } as Kind, like)

/** A constant text, truth or whole number. */
export function constantOf(like: Expression, value: string | boolean | bigint): Expression {
  const kind = typeof value === 'string' ? 'stringValue' : typeof value === 'boolean' ? 'boolValue' : 'int64Value'
  return node({ case: 'constExpr', value: { $typeName: 'cel.expr.Constant', constantKind: { case: kind, value } } } as Kind, like)
}

/** A loop. */
export const loopOf = (like: Expression, loop: Partial<Comprehension>): Expression =>
  node({ case: 'comprehensionExpr', value: { $typeName: 'cel.expr.Expr.Comprehension', iterVar2: '', ...loop } } as Kind, like)

/** `result` with a value under a name: a loop without turns. */
export const bindOf = (like: Expression, name: string, value: Expression, result: Expression): Expression =>
  loopOf(like, {
    iterRange: listOf(like, []), iterVar: '#unused', accuVar: name, accuInit: value, loopCondition: constantOf(like, false), loopStep: nameOf(like, name), result,
  })

/** The name that an expression is, such as `a.b.c`; undefined for any other expression. */
export function qualifiedName({ exprKind: kind }: Expression): string | undefined {
  if (kind.case === 'identExpr') return kind.value.name
  if (kind.case !== 'selectExpr' || kind.value.testOnly || kind.value.operand === undefined) return undefined
  const parent = qualifiedName(kind.value.operand)
  return parent && `${parent}.${kind.value.field}`
}

/** Whether an expression refers to a name, a loop's own one included, as upstream. */
export function refersTo(expression: Expression | undefined, name: string): boolean {
  if (expression === undefined) return false
  const { exprKind: kind } = expression
  const any = (...parts: (Expression | undefined)[]): boolean => parts.some((part) => refersTo(part, name))
  switch (kind.case) {
    case 'identExpr':
      return kind.value.name === name
    case 'selectExpr':
      return any(kind.value.operand)
    case 'callExpr':
      return any(kind.value.target, ...kind.value.args)
    case 'listExpr':
      return any(...kind.value.elements)
    case 'structExpr':
      return kind.value.entries.some(({ keyKind, value }) => any(value, keyKind.case === 'mapKey' ? keyKind.value : undefined))
    case 'comprehensionExpr':
      return any(kind.value.iterRange, kind.value.accuInit, kind.value.loopCondition, kind.value.loopStep, kind.value.result)
    default:
      return false
  }
}
