/**
 * Whether a value has the type that ownership needs; everything finer is the schema's validation.
 * upstream: structured-merge-diff/typed/{validate,helpers}.go
 */
import { BoundedTexts } from '../error-limits.ts'
import { isNumber, isObject, type Json, type JsonObject } from '../object.ts'
import { finish, type Walk } from '../walk.ts'
import { goSyntax, goType, goValue } from './go-debug.ts'
import { itemElement } from './list-item.ts'
import { field, formatElement, type PathElement } from './path.ts'
import { elementText } from './serialize.ts'
import { TypeMismatch } from './type-mismatch.ts'
import { narrow, type Atom, type ListType, type MapType, type Scalar } from './typed.ts'

export { TypeMismatch }

export interface ValidateOptions {
  /** Items of sets and keyed lists may repeat, as they may in what is stored. */
  readonly allowDuplicates: boolean
  /** What the message begins with. */
  readonly lead?: string
}

/** Throws TypeMismatch unless the value is of the type. */
export function validateTyped(value: Json, type: Atom, { allowDuplicates, lead = '' }: ValidateOptions): void {
  const { texts: lines } = new Validator(allowDuplicates).validate(value, type)
  if (lines.length === 0) return
  throw new TypeMismatch(lead + (lines.length === 1 ? lines[0] : ['errors:', ...lines.map((line) => `  ${line}`)].join('\n')))
}

class Validator {
  private readonly allowDuplicates: boolean
  private readonly faults = new BoundedTexts()

  constructor(allowDuplicates: boolean) {
    this.allowDuplicates = allowDuplicates
  }

  /** What is wrong, each with its path. */
  validate(value: Json, type: Atom): BoundedTexts {
    const inside = this.check(value, type, [])
    if (inside) finish(inside)
    return this.faults
  }

  // The walk of what is inside, if anything is.
  private check(value: Json, type: Atom, path: PathElement[]): Walk<void> | undefined {
    if (value === null || this.faults.full) return undefined
    const { map, scalar, list } = narrow(type, value)
    if (map) return isObject(value) ? this.checkMap(value, map, path) : this.report(path, `expected map, got &{${goValue(value)}}`)
    if (scalar) return this.checkScalar(value, scalar, path)
    if (list) return Array.isArray(value) ? this.checkList(value, list, path) : this.report(path, `expected list, got &{${goValue(value)}}`)
    return undefined
  }

  private checkScalar(value: Json, scalar: Scalar, path: PathElement[]): undefined {
    const message = scalarFault(value, scalar)
    if (message !== undefined) this.report(path, message)
    return undefined
  }

  private *checkMap(value: JsonObject, map: MapType, path: PathElement[]): Walk<void> {
    for (const name of Object.keys(value)) {
      const member = value[name]
      if (member === undefined) continue
      const type = map.fields.get(name) ?? map.element
      path.push(field(name))
      const inside = type && this.check(member, type, path)
      if (inside) yield inside
      if (!type) this.report(path, 'field not declared in schema')
      path.pop()
      if (!type) return
    }
  }

  private *checkList(value: readonly Json[], list: ListType, path: PathElement[]): Walk<void> {
    const seen = new Set<string>()
    for (let i = 0; i < value.length; i++) {
      const item = value[i] as Json
      const element = list.atomic ? ({ kind: 'index', index: i } as const) : itemElement(list, item)
      if (typeof element === 'string') return this.report(path, `element ${i}: ${element}`)
      if (!list.atomic && !this.allowDuplicates) {
        const text = elementText(element)
        if (seen.has(text)) this.report(path, `duplicate entries for key ${formatElement(element)}`)
        seen.add(text)
      }
      path.push(element)
      const inside = this.check(item, list.element, path)
      if (inside) yield inside
      path.pop()
    }
  }

  private report(path: readonly PathElement[], message: string): undefined {
    if (this.faults.full) return undefined
    const at = path.map(formatElement).join('')
    this.faults.add(at === '' ? message : `${at}: ${message}`)
    return undefined
  }
}

function scalarFault(value: Json, scalar: Scalar): string | undefined {
  switch (scalar) {
    case 'numeric':
      return isNumber(value) ? undefined : `expected numeric (int or float), got ${goType(value)}`
    case 'string':
      return typeof value === 'string' ? undefined : `expected string, got &value.valueUnstructured{Value:${goSyntax(value)}}`
    case 'boolean':
      return typeof value === 'boolean' ? undefined : `expected boolean, got &{${goValue(value)}}`
    case 'untyped':
      return Array.isArray(value) || isObject(value) ? `expected any scalar, got &{${goValue(value)}}` : undefined
  }
}
