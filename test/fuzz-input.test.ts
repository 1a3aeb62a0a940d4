/** Hostile input for every parser: no crash, no hang, errors of the one kind that becomes a Status, and the right value where there is one. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { DecodeError, decodeJson, decodeYaml, encodeJson } from '../src/api/codec.ts'
import { compileRules } from '../src/api/cel.ts'
import { decodeContinue, encodeContinue } from '../src/api/continue-token.ts'
import { compileJsonPath, EvaluationError } from '../src/api/json-path.ts'
import { deepEqual, Float, isObject, type Json, type KubeObject } from '../src/api/object.ts'
import { applyJsonPatch, applyMergePatch, decodeJsonPatch, decodeMergePatch } from '../src/api/patch.ts'
import { matchesPattern } from '../src/api/pattern.ts'
import { DELETE_OPTIONS } from '../src/api/protobuf-meta.ts'
import { decodeKubeProtobuf } from '../src/api/protobuf.ts'
import { matchesLabels, parseFieldSelector, parseLabelSelector } from '../src/api/selector.ts'
import { StatusError } from '../src/api/status.ts'
import { bodyMediaType } from '../src/server/body.ts'
import { negotiate, negotiateError } from '../src/server/negotiate.ts'
import { parseDeleteQuery, parseListOptions, parseModifyOptions } from '../src/server/options.ts'
import { parseRequest } from '../src/server/request-info.ts'
import { Warnings } from '../src/server/warnings.ts'
import { fuzz, mutated, outcome, textOf } from './fuzz/fuzz.ts'

const jsonFragments = ['{', '}', '[', ']', ',', ':', '"a"', '"__proto__"', '"\\ud800"', '"\\u0000"', '1', '-0', '1.0', '1e3', '1e400', '9223372036854775807', '9223372036854775808', '-9223372036854775809', '9007199254740993', 'true', 'null', '01', '.5', '\u00a0']
const jsonTexts = ['{"a":[1,{"b":"c\\n"},null,true],"d":-1.5e-3}', '[[[{"x":{"y":[]}}]]]', '{"__proto__":{"a":1},"constructor":2}', '"\\ud83d\\ude00"']

/** As JSON.parse gives it. */
function plain(value: Json): unknown {
  if (Array.isArray(value)) return value.map(plain)
  if (value instanceof Float) return value.value + 0
  if (isObject(value)) return Object.entries(value).map(([key, member]) => [key, plain(member as Json)])
  if (typeof value === 'number') return value + 0
  return typeof value === 'bigint' ? Number(value) : typeof value === 'string' ? value.toWellFormed() : value
}

const json = fc.oneof(textOf(jsonFragments), mutated(jsonTexts, jsonFragments), fc.json())

fuzz('JSON: the value that JSON.parse gives, or an error where it gives one', 1500, json, (text) => {
  const ours = outcome(() => decodeJson(text).value, DecodeError)
  const theirs = outcome(() => JSON.parse(text) as Json, SyntaxError)
  if (ours instanceof Error) return assert.ok(theirs instanceof Error || ours.message.startsWith('json: cannot unmarshal number'), `${text}: ${ours.message}`)
  assert.ok(!(theirs instanceof Error), text)
  // Keys that are no text may become the same one.
  if (!/\\u[dD]|[\ud800-\udfff]/.test(text)) assert.deepEqual(plain(ours), plain(theirs as Json), text)
  assert.ok(deepEqual(decodeJson(encodeJson(ours)).value, decodeJson(encodeJson(decodeJson(encodeJson(ours)).value)).value), text)
})

const yamlFragments = ['a', 'b: ', '- ', '? ', ': ', '\n', '\n  ', '\t', '[', ']', '{', '}', ', ', '&a ', '*a', '<<: ', '!!str ', '!!binary ', '!!float ', '!x!y ', '"', "'", '|\n', '>-\n', '\n---\n', '\n...\n', '%YAML 1.1\n', '#', 'yes', '0x1F', '1_000', '12:30', '~', '.nan', '1e3', '2001-01-01', '@', '`', '\r\n', '\u0085']
const yamlTexts = ['a: &x {b: [1, 2]}\nc: {<<: *x, d: |\n    e\n}\n', 'kind: A\nspec:\n- x: "y"\n  z: \'w\'\n# c\n--- \n- 2\n', 'a: &a [1]\nb: [*a, *a]\nc: !!binary YWI=\n']

