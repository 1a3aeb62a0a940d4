import assert from 'node:assert/strict'
import { test } from 'node:test'
import { digest } from './lens-digest.ts'
import { compileConversion, noConversion } from './lens-conversion.ts'
import { compileLens } from './lens-compile.ts'
import { each, group, inherit, newer, pick, regroup, rename, same, verdict, within, wrap, type Lens, type Operation } from './lens.ts'
import { Float, type Json, type JsonObject, type KubeObject } from './object.ts'
import type { ResourceDefinition } from './resource.ts'
import type { Schema } from './schema.ts'

const text: Schema = { type: 'string' }
const count: Schema = { type: 'integer' }

function fields(properties: { [name: string]: Schema }, more: Schema = {}): Schema {
  return { type: 'object', properties, ...more }
}

function list(properties: { [name: string]: Schema }, required: string[]): Schema {
  return { type: 'array', items: fields(properties, { required }) }
}

function whole(spec: Schema): Schema {
  return fields({ apiVersion: text, kind: text, metadata: { type: 'object' }, spec })
}

function lensOf(operations: readonly Operation[], older: Schema, newerSpec: Schema): ReturnType<typeof compileLens> {
  return compileLens({ older: 'v1', newer: 'v2', operations: [within('spec', operations)] }, whole(older), whole(newerSpec))
}

function object(version: string, spec: Json): KubeObject {
  return { apiVersion: `example.com/${version}`, kind: 'Thing', metadata: { name: 'a' }, spec }
}

const v1 = (spec: Json): KubeObject => object('v1', spec)
const v2 = (spec: Json): KubeObject => object('v2', spec)

test('rename, wrap, group and regroup change places, keep empty apart from absent, and share values', () => {
  const lens = lensOf(
    [
      same('a'),
      rename('b', 'c.d'),
      wrap('secret', 'secretRef', 'name'),
      group('time', { timeout: 'seconds' }),
      regroup('sum', { left: { n: 'left' }, right: { n: 'right' } }),
      within('c', [same('e')]),
    ],
    fields({
      a: { type: 'array', items: text },
      b: text,
      c: fields({ e: text }),
      secret: text,
      timeout: { ...count, default: 5 },
      left: fields({ n: count }, { required: ['n'] }),
      right: fields({ n: count }, { required: ['n'] }),
    }),
    fields({
      a: { type: 'array', items: text },
      c: fields({ d: text, e: text }),
      secretRef: fields({ name: text }, { required: ['name'] }),
      time: fields({ seconds: { ...count, default: 5 } }, { default: {} }),
      sum: fields({ left: count, right: count }, { required: ['left', 'right'] }),
    }),
  )
  assert.equal(lens.lossless, true)
  const newest = v2({ a: [], c: { d: '' }, secretRef: { name: '' }, time: { seconds: 0 }, sum: { left: 1, right: 2 } })
  const shown = lens.get(newest)
  assert.deepEqual(shown, v1({ a: [], b: '', c: {}, secret: '', timeout: 0, left: { n: 1 }, right: { n: 2 } }))
  assert.deepEqual(lens.create(shown), newest)
  assert.equal((shown.spec as JsonObject).a, (newest.spec as JsonObject).a)
  assert.equal(shown.metadata, newest.metadata)
  assert.deepEqual(lens.get(v2({ c: {} })), v1({ c: {} }))
  assert.deepEqual(lens.create(v1({})), v2({ time: { seconds: 5 } }))
})

test('what is no object passes through as it is', () => {
  const lens = lensOf([within('a', [same('b')])], fields({ a: fields({ b: text }) }), fields({ a: fields({ b: text }) }))
  assert.deepEqual(lens.get(v2({ a: 'text' })), v1({ a: 'text' }))
  assert.deepEqual(lens.create(v1({ a: ['b'] })), v2({ a: ['b'] }))
  assert.deepEqual(lens.get(v2(null)), v1(null))
})

