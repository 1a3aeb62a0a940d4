import assert from 'node:assert/strict'
import { test } from 'node:test'
import { versionInfo } from './version.ts'

test('the version is semver with our own version as build metadata', () => {
  const info = versionInfo('0.1.0')
  assert.equal(info.gitVersion, 'v1.36.3+mlops.0.1.0')
  assert.match(info.gitVersion, /^v(\d+)\.(\d+)\.(\d+)\+[0-9A-Za-z.-]+$/)
  assert.deepEqual([info.major, info.minor], ['1', '36'])
  assert.match(info.platform, /^[a-z0-9]+\/[a-z0-9]+$/)
})
