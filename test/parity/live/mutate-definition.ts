/** Damage to definitions: keywords of schemas where they do not belong, members that are missing, doubled or of another type. */
import type { Json, JsonObject } from '../../../src/api/object.ts'
import { getKey, isObject, setKey } from '../../../src/api/object.ts'
import type { Random } from './random.ts'

const ODD: readonly Json[] = [
  null, '', 'a', 'A_', 0, -1, 1.5, true, false, [], {}, ['a'], { a: 1 }, [{}], [null], 'x'.repeat(70), 'x'.repeat(300), 'ä', 'a\nb', '.spec.a', '.metadata.name', 1e30, '"',
]

const SCHEMAS: readonly Json[] = [
  { type: 'string' }, { type: 'integer' }, { type: 'boolean' }, {}, { type: 'object', properties: { a: { type: 'string' }, b: { type: 'integer', default: 3 } } },
  { type: 'array', items: { type: 'string' } }, { type: 'object', additionalProperties: { type: 'integer' } }, { 'x-kubernetes-int-or-string': true }, { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  { type: 'array', items: { type: 'object', required: ['k'], properties: { k: { type: 'string' }, v: { type: 'integer' } } }, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['k'] },
]

/** Marks a schema within the values below. */
const S: unique symbol = Symbol('schema')
type Template = Json | typeof S | readonly Template[] | { readonly [key: string]: Template }

const KEYWORDS: Readonly<Record<string, readonly Template[]>> = {
  type: ['object', 'string', 'integer', 'number', 'boolean', 'array', '', 'null', 'foo'],
  format: ['int32', 'int64', 'date-time', 'foo', '', 'byte', 'float', 'double', 'uuid'],
  default: [null, 0, 1, 1.5, 'a', '', true, [], {}, ['a'], { a: 'x' }, { b: 'x' }, { kind: 'A', apiVersion: 'v1', metadata: { name: 'x' } }, [{ k: 'a' }], '2020-01-01T00:00:00Z'],
  nullable: [true, false], exclusiveMinimum: [true], exclusiveMaximum: [true, false], uniqueItems: [true, false],
  enum: [['a'], [1, 2], [], [null], ['a', 'a'], [{ a: 1 }]],
  minimum: [0, 1.5, -1, 1e20], maximum: [0, 10, 5.5], multipleOf: [0, 2, 0.5, -1], minLength: [0, 1, -1, 10], maxLength: [0, 1, -1, 10],
  pattern: ['^a$', '(', '\\d+', '(?=a)', '', '[[:alpha:]]', '\\p{Greek}', 'a{2,1001}'],
  minItems: [0, 1, 3], maxItems: [0, 2, 10], minProperties: [0, 1], maxProperties: [0, 2], required: [['a'], [], ['a', 'a'], ['zz']],
  properties: [{}, { a: S }, { metadata: S }, { kind: S, apiVersion: S }, { a: S, status: S, spec: S }, { 'a.b': S, 'x.y/z': S }],
  additionalProperties: [true, false, S, {}], items: [S, [S], [], {}],
  allOf: [[S]], anyOf: [[S, S], [], [{ type: 'integer' }, { type: 'string' }]], oneOf: [[{ required: ['a'] }, { required: ['b'] }]], not: [S, { required: ['a'] }],
  'x-kubernetes-preserve-unknown-fields': [true, false, null], 'x-kubernetes-embedded-resource': [true, false], 'x-kubernetes-int-or-string': [true, false],
  'x-kubernetes-list-type': ['map', 'set', 'atomic', 'x', ''], 'x-kubernetes-list-map-keys': [['k'], ['a'], [], ['k', 'k'], ['k', 'v']], 'x-kubernetes-map-type': ['atomic', 'granular', 'x'],
  'x-kubernetes-validations': [
    [{ rule: 'true' }], [{ rule: 'self == self', message: 'm' }], [{ rule: 'oldSelf == self' }], [{ rule: 'true', fieldPath: '.a', reason: 'FieldValueInvalid' }], [{ rule: 'true', fieldPath: '.a.b', reason: 'Foo' }],
    [{ rule: 'true', message: ' ' }], [{ rule: '1 == 1', message: 'a\nb' }], [{ rule: 'true', messageExpression: "'a' + 'b'" }], [{ rule: 'true', optionalOldSelf: false }], [{}],
  ],
  title: ['t'], description: ['d'], example: [1, {}], externalDocs: [{ url: 'x' }], id: ['i'], $schema: ['s'], $ref: ['', '#/a'], definitions: [{}, { a: S }], dependencies: [{}, { a: ['b'] }, { a: S }], patternProperties: [{}, { a: S }], additionalItems: [true, S],
}

type Path = readonly (string | number)[]
const NOT_SCHEMAS = new Set(['properties', 'required', 'enum', 'x-kubernetes-validations', 'allOf', 'anyOf', 'oneOf', 'default', 'definitions', 'dependencies', 'patternProperties'])

/** The manifest with `count` random changes. */
export function mutateDefinition(manifest: JsonObject, random: Random, count: number): JsonObject {
  const changed = structuredClone(manifest)
  for (let i = 0; i < count; i++) change(changed, random)
  return changed
}

function change(manifest: JsonObject, random: Random): void {
  const paths = pathsOf(manifest, []).filter((path) => path.length > 1)
  const schemas = paths.filter((path) => path.includes('openAPIV3Schema') && !NOT_SCHEMAS.has(String(path.at(-1))) && isObject(at(manifest, path)))
  if (schemas.length > 0 && random.chance(0.55)) {
    const keyword = random.pick(Object.keys(KEYWORDS))
    setKey(at(manifest, random.pick(schemas)) as JsonObject, keyword, fill(random.pick(KEYWORDS[keyword] as readonly Template[]), random))
    return
  }
  if (paths.length === 0) return
  const path = random.pick(paths)
  const parent = at(manifest, path.slice(0, -1)) as JsonObject
  const key = path.at(-1) as string
  const copy = structuredClone(at(manifest, random.pick([path, random.pick(paths)])))
  random.weighted<() => void>([
    [3, () => (Array.isArray(parent) ? void parent.splice(Number(key), 1) : void delete parent[key])],
    [3, () => setKey(parent, key, structuredClone(random.pick(ODD)))],
    [1, () => (Array.isArray(parent) ? void parent.push(copy) : setKey(parent, random.pick(['a', 'zz', 'spec', 'status', 'metadata']), copy))],
    [2, () => setKey(parent, key, copy)],
  ])()
}

function fill(template: Template, random: Random): Json {
  if (template === S) return structuredClone(random.pick(SCHEMAS))
  if (Array.isArray(template)) return template.map((item) => fill(item as Template, random))
  if (typeof template !== 'object' || template === null) return template as Json
  return Object.fromEntries(Object.entries(template).map(([key, value]) => [key, fill(value as Template, random)]))
}

function pathsOf(value: Json, path: Path): Path[] {
  const members = Array.isArray(value) ? value.map((item, i) => [i, item] as const) : isObject(value) ? Object.entries(value) : []
  return [path, ...members.flatMap(([key, member]) => pathsOf(member as Json, [...path, key]))]
}

function at(value: Json, path: Path): Json {
  return path.reduce<Json>((here, key) => (Array.isArray(here) ? (here[Number(key)] as Json) : ((getKey(here as JsonObject, String(key)) ?? null) as Json)), value)
}
