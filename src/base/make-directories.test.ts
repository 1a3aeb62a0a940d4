import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { makeDirectories } from './make-directories.ts'

const root = mkdtempSync(join(tmpdir(), 'make-'))
after(() => rmSync(root, { recursive: true }))

test('makes what is missing, and tells the first of it', () => {
  const path = join(root, 'a', 'b', 'c')
  assert.equal(makeDirectories(path), join(root, 'a'))
  assert.equal(statSync(path).mode & 0o777, 0o700)
  assert.equal(makeDirectories(path), undefined)
  assert.equal(makeDirectories(join(path, 'd')), join(path, 'd'))
})

test('says what is in the way', () => {
  writeFileSync(join(root, 'file'), '')
  assert.throws(() => makeDirectories(join(root, 'file')), { code: 'EEXIST' })
  assert.throws(() => makeDirectories(join(root, 'file', 'below')), { code: 'ENOTDIR' })
  if (existsSync('/proc/self')) assert.throws(() => makeDirectories('/proc/none/below'), { code: 'ENOENT' })
})