test('newer: put keeps it from the original, create takes the default, what held it takes it away', () => {
  const lens = lensOf(
    [within('a', [same('b'), newer('c')]), newer('d')],
    fields({ a: fields({ b: text }) }),
    fields({ a: fields({ b: text, c: { ...text, default: 'new' } }), d: { ...count, default: 1 } }),
  )
  const original = v2({ a: { b: 'x', c: 'kept' }, d: 2 })
  assert.deepEqual(lens.get(original), v1({ a: { b: 'x' } }))
  assert.deepEqual(lens.put(v1({ a: { b: 'y' } }), original), v2({ a: { b: 'y', c: 'kept' }, d: 2 }))
  assert.deepEqual(lens.put(v1({}), original), v2({ d: 2 }))
  assert.deepEqual(lens.create(v1({ a: { b: 'y' } })), v2({ a: { b: 'y', c: 'new' }, d: 1 }))
  assert.deepEqual(lens.cut(original), { spec: { a: { c: 'kept' }, d: 2 } })
})

test('pick: defaults for absent keys, integers as text, other keys kept', () => {
  const quantity: Schema = { 'x-kubernetes-int-or-string': true }
  const lens = lensOf(
    [pick('limits', ['cpu', 'memory'])],
    fields({ limits: fields({ cpu: { ...text, default: '1' }, memory: { ...text, default: '4Gi' } }) }),
    fields({ limits: { type: 'object', additionalProperties: quantity } }),
  )
  const original = v2({ limits: { cpu: 2, 'example.com/gpu': 9007199254740993n } })
  const shown = lens.get(original)
  assert.deepEqual(shown, v1({ limits: { cpu: '2', memory: '4Gi' } }))
  assert.deepEqual(lens.put(shown, original), original)
  assert.deepEqual(lens.put(v1({ limits: { cpu: '3', memory: '5Gi' } }), original), v2({ limits: { cpu: '3', memory: '5Gi', 'example.com/gpu': 9007199254740993n } }))
  assert.deepEqual(lens.put(v1({ limits: { cpu: '1', memory: '4Gi' } }), v2({ limits: {} })), v2({ limits: {} }))
  assert.deepEqual(lens.create(shown), v2({ limits: { cpu: '2', memory: '4Gi' } }))
  assert.deepEqual(lens.get(v2({ limits: { cpu: 9007199254740993n, memory: new Float(2) } })), v1({ limits: { cpu: '9007199254740993', memory: '2' } }))
  assert.deepEqual(lens.get(v2({})), v1({}))
})

test('inherit: shown in place of the absent, and absent while it equals the other', () => {
  const source = [same('url'), newer('depth')]
  const git = fields({ url: text, depth: { ...count, default: 1 } })
  const lens = lensOf(
    [within('git', source), within('golden', [same('path')]), inherit('golden.git', 'golden.git', 'git', source)],
    fields({ git: fields({ url: text }), golden: fields({ path: text, git: fields({ url: text }) }) }),
    fields({ git, golden: fields({ path: text, git }) }),
  )
  const inherited = v2({ git: { url: 'u', depth: 9 }, golden: { path: 'p' } })
  const shown = v1({ git: { url: 'u' }, golden: { path: 'p', git: { url: 'u' } } })
  assert.deepEqual(lens.get(inherited), shown)
  assert.deepEqual(lens.put(shown, inherited), inherited)
  assert.deepEqual(
    lens.put(v1({ git: { url: 'u' }, golden: { path: 'p', git: { url: 'w' } } }), inherited),
    v2({ git: { url: 'u', depth: 9 }, golden: { path: 'p', git: { url: 'w', depth: 9 } } }),
  )
  assert.deepEqual(lens.put(shown, v2({ git: { url: 'u', depth: 9 } })), inherited)
  assert.deepEqual(lens.create(shown), v2({ git: { url: 'u', depth: 1 }, golden: { path: 'p', git: { url: 'u', depth: 1 } } }))
  const explicit = v2({ git: { url: 'u', depth: 9 }, golden: { path: 'p', git: { url: 'u', depth: 3 } } })
  assert.deepEqual(lens.put(lens.get(explicit), explicit), explicit)
  assert.deepEqual(lens.get(v2({ git: { url: 'u', depth: 9 } })), v1({ git: { url: 'u' } }))
})

