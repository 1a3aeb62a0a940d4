import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { deepEqual, isObject, type Json, type JsonObject } from '../api/object.ts'
import { diffMergePatch } from './merge-patch.ts'

/** RFC 7386, section 2. */
function apply(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return patch
  const out: JsonObject = isObject(target) ? { ...target } : {}
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete out[key]
    else out[key] = apply(out[key], value as Json)
  }
  return out
}

// null means removed in a merge patch, so a value that holds one cannot be told
const { value } = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof({ depthSize: 'small' }, fc.boolean(), fc.integer(), fc.string({ maxLength: 3 }), fc.array(fc.integer(), { maxLength: 2 }), fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('value'), { maxKeys: 3, noNullPrototype: true })),
}))
const object = fc.dictionary(fc.constantFrom('a', 'b', 'c'), value, { maxKeys: 3, noNullPrototype: true }) as fc.Arbitrary<JsonObject>

test('applied to the one it gives the other, and it is nothing when they are equal', () => {
  fc.assert(
    fc.property(object, object, (before, after) => {
      const patch = diffMergePatch(before, after)
      assert.equal(patch === undefined, deepEqual(before, after))
      assert.deepEqual(apply(before, patch ?? {}), after)
    }),
  )
})

test('what is gone is removed, also inside', () => {
  assert.deepEqual(diffMergePatch({ a: { x: 1, y: 2 }, b: [1], c: 1 }, { a: { x: 1 }, b: [2] }), { a: { y: null }, b: [2], c: null })
})
