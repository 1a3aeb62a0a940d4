import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { encodePatched } from './json-encode.ts'
import { decodeJson } from './json-parse.ts'
import { Float, deepEqual, type Json, type JsonObject } from './object.ts'
import { renderJson } from './status.ts'
import { applyJsonPatch, applyMergePatch, applyStrategicMerge, decodeJsonPatch, decodeMergePatch } from './patch.ts'

const json = (text: string): Json => decodeJson(text).value
const patched = (target: string, patch: string): Json => applyJsonPatch(json(target), decodeJsonPatch(patch, { strict: true }).operations)
const merged = (target: string, patch: string): Json => applyMergePatch(json(target), decodeMergePatch(patch, { strict: true }).patch)
const unprocessable = { code: 422, reason: 'Invalid', message: 'the server rejected our request due to an error in our request' }
const same = (actual: Json, expected: Json): void => assert.ok(deepEqual(actual, expected), `${renderJson(actual)} is not ${renderJson(expected)}`)

test('JSON patch applies', () => {
  const cases: [string, string, string][] = [
    ['{"a":1}', '[]', '{"a":1}'],
    ['{"a":1}', 'null', '{"a":1}'],
    ['{"a":1}', '[{"op":"add","path":"/b","value":[1]}]', '{"a":1,"b":[1]}'],
    ['{"a":1}', '[{"op":"add","path":"/b"}]', '{"a":1,"b":null}'],
    ['{"a":[1,2]}', '[{"op":"add","path":"/a/2","value":3},{"op":"add","path":"/a/0","value":0}]', '{"a":[0,1,2,3]}'],
    ['{"a":[1]}', '[{"op":"add","path":"/a/-","value":2},{"op":"add","path":"/a/-1","value":3},{"op":"add","path":"/a/-2","value":9}]', '{"a":[1,2,9,3]}'],
    ['{"a":[1,2]}', '[{"op":"remove","path":"/a/-1"},{"op":"replace","path":"/a/+0","value":5}]', '{"a":[5]}'],
    ['{"a":1}', '[{"op":"replace","path":"/nope","value":3}]', '{"a":1,"nope":3}'],
    ['{"a":1}', '[{"op":"replace","path":"","value":{}}]', '{}'],
    ['{"a":{"b":1}}', '[{"op":"move","from":"/a/b","path":"/c"}]', '{"a":{},"c":1}'],
    ['{"a":{"b":1}}', '[{"op":"copy","from":"/a","path":"/c"},{"op":"add","path":"/c/b","value":2}]', '{"a":{"b":1},"c":{"b":2}}'],
    ['{"a":{"b":1}}', '[{"op":"copy","from":"/a","path":"/c"},{"op":"add","path":"/a/b","value":2}]', '{"a":{"b":2},"c":{"b":1}}'],
    ['{"a":1}', '[{"op":"copy","from":"/nope","path":"/c"}]', '{"a":1,"c":null}'],
    ['{"a/b":{"~c":1}}', '[{"op":"replace","path":"/a~1b/~0c","value":2}]', '{"a/b":{"~c":2}}'],
    ['{"~1":1}', '[{"op":"remove","path":"/~01"}]', '{}'],
    ['{"a":1}', '[{"op":"add","path":"ignored/b","value":2}]', '{"a":1,"b":2}'],
    ['{"a":{"x":[1,{"y":null}]}}', '[{"op":"test","path":"/a","value":{"x":[1,{"y":null}]}}]', '{"a":{"x":[1,{"y":null}]}}'],
    ['{"a":1}', '[{"op":"test","path":"/b","value":null},{"op":"test","path":"/b"}]', '{"a":1}'],
    ['{"a":1}', '[{"op":"test","path":"","value":{"a":1}}]', '{"a":1}'],
    ['{"a":9007199254740993}', '[{"op":"test","path":"/a","value":9007199254740993}]', '{"a":9007199254740993}'],
  ]
  for (const [target, patch, expected] of cases) {
    const before = json(target)
    const result = applyJsonPatch(before, decodeJsonPatch(patch, { strict: true }).operations)
    assert.ok(deepEqual(result, json(expected)), `${target} ${patch} gave ${renderJson(result)}`)
    assert.ok(deepEqual(before, json(target)), 'the target is untouched')
  }
})

