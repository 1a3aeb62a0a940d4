import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareVersions } from './version-order.ts'

test('versions stand in kube-aware order', () => {
  const ordered = ['v10', 'v2', 'v1', 'v11beta2', 'v10beta3', 'v3beta1', 'v12alpha1', 'v11alpha2', 'foo1', 'foo10', 'v0', 'v1beta0']
  const shuffled = ['foo10', 'v1', 'v11alpha2', 'v3beta1', 'v1beta0', 'v10', 'v12alpha1', 'foo1', 'v11beta2', 'v0', 'v2', 'v10beta3']
  assert.deepEqual(shuffled.sort(compareVersions), ordered)
})
