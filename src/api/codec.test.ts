import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  decodeObject,
  encodeJson,
  encodeObject,
  findingsAsWarnings,
  parseStored,
  spliceRevision,
  strictDecodingError,
  type BodyMediaType,
} from './codec.ts'
import { Float, deepEqual, type Json, type KubeObject } from './object.ts'
import { StatusError } from './status.ts'

const widget = { group: 'parity.example', version: 'v1', kind: 'Widget' }
const bytes = (text: string): Uint8Array => Buffer.from(text)

function message(text: string, strict: boolean, mediaType: BodyMediaType = 'application/json'): string {
  try {
    const { wrongVersion } = decodeObject(bytes(text), mediaType, widget, { strict })
    if (wrongVersion) throw wrongVersion
  } catch (error) {
    assert.ok(error instanceof StatusError)
    assert.equal(error.code, 400)
    return error.message
  }
  return 'accepted'
}

const UNRECOGNIZED = 'the object provided is unrecognized (must be of type Widget): '
const PARSE = `${UNRECOGNIZED}couldn't get version/kind; json parse error: `
const HANDLED = 'Widget in version "v1" cannot be handled as a Widget: '
const STRUCT = String.raw`struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }`
const GV = '"apiVersion":"parity.example/v1"'

test('bodies that are no object of the kind are refused with the texts of a kube-apiserver', () => {
  const table: [string, string, string?][] = [
    ['', `${PARSE}unexpected end of JSON input (<empty>)`],
    ['{', `${PARSE}unexpected end of JSON input ({)`],
    ['[]', `${PARSE}json: cannot unmarshal array into Go value of type ${STRUCT} (5b5d)`],
    ['"x"', `${PARSE}json: cannot unmarshal string into Go value of type ${STRUCT} (227822)`],
    ['null', `${UNRECOGNIZED}Object 'Kind' is missing in 'null' (6e756c6c)`, `${HANDLED}Object 'Kind' is missing in 'null'`],
    ['{}', `${UNRECOGNIZED}Object 'Kind' is missing in '{}' ({})`, `${HANDLED}Object 'Kind' is missing in '{}'`],
    [`{${GV}}`, `${UNRECOGNIZED}Object 'Kind' is missing in '{${GV}}' ({"apiVersion":"parity.example/ ...)`, `${HANDLED}Object 'Kind' is missing in '{${GV}}'`],
    [`{${GV},"Kind":"Widget"}`, `${UNRECOGNIZED}Object 'Kind' is missing in '{${GV},"Kind":"Widget"}' ({"apiVersion":"parity.example/ ...)`, `${HANDLED}Object 'Kind' is missing in '{${GV},"Kind":"Widget"}'`],
    ['{"kind":5}', `${PARSE}json: cannot unmarshal number into Go struct field .kind of type string ({"kind":5})`],
    ['{"kind":"W","apiVersion":"a/b/c"}', `${UNRECOGNIZED}unexpected GroupVersion string: a/b/c ({"kind":"W","apiVersion":"a/b/ ...)`],
    ['{"kind":5,"ä":"xä€𝄞ä€𝄞"}', `${PARSE}json: cannot unmarshal number into Go struct field .kind of type string ({"kind":5,"ä":"xä€𝄞ä\ufffd\ufffd ...)`],
    [`{${GV},"kind":"Widget"}trailing`, `${PARSE}invalid character 't' after top-level value ({"apiVersion":"parity.example/ ...)`],
    [`{${GV},"kind":"Widget","spec":1e400}`, `${HANDLED}json: cannot unmarshal number 1e400 into Go value of type float64`],
    ['{"kind":"Widget"}', 'the API version in the data () does not match the expected API version (parity.example/v1)'],
    ['{"kind":"Widget","apiVersion":"v1"}', 'the API version in the data (v1) does not match the expected API version (parity.example/v1)'],
    ['{"kind":"Widget","apiVersion":null}', 'Widget in version "" cannot be handled as a Widget: .apiVersion accessor error: <nil> is of the type <nil>, expected string'],
  ]
  for (const [text, strict, lenient] of table) {
    assert.equal(message(text, true), strict, text)
    assert.equal(message(text, false), lenient ?? strict, text)
  }
})

