/**
 * Functions of rules: overloads chosen by the kinds of the values, with cel-go's texts when none fits. Their names begin with `$` for the
 * evaluator, so that none of the library's own functions, which know no budget and have other texts, can be reached by a rule.
 * upstream: cel-go common/decls/decls.go, interpreter/interpretable.go
 */
import { celError, isCelError, isCelList, isCelMap, isCelType, isCelUint, type CelError, type CelFunc, type CelList, type CelMap, type CelType, type CelUint, type CelValue } from '@bufbuild/cel'
import { isReflectMessage, type ReflectMessage } from '@bufbuild/protobuf/reflect'
import { meter, OBJECT } from './cel-meter.ts'

/** What a rule computes with. */
export type Value = CelValue

/** The runtime types by cel-go's names; opaque types have their own names, e.g. `kubernetes.Quantity`. */
export interface Kinds {
  int: bigint
  uint: CelUint
  double: number
  bool: boolean
  string: string
  bytes: Uint8Array
  null_type: null
  list: CelList
  map: CelMap
  type: CelType
  any: Value
}

/** The runtime type of a value by cel-go's name. */
export function kindOf(value: Value): string {
  switch (typeof value) {
    case 'bigint':
      return 'int'
    case 'number':
      return 'double'
    case 'boolean':
      return 'bool'
    case 'string':
      return 'string'
    default:
      return objectKind(value)
  }
}

function objectKind(value: Value): string {
  if (value === null) return 'null_type'
  if (isCelList(value)) return 'list'
  if (isCelMap(value)) return 'map'
  if (isCelUint(value)) return 'uint'
  if (value instanceof Uint8Array) return 'bytes'
  if (isReflectMessage(value)) return value.desc.typeName
  return isCelType(value) ? 'type' : 'unknown'
}

/** What a parameter takes: a runtime type, or a list whose first item has one of the types (as in cel-go, the rest is not looked at). */
export type Parameter = string | { readonly items: readonly string[] }

interface Overload {
  readonly member: boolean
  readonly parameters: readonly Parameter[]
  readonly call: (...values: never[]) => unknown
}

type ValueOf<P> = P extends keyof Kinds ? Kinds[P] : P extends { items: readonly string[] } ? CelList : ReflectMessage
type Values<P extends readonly Parameter[]> = { [I in keyof P]: ValueOf<P[I]> }

/** An overload of a global function. What `call` throws is the error of the expression. */
export function overload<const P extends readonly Parameter[]>(parameters: P, call: (...values: Values<P>) => unknown): Overload {
  return { member: false, parameters, call: call as Overload['call'] }
}

/** An overload of a method: the first parameter is the receiver. */
export function member<const P extends readonly Parameter[]>(parameters: P, call: (...values: Values<P>) => unknown): Overload {
  return { member: true, parameters, call: call as Overload['call'] }
}

/** A function of rules. */
export interface Declaration {
  readonly name: string
  readonly overloads: readonly Overload[]
  readonly missing: Missing
}

/**
 * The text when no overload fits: `typed` names the types, `named` only the function, `plain` nothing. A function that cel-go binds by trait
 * (size, the operators) depends on its first value.
 */
export type Missing = 'typed' | 'named' | 'plain' | ((first: string) => 'named' | 'plain')

/** Declares a function with its overloads. */
export function declare(name: string, overloads: readonly Overload[], missing: Missing = 'typed'): Declaration {
  return { name, overloads, missing }
}

/** The declaration as the evaluator takes it. */
export function toCelFunc(declaration: Declaration): CelFunc {
  const name = `$${declaration.name}`
  return {
    id: name,
    name,
    target: undefined,
    arguments: [],
    call: (_id: number, target: Value | undefined, values: Value[]) => call(declaration, target, values),
  } as unknown as CelFunc
}

function call(declaration: Declaration, target: Value | undefined, values: Value[]): Value | CelError {
  const all = target === undefined ? values : [target, ...values]
  for (const one of declaration.overloads) {
    if (one.member !== (target !== undefined) || one.parameters.length !== all.length || !one.parameters.every((parameter, i) => fits(all[i] as Value, parameter))) continue
    try {
      return one.call(...(all as never[])) as Value | CelError
    } catch (error) {
      meter.left -= OBJECT
      return isCelError(error) ? error : celError((error as Error).message)
    }
  }
  return noSuchOverload(declaration, all)
}

function fits(value: Value, parameter: Parameter): boolean {
  if (parameter === 'any') return true
  if (typeof parameter === 'string') return kindOf(value) === parameter
  if (!isCelList(value)) return false
  const first = value.get(0)
  return first === undefined || parameter.items.includes(kindOf(first))
}

function noSuchOverload({ name, missing }: Declaration, values: readonly Value[]): CelError {
  meter.left -= OBJECT
  const kinds = values.map(kindOf)
  const style = typeof missing === 'function' ? missing(kinds[0] ?? '') : missing
  if (style === 'plain') return celError('no such overload')
  return celError(style === 'named' ? `no such overload: ${name}` : `no such overload: ${name}(${kinds.join(', ')})`)
}