const cells = [
  each('cells', 'cells', ['n', 'index'], [
    rename('n', 'index'),
    same('out'),
    newer('trace', 'compared'),
    verdict('ok', 'outcome', {
      beside: 'compared',
      good: { value: 'Yes', outcomes: ['Done', 'Skipped'], beside: ['Same'], create: 'Done' },
      bad: { value: 'No', create: 'Failed' },
    }),
  ]),
]
const cellLens = lensOf(
  cells,
  fields({ cells: list({ n: count, out: text, ok: text }, ['n']) }),
  fields({ cells: list({ index: count, out: text, trace: text, compared: text, outcome: text }, ['index']) }),
)

test('each: an item keeps what is hidden of it while all that is shown is unchanged', () => {
  const original = v2({
    cells: [
      { index: 0, outcome: 'Skipped' },
      { index: 1, outcome: 'Done', compared: 'Other', out: 'x', trace: 'first' },
      { index: 1, outcome: 'Killed', out: 'x', trace: 'second' },
    ],
  })
  const shown = cellLens.get(original)
  assert.deepEqual(shown, v1({ cells: [{ n: 0, ok: 'Yes' }, { n: 1, ok: 'No', out: 'x' }, { n: 1, ok: 'No', out: 'x' }] }))
  assert.deepEqual(cellLens.put(shown, original), original)
  // moved, changed, new
  assert.deepEqual(
    cellLens.put(v1({ cells: [{ n: 1, ok: 'No', out: 'x' }, { n: 1, ok: 'No', out: 'y' }, { n: 0, ok: 'Yes' }, { n: 2, ok: 'No' }] }), original),
    v2({
      cells: [
        { index: 1, outcome: 'Done', compared: 'Other', out: 'x', trace: 'first' },
        { index: 1, outcome: 'Failed', out: 'y' },
        { index: 0, outcome: 'Skipped' },
        { index: 2, outcome: 'Failed' },
      ],
    }),
  )
  assert.deepEqual(cellLens.create(shown), v2({ cells: [{ index: 0, outcome: 'Done' }, { index: 1, outcome: 'Failed', out: 'x' }, { index: 1, outcome: 'Failed', out: 'x' }] }))
  assert.deepEqual(cellLens.put(v1({ cells: [] }), original), v2({ cells: [] }))
  assert.deepEqual(cellLens.put(v1({}), original), v2({}))
})

test('each: a remainder counts only with the digest of the item, and never against what is shown', () => {
  const original = v2({ cells: [{ index: 1, outcome: 'Killed', out: 'x', trace: 't' }] })
  const remainder = cellLens.cut(original) as { spec: { cells: JsonObject[] } }
  const [entry] = remainder.spec.cells
  assert.deepEqual(Object.keys(entry ?? {}), ['key', 'digest', 'kept'])
  const shown = cellLens.get(original)
  assert.deepEqual(cellLens.complete(shown, remainder), original)
  const created = cellLens.create(shown)
  const tampered = (change: JsonObject): JsonObject => ({ spec: { cells: [{ ...entry, ...change }] } })
  for (const change of [{ digest: '' }, { digest: null }, { key: 2 }, { key: '1' }, { place: 1 }, { kept: null }, { kept: { compared: 'Same', outcome: 'Done', index: 7 } }]) {
    const { spec } = cellLens.complete(shown, tampered(change))
    if (change.kept?.index === 7) assert.deepEqual(cellLens.get(cellLens.complete(shown, tampered(change))), shown)
    else assert.deepEqual(spec, created.spec, JSON.stringify(change))
  }
  // what was hidden of a success must not make it a failure
  const good = v2({ cells: [{ index: 1, outcome: 'Done', trace: 't' }] })
  const [goodEntry] = (cellLens.cut(good) as { spec: { cells: JsonObject[] } }).spec.cells
  const forged = { spec: { cells: [{ ...goodEntry, kept: { compared: 'Other' } }] } }
  assert.deepEqual(cellLens.complete(cellLens.get(good), forged), v2({ cells: [{ index: 1, outcome: 'Done' }] }))
})

test('coverage: a field that no operation maps is an error, on either side and inside lists', () => {
  const extra = { ...fields({ cells: list({ n: count, out: text, ok: text, more: text }, ['n']), other: text }) }
  assert.throws(
    () => lensOf(cells, extra, fields({ cells: list({ index: count, out: text, trace: text, compared: text, outcome: text }, ['index']), late: fields({ x: text }) })),
    { message: 'the lens between v1 and v2 does not fit the schemas:\n  older spec.cells[].more: no operation maps it\n  older spec.other: no operation maps it\n  newer spec.late.x: no operation maps it' },
  )
})

