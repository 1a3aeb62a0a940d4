/**
 * Lenses from a file: the operations of lens.ts as data, for definitions that are read from manifests.
 *
 *     resource: widgets.example.com
 *     lenses:
 *     - older: v1alpha1
 *       newer: v1
 *       operations:
 *       - {op: rename, older: spec, newer: spec, operations: [{op: same, fields: [size]}, {op: wrap, older: secret, newer: secretRef, key: name}]}
 *       - {op: newer, fields: [status]}
 *
 * Every operation has the fields that its type in lens.ts has; paths are names joined by dots.
 */
import { isObject, type Json } from './object.ts'
import type { Lens } from './lens.ts'

/** The lenses of one resource. */
export interface LensFile {
  /** plural.group */
  readonly resource: string
  readonly lenses: readonly Lens[]
}

/** A file of lenses that is not one; `faults` are all that is wrong, each with its place. */
export class LensFileError extends Error {
  readonly faults: readonly string[]
  constructor(faults: readonly string[]) {
    super(faults.join('\n'))
    this.name = 'LensFileError'
    this.faults = faults
  }
}

/** Reads a decoded document. Throws LensFileError; whether the lenses fit the schemas is for compileConversion to say. */
export function readLenses(document: Json): LensFile {
  const faults: string[] = []
  checkMembers(document, FILE, '', faults)
  if (faults.length > 0) throw new LensFileError(faults)
  return document as unknown as LensFile
}

type Check = (value: Json, path: string, faults: string[]) => void

interface Member {
  readonly check: Check
  readonly optional?: true
}

type Members = { readonly [name: string]: Member }

const text: Check = (value, path, faults) => {
  if (typeof value !== 'string' || value === '') faults.push(`${path}: must be a text that is not empty`)
}

const dotted: Check = (value, path, faults) => {
  if (typeof value !== 'string' || !/^[^.]+(?:\.[^.]+)*$/.test(value)) faults.push(`${path}: must be field names joined by dots`)
}

function listOf(item: Check, { empty }: { readonly empty: boolean } = { empty: false }): Check {
  return (value, path, faults) => {
    if (!Array.isArray(value) || (!empty && value.length === 0)) faults.push(`${path}: must be a list${empty ? '' : ' that is not empty'}`)
    else for (const [i, one] of value.entries()) item(one, `${path}[${i}]`, faults)
  }
}

function mapOf(item: Check): Check {
  return (value, path, faults) => {
    if (!isObject(value) || Object.keys(value).length === 0) faults.push(`${path}: must be an object that is not empty`)
    else for (const [key, one] of Object.entries(value)) item(one as Json, `${path}.${key}`, faults)
  }
}

const objectOf =
  (members: Members): Check =>
  (value, path, faults) =>
    checkMembers(value, members, path, faults)

function checkMembers(value: Json, members: Members, path: string, faults: string[]): void {
  if (!isObject(value)) {
    faults.push(`${path === '' ? 'the document' : path}: must be an object`)
    return
  }
  const at = (name: string): string => (path === '' ? name : `${path}.${name}`)
  for (const name of Object.keys(value)) if (!Object.hasOwn(members, name)) faults.push(`${at(name)}: is not known here`)
  for (const [name, member] of Object.entries(members)) {
    const given = Object.hasOwn(value, name) ? value[name] : undefined
    if (given !== undefined) member.check(given, at(name), faults)
    else if (!member.optional) faults.push(`${at(name)}: is missing`)
  }
}

const operation: Check = (value, path, faults) => {
  const op = isObject(value) ? value.op : undefined
  if (typeof op === 'string' && Object.hasOwn(OPERATIONS, op)) checkMembers(value, OPERATIONS[op] as Members, path, faults)
  else if (isObject(value)) faults.push(`${path}.op: must be one of ${Object.keys(OPERATIONS).join(', ')}`)
  else faults.push(`${path}: must be an object`)
}

const op: Member = { check: text }
const names: Member = { check: mapOf(dotted) }
const place: Member = { check: dotted }
const fields: Member = { check: listOf(dotted) }
const operations: Member = { check: listOf(operation) }

// The fields of each operation's type in lens.ts.
const OPERATIONS: { readonly [op: string]: Members } = {
  same: { op, fields },
  rename: { op, older: place, newer: place, operations: { ...operations, optional: true } },
  wrap: { op, older: place, newer: place, key: place },
  group: { op, newer: place, fields: names },
  regroup: { op, newer: place, objects: { check: mapOf(mapOf(dotted)) } },
  pick: { op, field: place, keys: { check: listOf(text) } },
  each: { op, older: place, newer: place, key: { check: objectOf({ older: place, newer: place }) }, operations },
  verdict: {
    op,
    older: place,
    newer: place,
    beside: place,
    good: { check: objectOf({ value: { check: text }, outcomes: { check: listOf(text) }, beside: { check: listOf(text) }, create: { check: text } }) },
    bad: { check: objectOf({ value: { check: text }, create: { check: text } }) },
  },
  inherit: { op, older: place, newer: place, from: place, operations },
  newer: { op, fields },
}

const LENS: Members = { older: { check: text }, newer: { check: text }, operations: { check: listOf(operation, { empty: true }) } }

const FILE: Members = { resource: { check: text }, lenses: { check: listOf(objectOf(LENS)) } }
