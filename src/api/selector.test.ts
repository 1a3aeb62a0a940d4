import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { exactName, matchesFields, matchesLabels, parseFieldSelector, parseLabelSelector, requiredFields } from './selector.ts'

const labelMatches = (text: string, labels: Record<string, string>): boolean => matchesLabels(parseLabelSelector(text), labels)
const badRequest = (message: string) => ({ code: 400, reason: 'BadRequest', message })

test('label selectors match as upstream', () => {
  const cases: [string, Record<string, string>, boolean][] = [
    ['', {}, true],
    ['  ', { a: '1' }, true],
    ['a', { a: '' }, true],
    ['a', {}, false],
    ['!a', {}, true],
    ['!a', { a: 'x' }, false],
    ['a=x', { a: 'x' }, true],
    ['a==x', { a: 'y' }, false],
    ['a=', { a: '' }, true],
    ['a=', {}, false],
    ['a!=x', {}, true],
    ['a!=x', { a: 'x' }, false],
    ['a in (x, y)', { a: 'y' }, true],
    ['a in (x,)', { a: '' }, true],
    ['a in (,x)', { a: '' }, true],
    ['a in (x)', {}, false],
    ['a in ()', { a: '' }, true],
    ['a in ()', {}, false],
    ['a notin (x,y)', {}, true],
    ['a notin (x,y)', { a: 'x' }, false],
    ['a > 5', { a: '6' }, true],
    ['a>5', { a: 'x' }, false],
    ['a<5', { a: '5' }, false],
    ['a<5', { a: '-9223372036854775808' }, true],
    ['a<5', { a: '-9223372036854775809' }, false],
    ['\ta = x ,\n!b', { a: 'x' }, true],
    ['in in (in,notin)', { in: 'notin' }, true],
    ['a=x,a=y', { a: 'x' }, false],
    ['example.com/a=x', { 'example.com/a': 'x' }, true],
    ['constructor', {}, false],
    ['!toString', {}, true],
  ]
  for (const [text, labels, expected] of cases) assert.equal(labelMatches(text, labels), expected, text)
  assert.equal(matchesLabels(parseLabelSelector('!a'), undefined), true)
  assert.equal(parseLabelSelector('').empty, true)
  assert.equal(parseLabelSelector('a').empty, false)
  assert.deepEqual(parseLabelSelector('b=1,a in (z,y,z)').requirements, [
    { key: 'a', operator: 'in', values: ['y', 'z'] },
    { key: 'b', operator: '=', values: ['1'] },
  ])
})

test('label selector errors have upstream texts', () => {
  const name = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
  const value = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
  const cases: [string, string][] = [
    ['a b', "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
    ['!', "unable to parse requirement: found '', expected: identifier"],
    ['!,a', "unable to parse requirement: found ',', expected: identifier"],
    [',a', "found ',', expected: !, identifier, or 'end of string'"],
    ['a=x,', "found '', expected: identifier after ','"],
    ['a=x y', "found 'y', expected: ',' or 'end of string'"],
    ['!a=x', "found '=', expected: ',' or 'end of string'"],
    ['a in x', "unable to parse requirement: found 'x' expected: '('"],
    ['a in (=', "unable to parse requirement: found '=', expected: ',', ')' or identifier"],
    ['a in (x y)', "unable to parse requirement: found 'y', expected: ',' or ')'"],
    ['a in (x,=)', "unable to parse requirement: found '=', expected: ',', or identifier"],
    ['a==(', "unable to parse requirement: found '(', expected: identifier"],
    ['a>x', "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer"],
    ['-a=x', `unable to parse requirement: <nil>: Invalid value: "-a": ${name}`],
    ['/=x', `unable to parse requirement: <nil>: Invalid value: "/": prefix part must be non-empty; name part must be non-empty; ${name}`],
    ['a=-x', `unable to parse requirement: values[0][a]: Invalid value: "-x": ${value}`],
    ['a in (-x,-y)', `unable to parse requirement: [values[0][a]: Invalid value: "-x": ${value}, values[1][a]: Invalid value: "-y": ${value}]`],
  ]
  for (const [text, message] of cases) assert.throws(() => parseLabelSelector(text), badRequest(message), text)
  assert.throws(() => parseLabelSelector('a/b/c'), /a valid label key must consist of/)
})

test('any text either parses as a label selector or is a 400', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'in', 'notin', '=', '!', '(', ')', ',', '>', '<', ' ', '\0', 'é'), maxLength: 12 })
  fc.assert(
    fc.property(text, (selector) => {
      try {
        matchesLabels(parseLabelSelector(selector), { a: 'in' })
      } catch (error) {
        assert.equal((error as { code?: number }).code, 400)
      }
    }),
    { numRuns: 2000 },
  )
})

test('field selectors match as upstream', () => {
  const matches = (text: string, fields: Record<string, string>): boolean => matchesFields(parseFieldSelector(text), (label) => fields[label] ?? '')
  assert.equal(matches('', {}), true)
  assert.equal(matches(',,', {}), true)
  assert.equal(matches('a=x', { a: 'x' }), true)
  assert.equal(matches('a==x,b!=y', { a: 'x', b: 'y' }), false)
  assert.equal(matches('a!=x', {}), true)
  assert.equal(matches('a=', {}), true)
  assert.equal(matches('a=x\\,y\\=z\\\\', { a: 'x,y=z\\' }), true)
  const selector = parseFieldSelector('metadata.namespace!=d,spec.b=1,metadata.name=x')
  assert.deepEqual(requiredFields(selector), ['metadata.name', 'metadata.namespace', 'spec.b'])
  assert.equal(exactName(selector), 'x')
  assert.equal(exactName(selector, 'metadata.namespace'), undefined)
  assert.equal(exactName(parseFieldSelector('metadata.namespace=d'), 'metadata.namespace'), 'd')
  assert.equal(parseFieldSelector(',').empty, true)
})

test('field selector errors have upstream texts', () => {
  const cases: [string, string][] = [
    ['a', "invalid selector: 'a'; can't understand 'a'"],
    ['b=1,a', "invalid selector: 'b=1,a'; can't understand 'a'"],
    ['a=\\x', 'invalid field selector: invalid escape sequence: \\x'],
    ['a=x\\', 'invalid field selector: invalid escape sequence: \\'],
    ['a=b=c', 'invalid field selector: unescaped character in value: 61'],
  ]
  for (const [text, message] of cases) assert.throws(() => parseFieldSelector(text), badRequest(message), text)
})
