/**
 * Expressions of rules, compiled once and evaluated within a budget. They have all that Kubernetes 1.36 gives the rules of a CustomResourceDefinition
 * but optional syntax, comprehensions of two variables and the authorizer; who uses these is refused when the expression is compiled.
 * Other than upstream on purpose: types are not checked beyond the fields of the schema, and constants are not folded, so that such mistakes are found
 * when the rule runs; messages of protocol buffers cannot be made; the budget counts time as our evaluator needs it, so that a loop may take about half
 * of the turns; where cel-go panics the value has no overload; names of Unicode classes in patterns are exact.
 * upstream: apiserver/pkg/cel/environment/base.go
 */
import { celEnv, isCelError, parse, plan } from '@bufbuild/cel'
import { createRegistry } from '@bufbuild/protobuf'
import { accessFunctions } from './cel-access.ts'
import { arithmeticFunctions } from './cel-arithmetic.ts'
import { checkExpression, undeclared, type Scope } from './cel-check.ts'
import { orderFunctions } from './cel-compare.ts'
import { conversionFunctions } from './cel-conversions.ts'
import { withoutComments } from './cel-comments.ts'
import { errorText } from './cel-errors.ts'
import { refersTo, type Expression } from './cel-expression.ts'
import { compileError, PartFault } from './cel-fault.ts'
import { declare, overload, toCelFunc, type Declaration, type Value } from './cel-function.ts'
import { listFunctions } from './cel-lists.ts'
import { patternFunctions } from './cel-matching.ts'
import { LIMIT_TEXT, meter } from './cel-meter.ts'
import { namedFormatFunctions } from './cel-named-formats.ts'
import { addressType, networkFunctions, networkTexts, networkType } from './cel-network.ts'
import { optionalFunctions, optionalType } from './cel-optional.ts'
import { quantityFunctions } from './cel-quantity.ts'
import { semverFunctions } from './cel-semver.ts'
import { stringFunctions } from './cel-strings.ts'
import { timeFunctions } from './cel-time.ts'
import { uriFunctions } from './cel-uri.ts'

const chargeFunction = declare('@charge', [overload(['int'], (units) => (meter.charge(Number(units)), true))])

const DECLARATIONS: readonly Declaration[] = [
  ...accessFunctions, ...arithmeticFunctions, ...conversionFunctions(networkTexts), ...listFunctions, ...namedFormatFunctions, ...networkFunctions, ...optionalFunctions, ...orderFunctions,
  ...patternFunctions, ...quantityFunctions, ...semverFunctions, ...stringFunctions, ...timeFunctions, ...uriFunctions, chargeFunction,
]

const functions = new Map(DECLARATIONS.map((declaration) => [declaration.name, declaration]))

const env = celEnv({ funcs: DECLARATIONS.map(toCelFunc), registry: createRegistry(addressType.desc, networkType.desc, optionalType.desc) })

/** The result of an evaluation: a value, or the text of the error; `limit` when it was stopped since it took too much. */
export type Outcome = { readonly value: Value } | { readonly error: string } | 'limit'

/** A compiled expression. */
export interface Program {
  /** Whether it looks at the object as it was. */
  readonly usesOldSelf: boolean
  /** Evaluates with values for its names. `limit`: the units that it may take; `used` says how many it took. */
  evaluate(bindings: { readonly [name: string]: unknown }, limit: number): { readonly outcome: Outcome; readonly used: number }
}

/** upstream: cel-go parser expressionSizeCodePointLimit */
const MAX_SIZE = 100_000

/** Compiles an expression whose names stand for what `scope` says. Throws CompileError for one that is wrong or uses what is not there. */
export function compileExpression(text: string, scope: Scope): Program {
  const { parsed, located } = parseExpression(text)
  const { expression, units } = located(() => checkExpression(parsed, scope, functions))
  const evaluate = located(() => plan(env, expression as never) as (bindings: unknown) => unknown)
  return {
    usesOldSelf: refersTo(parsed, 'oldSelf'),
    evaluate(bindings, limit) {
      meter.left = limit - units
      const outcome = meter.left < 0 ? 'limit' : run(evaluate, bindings)
      const used = limit - meter.left
      meter.left = Infinity
      return { outcome, used }
    },
  }
}

/** Whether an expression looks at the object as it was. Throws CompileError for one that does not parse. */
export function usesOldSelf(text: string): boolean {
  return refersTo(parseExpression(text).parsed, 'oldSelf')
}

interface Parsed {
  readonly parsed: Expression
  /** Does something with the expression; what it throws is told with its place in the text. */
  located<T>(work: () => T): T
}

function parseExpression(text: string): Parsed {
  const bare = withoutComments(text)
  let positions: { readonly [id: string]: number } = {}
  const located = <T>(work: () => T): T => {
    try {
      return work()
    } catch (error) {
      throw compileError(error, { text, bare }, (id) => positions[String(id)])
    }
  }
  const parsed = located(() => {
    const size = [...text].length
    if (size > MAX_SIZE) throw new Error(`expression code point size exceeds limit: size: ${size}, limit ${MAX_SIZE}`)
    const { expr, sourceInfo } = parse(bare)
    if (expr === undefined) throw new Error('empty expression')
    positions = sourceInfo?.positions ?? {}
    // The parser knows a macro that upstream's does not.
    for (const [id, { exprKind }] of Object.entries(sourceInfo?.macroCalls ?? {})) {
      if (exprKind.case === 'callExpr' && exprKind.value.function === 'existsOne') throw new PartFault(undeclared('existsOne'), BigInt(id), { at: '(' })
    }
    return expr
  })
  return { parsed, located }
}

function run(evaluate: (bindings: unknown) => unknown, bindings: unknown): Outcome {
  // Each error would take a stack along, which costs more than all else that an expression does.
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  try {
    const value = evaluate(bindings)
    if (meter.left < 0) return 'limit'
    return isCelError(value) ? (value.message === LIMIT_TEXT ? 'limit' : { error: errorText(value.message) }) : { value: value as Value }
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}