fuzz('YAML: a JSON value, or an error with a text', 700, fc.oneof(textOf(yamlFragments, 30), mutated(yamlTexts, yamlFragments), json), (text) => {
  const value = outcome(() => decodeYaml(text).value, DecodeError)
  if (value instanceof Error) assert.match(value.message, /^(yaml: |json: unsupported value|unsupported map key)/)
  else assert.ok(deepEqual(decodeJson(encodeJson(value)).value, value), text)
})

const bytes = fc.uint8Array({ maxLength: 60 })

fuzz('bytes that are no UTF-8 are read all the same', 300, bytes, (input) => {
  const text = Buffer.from(input).toString('utf8')
  outcome(() => decodeJson(text), DecodeError)
  outcome(() => decodeYaml(text), DecodeError)
})

const selectorFragments = ['a', 'a.b/c', '=', '==', '!=', '!', ',', ' in ', ' notin ', '(', ')', '(x,y)', '>', '<', '>1', 'exists', 'in', 'metadata.name', 'spec.x', '\\,', '\\=', '\\\\']

fuzz('selectors: parsed, or refused with 400; matching any labels', 1500, textOf(selectorFragments), (text) => {
  const labels = outcome(() => parseLabelSelector(text), StatusError)
  if (labels instanceof StatusError) assert.equal(labels.code, 400)
  else if (!(labels instanceof Error)) for (const some of [undefined, {}, { a: 'x' }, { __proto__: 'x', constructor: '1' } as Record<string, string>]) matchesLabels(labels, some)
  const fields = outcome(() => parseFieldSelector(text), StatusError)
  if (fields instanceof StatusError) assert.equal(fields.code, 400)
})

const target: Json = { metadata: { name: 'x', labels: { a: 'b' } }, list: [1, [2], { c: 3 }], '': 0, '~/': 1 }
const pointer = textOf(['/', '/metadata', '/labels', '/list', '/0', '/-', '/-1', '/01', '/+1', '/~0', '/~1', '~', '~2', '/__proto__', '/constructor', '/prototype', '/99999999999999999999', '/toString'], 5)
const operation = fc.record({
  op: fc.constantFrom('add', 'remove', 'replace', 'move', 'copy', 'test', 'merge', '__proto__'), path: pointer, from: pointer,
  value: fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constant({ __proto__: null, constructor: { prototype: 1 } })),
}, { requiredKeys: [] })

fuzz('JSON patches: applied, or refused; what they are applied to stays as it was', 1500, fc.array(operation, { maxLength: 6 }), (operations) => {
  const before = encodeJson(target)
  const text = JSON.stringify(operations)
  for (const strict of [true, false]) {
    const result = outcome(() => applyJsonPatch(target, decodeJsonPatch(text, { strict }).operations), StatusError)
    if (result instanceof StatusError) assert.ok([400, 422].includes(result.code))
    else encodeJson(result as Json)
  }
  assert.equal(encodeJson(target), before)
})

fuzz('merge patches', 500, fc.oneof(fc.json({ maxDepth: 3 }), textOf(jsonFragments)), (text) => {
  const patch = outcome(() => decodeMergePatch(text, { strict: true }).patch, StatusError)
  if (patch instanceof Error) return
  const once = applyMergePatch(target, patch)
  assert.ok(deepEqual(applyMergePatch(once, patch), once), text)
})

const pathFragments = ['.', '..', '.metadata', '.list', '[', ']', '[0]', '[-1]', '[*]', '[0:2:1]', '[::-1]', "['a']", '[?(', ')]', '@', '==', '"x"', '$', '{', '}', '\\.', ',', '*', '&&']

