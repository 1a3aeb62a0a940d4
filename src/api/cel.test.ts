import assert from 'node:assert/strict'
import { test } from 'node:test'
import { evaluate as secondOpinion } from 'cel-js'
import fc from 'fast-check'
import { compileRules } from './cel.ts'
import { decodeJson } from './json-parse.ts'
import type { Json, KubeObject } from './object.ts'
import type { Schema, ValidationRule } from './schema.ts'

const json = (text: string): Json => decodeJson(text).value
const rule = (text: string, more: Partial<ValidationRule> = {}): ValidationRule => ({ rule: text, ...more })

/** The schema of an object whose spec has the rules. */
const specSchema = (spec: Schema, ...rules: (ValidationRule | string)[]): Schema => ({
  type: 'object',
  properties: { spec: { ...spec, 'x-kubernetes-validations': rules.map((r) => (typeof r === 'string' ? rule(r) : r)) } },
})
const object = (spec: string): KubeObject => json(`{"apiVersion":"example/v1","kind":"X","metadata":{"name":"n"},"spec":${spec}}`) as KubeObject

function run(schema: Schema, spec: string, old?: string): { errors: string[]; warnings: string[] } {
  const { errors, warnings } = compileRules(schema).evaluate(object(spec), old === undefined ? undefined : object(old))
  return { errors: errors.map((e) => `${e.field}: ${e.body}`), warnings }
}

/** What an expression over `self.x` gives: true, false, or the text of its error. */
function result(expression: string, x: Schema, value: string): boolean | string {
  const { errors } = run(specSchema({ type: 'object', properties: { x } }, rule(expression, { message: 'M' })), `{"x":${value}}`)
  if (errors.length === 0) return true
  const [error = ''] = errors
  return error === 'spec: Invalid value: M' ? false : error.replace('spec: Invalid value: "object": ', '')
}

test('a schema without rules is empty', () => {
  const rules = compileRules({ type: 'object', properties: { spec: { type: 'object' } } })
  assert.equal(rules.empty, true)
  assert.deepEqual(rules.evaluate(object('{}'), undefined), { errors: [], warnings: [] })
  const onlyInAllOf = compileRules({ type: 'object', properties: { spec: { type: 'object', allOf: [{ 'x-kubernetes-validations': [rule('false')] }] } } })
  assert.equal(onlyInAllOf.empty, true)
})

test('values are wrapped by their schema', () => {
  const string: Schema = { type: 'string' }
  const cases: [string, Schema, string, boolean | string][] = [
    ['type(self.x) == int && self.x + 1 == 9007199254740994', { type: 'integer' }, '9007199254740993', true],
    ['type(self.x) == double && self.x == 2.0 && self.x == 2', { type: 'number' }, '2', true],
    ['self.x / 2.0 == 0.75', { type: 'number' }, '1.5', true],
    ['type(self.x) == bool && self.x', { type: 'boolean' }, 'true', true],
    ["type(self.x) == string && self.x.startsWith('a')", string, '"abc"', true],
    ['size(self.x) == 2', string, '"é𝄞"', true],
    ["self.x == b'hi'", { type: 'string', format: 'byte' }, '"aGk="', true],
    ["self.x == timestamp('2024-01-01T00:00:00Z')", { type: 'string', format: 'date-time' }, '"2024-01-01T01:00:00.000+01:00"', true],
    ["self.x < timestamp('2024-01-02T00:00:00Z') && self.x.getFullYear() == 2024", { type: 'string', format: 'date' }, '"2024-01-01"', true],
    ["self.x == duration('90s') && self.x > duration('1m')", { type: 'string', format: 'duration' }, '"1m30s"', true],
    ["self.x == duration('48h')", { type: 'string', format: 'duration' }, '"2 days"', true],
    ['self.x == 5', { 'x-kubernetes-int-or-string': true }, '5', true],
    ["self.x == '5%'", { 'x-kubernetes-int-or-string': true }, '"5%"', true],
    ['self.x == 5', { 'x-kubernetes-int-or-string': true }, '"5"', false],
    ['!has(self.x)', { type: 'string', nullable: true }, 'null', true],
    ['has(self.x.a) && !has(self.x.b)', { type: 'object', properties: { a: string, b: string } }, '{"a":""}', true],
    ["self.x.a == 'v' && self.x['a'] == 'v' && 'a' in self.x && !('b' in self.x)", { type: 'object', additionalProperties: string }, '{"a":"v"}', true],
    ["self.x.all(k, k.startsWith('a') && self.x[k] == 'v')", { type: 'object', additionalProperties: string }, '{"a":"v","ab":"v"}', true],
    ["has(self.x.toString) || has(self.x.constructor) || '__proto__' in self.x", { type: 'object', additionalProperties: string }, '{}', false],
    ['self.x == [1, 2] && self.x[1] == 2 && 2 in self.x && self.x.exists_one(i, i > 1)', { type: 'array', items: { type: 'integer' } }, '[1,2]', true],
    ['self.x.map(i, i * 2) == [2, 4] && self.x.filter(i, i > 1) == [2]', { type: 'array', items: { type: 'integer' } }, '[1,2]', true],
    ['self.x == [2, 1] && self.x + [3] == [1, 2, 3]', { type: 'array', items: { type: 'integer' }, 'x-kubernetes-list-type': 'set' }, '[1,2]', true],
    ['self.x.a__dash__b == 1 && self.x.__if__ == 2 && self.x.c__dot__d__slash__e == 3 && self.x.f__underscores__g == 4',
      { type: 'object', properties: { 'a-b': { type: 'integer' }, if: { type: 'integer' }, 'c.d/e': { type: 'integer' }, f__g: { type: 'integer' } } },
      '{"a-b":1,"if":2,"c.d/e":3,"f__g":4}', true],
  ]
  for (const [expression, schema, value, expected] of cases) assert.equal(result(expression, schema, value), expected, expression)
})

