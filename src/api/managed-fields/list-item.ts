/**
 * How items of sets and of lists with keys are told apart.
 * upstream: structured-merge-diff/typed/helpers.go listItemToPathElement
 */
import { getKey, isObject, type Json } from '../object.ts'
import { compareBytes, goQuote } from '../go-text.ts'
import type { KeyField, PathElement } from './path.ts'
import type { ListType } from './typed.ts'

/** The element of an item of a list that is not atomic, or the text of what is wrong with the item. */
export function itemElement(list: ListType, item: Json): PathElement | string {
  return list.keys.length > 0 ? keyedElement(list, item) : setElement(item)
}

function keyedElement(list: ListType, item: Json): PathElement | string {
  if (item === null) return 'associative list with keys may not have a null element'
  if (!isObject(item)) return 'associative list with keys may not have non-map elements'
  const fields: KeyField[] = []
  for (const name of list.keys) {
    // A key that is left out tells items apart too; one that is null is there.
    const own = getKey(item, name)
    const value = own === undefined ? list.keyDefaults.get(name) : own
    if (value !== undefined) fields.push({ name, value })
  }
  if (fields.length === 0) {
    const keys = list.keys.map(goQuote).join(' ')
    return `associative list with keys has an element that omits all key fields [${keys}] (and doesn't have default values for any key fields)`
  }
  return { kind: 'key', fields: fields.sort((a, b) => compareBytes(a.name, b.name)) }
}

function setElement(item: Json): PathElement | string {
  if (isObject(item)) return "associative list without keys has an element that's a map type"
  if (Array.isArray(item)) return 'not supported: associative list with lists as elements'
  return item === null ? "associative list without keys has an element that's an explicit null" : { kind: 'value', value: item }
}

/** An item of a list with its element. */
export interface Item {
  readonly element: PathElement
  readonly value: Json
}

/** The items of a validated list, in order. */
export function itemsOf(list: ListType, values: readonly Json[]): Item[] {
  return values.map((value) => {
    const element = itemElement(list, value)
    if (typeof element === 'string') throw new Error(element)
    return { element, value }
  })
}
