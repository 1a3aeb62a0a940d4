/**
 * Static coverage of a lens: every field of both schemas is mapped by exactly one operation or named as the newer
 * version's own, and fields that are taken whole are alike on both sides. A field that nobody mapped would be a silent
 * loss, so it is an error before the first object is converted.
 */
import { deepEqual } from './object.ts'
import type { Lens, Operation } from './lens.ts'
import type { Schema } from './schema.ts'

/** Throws an Error that lists all that is wrong with a lens between two schemas of whole objects. */
export function checkCoverage(lens: Lens, older: Schema, newer: Schema): void {
  const check = new Coverage(older, newer)
  check.operations(lens.operations, '', '')
  check.finish()
  if (check.problems.length === 0) return
  throw new Error(`the lens between ${lens.older} and ${lens.newer} does not fit the schemas:\n  ${check.problems.join('\n  ')}`)
}

type Side = 'older' | 'newer'

// What is the same in every version of every object, and no business of a lens.
const PASSED: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata'])

class Coverage {
  readonly problems: string[] = []
  readonly #schemas: Record<Side, Schema>
  readonly #claims: Record<Side, Map<string, Schema | undefined>> = { older: new Map(), newer: new Map() }

  constructor(older: Schema, newer: Schema) {
    this.#schemas = { older, newer }
  }

  operations(operations: readonly Operation[], older: string, newer: string): void {
    for (const operation of operations) this.#operation(operation, older, newer)
  }

  /** Looks for what nobody claimed, after all operations. */
  finish(): void {
    for (const side of ['older', 'newer'] as const) {
      const unseen = new Set(this.#claims[side].keys())
      for (const [name, schema] of fieldsOf(this.#schemas[side])) if (!PASSED.has(name)) this.#look(side, name, schema, unseen)
      for (const path of unseen) this.problems.push(`${side} ${path}: there is no such field, or it is mapped with what holds it`)
    }
  }

  #operation(operation: Operation, older: string, newer: string): void {
    switch (operation.op) {
      case 'same':
        for (const field of operation.fields) this.#whole(join(older, field), join(newer, field))
        return
      case 'rename':
        if (operation.operations === undefined) this.#whole(join(older, operation.older), join(newer, operation.newer))
        else this.operations(operation.operations, join(older, operation.older), join(newer, operation.newer))
        return
      case 'wrap':
        return this.#gather({ [operation.older]: operation.key }, older, join(newer, operation.newer))
      case 'group':
        return this.#gather(operation.fields, older, join(newer, operation.newer))
      case 'regroup':
        for (const [object, fields] of Object.entries(operation.objects)) {
          this.#gather(fields, join(older, object), join(newer, operation.newer))
          this.#alwaysThere('older', join(older, object), Object.keys(fields))
        }
        return
      case 'pick':
        this.#claim('newer', join(newer, operation.field))
        for (const key of operation.keys) this.#claim('older', `${join(older, operation.field)}.${key}`)
        return
      case 'each':
        return this.operations(operation.operations, `${join(older, operation.older)}[]`, `${join(newer, operation.newer)}[]`)
      case 'verdict':
        if (!newer.endsWith('[]')) this.problems.push(`newer ${join(newer, operation.newer)}: a verdict stands only in items of each`)
        this.#claim('older', join(older, operation.older))
        this.#claim('newer', join(newer, operation.newer))
        return
      case 'inherit':
        return this.operations(operation.operations, join(older, operation.older), join(newer, operation.newer))
      case 'newer':
        for (const field of operation.fields) this.#claim('newer', join(newer, field))
    }
  }

  #claim(side: Side, path: string): Schema | undefined {
    const claims = this.#claims[side]
    if (claims.has(path)) this.problems.push(`${side} ${path}: mapped twice`)
    const schema = find(this.#schemas[side], path)
    claims.set(path, schema)
    return schema
  }

  #whole(older: string, newer: string): void {
    const left = this.#claim('older', older)
    const right = this.#claim('newer', newer)
    if (left !== undefined && right !== undefined) this.#alike(left, right, newer)
  }

  // Fields that become fields of one object, which is there exactly when one of them is.
  #gather(fields: { readonly [older: string]: string }, older: string, newer: string): void {
    for (const [field, name] of Object.entries(fields)) this.#whole(join(older, field), join(newer, name))
    this.#alwaysThere('newer', newer, Object.values(fields))
  }

  // An object that is made for its fields alone must never be empty, or its being there would be lost.
  #alwaysThere(side: Side, path: string, fields: readonly string[]): void {
    const schema = find(this.#schemas[side], path)
    const there = fields.some((field) => schema?.required?.includes(field) || schema?.properties?.[field]?.default !== undefined)
    if (schema !== undefined && !there) this.problems.push(`${side} ${path}: no field of it is required or has a default, so an empty one would be lost`)
  }

  #alike(older: Schema, newer: Schema, path: string): void {
    if (older === newer) return
    const differs = (['type', 'format', 'x-kubernetes-int-or-string', 'x-kubernetes-preserve-unknown-fields', 'default'] as const).filter(
      (key) => !deepEqual(older[key], newer[key]),
    )
    for (const key of differs) this.problems.push(`${path}: its ${key} differs between the versions`)
    const names = new Set([...fieldsOf(older), ...fieldsOf(newer)].map(([name]) => name))
    for (const name of names) this.#both(older.properties?.[name], newer.properties?.[name], `${path}.${name}`)
    this.#both(older.items, newer.items, `${path}[]`)
    this.#both(additional(older), additional(newer), `${path}.*`)
  }

  #both(older: Schema | undefined, newer: Schema | undefined, path: string): void {
    if (older !== undefined && newer !== undefined) this.#alike(older, newer, path)
    else if (older !== newer) this.problems.push(`${path}: only the ${older === undefined ? 'newer' : 'older'} version has it`)
  }

  #look(side: Side, path: string, schema: Schema, unseen: Set<string>): void {
    if (this.#claims[side].has(path)) return void unseen.delete(path)
    const below = schema.items === undefined ? fieldsOf(schema) : fieldsOf(schema.items)
    const prefix = schema.items === undefined ? path : `${path}[]`
    if (below.length === 0) this.problems.push(`${side} ${path}: no operation maps it`)
    for (const [name, child] of below) this.#look(side, `${prefix}.${name}`, child, unseen)
  }
}

function fieldsOf(schema: Schema): [string, Schema][] {
  return Object.entries(schema.properties ?? {})
}

function additional(schema: Schema): Schema | undefined {
  return typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined
}

function join(prefix: string, path: string): string {
  return prefix === '' ? path : `${prefix}.${path}`
}

function find(root: Schema, path: string): Schema | undefined {
  let schema: Schema | undefined = root
  for (const step of path.split('.')) {
    const name = step.replace('[]', '')
    schema = schema?.properties !== undefined && Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined
    if (step !== name) schema = schema?.items
  }
  return schema
}