test('runtime errors have cel-go texts', () => {
  const map: Schema = { type: 'object', additionalProperties: { type: 'integer' } }
  const list: Schema = { type: 'array', items: { type: 'integer' } }
  const cases: [string, Schema, string, string][] = [
    ['self.x.foo > 1', map, '{}', 'no such key: foo evaluating rule: M'],
    ['self.x[3] > 1', list, '[1]', 'index out of bounds: 3 evaluating rule: M'],
    ['1 / self.x > 0', { type: 'integer' }, '0', 'division by zero evaluating rule: M'],
    ['1 % self.x > 0', { type: 'integer' }, '0', 'modulus by zero evaluating rule: M'],
    ['self.x + 1 > 0', { type: 'integer' }, '9223372036854775807', 'integer overflow evaluating rule: M'],
    ['self.x > 5', { 'x-kubernetes-int-or-string': true }, '"a"', "'no such overload': call arguments did not match a supported operator, function or macro signature for rule: M"],
    ['int(self.x) > 5', { type: 'string' }, '""', "type conversion error from 'string' to 'int' evaluating rule: M"],
  ]
  for (const [expression, schema, value, expected] of cases) assert.equal(result(expression, schema, value), expected, expression)
  assert.equal(result('self.x == 1 || 1 / 0 > 0', { type: 'integer' }, '1'), true)
  assert.equal(result('1 / 0 > 0 && self.x == 2', { type: 'integer' }, '1'), false)
  const unnamed = run(specSchema({ type: 'object', additionalProperties: { type: 'string' } }, ' self.a == "" '), '{}')
  assert.deepEqual(unnamed.errors, ['spec: Invalid value: "object": no such key: a evaluating rule: self.a == ""'])
})

