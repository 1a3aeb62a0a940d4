/**
 * Sets of fields as `fieldsV1`.
 * upstream: structured-merge-diff/fieldpath/{serialize,serialize-pe}.go
 */
import { encodeJson } from '../json-encode.ts'
import { Float, isObject, type Json, type JsonObject } from '../object.ts'
import { finish, type Walk } from '../walk.ts'
import { EMPTY_SET, FieldSetBuilder, isEmptySet, type FieldSet } from './field-set.ts'
import { compareElements, type KeyField, type PathElement } from './path.ts'
import { TypeMismatch } from './type-mismatch.ts'

// An object nests 10,000 levels at most, as its reader takes it; its fieldsV1 begins at the fifth, and its innermost field has a level of its own.
const MAX_LEVELS = 10_000 - 5

/** The nested object that stands for a set. Throws TypeMismatch when an object with it would nest deeper than any reader takes it. */
export function toFieldsV1(set: FieldSet): JsonObject {
  return finish(writeLevel(set, 1))
}

function* writeLevel(set: FieldSet, level: number): Walk<JsonObject> {
  if (level > MAX_LEVELS) throw new TypeMismatch('exceeded max depth')
  const out: JsonObject = {}
  const { members, children } = set
  let [i, j] = [0, 0]
  while (i < members.length || j < children.length) {
    const member = members[i]
    const child = children[j]
    const order = member === undefined ? 1 : child === undefined ? -1 : compareElements(member, child.element)
    if (order < 0) out[elementText(member as PathElement)] = {}
    else if (child !== undefined) {
      const inner = (yield writeLevel(child.set, level + 1)) as JsonObject
      out[elementText(child.element)] = order === 0 ? { '.': {}, ...inner } : inner
    }
    if (order <= 0) i++
    if (order >= 0) j++
  }
  return out
}

/** An element as a key of fieldsV1: `f:spec`, `k:{"name":"a"}`, `v:"x"`, `i:0`. Equal elements have equal texts. upstream: SerializePathElement */
export function elementText(element: PathElement): string {
  switch (element.kind) {
    case 'field':
      return `f:${element.name}`
    case 'key':
      return `k:{${element.fields.map(({ name, value }) => `${JSON.stringify(name)}:${valueText(value)}`).join(',')}}`
    case 'value':
      return `v:${valueText(element.value)}`
    case 'index':
      return `i:${element.index}`
  }
}

// The library that upstream writes elements with keeps two digits of an exponent.
function valueText(value: Json): string {
  const text = encodeJson(value)
  return typeof value === 'number' || value instanceof Float ? text.replace(/e([+-])(\d)$/, 'e$10$2') : text
}

/** The set that a fieldsV1 stands for. Throws Error when it is not one. upstream: Set.FromJSON */
export function fromFieldsV1(fields: Json): FieldSet {
  return (ownedWhole(fields) ?? finish(readNode(fields))).below
}

interface Read {
  /** What is owned below. */
  readonly below: FieldSet
  /** The node itself is owned. */
  readonly owned: boolean
}

const WHOLE: Read = { below: EMPTY_SET, owned: true }

// Nothing for what has to be walked.
function ownedWhole(node: Json): Read | undefined {
  if (node !== null && !isObject(node)) throw new Error('expect { or n')
  return node === null || Object.keys(node).length === 0 ? WHOLE : undefined
}

function* readNode(node: Json): Walk<Read> {
  const set = new FieldSetBuilder()
  let owned = false
  for (const [key, value] of Object.entries(node as JsonObject)) {
    if (key === '.') {
      owned = true
      continue
    }
    const element = readElement(key)
    if (element === undefined) continue
    const inner = ownedWhole(value as Json) ?? ((yield readNode(value as Json)) as Read)
    if (inner.owned) set.add(element)
    set.nest(element, inner.below)
  }
  const below = set.build()
  return { below, owned: owned || isEmptySet(below) }
}

const INTEGER = /^[+-]?\d+$/

// Nothing for kinds of elements that a later release may know.
function readElement(key: string): PathElement | undefined {
  if (key.length < 2) throw new Error('key must be 2 characters long:')
  if (key[1] !== ':') throw new Error(`missing colon: ${key}`)
  const text = key.slice(2)
  switch (key[0]) {
    case 'f':
      return { kind: 'field', name: text }
    case 'k':
      return { kind: 'key', fields: readKey(JSON.parse(text)) }
    case 'v':
      return { kind: 'value', value: asFloat(JSON.parse(text)) }
    case 'i':
      if (!INTEGER.test(text)) throw new Error(`invalid index: ${text}`)
      return { kind: 'index', index: Number(text) }
    default:
      return undefined
  }
}

function readKey(key: Json): KeyField[] {
  if (key === null) return []
  if (!isObject(key)) throw new Error('expect { or n')
  const fields = Object.entries(key).map(([name, value]) => ({ name, value: asFloat(value as Json) }))
  return fields.sort((a, b) => compareElements({ kind: 'field', name: a.name }, { kind: 'field', name: b.name }))
}

// Upstream reads every number of an element as a float, which shows in the texts of conflicts.
function asFloat(value: Json): Json {
  return typeof value === 'number' && Number.isInteger(value) ? new Float(value) : value
}
