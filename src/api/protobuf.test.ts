import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BinaryWriter } from '@bufbuild/protobuf/wire'
import fc from 'fast-check'
import { decodeKubeProtobuf, type Message } from './protobuf.ts'
import { OBJECT_META } from './protobuf-meta.ts'

const MESSAGE: Message = { 1: { name: 'metadata', type: OBJECT_META }, 2: { name: 'data', type: 'bytesMap' } }

function body(message: Uint8Array): Uint8Array {
  const envelope = new BinaryWriter().uint32((2 << 3) | 2).bytes(message).finish()
  return Buffer.concat([Buffer.from('k8s\0'), envelope])
}

const entry = (key: string, value: Uint8Array) => new BinaryWriter().uint32((1 << 3) | 2).string(key).uint32((2 << 3) | 2).bytes(value).finish()

test('reads strings, times, maps and repeated fields, and skips what it does not know', () => {
  const time = new BinaryWriter().uint32(1 << 3).int64(1_767_225_600).finish()
  const meta = new BinaryWriter()
    .uint32((1 << 3) | 2).string('a')
    .uint32((8 << 3) | 2).bytes(time)
    .uint32((9 << 3) | 2).bytes(new Uint8Array())
    .uint32((11 << 3) | 2).bytes(new BinaryWriter().uint32((1 << 3) | 2).string('k').uint32((2 << 3) | 2).string('v').finish())
    .uint32((14 << 3) | 2).string('x/one').uint32((14 << 3) | 2).string('x/two')
    .uint32((99 << 3) | 2).string('unknown')
    .finish()
  const message = new BinaryWriter().uint32((1 << 3) | 2).bytes(meta).uint32((2 << 3) | 2).bytes(entry('token', Buffer.from('abc'))).finish()
  assert.deepEqual(decodeKubeProtobuf(body(message), MESSAGE), {
    metadata: { name: 'a', creationTimestamp: '2026-01-01T00:00:00Z', deletionTimestamp: null, labels: { k: 'v' }, finalizers: ['x/one', 'x/two'] },
    data: { token: 'YWJj' },
  })
})

test('a key of a map is a key, whatever its name', () => {
  const decoded = decodeKubeProtobuf(body(new BinaryWriter().uint32((2 << 3) | 2).bytes(entry('__proto__', Buffer.from('x'))).finish()), MESSAGE)
  assert.deepEqual(Object.keys(decoded.data as object), ['__proto__'])
})

test('what is no protobuf of ours is an Error, never anything else', () => {
  assert.throws(() => decodeKubeProtobuf(Buffer.from('{}'), MESSAGE), /expected prefix \[107 56 115 0\]/)
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
      try {
        decodeKubeProtobuf(body(bytes), MESSAGE)
      } catch (error) {
        assert.ok(error instanceof Error)
      }
    }),
    { seed: 1, numRuns: 2000 },
  )
})

test('a message that is cut off is an unexpected EOF', () => {
  const cut = new BinaryWriter().uint32((1 << 3) | 2).uint32(9).finish()
  assert.throws(() => decodeKubeProtobuf(body(cut), MESSAGE), { message: 'unexpected EOF' })
  assert.throws(() => decodeKubeProtobuf(Buffer.concat([Buffer.from('k8s\0'), cut]), MESSAGE), { message: 'unexpected EOF' })
})