test('libraries', () => {
  const s: Schema = { type: 'string' }
  const ints: Schema = { type: 'array', items: { type: 'integer' } }
  const cases: [string, Schema, string, boolean | string][] = [
    ["self.x.split(',') == ['a', 'b'] && self.x.split(',').join('-') == 'a-b'", s, '"a,b"', true],
    ["self.x.trim().lowerAscii() == 'ab' && self.x.indexOf('B') == 2 && self.x.substring(1, 3) == 'aB' && self.x.replace('a', 'c').trim() == 'cB'", s, '" aB "', true],
    ["self.x.charAt(0) == 'a' && self.x.upperAscii() == 'AB' && self.x.lastIndexOf('b') == 1", s, '"ab"', true],
    ["self.x.matches('^[a-z]+$') && !self.x.matches('\\\\d')", s, '"abc"', true],
    ["self.x.matches('(?i)^ABC$')", s, '"abc"', true],
    ["self.x.find('[0-9]+') == '12' && self.x.findAll('[0-9]+') == ['12', '3'] && self.x.findAll('[0-9]+', 1) == ['12']", s, '"a12b3"', true],
    ["''.matches(self.x)", s, '"(a"', 'error parsing regexp: missing closing ): `(a` evaluating rule: M'],
    ['self.x.isSorted() && self.x.sum() == 6 && self.x.min() == 1 && self.x.max() == 3 && self.x.indexOf(2) == 1 && self.x.lastIndexOf(9) == -1', ints, '[1,2,3]', true],
    ['self.x.isSorted()', ints, '[2,1]', false],
    ['sets.contains(self.x, [1]) && sets.intersects(self.x, [2, 9]) && sets.equivalent(self.x, [2, 1, 1]) && !sets.contains(self.x, [3])', ints, '[1,2]', true],
    ["isQuantity(self.x) && quantity(self.x).isLessThan(quantity('10Gi')) && quantity(self.x).compareTo(quantity('1024Mi')) == 0", s, '"1Gi"', true],
    ["quantity(self.x).add(quantity('500m')).sub(1) == quantity('500m') && sign(quantity(self.x)) == 1", s, '"1"', true],
    ["quantity(self.x).isGreaterThan(quantity('1'))", s, '"x"', "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$' evaluating rule: M"],
    ["isURL(self.x) && url(self.x).getHost() == 'h.example:80' && url(self.x).getHostname() == 'h.example' && url(self.x).getPort() == '80'", s, '"https://h.example:80/a%20b?q=1"', true],
    ["url(self.x).getScheme() == 'https' && url(self.x).getEscapedPath() == '/a%20b' && url(self.x).getQuery() == {'q': ['1', '2']}", s, '"https://h/a%20b?q=1&q=2"', true],
    ['isURL(self.x)', s, '"h.example/x"', false],
    ['isURL(self.x)', s, '"/a/path"', true],
    ['isURL(self.x)', s, '"http://a b/"', false],
    ["timestamp(self.x).getHours() == 2 && timestamp(self.x).getDate() == 10 && timestamp(self.x).getDayOfYear() == 69", s, '"2024-03-10T02:30:00Z"', true],
    ["timestamp(self.x).getHours('America/New_York') == 21 && timestamp(self.x).getHours('-02:00') == 0 && timestamp(self.x).getDate('America/New_York') == 9", s, '"2024-03-10T02:30:00Z"', true],
    ["isIP(self.x) && ip(self.x).family() == 6 && ip(self.x).isLoopback() && string(ip(self.x)) == '::1'", s, '"::1"', true],
    ["isCIDR(self.x) && cidr(self.x).containsIP('10.1.2.3') && cidr(self.x).containsCIDR('10.0.0.0/16') && cidr(self.x).prefixLength() == 8", s, '"10.0.0.0/8"', true],
    ['isCIDR(self.x)', s, '"10.0.0.0"', false],
    ['isIP(self.x)', s, '"10.0.0.01"', false],
  ]
  for (const [expression, schema, value, expected] of cases) assert.equal(result(expression, schema, value), expected, expression)
})

test('a rule that is wrong or needs what is missing is refused when the schema is compiled', () => {
  const spec: Schema = { type: 'object', properties: { a: { type: 'integer' }, any: { 'x-kubernetes-preserve-unknown-fields': true }, l: { type: 'array', items: { type: 'object', properties: { b: { type: 'string' } } } } } }
  const cases: [string | ValidationRule, RegExp][] = [
    ['self.a <', /does not compile/],
    ['self.nope == 1', /spec: rule "self.nope == 1" does not compile: ERROR: <input>:1:5: undefined field 'nope'\n \| self.nope == 1\n \| ....\^$/],
    ['self.any == 1', /undefined field 'any'/],
    ['self.l.all(i, i.c == 1)', /undefined field 'c'/],
    ['self.l[0].c == 1', /undefined field 'c'/],
    ['other == 1', /undeclared reference to 'other'/],
    ['self.l.frobnicate() == 1', /undeclared reference to 'frobnicate'/],
    ["self.l.join('a', 'b', 'c') == ''", /found no matching overload for 'join'/],
    ['authorizer.path("x") == 1', /undeclared reference to 'authorizer'/],
    ['self.?a.hasValue()', /does not compile/],
    [rule('oldSelf.value().nope == 1', { optionalOldSelf: true }), /undefined field 'nope'/],
    ['quantity("1").sign() == 1', /found no matching overload for 'sign'/],
    ['[1].existsOne(i, i == 1)', /undeclared reference to 'existsOne'/],
    [rule('self.a == 1', { messageExpression: 'nope(1)' }), /undeclared reference to 'nope'/],
    [rule('self.a == 1', { fieldPath: '.nope' }), /does not refer to a valid field/],
    ['('.repeat(5000), /does not compile/],
  ]
  for (const [text, message] of cases) assert.throws(() => compileRules(specSchema(spec, text)), message)
  const metadata: Schema = { type: 'object', 'x-kubernetes-validations': [rule('self.metadata.labels.size() == 0')] }
  assert.throws(() => compileRules(metadata), /undefined field 'labels'/)
})

