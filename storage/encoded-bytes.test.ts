import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { HeldEntry } from './cache-entry.ts'
import { ByteBudget } from './encoded-bytes.ts'
import type { Codec } from './watch-cache.ts'

const codec: Codec = {
  index: () => ({ labels: {}, fields: {}, uid: '' }),
  encode: (_key, value, version) => ({ bytes: Buffer.from(`${version}${String(value.byteLength)}`.padEnd(value.byteLength)), place: 0 }),
}

const entryOf = (bytes: number): HeldEntry => new HeldEntry('n/1', new Uint8Array(bytes), 1, 1, codec)

it('keeps forms in memory of their own, so that what it counts is what they take', () => {
  const budget = new ByteBudget()
  const { bytes } = budget.encode(entryOf(100), 'v1', codec)
  assert.equal(bytes.byteLength, bytes.buffer.byteLength)
  assert.ok(budget.used >= 100)
})

it('does not keep what is larger than the whole budget', () => {
  const budget = new ByteBudget(1000)
  const small = entryOf(100)
  const ready = budget.encode(small, 'v1', codec)
  assert.equal(budget.encode(entryOf(2000), 'v1', codec).bytes.byteLength, 2000)
  assert.equal(budget.encode(small, 'v1', codec), ready)
})

it('answers with the right bytes and stays in its limit, whatever is asked and released', () => {
  const ask = fc.record({ entry: fc.nat(5), version: fc.constantFrom('v1', 'v1beta1', 'v1alpha1'), isRelease: fc.boolean() })
  fc.assert(
    fc.property(fc.array(ask, { maxLength: 60 }), (asks) => {
      const budget = new ByteBudget(4000)
      const entries = [100, 200, 300, 500, 900, 5000].map(entryOf)
      for (const { entry, version, isRelease } of asks) {
        const held = entries[entry]!
        if (isRelease) budget.release(held)
        else assert.deepEqual(Buffer.from(budget.encode(held, version, codec).bytes), codec.encode(held.key, held.value, version).bytes)
        assert.ok(budget.used <= budget.limit)
      }
      for (const held of entries) budget.release(held)
      assert.equal(budget.used, 0)
    }),
    { seed: 20260101 },
  )
})