test('coverage: unknown, doubly mapped and unlike fields are errors', () => {
  const problems = (operations: Operation[], older: Schema, newest: Schema): string[] => {
    try {
      lensOf(operations, older, newest)
    } catch (error) {
      return (error as Error).message.split('\n  ').slice(1)
    }
    return []
  }
  const a = fields({ a: text })
  assert.deepEqual(problems([same('a', 'b')], a, a), [
    'older spec.b: there is no such field, or it is mapped with what holds it',
    'newer spec.b: there is no such field, or it is mapped with what holds it',
  ])
  assert.deepEqual(problems([same('a'), same('a')], a, a), ['older spec.a: mapped twice', 'newer spec.a: mapped twice'])
  assert.deepEqual(problems([same('a')], a, fields({ a: count })), ['spec.a: its type differs between the versions'])
  assert.deepEqual(problems([same('a')], a, fields({ a: { ...text, default: 'x' } })), ['spec.a: its default differs between the versions'])
  assert.deepEqual(problems([same('a')], fields({ a }), fields({ a: fields({ a: text, b: text }) })), ['spec.a.b: only the newer version has it'])
  assert.deepEqual(problems([same('a')], fields({ a: list({ x: text }, []) }), fields({ a: list({ y: text }, []) })), [
    'spec.a[].x: only the older version has it',
    'spec.a[].y: only the newer version has it',
  ])
  const table = { beside: 'b', good: { value: 'Yes', outcomes: [], beside: [], create: 'Done' }, bad: { value: 'No', create: 'Failed' } }
  assert.deepEqual(problems([verdict('a', 'a', table)], a, a), ['newer spec.a: a verdict stands only in items of each'])
  assert.deepEqual(problems([wrap('a', 'b', 'name')], a, fields({ b: fields({ name: text }) })), [
    'newer spec.b: no field of it is required or has a default, so an empty one would be lost',
  ])
})

test('objects that only their fields call for are kept when they are empty or null, and go when the object around them does', () => {
  const lens = lensOf(
    [rename('colour', 'paint.color'), rename('port', 'home.port'), newer('paint.gloss', 'home.berth', 'sea.depth'), within('hull', [rename('wood', 'make.of')])],
    fields({ colour: text, port: text, hull: fields({ wood: text }) }),
    fields({
      paint: fields({ color: text, gloss: count }),
      home: fields({ port: text, berth: count }, { nullable: true }),
      sea: fields({ depth: count }),
      hull: fields({ make: fields({ of: text }) }),
    }),
  )
  const original = v2({ paint: {}, home: null, sea: {}, hull: { make: {} } })
  const shown = lens.get(original)
  assert.deepEqual(shown, v1({ hull: {} }))
  assert.deepEqual(lens.put(shown, original), original)
  assert.deepEqual(lens.complete(shown, lens.cut(original) as JsonObject), original)
  assert.deepEqual(lens.put(v1({ colour: 'red', port: 'x', hull: { wood: 'oak' } }), original), v2({ paint: { color: 'red' }, home: { port: 'x' }, sea: {}, hull: { make: { of: 'oak' } } }))
  assert.deepEqual(lens.put(v1({}), original), v2({ paint: {}, home: null, sea: {} }))
  assert.equal(lens.cut(v2({ paint: { color: 'red' } })), undefined)
  assert.equal(lens.lossless, false)
})

test('a dotted rename into an object that is never empty hides nothing', () => {
  const lens = lensOf([rename('a', 'b.c')], fields({ a: text }), fields({ b: fields({ c: text }, { required: ['c'] }) }))
  assert.equal(lens.lossless, true)
})

test('two operations that hide parts of one inner object keep both', () => {
  const lens = lensOf(
    [newer('a.b.c'), within('a', [within('b', [same('e'), newer('d')])])],
    fields({ a: fields({ b: fields({ e: text }) }) }),
    fields({ a: fields({ b: fields({ c: text, d: text, e: text }) }) }),
  )
  const original = v2({ a: { b: { c: 'x', d: 'y' } } })
  assert.deepEqual(lens.put(lens.get(original), original), original)
})