test('every failure to apply a JSON patch is the same 422', () => {
  const cases = [
    '[{"op":"remove","path":"/nope"}]',
    '[{"op":"remove","path":""}]',
    '[{"op":"add","path":"","value":{}}]',
    '[{"op":"add","path":"/x/y","value":1}]',
    '[{"op":"add","path":"/s/y","value":1}]',
    '[{"op":"add","path":"/l/3","value":1}]',
    '[{"op":"add","path":"/l/-4","value":1}]',
    '[{"op":"add","path":"/l/a","value":1}]',
    '[{"op":"replace","path":"/l/-","value":1}]',
    '[{"op":"replace","path":"/l/2","value":1}]',
    '[{"op":"replace","path":"","value":1}]',
    '[{"op":"replace","path":""}]',
    '[{"op":"test","path":"/s","value":"y"}]',
    '[{"op":"test","path":"/n","value":1.0}]',
    '[{"op":"test","path":"/l","value":[2,1]}]',
    '[{"op":"test","path":"/l/2"}]',
    '[{"op":"test","path":"/toString","value":null},{"op":"test","path":"/s"}]',
    '[{"op":"move","from":"/o","path":"/o/p"}]',
    '[{"op":"move","path":"/o"}]',
    '[{"op":"copy","path":"/o"}]',
    '[{"op":"nope","path":"/o"}]',
    '[{"path":"/o"}]',
    '[{"op":"remove"}]',
    '[null]',
  ]
  for (const patch of cases) assert.throws(() => patched('{"s":"x","n":1,"l":[1,2],"o":{"q":{}}}', patch), unprocessable, patch)
})

test('JSON patch bodies that do not decode are refused with upstream texts', () => {
  const refused = (text: string, strict: boolean): string => {
    try {
      decodeJsonPatch(text, { strict })
    } catch (error) {
      return `${(error as { code?: number }).code} ${(error as Error).message}`
    }
    return 'accepted'
  }
  assert.equal(refused('{"op":"replace"}', true), '400 error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp')
  assert.equal(refused('{"op":"replace"}', false), '400 json: cannot unmarshal object into Go value of type jsonpatch.Patch')
  assert.equal(refused('[1]', true), '400 error decoding patch: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp')
  assert.equal(refused('[1]', false), '400 json: cannot unmarshal number into Go value of type jsonpatch.Operation')
  assert.equal(refused('[{"op":1}]', true), '400 error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string')
  assert.equal(refused('[{"op":1}]', false), 'accepted')
  assert.equal(refused('', true), '400 error decoding patch: unexpected end of JSON input')
  const many = `[${Array.from({ length: 10001 }, () => '{}').join(',')}]`
  assert.equal(refused(many, true), '413 Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001')
})

test('findings of a JSON patch', () => {
  const body = '[{"op":"test","path":"/a","foo":1},{"op":"add","path":"/a","path":"/b","value":{"x":1,"x":2}}]'
  assert.deepEqual(decodeJsonPatch(body, { strict: true }).findings, [
    'json patch unknown field "[0].foo"',
    'json patch duplicate field "[1].path"',
    'json patch duplicate field "[1].value.x"',
  ])
  assert.deepEqual(decodeJsonPatch(body, { strict: false }).findings, [])
})

test('a JSON patch cannot blow up the server', () => {
  const copies = JSON.stringify([
    { op: 'add', path: '/a', value: ['x'.repeat(1000)] },
    ...Array.from({ length: 40 }, () => ({ op: 'copy', from: '/a', path: '/a/-' })),
  ])
  assert.throws(() => patched('{}', copies), unprocessable)
  const shifts = [
    { op: 'add', path: '/a', value: Array.from({ length: 100_000 }, () => 0) },
    ...Array.from({ length: 9000 }, () => ({ op: 'add', path: '/a/0', value: 1 })),
  ]
  assert.throws(() => applyJsonPatch({}, shifts), unprocessable)
})