test('the root sees its name and nothing else of the metadata', () => {
  const schema: Schema = { type: 'object', 'x-kubernetes-validations': [rule("self.metadata.name == 'n' && !has(self.metadata.generateName) && self.kind == 'Y'", { message: 'M' })] }
  assert.deepEqual(run(schema, '{}').errors, ['<nil>: Invalid value: M'])
})

test('transition rules see the old value that belongs to them', () => {
  const immutable = [rule('self == oldSelf', { message: 'immutable' })]
  const schema: Schema = {
    type: 'object',
    properties: {
      spec: {
        type: 'object',
        properties: {
          s: { type: 'string', 'x-kubernetes-validations': immutable },
          map: { type: 'object', additionalProperties: { type: 'string', 'x-kubernetes-validations': immutable } },
          byKey: {
            type: 'array', 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['k'],
            items: { type: 'object', properties: { k: { type: 'string' }, v: { type: 'integer', 'x-kubernetes-validations': immutable } } },
          },
          atomic: { type: 'array', items: { type: 'string', 'x-kubernetes-validations': immutable } },
        },
      },
    },
  }
  assert.deepEqual(run(schema, '{"s":"a"}').errors, [])
  assert.deepEqual(run(schema, '{"s":"a"}', '{}').errors, [])
  assert.deepEqual(run(schema, '{}', '{"s":"a"}').errors, [])
  assert.deepEqual(run(schema, '{"s":"b"}', '{"s":"a"}').errors, ['spec.s: Invalid value: "b": immutable'])
  assert.deepEqual(run(schema, '{"map":{"x":"2","y":"3"}}', '{"map":{"x":"1"}}').errors, ['spec.map[x]: Invalid value: "2": immutable'])
  assert.deepEqual(run(schema, '{"byKey":[{"k":"b","v":1},{"k":"a","v":2}]}', '{"byKey":[{"k":"a","v":1},{"k":"b","v":1}]}').errors, ['spec.byKey[1].v: Invalid value: 2: immutable'])
  assert.deepEqual(run(schema, '{"atomic":["b"]}', '{"atomic":["a"]}').errors, [])
})