test('null is kept where it says something else than what is absent', () => {
  const quantity: Schema = { 'x-kubernetes-int-or-string': true, nullable: true }
  const picked = lensOf([pick('limits', ['cpu', 'memory'])], fields({ limits: fields({ cpu: text, memory: { ...text, default: '4Gi' } }) }), fields({ limits: { type: 'object', additionalProperties: quantity } }))
  const limits = v2({ limits: { cpu: null, memory: null } })
  assert.deepEqual(picked.get(limits), v1({ limits: { memory: '4Gi' } }))
  assert.deepEqual(picked.put(picked.get(limits), limits), limits)
  assert.deepEqual(picked.put(v1({ limits: { cpu: '1', memory: '5Gi' } }), limits), v2({ limits: { cpu: '1', memory: '5Gi' } }))
  const source = fields({ url: text }, { nullable: true })
  const around = { a: source, b: fields({ path: text, a: source }) }
  const inherited = lensOf([within('a', [same('url')]), within('b', [same('path')]), inherit('b.a', 'b.a', 'a', [same('url')])], fields(around), fields(around))
  for (const spec of [{ a: { url: 'u' }, b: { a: null } }, { a: null, b: {} }, { a: null, b: { a: null } }, { b: {} }, { a: {}, b: { a: {} } }]) {
    assert.deepEqual(inherited.put(inherited.get(v2(spec)), v2(spec)), v2(spec), JSON.stringify(spec))
  }
})

test('each: items without a key keep what is hidden of them by their place', () => {
  const lens = lensOf(
    [each('parts', 'parts', ['name', 'name'], [same('name'), newer('weight')])],
    fields({ parts: list({ name: text }, []) }),
    fields({ parts: list({ name: text, weight: count }, []) }),
  )
  const original = v2({ parts: [{ weight: 1 }, {}, { weight: 2 }, { name: 'a', weight: 3 }] })
  assert.deepEqual(lens.put(lens.get(original), original), original)
})

test('coverage: what could be lost or appear by itself is an error', () => {
  const problems = (operations: Operation[], older: Schema, newest: Schema): string => {
    try {
      lensOf(operations, older, newest)
      return ''
    } catch (error) {
      return (error as Error).message.split('\n  ').slice(1).join('\n')
    }
  }
  const ab = fields({ a: fields({ b: text }) })
  assert.equal(problems([rename('a.b', 'c')], ab, fields({ c: text })), 'older spec.a: no field of it is required or has a default, so an empty one would be lost')
  assert.equal(problems([same('a.b')], ab, ab), 'older spec.a: no field of it is required or has a default, so an empty one would be lost')
  assert.equal(problems([rename('a.b', 'c')], fields({ a: fields({ b: text }, { required: ['b'], nullable: true }) }), fields({ c: text })), 'older spec.a: it may be null, which would be lost')
  assert.equal(problems([within('a', [same('b')])], ab, fields({ a: fields({ b: text }, { nullable: true }) })), 'spec.a: its nullable differs between the versions')
  assert.equal(problems([same('a')], fields({ a: text }), fields({ a: { ...text, nullable: true } })), 'spec.a: its nullable differs between the versions')
  const open = fields({ a: fields({ b: text }, { 'x-kubernetes-preserve-unknown-fields': true }) })
  assert.match(problems([within('a', [same('b')])], ab, open), /^newer spec\.a: it may have fields that its schema does not name, which no operation maps$/)
  assert.match(
    problems([rename('a', 'x', [same('b')]), rename('a', 'y', [same('c')])], fields({ a: fields({ b: text, c: text }) }), fields({ x: fields({ b: text }), y: fields({ c: text }) })),
    /^older spec\.a: mapped to both spec\.x and spec\.y\n/,
  )
  const git = fields({ git: fields({ url: text, path: text }) })
  const apart = [within('git', [same('url')]), rename('git.path', 'path')]
  assert.equal(problems(apart, git, fields({ git: fields({ url: text }), path: text })), 'newer spec.git: it must be required or have a default, since older spec.git is there for spec.path too')
  assert.equal(problems(apart, git, fields({ git: fields({ url: text }), path: text }, { required: ['git'] })), '')
  const around = fields({ a: fields({ url: text }), b: fields({ url: text }) })
  assert.equal(
    problems([rename('a', 'c', [same('url')]), inherit('b', 'b', 'c', [same('url')])], around, fields({ b: fields({ url: text }), c: fields({ url: text }) })),
    'newer spec.c: an object is inherited from it, so it must be mapped to older spec.c by the same operations',
  )
})

