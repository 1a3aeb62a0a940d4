import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatCheck, supportedFormat } from './formats.ts'

// format → accepted, refused
const TABLE: Record<string, [string[], string[]]> = {
  bsonobjectid: [['507f1f77bcf86cd799439011'], ['507f1f77bcf86cd79943901', 'z07f1f77bcf86cd799439011']],
  uri: [
    ['http://a.b/c?d#e', '/path', 'mailto:x@y', '*', 'http://u:p@h:80/%20', 'http://[::1]:80/', 'http://ü/', 'a:b'],
    ['', 'a/b', 'x y', 'http://a b/', ':x', 'http://h:x/', '/%zz', 'http://[::1/', 'http://a\n', '1http://a'],
  ],
  email: [
    ['a@b', 'a.b+c@d.e', 'Name <a@b.c>', '"quoted one"@b.c', 'A B "C" <a@b>', ' a@b '],
    ['ab', '@b', 'a@', 'a b@c', 'a@b@c', '<a@b', 'a..b@c', 'a@b>', ''],
  ],
  hostname: [['a', 'a.bc', 'ex-ample.com', 'ünï.de', '1a'], ['', '-a', 'a_b', `${'a'.repeat(64)}.com`, 'a.b']],
  ipv4: [['1.2.3.4', '001.02.3.4', '::ffff:1.2.3.4'], ['1.2.3', '1.2.3.256', '::1', '1.2.3.4.5', '', '1.2.3.-4']],
  ipv6: [['::1', '::', '1:2:3:4:5:6:7:8', 'fe80::1', '::ffff:1.2.3.4', '1::'], ['1.2.3.4', '1:2:3:4:5:6:7', ':::', '1::2::3', '1:2:3:4:5:6:7:8:9', 'fe80::1%eth0', '12345::', ':1']],
  cidr: [['10.0.0.0/8', '::/0', '010.0.0.1/32'], ['10.0.0.0', '10.0.0.0/33', '::/129', '/8', '10.0.0.0/x']],
  mac: [['00:00:5e:00:53:01', '02-00-5e-10-00-00-00-01', '0000.5e00.5301'], ['00:00:5e:00:53', '00:00-5e:00:53:01', '']],
  uuid: [['123e4567-e89b-12d3-a456-426614174000', '123E4567E89B12D3A456426614174000'], ['123e4567', '']],
  uuid3: [['a3bb189e-8bf9-3888-9912-ace4e6543002'], ['a3bb189e-8bf9-4888-9912-ace4e6543002']],
  uuid4: [['a3bb189e-8bf9-4888-9912-ace4e6543002'], ['a3bb189e-8bf9-4888-7912-ace4e6543002']],
  uuid5: [['a6edc906-2f9f-5fb2-a373-efac406f0ef2'], ['a6edc906-2f9f-4fb2-a373-efac406f0ef2']],
  isbn: [['978-3-16-148410-0', '0-306-40615-2', '080442957X'], ['978-3-16-148410-1', '0306406153', '']],
  isbn10: [['0306406152'], ['9783161484100']],
  isbn13: [['9783161484100'], ['0306406152']],
  creditcard: [['4111 1111 1111 1111', '5555555555554444'], ['4111111111111112', '1234']],
  ssn: [['111-22-3333', '111 22 3333'], ['111223333', '111-22-33333']],
  hexcolor: [['#fff', 'A0b1C2'], ['#ffff', 'red']],
  rgbcolor: [['rgb(0, 10,255)', 'rgb( 1 , 2 , 3 )'], ['rgb(256,0,0)', 'rgb(1,2)']],
  byte: [['YQ==', 'YWI=', 'YWJj'], ['', 'a', 'YQ=', 'Y===', '====', 'YW J']],
  password: [['', 'x'], []],
  date: [['2020-02-29', '0001-01-01'], ['2021-02-29', '2020-13-01', '20200229', '2020-2-1', '2020-01-00']],
  'date-time': [
    ['2020-01-01T00:00:00Z', '2020-01-01t23:59:59.5+01:00', '2020-01-01T00:00:00,5z', '2020-01-01T00:00:00Ztail'],
    ['2020-01-01', '2020-13-01T00:00:00Z', '2020-01-01T24:00:00Z', '2020-01-01T00:00:60Z', '2020-01-01T00:00:00', ''],
  ],
  datetime: [['2020-01-01T00:00:00Z'], ['x']],
  duration: [['1h', '-1.5h3m', '0', '3 weeks', 'in 2 days', '1µs', '.5s', '5 w'], ['', 'x', '1', '3 fortnights', `${'9'.repeat(30)} days`]],
  'k8s-short-name': [['abc', 'a-1'], ['Abc', 'a.b', 'a'.repeat(64), '']],
  'k8s-long-name': [['a.b', 'abc'], ['A.b', 'a..b']],
}

test('each format accepts and refuses', () => {
  for (const [format, [accepted, refused]] of Object.entries(TABLE)) {
    const check = formatCheck(format)
    assert.ok(check, format)
    for (const text of accepted) assert.equal(check(text), true, `${format} accepts ${JSON.stringify(text)}`)
    for (const text of refused) assert.equal(check(text), false, `${format} refuses ${JSON.stringify(text)}`)
  }
})

test('what is not known is ignored; formats of numbers count on their own type', () => {
  assert.equal(formatCheck('color'), undefined)
  assert.equal(supportedFormat('color', 'string'), '')
  assert.equal(supportedFormat('int32', 'integer'), 'int32')
  assert.equal(supportedFormat('int32', 'string'), '')
  assert.equal(supportedFormat('date-time', 'string'), 'date-time')
})

test('hostile texts take linear time', () => {
  const parts = ['1', 'a', '.', ':', '-', 'a.', 'a@', '"', '\\"', ' ', '1s', '1 ', '/', '%25', 'A=', '<', ',']
  const start = performance.now()
  for (const format of Object.keys(TABLE)) for (const part of parts) formatCheck(format)?.(part.repeat(100_000 / part.length))
  assert.ok(performance.now() - start < 4000)
})
