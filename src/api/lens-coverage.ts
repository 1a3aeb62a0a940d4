/**
 * Static coverage of a lens: every field of both schemas is mapped by exactly one operation or named as the newer
 * version's own, and fields that are taken whole are alike on both sides. A field that nobody mapped would be a silent
 * loss, so it is an error before the first object is converted.
 */
import { deepEqual } from './object.ts'
import type { Inherit, Lens, Operation, Rename } from './lens.ts'
import type { Schema } from './schema.ts'

/**
 * Throws an Error that lists all that is wrong with a lens between two schemas of whole objects. Returns the places of the newer objects that no
 * operation stands for and that may be empty or null: their being there shows nowhere in the older version.
 */
export function checkCoverage(lens: Lens, older: Schema, newer: Schema): string[] {
  const check = new Coverage(older, newer)
  check.operations(lens.operations, '', '')
  check.finish()
  const problems = [...new Set(check.problems)]
  if (problems.length === 0) return check.unshown
  throw new Error(`the lens between ${lens.older} and ${lens.newer} does not fit the schemas:\n  ${problems.join('\n  ')}`)
}

type Side = 'older' | 'newer'

// What is the same in every version of every object, and no business of a lens.
const PASSED: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata'])

class Coverage {
  readonly problems: string[] = []
  readonly unshown: string[] = []
  readonly #schemas: Record<Side, Schema>
  readonly #claims: Record<Side, Map<string, Schema | undefined>> = { older: new Map(), newer: new Map() }
  // Objects and lists that are there on one side when they are on the other, each with its place there.
  readonly #pairs: Record<Side, Map<string, string>> = { older: new Map(), newer: new Map() }
  readonly #sources: { readonly operation: Inherit; readonly older: string; readonly newer: string }[] = []
  // What is there on the older side when it is on the newer one.
  readonly #links: (readonly [older: string, newer: string])[] = []
  readonly #inherited = new Set<string>()
  readonly #renamed = new Map<string, readonly Operation[]>()

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
      this.#closed(side, '', this.#schemas[side])
      for (const [name, schema] of fieldsOf(this.#schemas[side])) if (!PASSED.has(name)) this.#look(side, name, schema, unseen)
      for (const path of unseen) this.problems.push(`${side} ${path}: there is no such field, or it is mapped with what holds it`)
    }
    for (const source of this.#sources) this.#source(source)
    for (const [older, newer] of this.#links) this.#elsewhere(older, newer)
  }

  #operation(operation: Operation, older: string, newer: string): void {
    switch (operation.op) {
      case 'same':
        for (const field of operation.fields) this.#whole(join(older, field), join(newer, field))
        return
      case 'rename':
        if (operation.operations === undefined) this.#whole(join(older, operation.older), join(newer, operation.newer))
        else this.#object(operation, older, newer)
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
        this.#pair(join(older, operation.field), join(newer, operation.field))
        for (const key of operation.keys) this.#claim('older', `${join(older, operation.field)}.${key}`)
        return
      case 'each':
        this.#pair(join(older, operation.older), join(newer, operation.newer))
        return this.operations(operation.operations, `${join(older, operation.older)}[]`, `${join(newer, operation.newer)}[]`)
      case 'verdict':
        if (!newer.endsWith('[]')) this.problems.push(`newer ${join(newer, operation.newer)}: a verdict stands only in items of each`)
        this.#claim('older', join(older, operation.older))
        this.#claim('newer', join(newer, operation.newer))
        return
      case 'inherit':
        this.#inherited.add(join(older, operation.older))
        this.#sources.push({ operation, older: join(older, operation.from), newer: join(newer, operation.from) })
        return this.#object(operation, older, newer)
      case 'newer':
        for (const field of operation.fields) this.#claim('newer', join(newer, field))
    }
  }

  #object(operation: Rename | Inherit, older: string, newer: string): void {
    const [left, right] = [join(older, operation.older), join(newer, operation.newer)]
    this.#pair(left, right)
    if (operation.op === 'rename') this.#renamed.set(left, operation.operations ?? [])
    this.operations(operation.operations ?? [], left, right)
  }

