import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { withoutComments } from './cel-comments.ts'
import { compileRules } from './cel.ts'

/** Rules that kube-apiserver 1.36.3 takes. */
const TAKEN: readonly (readonly [rule: string, bare: string])[] = [
  ["self.a == 'a' // c", "self.a == 'a'     "],
  ["// c\nself.a == 'a'", "    \nself.a == 'a'"],
  ["self.a ==// 'x'\n 'http://b'", "self.a ==      \n 'http://b'"],
  ['b"abc" == b"x" // y', 'b"abc" == b"x"     '],
  ["self.a == r'\\' // '", "self.a == r'\\'     "],
  ["self.a == '''x\n//'''", "self.a == '''x\n//'''"],
  ['self.a == """a//b"""', 'self.a == """a//b"""'],
  ['self.a == "a\\"//b"', 'self.a == "a\\"//b"'],
  ["self.a == 'a' //", "self.a == 'a'   "],
]

test('comments are blank, and what stands in a string is none', () => {
  for (const [rule, bare] of TAKEN) {
    assert.equal(withoutComments(rule), bare)
    compileRules({ type: 'object', properties: { spec: { type: 'object', properties: { a: { type: 'string' } }, 'x-kubernetes-validations': [{ rule, message: 'm' }] } } })
  }
})

test('all else stays in its place', () => {
  const pieces = fc.constantFrom("'", '"', "'''", '"""', '\\', '//', '/', 'r', 'b', '`', '\n', '\r', 'a', ' ', '😀')
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 20 }), (parts) => {
      const text = parts.join('')
      const bare = withoutComments(text)
      assert.equal(bare.length, text.length)
      for (let i = 0; i < text.length; i++) if (bare[i] !== text[i]) assert.equal(bare[i], ' ')
    }),
  )
})

test('it takes time in proportion to the text', () => {
  for (const piece of ['"""\\', "'//", 'r"//', '"""//', "'''a\\"]) assert.equal(withoutComments(piece.repeat(20_000)).length, piece.length * 20_000)
})
