/**
 * Macros that the library's parser does not know: it leaves them as calls.
 * upstream: cel-go cel/library.go optMap, optFlatMap; ext/lists.go sortByMacro; interpreter/planner.go or, orValue
 */
import { bindOf, callOf, constantOf, listOf, loopOf, nameOf, type Expression } from './cel-expression.ts'
import { PartFault } from './cel-fault.ts'

// No rule can write these names, so that they hide nothing; inner ones hide outer ones that are not needed any more.
const INPUT = '@input'
const RESULT = '@sortKeys'

type Macro = (call: Expression, target: Expression, args: readonly Expression[]) => Expression

/** The name that a macro binds; throws for what is none. */
function variable(expression: Expression | undefined, text: string): string {
  if (expression?.exprKind.case !== 'identExpr') throw new PartFault(text, expression?.id)
  return expression.exprKind.value.name
}

const optMap =
  (wrap: (call: Expression, result: Expression) => Expression): Macro =>
  (call, target, [name, result]) => {
    const input = nameOf(call, INPUT)
    const bound = bindOf(call, variable(name, 'optMap() variable name must be a simple identifier'), callOf(call, 'value', [], input), result as Expression)
    const chosen = callOf(call, '_?_:_', [callOf(call, 'hasValue', [], input), wrap(call, bound), callOf(call, 'optional.none', [])])
    return bindOf(call, INPUT, target, chosen)
  }

const orElse =
  (value: (call: Expression, input: Expression) => Expression): Macro =>
  (call, target, [other]) => {
    const input = nameOf(call, INPUT)
    return bindOf(call, INPUT, target, callOf(call, '_?_:_', [callOf(call, '@isNone', [input]), other as Expression, value(call, input)]))
  }

const sortBy: Macro = (call, target, [name, key]) => {
  const keys = loopOf(call, {
    iterRange: nameOf(call, INPUT), iterVar: variable(name, 'argument is not an identifier'), accuVar: RESULT, accuInit: listOf(call, []),
    loopCondition: constantOf(call, true), loopStep: callOf(call, '_+_', [nameOf(call, RESULT), listOf(call, [key as Expression])]), result: nameOf(call, RESULT),
  })
  return bindOf(call, INPUT, target, callOf(call, '@sortBy', [nameOf(call, INPUT), keys]))
}

const MACROS: Record<string, { readonly count: number; readonly expand: Macro }> = {
  optMap: { count: 2, expand: optMap((call, result) => callOf(call, 'optional.of', [result])) },
  optFlatMap: { count: 2, expand: optMap((_, result) => result) },
  or: { count: 1, expand: orElse((_, input) => input) },
  orValue: { count: 1, expand: orElse((call, input) => callOf(call, '@value', [input])) },
  sortBy: { count: 2, expand: sortBy },
}

/** What a method call stands for when it is a macro, else undefined. */
export function expandMacro(call: Expression, name: string, target: Expression, args: readonly Expression[]): Expression | undefined {
  const macro = Object.hasOwn(MACROS, name) ? MACROS[name] : undefined
  return macro?.count === args.length ? macro.expand(call, target, args) : undefined
}