test('a patch that nests too deep for the stack is refused', () => {
  const deep = `${'['.repeat(9000)}${']'.repeat(9000)}`
  assert.throws(() => merged('{}', `{"a":${deep}}`), unprocessable)
  const change = `{"op":"add","path":"/a${'/0'.repeat(8999)}/-","value":1}`
  assert.throws(() => patched('{}', `[{"op":"add","path":"/a","value":${deep}},${change},{"op":"copy","from":"/a","path":"/b"}]`), unprocessable)
})

test('no patch reaches a prototype', () => {
  same(patched('{}', '[{"op":"add","path":"/__proto__","value":{"polluted":1}}]'), json('{"__proto__":{"polluted":1}}'))
  assert.throws(() => patched('{}', '[{"op":"add","path":"/__proto__/polluted","value":1}]'), unprocessable)
  assert.throws(() => patched('{}', '[{"op":"add","path":"/constructor/polluted","value":1}]'), unprocessable)
  same(patched('{"__proto__":{"a":1}}', '[{"op":"add","path":"/__proto__/b","value":2}]'), json('{"__proto__":{"a":1,"b":2}}'))
  same(merged('{}', '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}'), json('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}'))
  same(applyStrategicMerge({}, json('{"__proto__":{"polluted":1}}') as JsonObject, {}), json('{"__proto__":{"polluted":1}}'))
  assert.equal(({} as Record<string, unknown>)['polluted'], undefined)
})

