import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openTwin, sealTwin, twinCodec, type Twin } from '../test/model/twin-codec.ts'
import type { KeyValue } from './backend.ts'
import { openAhead } from './migrate-ahead.ts'
import { reencode } from './object-codec.ts'
import type { Reencoded } from './object-codec.ts'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
const stored = (key: string): KeyValue => ({ key, value: sealTwin({ key, text: key }, 'v1beta1'), modRevision: 1, createRevision: 1 })
const isAtV1 = (key: string, made: Reencoded): void => assert.deepEqual('value' in made && openTwin(made.value), { key, text: key, version: 'v1' })

/** What counts how many values were written anew. */
function counting() {
  const codec = twinCodec()
  const counted = { encoded: 0 }
  const encode = (hub: Twin, version: string): Uint8Array => {
    counted.encoded++
    return codec.encode(hub, version)
  }
  return { counted, ahead: openAhead((value) => reencode({ ...codec, encode } as typeof codec, value, 'v1')) }
}

test('values that are wanted soon are made one in a turn, and once', async () => {
  const { counted, ahead } = counting()
  const kvs = ['a', 'b', 'c'].map(stored)
  for (const kv of kvs) ahead.prepare(kv)
  assert.equal(counted.encoded, 0)
  for (const expected of [1, 2, 3, 3]) {
    await turn()
    assert.equal(counted.encoded, expected)
  }
  for (const kv of kvs) isAtV1(kv.key, ahead.take(kv))
  assert.equal(counted.encoded, 3)
})

test('a value that is not made yet is made when it is taken, and not again', async () => {
  const { counted, ahead } = counting()
  const [a, b] = [stored('a'), stored('b')]
  ahead.prepare(a)
  isAtV1('a', ahead.take(a))
  isAtV1('b', ahead.take(b))
  await turn()
  assert.equal(counted.encoded, 2)
  ahead.prepare(b)
  await turn()
  isAtV1('b', ahead.take(b))
  assert.equal(counted.encoded, 3)
})

test('what must not be written is said when it is taken', async () => {
  const { ahead } = counting()
  const kv = { ...stored('a'), value: sealTwin({ key: 'a', text: 'fails' }, 'v1beta1') }
  ahead.prepare(kv)
  await turn()
  assert.deepEqual(ahead.take(kv), { problem: 'ConversionError', message: 'it fails' })
})