fuzz('JSONPath of columns: compiled or refused; evaluated without a crash', 1500, textOf(pathFragments, 8), (text) => {
  const path = outcome(() => compileJsonPath(text), Error)
  assert.ok(!(path instanceof RangeError || path instanceof TypeError), text)
  if (!(path instanceof Error)) for (const value of [target, null, [], 'x', 1]) outcome(() => path(value), EvaluationError)
})

test('recursive descents do not multiply without end', () => {
  const before = process.cpuUsage()
  const path = compileJsonPath('..a'.repeat(6))
  let deep: Json = { a: 1 }
  for (let i = 0; i < 60; i++) deep = { a: deep }
  assert.ok(outcome(() => path(deep), EvaluationError) instanceof EvaluationError)
  for (let i = 0; i < 9_000; i++) deep = { a: deep }
  assert.equal((compileJsonPath('..a')(deep) as Json[]).length, 9_061)
  assert.ok(process.cpuUsage(before).user < 5e6)
})

const token = encodeContinue('default/job-1', 42)

fuzz('continue tokens: altered ones are refused or lead to a clean key', 1500, fc.oneof(mutated([token], ['A', '=', '_', '-']), fc.base64String(), fc.json().map((text) => Buffer.from(text).toString('base64url'))), (text) => {
  const found = outcome(() => decodeContinue(text), StatusError)
  if (found instanceof StatusError) assert.equal(found.code, 400)
  else if (!(found instanceof Error)) assert.ok(!found.start.startsWith('/') && found.start.split('/').every((part) => part !== '..' && part !== '.'), found.start)
})

const celFragments = ['self', '.a', '.b', '[0]', '(', ')', ' + ', ' && ', ' || ', '!', ' ? ', ' : ', '1', '1u', '1.5', '"x"', 'b"x"', 'true', 'null', '[1, 2]', '{"a": 1}', 'size(', '.all(x, ', '.map(x, ', '.filter(x, ', '.exists_one(x, ', '.matches("(a+)+$")', 'int(', 'duration("1h")', 'timestamp("x")', '.split(",")', '.join()', '/ 0', '% 0', ' in ', 'oldSelf', 'quantity("1")', 'url("x")', 'ip("::")', '\\u', '//', '\n', 'has(self.a)', '.replace("a", "aa")']

fuzz('CEL: rules compile or are refused; evaluation ends', 500, textOf(celFragments, 10), (rule) => {
  const schema = { type: 'object', properties: { a: { type: 'string' }, b: { type: 'array', items: { type: 'integer' } } }, 'x-kubernetes-validations': [{ rule }] }
  const rules = outcome(() => compileRules(schema as never), Error)
  assert.ok(!(rules instanceof RangeError || rules instanceof TypeError), `${rule}: ${String(rules)}`)
  if (rules instanceof Error) return
  for (const object of [{ a: 'a'.repeat(200), b: Array.from({ length: 100 }, (_, i) => i) }, {}, { a: '\ud800', b: [] }]) rules.evaluate(object as unknown as KubeObject, undefined)
})

const patternFragments = ['a', 'a+', '(a+)+', '(a|a)*', '.*', '[a-z]', '[^]', '\\d', '\\pL', '\\b', '(?i)', '(?P<n>', '(?=', ')', '{2}', '{1000}', '{2,', '^', '$', '|', '\\1', '\\x{10FFFF}', '[[:alpha:]]', '*', '?', '\\']

fuzz('RE2 patterns: refused, or matched in linear time', 400, textOf(patternFragments, 8), (pattern) => {
  const matched = outcome(() => matchesPattern(pattern, `${'a'.repeat(5000)}!`), Error)
  assert.ok(!(matched instanceof RangeError || matched instanceof TypeError), `${pattern}: ${String(matched)}`)
})