test('merge patch merges', () => {
  const cases: [string, string, string][] = [
    ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":"b"}', '{"a":null}', '{}'],
    ['{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'],
    ['{"a":{"b":1,"c":2}}', '{"a":{"b":null,"d":3}}', '{"a":{"c":2,"d":3}}'],
    ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
    ['{}', '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
    ['{}', '{"a":[null,{"x":null}]}', '{"a":[null,{}]}'],
    ['{"a":{"b":1}}', '{"a":[null,{"x":null}]}', '{"a":[null,{"x":null}]}'],
    ['{"a":1}', '{"a":{"x":null,"y":1}}', '{"a":{"y":1}}'],
    ['{"a":{"b":1}}', '{"a":2}', '{"a":2}'],
    ['{"a":1}', '{}', '{"a":1}'],
  ]
  for (const [target, patch, expected] of cases) {
    const before = json(target)
    assert.ok(deepEqual(merged(target, patch), json(expected)), `${target} ${patch}`)
    assert.ok(deepEqual(before, json(target)))
  }
})

test('merge patch bodies that do not decode are refused with upstream texts', () => {
  const decode = (text: string, strict: boolean) => () => decodeMergePatch(text, { strict })
  assert.throws(decode('[]', true), { code: 400, message: 'error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}' })
  assert.throws(decode('1', true), { code: 400, message: 'error decoding patch: json: cannot unmarshal number into Go value of type map[string]interface {}' })
  assert.throws(decode('{bad', true), { code: 400, message: "error decoding patch: invalid character 'b' looking for beginning of object key string" })
  assert.throws(decode('{bad', false), { code: 400, message: 'Invalid JSON Patch' })
  assert.throws(decode('null', true), { code: 400, message: 'Invalid JSON Patch' })
  assert.throws(decode('1', false), { code: 400, message: 'Invalid JSON Patch' })
  same(applyMergePatch({ a: 1 }, decodeMergePatch('[{"a":null}]', { strict: false }).patch), [{}])
  assert.deepEqual(decodeMergePatch('{"spec":{"a":1,"a":2}}', { strict: true }).findings, ['duplicate field "spec.a"'])
})

// A twin that follows the RFC literally on deep copies.
type Step = { op: string; path: string; from?: string; value?: Json }
function twin(target: Json, steps: readonly Step[]): Json {
  let root = structuredClone(target)
  const find = (path: string): [JsonObject, string] => {
    const parts = path.split('/').slice(1)
    const last = parts.pop() as string
    return [parts.reduce((node: Json, part) => (node as JsonObject)[part] as Json, root) as JsonObject, last]
  }
  const take = (path: string, remove: boolean): Json => {
    const [parent, key] = find(path)
    // A text has characters but no members.
    if (typeof parent !== 'object') throw new Error('no container')
    const value = structuredClone(parent[key]) as Json
    if (value === undefined) throw new Error('missing')
    if (remove && Array.isArray(parent)) parent.splice(Number(key), 1)
    else if (remove) delete parent[key]
    return value
  }
  const put = (path: string, value: Json): void => {
    const [parent, key] = find(path)
    if (parent === null || typeof parent !== 'object') throw new Error('no container')
    if (Array.isArray(parent) && !(Number(key) <= parent.length)) throw new Error('index')
    if (Array.isArray(parent)) parent.splice(Number(key), 0, value)
    else parent[key] = value
  }
  for (const step of steps) {
    if (step.op === 'add') put(step.path, structuredClone(step.value) as Json)
    else if (step.op === 'remove') take(step.path, true)
    else if (step.op === 'move') put(step.path, take(step.from as string, true))
    else if (step.op === 'copy') put(step.path, take(step.from as string, false))
  }
  return root
}

test('JSON patch agrees with a literal twin', () => {
  const leaf = fc.constantFrom<Json>(0, 'x', true)
  const tree: fc.Arbitrary<Json> = fc.letrec<{ node: Json }>((tie) => ({
    node: fc.oneof(
      { maxDepth: 3 },
      leaf,
      fc.array(tie('node'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom('a', 'b', '0', '1'), tie('node'), { maxKeys: 3, noNullPrototype: true }) as fc.Arbitrary<Json>,
    ),
  })).node
  const path = fc.array(fc.constantFrom('a', 'b', '0', '1', '2'), { minLength: 1, maxLength: 3 }).map((parts) => `/${parts.join('/')}`)
  const step: fc.Arbitrary<Step> = fc.record({ op: fc.constantFrom('add', 'remove', 'move', 'copy'), path, from: path, value: tree })
  fc.assert(
    fc.property(fc.record({ a: tree, b: tree }, { noNullPrototype: true }), fc.array(step, { maxLength: 4 }), (target, steps) => {
      const frozen = structuredClone(target)
      // only steps that both take: a copy of something missing is null here and an error in the RFC
      const expected = attempt(() => twin(target, steps))
      const actual = attempt(() => applyJsonPatch(target, steps))
      if (expected !== undefined) same(actual as Json, expected)
      assert.deepEqual(target, frozen)
    }),
    { numRuns: 2000 },
  )
})

function attempt<T>(run: () => T): T | undefined {
  try {
    return run()
  } catch {
    return undefined
  }
}

test('merge patch laws', () => {
  const value: fc.Arbitrary<Json> = fc.letrec<{ node: Json }>((tie) => ({
    node: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom<Json>(null, 1, new Float(1), 'x'),
      fc.array(tie('node'), { maxLength: 2 }),
      fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('node'), { maxKeys: 3, noNullPrototype: true }) as fc.Arbitrary<Json>,
    ),
  })).node
  const object = fc.dictionary(fc.constantFrom('a', 'b', 'c'), value, { noNullPrototype: true }) as fc.Arbitrary<JsonObject>
  fc.assert(
    fc.property(object, object, (target, patch) => {
      const once = applyMergePatch(target, patch)
      same(applyMergePatch(target, {}), target)
      for (const key of Object.keys(patch)) assert.equal(Object.hasOwn(once as object, key), patch[key] !== null)
    }),
  )
})

