import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'
import { EnvelopeError, isSameEncoding, openEnvelope, peekVersion, sealEnvelope } from './envelope.ts'
import type { Envelope, EnvelopeErrorClass } from './envelope.ts'

const payload = Buffer.from('{"apiVersion":"mlops.dev/v1","kind":"NotebookValidationJob","metadata":{"name":"a"}}')
const sample: Envelope = { version: 'v1', digest: '000102030405060708090a0b0c0d0e0f', payload, place: 70, remainder: Buffer.from('{"spec":{}}') }

const hex = (bytes: Uint8Array | undefined): string | undefined => bytes && Buffer.from(bytes).toString('hex')
const readable = (e: Envelope): object => ({ ...e, payload: hex(e.payload), remainder: hex(e.remainder) })
const errorClass = (bytes: Uint8Array): EnvelopeErrorClass | 'none' => {
  try {
    openEnvelope(bytes)
    return 'none'
  } catch (err) {
    assert.ok(err instanceof EnvelopeError)
    return err.class
  }
}

test('what is sealed is found again', () => {
  const envelopes = fc.record({
    version: fc.stringMatching(/^v[1-9](alpha1|beta1)?$/),
    digest: fc.uint8Array({ minLength: 16, maxLength: 16 }).map((bytes) => Buffer.from(bytes).toString('hex')),
    payload: fc.uint8Array({ minLength: 1, maxLength: 200 }),
    remainder: fc.option(fc.uint8Array({ minLength: 1, maxLength: 50 }), { nil: undefined }),
  })
  fc.assert(
    fc.property(envelopes, fc.nat(1), ({ remainder, ...rest }, place) => {
      const envelope = { ...rest, place, ...(remainder && { remainder }) }
      const bytes = sealEnvelope(envelope)
      assert.deepEqual(readable(openEnvelope(bytes)), readable(envelope))
      assert.equal(peekVersion(bytes), envelope.version)
    }),
  )
})

test('payload and remainder are views, also of a view', () => {
  const sealed = sealEnvelope(sample)
  const larger = Buffer.concat([Buffer.alloc(3), sealed, Buffer.alloc(3)])
  const envelope = openEnvelope(larger.subarray(3, 3 + sealed.length))
  assert.equal(envelope.payload.buffer, larger.buffer)
  assert.equal(envelope.remainder?.buffer, larger.buffer)
  assert.deepEqual(readable(envelope), readable(sample))
})

test('no remainder and an empty one are the same', () => {
  const { remainder: _, ...without } = sample
  assert.deepEqual(sealEnvelope(without), sealEnvelope({ ...without, remainder: new Uint8Array() }))
  assert.ok(!('remainder' in openEnvelope(sealEnvelope(without))))
})

test('every change of a byte is found', () => {
  const bytes = sealEnvelope(sample)
  for (let i = 0; i < bytes.length; i++) {
    const changed = Uint8Array.from(bytes)
    changed[i]! ^= 1 << i % 8
    assert.notEqual(errorClass(changed), 'none', `byte ${i}`)
    if (i > 5 && (i < 24 || i > 31)) assert.equal(errorClass(changed), 'Corrupt', `byte ${i}`)
  }
})

test('damage has a class', () => {
  const bytes = sealEnvelope(sample)
  for (let length = 0; length < bytes.length; length++) assert.equal(errorClass(bytes.subarray(0, length)), 'Truncated')
  assert.equal(errorClass(Buffer.concat([bytes, Buffer.alloc(1)])), 'Corrupt')
  assert.equal(errorClass(payload), 'UnknownFormat')
  const newer = Uint8Array.from(bytes)
  newer[4] = 2
  assert.equal(errorClass(newer), 'UnknownFormat')
  assert.throws(() => peekVersion(newer), { name: 'EnvelopeError', message: 'stored value has envelope format 2, this program reads 1' })
})

test('what the header cannot hold is refused', () => {
  for (const change of [{ version: '' }, { version: 'v'.repeat(64) }, { version: 'vö' }, { digest: 'ab' }, { place: -1 }, { place: payload.length + 1 }]) {
    assert.throws(() => sealEnvelope({ ...sample, ...change }), RangeError)
  }
})

test('released bytes of format 1 are read', () => {
  const released = readFileSync(new URL('../test/compat/envelope-1.hex', import.meta.url), 'utf8').replaceAll(/\s/g, '')
  assert.deepEqual(readable(openEnvelope(Buffer.from(released, 'hex'))), readable(sample))
  assert.equal(hex(sealEnvelope(sample)), released)
})

test('the same encoding is the same version under the same schema, whatever the object', () => {
  const bytes = sealEnvelope(sample)
  assert.equal(isSameEncoding(bytes, sealEnvelope({ ...sample, payload: Buffer.from('{}'), place: 1 })), true)
  assert.equal(isSameEncoding(bytes, sealEnvelope({ ...sample, version: 'v2' })), false)
  assert.equal(isSameEncoding(bytes, sealEnvelope({ ...sample, digest: 'f'.repeat(32) })), false)
})
