import assert from 'node:assert/strict'
import { test } from 'node:test'
import { finish, type Walk } from './walk.ts'

function* sum(depth: number): Walk<number> {
  if (depth === 0) return 0
  return 1 + ((yield sum(depth - 1)) as number)
}

test('a walk goes deeper than any stack, and answers each step with what was inside', () => {
  assert.equal(finish(sum(0)), 0)
  assert.equal(finish(sum(200_000)), 200_000)
})

test('what a step throws ends the walk', () => {
  function* fail(depth: number): Walk<void> {
    if (depth === 0) throw new Error('at the end')
    yield fail(depth - 1)
  }
  assert.throws(() => finish(fail(3)), /^Error: at the end$/)
})
