/** Rules that would take for ever, or all of the memory, stop in time. Measured by CPU time, since the machine may be busy with other work. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileRules, type CelRules } from './cel.ts'
import type { KubeObject } from './object.ts'
import type { Schema, ValidationRule } from './schema.ts'

const numbers = (count: number): number[] => Array.from({ length: count }, (_, i) => i)
const string: Schema = { type: 'string' }
const list = (items: Schema, more: Schema = {}): Schema => ({ type: 'array', items, ...more })

const properties: Record<string, Schema> = {
  l: list({ type: 'integer' }), s: string, t: string, u: string, sl: list(string), m: { type: 'object', additionalProperties: string }, n: { type: 'number' },
  set: list(string, { 'x-kubernetes-list-type': 'set' }), ts: list({ type: 'string', format: 'date-time' }), ios: { 'x-kubernetes-int-or-string': true }, by: { type: 'string', format: 'byte' },
  lm: list({ type: 'object', properties: { k: string, v: { type: 'integer' } } }, { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['k'] }),
  o: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, properties: {} },
}

const long = 'a'.repeat(1_000_000)
const names = numbers(20_000).map((i) => `item-${i}`)
const object = {
  apiVersion: 'v1', kind: 'X', metadata: { name: 'n' },
  spec: {
    l: numbers(20_000), s: long, t: 'ab'.repeat(200_000), u: 'é😀'.repeat(200_000), sl: names, set: names, m: Object.fromEntries(names.map((name) => [name, 'v'])), n: 1.5, ios: 'x',
    lm: numbers(10_000).map((i) => ({ k: `k${i}`, v: i })), ts: numbers(5000).map(() => '2024-01-01T00:00:00+01:00'), by: Buffer.from(long).toString('base64'), o: { deep: numbers(50_000).map((i) => ({ i })) },
  },
} as unknown as KubeObject

const rulesOf = (...rules: (string | ValidationRule)[]): CelRules =>
  compileRules({
    type: 'object',
    properties: { spec: { type: 'object', properties, 'x-kubernetes-validations': rules.map((rule) => (typeof rule === 'string' ? { rule } : rule)) } },
  })

const all = (body: string): string => `self.l.all(a, self.l.all(b, ${body}))`
const each = (body: string): string => `self.l.all(a, ${body})`
const doubled = (start: string, step: string, end: string): string => `optional.of(${start})${`.optMap(x, ${step})`.repeat(40)}${end}`

const HOSTILE = [
  'self.l.all(a, self.l.all(b, self.l.all(c, a + b + c >= 0)))',
  each(numbers(3000).map((i) => `(a + ${i} > -1)`).join(' && ')),
  'self.lm.all(x, self.lm.exists_one(y, y.k == x.k && y.v == x.v))',
  // errors that nobody sees
  "self.l.exists(a, self.l.exists(b, self.m['nope'] == 'x'))", 'self.l.exists(a, self.l.exists(b, 1 / 0 == a))', 'self.l.exists(a, self.l.exists(b, self.ios > a))',
  // growth
  doubled("'ab'", 'x + x', ".value().matches('b$')"), doubled('[1]', 'x + x', '.value().size() > 0'), doubled('dyn([1])', 'dyn([x, x])', '.optMap(y, y == y).value()'),
  doubled('dyn([1])', 'dyn([x, x])', ".optMap(y, '%s'.format([y])).value() == ''"), doubled('dyn([1])', 'dyn([x, x])', '.optMap(y, y.flatten(100)).value().size() > 0'),
  doubled('dyn({"a": 1})', 'dyn({"a": x, "b": x})', '.optMap(y, y == y).value()'), 'lists.range(1000000000).size() > 0', 'self.l.map(i, self.l + self.l).size() > 0', 'self.l.map(i, self.s + self.t).size() > 0',
  "self.t.replace('a', self.s).size() > 0", "self.sl.map(x, self.s).join('').size() > 0", "self.s.replace('', self.t).size() > 0",
  // long texts
  each('self.u.size() > 0'), each("self.u.charAt(5) != ''"), each("self.sl.join(',') != ''"), each("self.u.split('').size() > 0"), each("strings.quote(self.s) != ''"), each("(' ' + self.s + ' ').trim() != ''"),
  "self.s.contains('b' + self.s.substring(0, 500000))", "self.s.lastIndexOf('b' + self.s.substring(0, 80)) < 0", each("self.s.upperAscii() != ''"), each("self.s == self.s + ''"), each("'%x'.format([self.s]) != ''"),
  // patterns
  "self.s.matches('(a?){30}a{30}b')", "self.s.matches('(.*)(.*)(.*)(.*)(.*)[^a]')", "self.s.matches('[ab]{1,500}[c]')", "self.u.matches('(\\\\pL|.)*x')", "self.sl.all(p, 'aaa'.matches(p + '|[a-z]{100}') || true)",
  "self.s.findAll('').size() > 0", "self.s.findAll('a*b|a').size() > 0",
  // order and sets
  each('self.sl.sortBy(x, x.size()).size() > 0'), 'lists.range(300).map(i, self.t + string(i)).sort().size() > 0', 'self.sl.distinct().size() > 0', 'sets.equivalent(self.sl, self.sl.reverse())', each('a in self.l'),
  each('self.set == self.set.map(x, x)'), each('(self.lm + self.lm).size() > 0'), all('self.m.size() > 0'), all("{'a': a, 'b': b}.size() == 2"),
  // values of several parts
  "self.ts.all(t, self.ts.all(u, t.getHours('Europe/Berlin') == u.getHours('America/New_York') || true))", 'self.ts.all(t, self.ts.all(u, string(t) == string(u)))', all("timestamp(0).getHours('Zone/' + string(b)) == 1 || true"),
  all("quantity('1.5Gi').isLessThan(quantity('2Gi'))"), "quantity('1e1000000').add(quantity('1')).isInteger()", all("quantity('1e9000').compareTo(quantity('1')) == 1"), all("url('https://a.b/c?d=e').getHost() == 'a.b'"),
  each("url('http://a/' + self.u).getEscapedPath() != ''"), all("string(ip('2001:db8::1')) == ''  || true"), each("!isIP(self.t.replace('ab', '1:'))"), all("semver('1.2.3-a.1').isLessThan(semver('1.2.3'))"),
  each("format.dns1123Subdomain().validate(self.t.replace('b', '.')).hasValue()"), all("'%.255f'.format([1e300]) != ''"), each("'%s'.format([self.m]) != ''"), each("double('1' + self.s) == 1.0 || true"), each('(self.by + self.by).size() > 0'),
]

const LIMIT = /^Invalid value: "object": 'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: /
/** Twice what a rule may take, for a slow machine and a cold start. */
const MAX_MILLISECONDS = 200

