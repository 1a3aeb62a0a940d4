/** The law of lenses on lenses and schemas that are generated: what is shown and written back is no change, or the lens is refused. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { compileLens, type CompiledLens } from '../../src/api/lens-compile.ts'
import { each, group, inherit, newer, pick, regroup, rename, same, verdict, within, wrap, type Operation } from '../../src/api/lens.ts'
import { deepEqual, type JsonObject, type KubeObject } from '../../src/api/object.ts'
import type { Schema } from '../../src/api/schema.ts'
import { validateSchema } from '../../src/api/validate.ts'
import { arbitraryValue, complete } from './arbitrary-object.ts'

type Choose = (count: number) => number

// A schema that is being made, by path.
class Tree {
  readonly fields = new Map<string, Tree | Schema>()

  add(path: string, schema: Tree | Schema): void {
    const [name, ...rest] = path.split('.') as [string, ...string[]]
    if (rest.length === 0) return void this.fields.set(name, schema)
    let inner = this.fields.get(name)
    if (!(inner instanceof Tree)) this.fields.set(name, (inner = new Tree()))
    inner.add(rest.join('.'), schema)
  }

  schema(choose: Choose): Schema {
    const properties = Object.fromEntries([...this.fields].map(([name, field]) => [name, field instanceof Tree ? field.schema(choose) : field]))
    const required = Object.keys(properties).filter((_, i) => choose(i === 0 ? 3 : 6) === 0)
    return {
      type: 'object',
      properties,
      ...(required.length > 0 && { required }),
      ...(choose(9) === 0 && { nullable: true }),
      ...(choose(12) === 0 && { default: {} }),
      ...(choose(60) === 0 && { 'x-kubernetes-preserve-unknown-fields': true }),
    }
  }
}

const LEAVES: readonly Schema[] = [
  { type: 'string' },
  { type: 'integer', nullable: true },
  { type: 'object', properties: { x: { type: 'object' } } },
  { type: 'array', items: { type: 'object' } },
  { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  { type: 'integer', default: 1 },
]

class Sketch {
  readonly #choose: Choose
  #names = 0

  constructor(choose: Choose) {
    this.#choose = choose
  }

  /** Operations with what they need of both sides. */
  operations(older: Tree, newest: Tree, depth: number, items = false): Operation[] {
    return Array.from({ length: 1 + this.#choose(4) }, () => this.#operation(older, newest, depth, items)).flat()
  }

  #name(): string {
    return `f${this.#names++}`
  }

  // Often in a place that others share.
  #path(): string {
    const place = ['', '', 'p.', 'q.', 'p.r.'][this.#choose(5)] as string
    return place + this.#name()
  }

  #leaf(): Schema {
    return LEAVES[this.#choose(LEAVES.length)] as Schema
  }

  #nested(older: Tree, newest: Tree, [from, to]: readonly [string, string], depth: number): Operation[] {
    const [left, right] = [new Tree(), new Tree()]
    const operations = this.operations(left, right, depth - 1)
    older.add(from, left)
    newest.add(to, right)
    return operations
  }

  #operation(older: Tree, newest: Tree, depth: number, items: boolean): Operation[] {
    const leaf = this.#leaf()
    const [from, to] = [this.#path(), this.#path()]
    switch (this.#choose(depth > 0 ? 12 : 7)) {
      case 0: {
        older.add(from, leaf)
        newest.add(from, leaf)
        return [same(from)]
      }
      case 1:
      case 2:
        older.add(from, leaf)
        newest.add(to, leaf)
        return [rename(from, to)]
      case 3:
        newest.add(to, leaf)
        return [newer(to)]
      case 4:
        older.add(from, leaf)
        newest.add(`${to}.k`, leaf)
        return [wrap(from, to, 'k')]
      case 5: {
        const [a, b] = [this.#name(), this.#name()]
        for (const name of [a, b]) {
          older.add(name, leaf)
          newest.add(`${to}.${name}`, leaf)
        }
        return [group(to, { [a]: a, [b]: b })]
      }
      case 6: {
        const name = this.#name()
        older.add(`${name}.cpu`, { type: 'string', ...(this.#choose(2) === 0 && { default: '1' }) })
        newest.add(name, { type: 'object', additionalProperties: { 'x-kubernetes-int-or-string': true, ...(this.#choose(2) === 0 && { nullable: true }) } })
        return [pick(name, ['cpu'])]
      }
      case 7:
        return [rename(from, to, this.#nested(older, newest, [from, to], depth))]
      case 8: {
        const place = ['p', 'q'][this.#choose(2)] as string
        const [left, right] = [older.fields.get(place), newest.fields.get(place)]
        if (!(left instanceof Tree) || !(right instanceof Tree)) return []
        return [within(place, this.operations(left, right, depth - 1, items))]
      }
      case 9:
        return this.#each(older, newest, [from, to], depth)
      case 10: {
        const source = this.#name()
        const operations = this.#nested(older, newest, [source, source], depth)
        older.add(from, older.fields.get(source) as Tree)
        newest.add(to, newest.fields.get(source) as Tree)
        return [within(source, operations), inherit(from, to, source, operations)]
      }
      default: {
        const [a, b] = [this.#name(), this.#name()]
        for (const name of [a, b]) {
          older.add(`${name}.x`, leaf)
          newest.add(`${to}.${name}`, leaf)
        }
        return [regroup(to, { [a]: { x: a }, [b]: { x: b } })]
      }
    }
  }

  #each(older: Tree, newest: Tree, [from, to]: readonly [string, string], depth: number): Operation[] {
    const [left, right] = [new Tree(), new Tree()]
    left.add('n', { type: 'string' })
    right.add('key', { type: 'string' })
    const operations: Operation[] = [rename('n', 'key'), ...this.operations(left, right, depth - 1, true)]
    if (this.#choose(2) === 0) {
      left.add('ok', { type: 'string', nullable: true })
      right.add('outcome', { type: 'string', nullable: true })
      right.add('beside', { type: 'string' })
      operations.push(newer('beside'), verdict('ok', 'outcome', {
        beside: 'beside', good: { value: 'x', outcomes: ['', 'x'], beside: ['x'], create: 'x' }, bad: { value: 'true', create: '0' },
      }))
    }
    older.add(from, { type: 'array', items: left.schema(this.#choose) })
    newest.add(to, { type: 'array', items: right.schema(this.#choose) })
    return [each(from, to, ['n', 'key'], operations)]
  }
}

interface Made {
  readonly operations: Operation[]
  readonly older: Schema
  readonly newer: Schema
  readonly lens: CompiledLens
}

const whole = (spec: Schema): Schema => ({
  type: 'object',
  properties: { apiVersion: { type: 'string' }, kind: { type: 'string' }, metadata: { type: 'object' }, spec: spec },
})

// Nothing for a lens that is refused.
function make(numbers: IterableIterator<number>): Made | undefined {
  const choose: Choose = (count) => (numbers.next().value as number) % count
  const [older, newest] = [new Tree(), new Tree()]
  const operations = [within('spec', new Sketch(choose).operations(older, newest, 2))]
  const schemas = { older: whole(older.schema(choose)), newer: whole(newest.schema(choose)) }
  try {
    return { operations, ...schemas, lens: compileLens({ older: 'v1', newer: 'v2', operations }, schemas.older, schemas.newer) }
  } catch (error) {
    assert.match((error as Error).message, /does not fit the schemas/)
    return undefined
  }
}

// Objects as they are stored: whole and valid.
function valid(schema: Schema, version: string): fc.Arbitrary<KubeObject | undefined> {
  return arbitraryValue(schema.properties?.spec ?? {}).map((spec) => {
    const object = complete({ apiVersion: `example.com/${version}`, kind: 'Thing', metadata: { name: 'a' }, spec }, schema)
    return validateSchema(object, schema).length === 0 ? object : undefined
  })
}

test('a lens that is not refused loses nothing and adds nothing: put(get(s), s) = s, also from what is stored', () => {
  const seen = { lenses: 0, objects: 0, operations: new Set<string>() }
  fc.assert(
    fc.property(fc.infiniteStream(fc.nat(2 ** 30)), fc.integer(), (numbers, seed) => {
      const made = make(numbers)
      if (made === undefined) return
      seen.lenses++
      const { lens } = made
      for (const match of JSON.stringify(made.operations).matchAll(/"op":"(\w+)"/g)) seen.operations.add(match[1] as string)
      for (const s of fc.sample(valid(made.newer, 'v2'), { numRuns: 8, seed })) {
        if (s === undefined) continue
        seen.objects++
        const shown = lens.get(s)
        const show = (): string => JSON.stringify({ ...made, s, shown, back: lens.put(shown, s), cut: lens.cut(s) }, (_, v: unknown) => (typeof v === 'bigint' ? `${v}n` : v), 1)
        if (!deepEqual(lens.put(shown, s), s)) assert.fail(`put(get(s), s) = s: ${show()}`)
        if (!deepEqual(lens.complete(shown, lens.cut(s) ?? {}), s)) assert.fail(`complete(get(s), cut(s)) = s: ${show()}`)
        assert.equal(lens.lossless && lens.cut(s) !== undefined, false)
        const labelled = { ...shown, metadata: { name: 'a', labels: { a: 'b' } } }
        assert.deepEqual((lens.put(labelled, s) as JsonObject).spec, s.spec)
      }
    }),
    { numRuns: 1500, seed: 20261130 },
  )
  assert.ok(seen.lenses > 150 && seen.objects > 800, `${seen.lenses} lenses, ${seen.objects} objects`)
  assert.equal(seen.operations.size, 10, [...seen.operations].join())
})