test('YAML bodies are refused with the texts of the YAML library', () => {
  const yaml = (text: string): string => message(text, true, 'application/yaml')
  assert.equal(yaml('a: b: c\n'), `${UNRECOGNIZED}yaml: mapping values are not allowed in this context (613a20623a20630a)`)
  assert.equal(yaml('a: *b\n'), `${UNRECOGNIZED}yaml: unknown anchor 'b' referenced (613a202a620a)`)
  assert.equal(yaml('{'), `${UNRECOGNIZED}yaml: line 1: did not find expected node content ({)`)
  assert.equal(yaml('a: .inf'), `${UNRECOGNIZED}json: unsupported value: +Inf (613a202e696e66)`)
  assert.equal(yaml('- a'), `${PARSE}json: cannot unmarshal array into Go value of type ${STRUCT} (2d2061)`)
  assert.equal(message('a: 1', false, 'application/yaml'), `${HANDLED}Object 'Kind' is missing in '{"a":1}'`)
})

test('a good body is decoded, one of another kind too', () => {
  const good = decodeObject(bytes(`{${GV},"kind":"Widget","spec":{"a":1,"a":2}}`), 'application/json', widget, { strict: true })
  assert.deepEqual(good, {
    object: { apiVersion: 'parity.example/v1', kind: 'Widget', metadata: {}, spec: { a: 2 } },
    findings: ['duplicate field "spec.a"'],
  })
  const wrong = decodeObject(bytes(`{${GV},"kind":"Gizmo","metadata":null}`), 'application/json', widget, { strict: false })
  assert.equal(wrong.object.kind, 'Gizmo')
  assert.deepEqual(wrong.object.metadata, {})
})

test('findings of a YAML body are one error and several warnings', () => {
  const body = 'apiVersion: parity.example/v1\nkind: Widget\nspec:\n  a: 1\n  a: 2\n  9: x\n  9: y\n'
  const { object, findings } = decodeObject(bytes(body), 'application/yaml', widget, { strict: true })
  assert.deepEqual(findings, ['yaml: unmarshal errors:\n  line 5: key "a" already set in map\n  line 7: key 9 already set in map'])
  assert.deepEqual(findingsAsWarnings([...findings, 'unknown field "x"']), [
    'line 5: key "a" already set in map',
    'line 7: key 9 already set in map',
    'unknown field "x"',
  ])
  assert.equal(
    strictDecodingError(object, widget, ['duplicate field "spec.a"', 'unknown field "x"']).message,
    `${HANDLED}strict decoding error: duplicate field "spec.a", unknown field "x"`,
  )
})

const metadataKeys = fc.constantFrom('annotations', 'labels', 'name', 'ownerReferences', 'resourceVersion', 'selfLink', 'uid', 'ü')

test('the revision is spliced into its sorted place, whatever stands beside it', () => {
  fc.assert(
    fc.property(fc.uniqueArray(metadataKeys), fc.boolean(), (keys, withSpec) => {
      const metadata = Object.fromEntries(keys.map((key) => [key, key === 'name' ? 'ä{"' : 'x']))
      const object = { apiVersion: 'v1', kind: 'K', metadata, ...(withSpec ? { spec: { a: 1 } } : {}) } as KubeObject
      const { text, place } = encodeObject(object)
      const spliced = spliceRevision(bytes(text), place, 17)
      const expected = encodeJson({ ...object, metadata: { ...metadata, resourceVersion: '17' } })
      assert.equal(Buffer.from(spliced).toString(), expected)
    }),
  )
})

test('stored JSON is read exactly', () => {
  const read = (text: string): Json => parseStored(bytes(text))
  assert.ok(deepEqual(read('{"a":[1,1.50,"2e3",12345678901234567890,9007199254740993,1e+21,2.0]}'), {
    a: [1, 1.5, '2e3', new Float(Number('12345678901234567890')), 9007199254740993n, new Float(1e21), new Float(2)],
  }))
  assert.equal(Object.hasOwn(read('{"__proto__":1}') as object, '__proto__'), true)
  assert.throws(() => read('{"a":'), /unexpected end of JSON input/)
})

test('the kind is looked for in each value of a key that stands twice', () => {
  const peek = (text: string): string => {
    try {
      return decodeObject(Buffer.from(text), 'application/json', { group: 'g', version: 'v1', kind: 'K' }, { strict: false }).object.kind
    } catch (error) {
      return error instanceof Error ? error.message : String(error)
    }
  }
  assert.match(peek('{"kind":5,"kind":"K","apiVersion":"g/v1"}'), /cannot unmarshal number into Go struct field \.kind of type string/)
  assert.match(peek('{"apiVersion":7,"kind":{},"kind":"K","apiVersion":"g/v1"}'), /cannot unmarshal number into Go struct field \.apiVersion/)
  assert.equal(peek('{"kind":"L","kind":"K","apiVersion":"g/v1"}'), 'K')
  assert.equal(peek('{"kind":null,"kind":"K","apiVersion":"g/v1"}'), 'K')
})