test('strategic merge patch', () => {
  const keys = { ports: 'port' }
  const cases: [string, string, string][] = [
    ['{"data":{"a":"1","b":"2"}}', '{"data":{"a":null,"c":"3"}}', '{"data":{"b":"2","c":"3"}}'],
    ['{"data":{"a":"1"}}', '{"data":{"$patch":"replace","c":"3"}}', '{"data":{"c":"3"}}'],
    ['{"data":{"a":"1"}}', '{"data":{"$patch":"delete"}}', '{"data":{}}'],
    ['{"data":{"a":"1","b":"2"}}', '{"data":{"$retainKeys":["b","c"],"c":"3"}}', '{"data":{"b":"2","c":"3"}}'],
    ['{"list":[1,2]}', '{"list":[3]}', '{"list":[3]}'],
    ['{"metadata":{"finalizers":["a","b"]}}', '{"metadata":{"finalizers":["b","c"]}}', '{"metadata":{"finalizers":["a","b","c"]}}'],
    ['{"metadata":{"finalizers":["a","b"]}}', '{"metadata":{"$deleteFromPrimitiveList/finalizers":["a"]}}', '{"metadata":{"finalizers":["b"]}}'],
    [
      '{"metadata":{"ownerReferences":[{"uid":"1","name":"x"},{"uid":"2","name":"y"}]}}',
      '{"metadata":{"ownerReferences":[{"uid":"1","name":"z"},{"$patch":"delete","uid":"2"},{"uid":"3"}]}}',
      '{"metadata":{"ownerReferences":[{"uid":"1","name":"z"},{"uid":"3"}]}}',
    ],
    ['{"ports":[{"port":1},{"port":2}]}', '{"$setElementOrder/ports":[{"port":3},{"port":1},{"port":2}],"ports":[{"port":3}]}', '{"ports":[{"port":3},{"port":1},{"port":2}]}'],
    ['{"ports":[{"port":1}]}', '{"ports":[{"$patch":"replace"},{"port":4}]}', '{"ports":[{"port":4}]}'],
    ['{}', '{"a":{"b":null,"$patch":"merge","c":{"$retainKeys":["d"],"d":1}}}', '{"a":{"c":{"d":1}}}'],
  ]
  for (const [target, patch, expected] of cases) same(applyStrategicMerge(json(target) as JsonObject, json(patch) as JsonObject, keys), json(expected))
  assert.throws(() => applyStrategicMerge({}, { $patch: 'what' }, keys), unprocessable)
  assert.throws(() => applyStrategicMerge({}, { ports: [{ name: 'x' }] }, keys), unprocessable)
})

test('an error quotes what a patch brought in the order in which it was sent', () => {
  const { operations } = decodeJsonPatch('[{"op":"add","path":"/new","value":{"b":{"d":1,"c":2},"a":[{"z":1,"y":2}]}},{"op":"add","path":"/new/b/e","value":5},{"op":"copy","from":"/new/a","path":"/copy"},{"op":"add","path":"/read","value":{"b":1,"a":{"d":1,"c":2}}},{"op":"test","path":"/read/b","value":1},{"op":"add","path":"/self","value":{"b":{},"a":1}},{"op":"copy","from":"/self","path":"/self/b/c"}]', { strict: true })
  const patched = applyJsonPatch({ old: { b: 1, a: 2 } }, operations)
  assert.equal(encodePatched(patched, operations), '{"copy":[{"z":1,"y":2}],"new":{"a":[{"z":1,"y":2}],"b":{"c":2,"d":1,"e":5}},"old":{"a":2,"b":1},"read":{"a":{"d":1,"c":2},"b":1},"self":{"a":1,"b":{"c":{"a":1,"b":{}}}}}')
  const { patch } = decodeMergePatch('{"o":[{"z":1,"a":null}],"p":{"z":1,"a":2}}', { strict: true })
  assert.equal(encodePatched(applyMergePatch({ o: {} }, patch), patch), '{"o":[{"z":1,"a":null}],"p":{"a":2,"z":1}}')
})
