import assert from 'node:assert/strict'
import { test } from 'node:test'
import { meter } from './cel-meter.ts'
import { compilePattern, patternSize } from './cel-pattern.ts'

test('the size of a pattern', () => {
  const cases: [string, number][] = [
    ['', 0], ['abc', 3], ['a{1000}', 1000], ['a{2,5}', 5], ['a{3,}', 3], ['(a{10}){10}', 120], ['[a-z{9}]{4}', 4], ['\\pL', 21], ['[\\pL\\p{Nd}]', 41], ['\\{5\\}', 3], ['a\\{5}', 4], ['\\Qa{9}\\E', 8],
  ]
  for (const [pattern, size] of cases) assert.equal(patternSize(pattern), size, pattern)
})

test('patterns are compiled once, and no pattern takes much', () => {
  meter.left = 1e9
  assert.equal(compilePattern('^a+$'), compilePattern('^a+$'))
  assert.ok(compilePattern('(?i)é').expression.test('xÉ'))
  assert.throws(() => compilePattern('x{1000}'.repeat(20)), /expression too large/)
  assert.throws(() => compilePattern('(\\pL{31}){32}'), /expression too large/)
  assert.throws(() => compilePattern('x{1000}{1000}'), /invalid nested repetition operator: `\{1000\}\{1000\}`/)
  assert.throws(() => compilePattern('(a'), /missing closing \)/)
  assert.throws(() => compilePattern('(?=a)'), /error parsing regexp/)
  meter.left = 1000
  assert.throws(() => compilePattern('y{900}'), /actual cost limit exceeded/)
  meter.left = 1e9
  const first = compilePattern('z{900}')
  for (let i = 0; i < 230; i++) compilePattern(`w{900}${i}`)
  assert.notEqual(compilePattern('z{900}'), first)
})
