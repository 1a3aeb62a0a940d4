import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decodeContinue, encodeContinue, expiredContinue } from './continue-token.ts'

const encoded = (text: string): string => Buffer.from(text).toString('base64url')

test('a token is what upstream makes', () => {
  const token = encodeContinue('default/train', 42)
  assert.equal(Buffer.from(token, 'base64url').toString(), '{"v":"meta.k8s.io/v1","rv":42,"start":"default/train\\u0000"}')
  assert.ok(!token.includes('='))
  assert.deepEqual(decodeContinue(token), { revision: 42, start: 'default/train\0' })
  assert.deepEqual(decodeContinue(encoded('{"v":"meta.k8s.io/v1","rv":-1,"start":"/a\\u0000"}')), { revision: undefined, start: 'a\0' })
})

test('tokens come back', () => {
  const name = fc.stringMatching(/^[a-z0-9]([-a-z0-9.]{0,10}[a-z0-9])?$/)
  fc.assert(
    fc.property(name, name, fc.integer({ min: 1 }), (namespace, object, revision) => {
      assert.deepEqual(decodeContinue(encodeContinue(`${namespace}/${object}`, revision)), { revision, start: `${namespace}/${object}\0` })
    }),
  )
})

test('bad tokens are refused with upstream texts', () => {
  const cases: [string, string][] = [
    ['a!b', 'illegal base64 data at input byte 1'],
    ['YWJj=', 'illegal base64 data at input byte 4'],
    ['YWJjZ', 'illegal base64 data at input byte 4'],
    ['', 'unexpected end of JSON input'],
    [encoded('{bad'), "invalid character 'b' looking for beginning of object key string"],
    [encoded('[]'), 'json: cannot unmarshal array into Go value of type storage.continueToken'],
    [encoded('{"rv":"1"}'), 'json: cannot unmarshal string into Go struct field continueToken.rv of type int64'],
    [encoded('{"rv":1.5}'), 'json: cannot unmarshal number 1.5 into Go struct field continueToken.rv of type int64'],
    [encoded('{"v":"v2","rv":1,"start":"a"}'), 'server does not recognize this encoded version v2'],
    ['garbage', String.raw`invalid character '\u0081' looking for beginning of value`],
    [encoded('null'), 'server does not recognize this encoded version '],
    [encoded('{"v":"meta.k8s.io/v1","start":"a"}'), 'incorrect encoded start resourceVersion (version meta.k8s.io/v1)'],
    [encoded('{"v":"meta.k8s.io/v1","rv":1}'), 'encoded start key empty (version meta.k8s.io/v1)'],
    ...['../a', 'a/../b', './a', 'a//b', 'a/', '//a'].map((start): [string, string] => [encoded(JSON.stringify({ v: 'meta.k8s.io/v1', rv: 1, start })), start]),
  ]
  for (const [token, text] of cases) {
    assert.throws(() => decodeContinue(token), { code: 400, reason: 'BadRequest', message: `invalid continue token: continue key is not valid: ${text}` }, token)
  }
})

test('an expired token carries one that goes on inconsistently', () => {
  const { status } = expiredContinue({ revision: 5, start: 'a/b\0' })
  assert.equal(status.code, 410)
  assert.equal(status.reason, 'Expired')
  assert.match(status.message ?? '', /^The provided continue parameter is too old .* may show up in the list\.$/)
  assert.deepEqual(decodeContinue(status.metadata.continue ?? ''), { revision: undefined, start: 'a/b\0' })
})
