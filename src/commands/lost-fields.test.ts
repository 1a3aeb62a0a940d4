import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json } from '../api/object.ts'
import { lostFields } from './lost-fields.ts'

test('the innermost fields that are lost, changed or added are named, also of empty and deep values', () => {
  const object = { a: { b: 1, c: [{ d: 'x', e: 'y' }, { d: 'z' }] }, f: {}, g: { h: [] }, same: { i: null } }
  const back = { a: { b: 2, c: [{ d: 'x' }] }, g: { j: 1 }, same: { i: null } }
  assert.deepEqual(lostFields(object, back), [
    { path: 'a.b', how: 'changed' },
    { path: 'a.c[0].e', how: 'lost' },
    { path: 'a.c[1].d', how: 'lost' },
    { path: 'f', how: 'lost' },
    { path: 'g.h', how: 'lost' },
    { path: 'g.j', how: 'added' },
  ])
  assert.deepEqual(lostFields({ a: { b: 1 } }, { a: 'text' }), [{ path: 'a', how: 'changed' }])
  let deep: Json = 1
  for (let i = 0; i < 2000; i++) deep = { a: deep }
  assert.equal(lostFields({ x: deep }, {})[0]?.path.length, 1 + 2 * 2000)
  assert.deepEqual(lostFields(object, object), [])
})
