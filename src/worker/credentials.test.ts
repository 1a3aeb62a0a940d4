import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AttemptError } from './attempt-failure.ts'
import { readCredentials, redact } from './credentials.ts'

const encode = (data: Record<string, string>): Record<string, string> => Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')]))
const read = (data: Record<string, string>) => readCredentials('git', encode(data))
const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`
const PEM = '-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n'

test('the combinations of keys', () => {
  assert.deepEqual(read({ username: 'u', password: 'p' }).authorizations, [basic('u:p')])
  assert.deepEqual(read({ username: 'u', token: 't' }).authorizations, [basic('u:t')])
  assert.deepEqual(read({ token: 't' }).authorizations, ['Bearer t', basic('x-access-token:t')])
  assert.deepEqual(read({ bearerToken: 't\n' }).authorizations, ['Bearer t'])
  assert.deepEqual(read({ 'ca.crt': PEM }), { authorizations: [], secrets: [], caCertificate: PEM })
  assert.deepEqual(read({ username: 'ü', password: 'ä:b' }).authorizations, [basic('ü:ä:b')])
})

test('what cannot be used is named, without its value', () => {
  const cases: [Record<string, string>, string, RegExp][] = [
    [{}, 'CredentialsInvalid', /has none of the keys/],
    [{ username: 'u' }, 'CredentialsInvalid', /neither password nor token/],
    [{ password: 'secret' }, 'CredentialsInvalid', /no username/],
    [{ username: 'a:b', password: 'secret' }, 'CredentialsInvalid', /colon/],
    [{ username: 'u', password: 'sec\nret' }, 'CredentialsInvalid', /line break/],
    [{ bearerToken: 'sec ret' }, 'CredentialsInvalid', /cannot send/],
    [{ 'ca.crt': 'nonsense' }, 'CredentialsInvalid', /not a PEM/],
    [{ 'ssh-privatekey': 'key' }, 'NotSupported', /ssh/],
    [{ username: '', password: '' }, 'CredentialsInvalid', /none of the keys/],
  ]
  for (const [data, reason, message] of cases) {
    assert.throws(
      () => read(data),
      (error: Error) => error instanceof AttemptError && error.failure.reason === reason && message.test(error.message) && !/secret|sec/.test(error.message.replace(/Secret/g, '')),
      JSON.stringify(data),
    )
  }
})

test('secrets are cut out of a text in every form', () => {
  const credentials = read({ username: 'u', password: 'p w/d' })
  const text = `a p w/d b p%20w%2Fd c ${Buffer.from('p w/d').toString('base64')} d ${Buffer.from('u:p w/d').toString('base64')}`
  assert.equal(redact(text, credentials), 'a *** b *** c *** d ***')
})