const urlFragments = ['/', '//', '/apis', '/api', '/v1', '/mlops.dev', '/namespaces', '/default', '/widgets', '/x', '/status', '/watch', '/proxy', '/..', '/.', '%2f', '%2e%2e', '%00', '%zz', '%c3%28', '?', '&', 'watch=1', 'limit=', '9999999999999999999', 'fieldSelector=metadata.name%3Dx', 'labelSelector=', 'resourceVersion=', 'continue=', 'timeoutSeconds=', 'sendInitialEvents=true', 'resourceVersionMatch=', 'dryRun=All', 'fieldManager=', '=', '+', ';', '#']

fuzz('URLs and their options: parsed, or refused with a Status', 1500, fc.tuple(fc.constantFrom('GET', 'PUT', 'POST', 'PATCH', 'DELETE', 'HEAD', 'FOO', ''), textOf(urlFragments)), ([method, target]) => {
  const info = parseRequest(method, target)
  const readers: (() => unknown)[] = [() => parseListOptions(info.query), () => parseListOptions(info.query, true), () => parseModifyOptions(info.query, 'CreateOptions'), () => parseDeleteQuery(info.query)]
  for (const read of readers) outcome(read, StatusError)
})

const headerFragments = ['application/json', 'application/yaml', '*/*', 'text/*', '/', ';', ',', ' ', ';q=0.5', ';q=x', ';as=Table', ';v=v1', ';g=meta.k8s.io', ';stream=watch', ';charset="', '=', 'application/vnd.kubernetes.protobuf', ';pretty=1', ';as=', '*', 'APPLICATION/JSON']

fuzz('Accept and Content-Type', 1500, textOf(headerFragments), (header) => {
  const request = { headers: {}, url: '/' }
  const chosen = outcome(() => negotiate(header, request), StatusError)
  if (chosen instanceof StatusError) assert.equal(chosen.code, 406)
  negotiateError(header, request)
  const type = outcome(() => bodyMediaType(header), StatusError)
  if (type instanceof StatusError) assert.equal(type.code, 415)
})

test('an Accept header as long as a header may be', () => {
  for (const clause of ['a/b;q=0.1,', 'application/json;as=Table;v=v1;g=meta.k8s.io;q=0.9,', ',', ';', 'a/*,*/*;q=1,']) {
    const header = clause.repeat(60_000 / clause.length)
    const before = process.cpuUsage()
    outcome(() => negotiate(header, { headers: {}, url: '/' }), StatusError)
    assert.ok(process.cpuUsage(before).user < 1e6, clause)
  }
})

fuzz('protobuf: a message, or an error', 1500, bytes, (input) => {
  const read = (body: Uint8Array) => outcome(() => decodeKubeProtobuf(Buffer.concat([Buffer.from('k8s\0'), body]), DELETE_OPTIONS), Error)
  assert.ok(!(read(input) instanceof TypeError))
  // As the message within a good envelope.
  assert.ok(!(read(Buffer.concat([Buffer.from([0x12, input.length]), input])) instanceof TypeError))
})

test('a protobuf list of a million items takes linear time', () => {
  const item = Buffer.from([0x2a, 0x00])
  const raw = Buffer.alloc(2 * 1_000_000, item)
  const length = Buffer.from([0x12, 0x80 | (raw.length & 127), 0x80 | ((raw.length >> 7) & 127), 0x80 | ((raw.length >> 14) & 127), raw.length >> 21])
  const before = process.cpuUsage()
  const { dryRun } = decodeKubeProtobuf(Buffer.concat([Buffer.from('k8s\0'), length, raw]), DELETE_OPTIONS)
  assert.equal((dryRun as Json[]).length, 1_000_000)
  assert.ok(process.cpuUsage(before).user < 5e6)
})

test('a hundred thousand warnings take linear time and one header', () => {
  const warnings = new Warnings()
  const before = process.cpuUsage()
  for (let i = 0; i < 100_000; i++) warnings.add(`unknown field "spec.field-${i}"`)
  assert.ok(warnings.headers().join(', ').length < 8192)
  assert.ok(process.cpuUsage(before).user < 2e6)
})