test('equality of old and new is that of CEL', () => {
  const schema = (x: Schema) => specSchema({ type: 'object', properties: { x } }, rule('has(self.x) == has(oldSelf.x) && (!has(self.x) || self.x == oldSelf.x)', { message: 'immutable', fieldPath: '.x' }))
  const same = (x: Schema, a: string, b: string) => run(schema(x), `{"x":${a}}`, `{"x":${b}}`).errors.length === 0
  const set: Schema = { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' }
  const byKey: Schema = {
    type: 'array', 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['k'],
    items: { type: 'object', properties: { k: { type: 'string' }, t: set, n: { type: 'number' } } },
  }
  assert.ok(same(set, '["a","b"]', '["b","a"]'))
  assert.ok(!same(set, '["a","b"]', '["a","c"]'))
  assert.ok(!same({ type: 'array', items: { type: 'string' } }, '["a","b"]', '["b","a"]'))
  assert.ok(same(byKey, '[{"k":"a","t":["x","y"],"n":1},{"k":"b"}]', '[{"k":"b"},{"k":"a","t":["y","x"],"n":1.0}]'))
  assert.ok(!same(byKey, '[{"k":"a","n":1}]', '[{"k":"a","n":2}]'))
  assert.ok(same({ type: 'string', format: 'date-time' }, '"2024-01-01T00:00:00Z"', '"2024-01-01T01:00:00+01:00"'))
  assert.ok(!same({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true }, '{"a":1}', '{"a":2}'))
  assert.ok(same({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true }, '{"a":[1]}', '{"a":[1]}'))
  assert.deepEqual(run(schema(set), '{}', '{"x":[]}').errors, ['spec.x: Invalid value: immutable'])
  assert.deepEqual(run(schema(set), '{"x":[]}', '{}').errors, ['spec.x: Invalid value: immutable'])
})

test('failures: message, reason, path and value', () => {
  const spec: Schema = { type: 'object', properties: { a: { type: 'integer' }, m: { type: 'object', additionalProperties: { type: 'string' } }, o: { type: 'object', properties: { p: { type: 'string' } } } } }
  const errors = (more: Partial<ValidationRule>) => run(specSchema(spec, rule(' self.a > 1 ', more)), '{"a":1}').errors
  assert.deepEqual(errors({}), ['spec: Invalid value: failed rule: self.a > 1'])
  assert.deepEqual(errors({ message: ' too small ' }), ['spec: Invalid value: too small'])
  assert.deepEqual(errors({ reason: 'FieldValueForbidden', message: 'no', fieldPath: '.a' }), ['spec.a: Forbidden: no'])
  assert.deepEqual(errors({ reason: 'FieldValueRequired', message: 'no', fieldPath: ".o['p']" }), ['spec.o.p: Required value: no'])
  assert.deepEqual(errors({ reason: 'FieldValueDuplicate', message: 'no', fieldPath: ".m['x.y']" }), ['spec.m[x.y]: Duplicate value'])
  assert.deepEqual(errors({ messageExpression: "'a is ' + string(self.a)", message: 'M' }), ['spec: Invalid value: a is 1'])
  assert.deepEqual(errors({ messageExpression: "'  '", message: 'M' }), ['spec: Invalid value: M'])
  assert.deepEqual(errors({ messageExpression: "'a\\nb'", message: 'M' }), ['spec: Invalid value: M'])
  assert.deepEqual(errors({ messageExpression: "self.m['x']", message: 'M' }), ['spec: Invalid value: M'])
  const scalar: Schema = { type: 'object', properties: { spec: { type: 'object', properties: { n: { type: 'integer', 'x-kubernetes-validations': [rule('self % 2 == 0', { message: 'must be even' })] } } } } }
  assert.deepEqual(run(scalar, '{"n":7}').errors, ['spec.n: Invalid value: 7: must be even'])
})

test('failures of what an update did not touch are warnings', () => {
  const even = [rule('self % 2 == 0', { message: 'must be even' })]
  const schema: Schema = {
    type: 'object',
    properties: {
      spec: {
        type: 'object',
        properties: {
          n: { type: 'integer', 'x-kubernetes-validations': even },
          list: { type: 'array', items: { type: 'integer', 'x-kubernetes-validations': even } },
          other: { type: 'string' },
          all: { type: 'object', properties: { q: { type: 'integer' } }, 'x-kubernetes-validations': [rule('true')], allOf: [{ 'x-kubernetes-validations': [rule('self.q > 1', { message: 'q' })] }] },
        },
      },
    },
  }
  assert.deepEqual(run(schema, '{"n":7,"other":"b"}', '{"n":7,"other":"a"}'), { errors: [], warnings: ['spec.n: Invalid value: 7: must be even'] })
  assert.deepEqual(run(schema, '{"n":9}', '{"n":7}'), { errors: ['spec.n: Invalid value: 9: must be even'], warnings: [] })
  assert.deepEqual(run(schema, '{"list":[2,3]}', '{"list":[2,3]}').warnings, ['spec.list[1]: Invalid value: 3: must be even'])
  assert.deepEqual(run(schema, '{"list":[4,3]}', '{"list":[2,3]}').errors, ['spec.list[1]: Invalid value: 3: must be even'])
  assert.deepEqual(run(schema, '{"all":{"q":1},"other":"b"}', '{"all":{"q":1},"other":"a"}').errors, ['spec.all: Invalid value: q'])
  assert.deepEqual(run(schema, '{"all":{"q":1}}', '{"all":{"q":1}}').warnings, ['spec.all: Invalid value: q'])
})

test('null nodes are skipped', () => {
  const schema: Schema = { type: 'object', properties: { spec: { type: 'object', properties: { a: { type: 'string', nullable: true, 'x-kubernetes-validations': [rule('false')] } } } } }
  assert.deepEqual(run(schema, '{"a":null}').errors, [])
  assert.deepEqual(run(schema, '{"a":"x"}').errors.length, 1)
})

test('no rule holds the server', () => {
  const list: Schema = { type: 'array', items: { type: 'integer' } }
  const items = JSON.stringify(Array.from({ length: 2000 }, (_, i) => i))
  const cubic = specSchema(
    { type: 'object', properties: { l: list } },
    'self.l.all(a, self.l.all(b, self.l.all(c, a + b + c >= 0)))',
    'self.l.size() == 0',
  )
  const start = process.hrtime.bigint()
  assert.deepEqual(run(cubic, `{"l":${items}}`).errors, [
    'spec: Invalid value: "object": \'operation cancelled: actual cost limit exceeded\': no further validation rules will be run due to call cost exceeds limit for rule: self.l.all(a, self.l.all(b, self.l.all(c, a + b + c >= 0)))',
  ])
  // a generous bound: without the limit this takes hours
  assert.ok(process.hrtime.bigint() - start < 5_000_000_000n)
  const linear = specSchema({ type: 'object', properties: { l: list } }, 'self.l.map(i, i * 2).filter(i, i % 4 == 0).size() == 1000 && self.l.map(i, i).map(i, [i]).size() == 2000')
  assert.deepEqual(run(linear, `{"l":${items}}`).errors, [])
  const shared = specSchema({ type: 'object', properties: { l: list } }, '[[1] + [2]].all(a, a + [3] == [1, 2, 3] && a + [4] == [1, 2, 4] && a == [1, 2] && a.size() == 2)')
  assert.deepEqual(run(shared, '{}').errors, [])
  const swallowed = specSchema({ type: 'object', properties: { l: list } }, 'self.l.all(a, self.l.map(b, b).size() == 0 || self.l.sum() < 0 || true)')
  assert.match(run(swallowed, `{"l":${items}}`).errors[0] ?? '', /actual cost limit exceeded/)
})

test('the widgets of a real kube-apiserver', () => {
  const text = (more: Schema): Schema => ({ type: 'string', ...more })
  const schema: Schema = {
    type: 'object',
    'x-kubernetes-validations': [rule('!has(self.metadata.name) || size(self.metadata.name) < 40', { message: 'name must be short' })],
    properties: {
      spec: {
        type: 'object',
        'x-kubernetes-validations': [
          rule('!has(self.minReplicas) || !has(self.replicas) || self.minReplicas <= self.replicas', { message: 'minReplicas must not exceed replicas', fieldPath: '.minReplicas', reason: 'FieldValueForbidden' }),
          rule('!has(self.ratio) || self.ratio < 100.0', { messageExpression: "'ratio must be below 100 for size ' + self.size" }),
          rule('has(self.sealed) == has(oldSelf.sealed)', { message: 'sealed may not be added or removed' }),
        ],
        properties: {
          size: text({}),
          replicas: { type: 'integer' },
          minReplicas: { type: 'integer' },
          ratio: { type: 'number' },
          sealed: text({ 'x-kubernetes-validations': [rule('self == oldSelf', { message: 'sealed is immutable' })] }),
          quantity: text({ 'x-kubernetes-validations': [rule("isQuantity(self) && quantity(self).isLessThan(quantity('10Gi'))", { message: 'must be a quantity below 10Gi' })] }),
          cidr: text({ 'x-kubernetes-validations': [rule('isCIDR(self)')] }),
          ports: {
            type: 'array', 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['port', 'protocol'],
            items: { type: 'object', properties: { port: { type: 'integer' }, protocol: { type: 'string' }, name: { type: 'string' } } },
            'x-kubernetes-validations': [rule('self.all(p, !has(p.name) || self.exists_one(q, has(q.name) && q.name == p.name))', { message: 'port names must be unique' })],
          },
        },
      },
    },
  }
  const cases: [string, string | undefined, string[]][] = [
    ['{"size":"small","minReplicas":9007199254740993,"replicas":2}', undefined, ['spec.minReplicas: Forbidden: minReplicas must not exceed replicas']],
    ['{"size":"small","ratio":100}', undefined, ['spec: Invalid value: ratio must be below 100 for size small']],
    ['{"size":"small","quantity":"x"}', undefined, ['spec.quantity: Invalid value: "x": must be a quantity below 10Gi']],
    ['{"size":"small","quantity":""}', undefined, ['spec.quantity: Invalid value: "": must be a quantity below 10Gi']],
    ['{"size":"small","cidr":"x"}', undefined, ['spec.cidr: Invalid value: "x": failed rule: isCIDR(self)']],
    ['{"size":"small","sealed":"b"}', '{"size":"small"}', ['spec: Invalid value: sealed may not be added or removed']],
    ['{"size":"small","quantity":"1Gi","cidr":"10.0.0.0/8","ratio":99.9,"ports":[{"port":1,"name":"a"},{"port":2}]}', undefined, []],
    ['{"size":"small","ports":[{"port":1,"name":"a"},{"port":2,"name":"a"}]}', undefined, ['spec.ports: Invalid value: port names must be unique']],
  ]
  for (const [spec, old, expected] of cases) assert.deepEqual(run(schema, spec, old).errors, expected, spec)
  const long = { ...object('{}'), metadata: { name: 'x'.repeat(300) } }
  assert.deepEqual(compileRules(schema).evaluate(long, undefined).errors, [{ type: 'FieldValueInvalid', field: '<nil>', body: 'Invalid value: name must be short' }])
})

test('a second evaluator agrees where it can', () => {
  const spec: Schema = { type: 'object', properties: { a: { type: 'integer' }, b: { type: 'integer' }, s: { type: 'string' }, l: { type: 'array', items: { type: 'integer' } } } }
  const term = fc.constantFrom('self.a', 'self.b', '3', 'size(self.l)', 'size(self.s)', '(self.a + self.b)', '(self.a * 2)', '(self.b - 1)')
  const comparison = fc.tuple(term, fc.constantFrom('==', '!=', '<', '<=', '>', '>='), term).map((parts) => parts.join(' '))
  const atom = fc.oneof(comparison, fc.constantFrom('self.a in self.l', "self.s == 'xy'", 'self.l.exists(i, i == self.b)', 'self.l.all(i, i < 4)'))
  const expression = fc.tuple(atom, fc.constantFrom('&&', '||'), atom).map(([left, operator, right]) => `(${left}) ${operator} (${right})`)
  const value = fc.record({ a: fc.integer({ min: 0, max: 5 }), b: fc.integer({ min: 0, max: 5 }), s: fc.constantFrom('', 'x', 'xy'), l: fc.array(fc.integer({ min: 0, max: 5 }), { maxLength: 3 }) }, { noNullPrototype: true })
  fc.assert(
    fc.property(expression, value, (text, self) => {
      const ours = run(specSchema(spec, text), JSON.stringify(self)).errors.length === 0
      assert.equal(ours, secondOpinion(text, { self }), text)
    }),
    { numRuns: 300 },
  )
})

test('no text of a rule breaks the compiler', () => {
  const token = fc.constantFrom('self', '.a', '.l', '[', ']', '(', ')', '{', '}', "'x'", '1', '0u', '1.5', ' + ', ' && ', ' ? ', ' : ', '.map(i, ', '.optMap(v, ', '.orValue(', 'has(', '.sortBy(k, ', '?', '@charge', '$size(', '`', '\\u0000', '__proto__', 'constructor', '.value()')
  const text = fc.oneof(fc.array(token, { maxLength: 12 }).map((parts) => parts.join('')), fc.string({ unit: 'binary', maxLength: 30 }))
  const spec: Schema = { type: 'object', properties: { a: { type: 'integer' }, l: { type: 'array', items: { type: 'integer' } } } }
  fc.assert(
    fc.property(text, (rule) => {
      let rules
      try {
        rules = compileRules(specSchema(spec, { rule, message: 'M' }))
      } catch (error) {
        assert.match((error as Error).message, /does not compile/)
        return
      }
      rules.evaluate(object('{"a":1,"l":[1,2]}'), undefined)
    }),
    { numRuns: 500 },
  )
  for (const rule of ['@charge(1)', "@has(self, 'a')", '$size(self.l) == 1', "self.constructor == 1", 'self.__proto__ == 1']) assert.throws(() => compileRules(specSchema(spec, rule)), /does not compile/)
})