function definition(...versions: string[]): ResourceDefinition {
  return {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'things', singular: 'thing', kind: 'Thing', listKind: 'ThingList' },
    versions: versions.map((name, i) => ({ name, served: true, storage: i === 0, schema: whole(fields({ [name]: text, a: text })) })),
  }
}

const lensBetween = (older: string, newest: string): Lens => ({ older, newer: newest, operations: [within('spec', [rename(older, newest), same('a')])] })

test('a chain of lenses converts between any two versions', () => {
  const conversion = compileConversion(definition('v3', 'v1', 'v2'), [lensBetween('v1', 'v2'), lensBetween('v2', 'v3')])
  assert.equal(conversion.hub, 'v3')
  const hub = object('v3', { v3: 'x', a: 'y' })
  assert.deepEqual(conversion.show(hub, 'v1'), v1({ v1: 'x', a: 'y' }))
  assert.equal(conversion.show(hub, 'v3'), hub)
  assert.deepEqual(conversion.lift(v1({ v1: 'z' }), 'v1', hub), object('v3', { v3: 'z' }))
  assert.deepEqual(conversion.store(hub, 'v2'), { version: 'v2', object: v2({ v2: 'x', a: 'y' }) })
  assert.deepEqual(conversion.load({ version: 'v2', object: v2({ v2: 'x' }) }), object('v3', { v3: 'x' }))
  assert.throws(() => conversion.show(hub, 'v9'), /no version v9/)
})

test('lenses that do not join all versions are an error', () => {
  assert.throws(() => compileConversion(definition('v3', 'v2', 'v1'), [lensBetween('v1', 'v2')]), /must leave one newest version, not v3, v2/)
  assert.throws(() => compileConversion(definition('v2', 'v1'), [lensBetween('v1', 'v2'), lensBetween('v2', 'v1')]), /one newest version, not none/)
  assert.throws(() => compileConversion(definition('v2', 'v1'), [lensBetween('v1', 'v2'), lensBetween('v1', 'v2')]), /no chain/)
  assert.throws(() => compileConversion(definition('v3', 'v2', 'v1'), [lensBetween('v1', 'v3'), lensBetween('v2', 'v3')]), /no chain/)
})

test('noConversion only changes apiVersion', () => {
  const conversion = noConversion(definition('v2', 'v1'))
  const hub = v2({ a: 'x' })
  assert.equal(conversion.hub, 'v2')
  assert.equal(conversion.show(hub, 'v2'), hub)
  assert.deepEqual(conversion.show(hub, 'v1'), v1({ a: 'x' }))
  assert.deepEqual(conversion.lift(v1({ a: 'x' }), 'v1'), hub)
  assert.deepEqual(conversion.load(conversion.store(hub, 'v1')), hub)
})

test('digest: the same for equal values, in any order of keys, and for 1 and 1.0', () => {
  assert.equal(digest({ a: 1, b: [null, 'x'] }), digest({ b: [null, 'x'], a: new Float(1) }))
  assert.equal(digest({ a: undefined } as JsonObject as Json), digest({}))
  const values: Json[] = ['', 'a', null, 'null', 0, '0', [], {}, [[]], ['a', 'b'], ['ab'], { a: 'b' }, { a: ['b'] }, 9007199254740993n, 9007199254740992n]
  assert.equal(new Set(values.map(digest)).size, values.length)
  assert.match(digest(''), /^[0-9a-f]{16}$/)
  assert.equal(digest({ a: [1, { b: 'x' }, null], c: true }), 'af45cc25db7f7355')
  const deep = Array.from({ length: 9990 }).reduce<Json>((inner) => [{ a: inner }], 'x')
  assert.match(digest(deep), /^[0-9a-f]{16}$/)
})