  // What is there for two objects of the other side would bring both back when it was there for one.
  #pair(older: string, newer: string): void {
    this.#links.push([older, newer])
    for (const [side, path, other] of [['older', older, newer], ['newer', newer, older]] as const) {
      const known = this.#pairs[side].get(path)
      if (known !== undefined && known !== other) this.problems.push(`${side} ${path}: mapped to both ${known} and ${other}`)
      this.#pairs[side].set(path, other)
    }
    const [left, right] = [find(this.#schemas.older, older), find(this.#schemas.newer, newer)]
    if (left !== undefined && right !== undefined && (left.nullable === true) !== (right.nullable === true)) {
      this.problems.push(`${newer}: its nullable differs between the versions`)
    }
  }

  // Whether an object equals its source is told by what the older version shows of both.
  #source({ operation, older, newer }: { readonly operation: Inherit; readonly older: string; readonly newer: string }): void {
    const alike = this.#pairs.older.get(older) === newer && deepEqual(this.#renamed.get(older), operation.operations)
    if (!alike) this.problems.push(`newer ${newer}: an object is inherited from it, so it must be mapped to older ${older} by the same operations`)
  }

  // A field that the older version has in an object which stands for another newer one than the field is in brings that one back.
  #elsewhere(older: string, newer: string): void {
    for (const [object, other] of this.#pairs.older) {
      if (!older.startsWith(`${object}.`) || newer.startsWith(`${other}.`) || this.#inherited.has(object)) continue
      if (!alwaysBeside(this.#schemas.newer, other, newer)) {
        this.problems.push(`newer ${other}: it must be required or have a default, since older ${object} is there for ${newer} too`)
      }
    }
  }

  // An object that is taken apart must have no fields but those of its schema.
  #closed(side: Side, path: string, schema: Schema): void {
    const open = schema['x-kubernetes-preserve-unknown-fields'] || schema['x-kubernetes-embedded-resource'] || schema.additionalProperties
    if (open) this.problems.push(`${side} ${path === '' ? 'object' : path}: it may have fields that its schema does not name, which no operation maps`)
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
    this.#links.push([older, newer])
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
    if (schema !== undefined && !neverEmpty(schema, fields)) this.problems.push(`${side} ${path}: no field of it is required or has a default, so an empty one would be lost`)
  }

  // An object that is taken apart by operations of which none stands for it.
  #apart(side: Side, path: string, schema: Schema): void {
    if (side === 'newer') {
      if (schema.nullable || !neverEmpty(schema)) this.unshown.push(path)
      return
    }
    this.#alwaysThere(side, path, fieldsOf(schema).map(([name]) => name))
    if (schema.nullable) this.problems.push(`older ${path}: it may be null, which would be lost`)
  }

  #alike(older: Schema, newer: Schema, path: string): void {
    if (older === newer) return
    const differs = (['type', 'format', 'x-kubernetes-int-or-string', 'x-kubernetes-preserve-unknown-fields', 'default'] as const).filter(
      (key) => !deepEqual(older[key], newer[key]),
    )
    if ((older.nullable === true) !== (newer.nullable === true)) this.problems.push(`${path}: its nullable differs between the versions`)
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
    else {
      this.#closed(side, prefix, schema.items ?? schema)
      if (!this.#pairs[side].has(path)) this.#apart(side, path, schema)
    }
    for (const [name, child] of below) this.#look(side, `${prefix}.${name}`, child, unseen)
  }
}

// Whether an object is there when a field is: it is required, or by default, from the innermost object around both down.
function alwaysBeside(root: Schema, object: string, field: string): boolean {
  const names = object.split('.')
  const others = field.split('.').slice(0, -1)
  const apart = names.findIndex((name, i) => name !== others[i])
  return names.slice(apart).every((name, i) => {
    const around = names.slice(0, apart + i).join('.')
    const schema = around === '' ? root : find(root, around)
    return schema !== undefined && !schema.properties?.[name]?.nullable && neverEmpty(schema, [name])
  })
}

function neverEmpty({ required, properties }: Schema, fields: readonly string[] = Object.keys(properties ?? {})): boolean {
  return fields.some((field) => required?.includes(field) || (properties?.[field]?.default ?? null) !== null)
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