function milliseconds(work: () => void): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

test('no rule holds the server for more than a tenth of a second', () => {
  const slow: string[] = []
  for (const rule of HOSTILE) {
    const rules = rulesOf(rule)
    let taken = Infinity
    // the first time the code is cold, and the memory of others is collected
    for (let i = 0; i < 3 && taken > MAX_MILLISECONDS; i++) {
      taken = milliseconds(() => {
        const [error] = rules.evaluate(object, undefined).errors
        assert.match(error?.body ?? 'no error', LIMIT, rule)
      })
    }
    if (taken > MAX_MILLISECONDS) slow.push(`${Math.round(taken)} ms: ${rule}`)
  }
  assert.deepEqual(slow, [])
})

// Takes some tenths of what a rule may.
const GREEDY = 'self.lm.all(x, x.v + 1 > 0)'

test('all rules of an object have a budget together', () => {
  const { errors } = rulesOf(...Array.from({ length: 60 }, () => GREEDY), 'false').evaluate(object, undefined)
  assert.deepEqual(errors.map(({ field, body }) => `${field}: ${body}`), [
    'spec: Invalid value: "object": validation failed due to running out of cost budget, no further validation rules will be run',
  ])
})

test('a messageExpression that takes too much ends the validation', () => {
  const endless = "self.l.map(a, self.l.map(b, string(a + b)).join('')).join('')"
  const { errors } = rulesOf({ rule: 'false', messageExpression: endless, fieldPath: '.s' }, 'false').evaluate(object, undefined)
  assert.deepEqual(errors.map(({ field, body }) => `${field}: ${body}`), [
    `spec.s: Invalid value: "object": no further validation rules will be run due to call cost exceeds limit for messageExpression: ${JSON.stringify(endless)}`,
  ])
  const message = { rule: 'false', messageExpression: `${GREEDY} ? 'a' : 'b'` }
  const found = rulesOf(...Array.from({ length: 60 }, () => message)).evaluate(object, undefined).errors.map(({ body }) => body)
  assert.equal(found[0], 'Invalid value: a')
  assert.equal(found.at(-1), 'Invalid value: "object": messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run')
})

test('what rules commonly do is far below the budget', () => {
  const common = [
    'self.lm.map(x, x.v * 2).filter(x, x % 4 == 0).size() == 5000', "self.sl.all(x, x.startsWith('item-') && x.size() < 20)", 'self.lm.all(x, self.m.size() > 0 && x.v >= 0)', "self.sl.slice(0, 5000).all(x, x.matches('^[a-z]+-[0-9]+$'))",
    'self.lm.exists(x, x.v == 9999)', 'self.l.isSorted() && self.l.sum() > 0 && self.l.max() == 19999', "'item-5' in self.sl && self.m.all(k, k.contains('-'))", 'self == self',
    'self.o == self.o', 'self.lm.slice(0, 200).all(x, self.lm.slice(0, 200).exists_one(y, y.k == x.k))',
  ]
  for (const rule of common) assert.deepEqual(rulesOf(rule).evaluate(object, undefined).errors, [], rule)
})
