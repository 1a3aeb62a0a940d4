import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { crc32c } from './crc32c.ts'

test('check values of RFC 3720 and of the CRC catalogue', () => {
  assert.equal(crc32c(Buffer.from('123456789')), 0xe3069283)
  assert.equal(crc32c(new Uint8Array(32)), 0x8a9136aa)
  assert.equal(crc32c(new Uint8Array(32).fill(0xff)), 0x62a8ab43)
  assert.equal(crc32c(Uint8Array.from({ length: 32 }, (_, i) => i)), 0x46dd794e)
  assert.equal(crc32c(new Uint8Array()), 0)
})

test('eight bytes a step and one bit a step agree, at every alignment', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), fc.nat(9), (bytes, offset) => {
      const view = bytes.subarray(Math.min(offset, bytes.length))
      assert.equal(crc32c(view), bitwise(view))
    }),
  )
})

test('it can be made in parts', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), fc.nat(100), (bytes, cut) => {
      assert.equal(crc32c(bytes.subarray(cut), crc32c(bytes.subarray(0, cut))), crc32c(bytes))
    }),
  )
})

function bitwise(bytes: Uint8Array): number {
  let crc = 0xffffffff
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1
  }
  return ~crc >>> 0
}
