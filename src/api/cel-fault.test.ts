import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileRules, RuleError } from './cel.ts'
import type { Schema } from './schema.ts'

const TEXT: Schema = { type: 'string', maxLength: 9 }

function faultOf(rule: string): RuleError | undefined {
  const schema: Schema = {
    type: 'object',
    properties: { spec: { type: 'object', properties: { a: TEXT, l: { type: 'array', maxItems: 5, items: TEXT } }, 'x-kubernetes-validations': [{ rule, message: 'm' }] } },
  }
  try {
    compileRules(schema)
    return undefined
  } catch (error) {
    assert.ok(error instanceof RuleError, String(error))
    return error
  }
}

/** What kube-apiserver 1.36.3 says of a rule; only its first error where it has several. */
const FAULTS: readonly (readonly [rule: string, place: string, text: string, line: string, mark: string])[] = [
  ['self.q', '1:5', "undefined field 'q'", 'self.q', '....^'],
  ['has(self.q)', '1:4', "undefined field 'q'", 'has(self.q)', '...^'],
  ['frob(self.a)', '1:5', "undeclared reference to 'frob' (in container '')", 'frob(self.a)', '....^'],
  ['frob (self.a)', '1:6', "undeclared reference to 'frob' (in container '')", 'frob (self.a)', '.....^'],
  ['self.a.frob(1)', '1:12', "undeclared reference to 'frob' (in container '')", 'self.a.frob(1)', '...........^'],
  ['q == 1', '1:1', "undeclared reference to 'q' (in container '')", 'q == 1', '^'],
  ['self.l.all(x, y == x)', '1:15', "undeclared reference to 'y' (in container '')", 'self.l.all(x, y == x)', '..............^'],
  ['self.a.all(x, true)', '1:5', "expression of type 'string' cannot be range of a comprehension (must be list, map, or dynamic)", 'self.a.all(x, true)', '....^'],
  ['Foo{a: 1} == 1', '1:4', "undeclared reference to 'Foo' (in container '')", 'Foo{a: 1} == 1', '...^'],
  ['a.b.c == 1', '1:1', "undeclared reference to 'a' (in container '')", 'a.b.c == 1', '^'],
  ["self.a == 'é😀' && q", '1:19', "undeclared reference to 'q' (in container '')", "self.a == 'é😀' && q", '...........\uff0e\uff0e.....^'],
  ['self.l[q] == 1', '1:8', "undeclared reference to 'q' (in container '')", 'self.l[q] == 1', '.......^'],
  ['self.l.map(1, 2) == []', '1:12', 'argument is not an identifier', 'self.l.map(1, 2) == []', '...........^'],
  ['has(a)', '1:5', 'invalid argument to has() macro', 'has(a)', '....^'],
  ["self.l.existsOne(x, x == 'a')", '1:17', "undeclared reference to 'existsOne' (in container '')", "self.l.existsOne(x, x == 'a')", '................^'],
  ['\tself.b == 1', '1:6', "undefined field 'b'", ' self.b == 1', '.....^'],
  ['true &&\nself.b == 1', '2:5', "undefined field 'b'", 'self.b == 1', '....^'],
  ["self.a.optMap(1, 2) == 1", '1:15', 'optMap() variable name must be a simple identifier', 'self.a.optMap(1, 2) == 1', '..............^'],
  ['x.frob(self.a)', '1:1', "undeclared reference to 'x' (in container '')", 'x.frob(self.a)', '^'],
  ['self . b == 1', '1:6', "undefined field 'b'", 'self . b == 1', '.....^'],
  ['-self.b == 1', '1:6', "undefined field 'b'", '-self.b == 1', '.....^'],
  ['// self.b\nself.b == 1 // c', '2:5', "undefined field 'b'", 'self.b == 1 // c', '....^'],
]

test('a mistake in a rule is told as upstream tells it, with its place', () => {
  for (const [rule, place, text, line, mark] of FAULTS) {
    const fault = faultOf(rule)
    assert.deepEqual([fault?.missing, fault?.detail], [false, `ERROR: <input>:${place}: ${text}\n | ${line}\n | ${mark}`], rule)
  }
  for (const rule of [`${'('.repeat(5000)}true${')'.repeat(5000)}`, `${'['.repeat(260)}${']'.repeat(260)}`]) {
    assert.equal(faultOf(rule)?.detail, 'ERROR: <input>:-1:0: expression recursion limit exceeded: 250')
  }
})

test('what does not parse is a syntax error with the place where it begins', () => {
  for (const rule of ['self.a ===', "self.a == 'x // y", 'self.a / / self.b', 'b $ c', "self.a = 'x'", "(self.a == 'x'", '//', "self.a == ? 'a' : 'b'"]) {
    const fault = faultOf(rule)
    assert.equal(fault?.missing, false, rule)
    assert.match(fault?.detail ?? '', /^ERROR: <input>:1:\d+: Syntax error: .*\n \| .*\n \| \.*\^$/, rule)
  }
})

test('what upstream takes and is not served here is told apart', () => {
  const missing = [
    "self.?a.orValue('') == 'a'", "self.l[?0].orValue('') == 'a'", "{?'a': optional.none()} == {}", '[?optional.none()] == []', "self.l.all(i, v, v == 'a')",
    'self.l.transformList(i, v, v) == []', "google.protobuf.Duration{seconds: 1} == duration('1s')",
  ]
  for (const rule of missing) assert.equal(faultOf(rule)?.missing, true, rule)
  assert.equal(faultOf("self.a == '.?' &&")?.missing, false)
})
