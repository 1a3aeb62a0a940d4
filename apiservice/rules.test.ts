import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Attributes } from './auth.ts'
import { authorizeByRules } from './rules.ts'

const authorize = authorizeByRules(new Map([['robot', [
  { apiGroups: ['example.com'], resources: ['things'], verbs: ['get', 'list'] },
  { apiGroups: ['example.com'], resources: ['things/status'], verbs: ['patch'] },
  { apiGroups: [''], resources: ['secrets'], verbs: ['get'] },
]]]))

const may = async (change: Partial<Attributes>, user: Partial<Attributes['user']> = {}): Promise<boolean> => {
  const attributes = { verb: 'get', group: 'example.com', version: 'v1', resource: 'things', subresource: '', namespace: 'a', name: 'b', path: '', ...change }
  return (await authorize({ ...attributes, user: { name: 'robot', groups: ['system:authenticated'], ...user } })).allowed
}

test('a user may what one of its rules says, and no more', async () => {
  assert.equal(await may({}), true)
  assert.equal(await may({ verb: 'patch', subresource: 'status' }), true)
  assert.equal(await may({ group: '', resource: 'secrets' }), true)
  const refused: readonly Partial<Attributes>[] = [
    { verb: 'delete' }, { verb: 'patch' }, { subresource: 'status' }, { subresource: 'scale' }, { group: '' }, { group: '', resource: 'secrets', verb: 'list' },
    { group: 'admin.mlops.dev', resource: 'storagebackups' }, { group: '', resource: 'users', verb: 'impersonate', name: 'admin' },
    // A path that names no resource.
    { group: '', resource: '', path: '/metrics' },
  ]
  for (const change of refused) assert.equal(await may(change), false, JSON.stringify(change))
})

test('others may nothing, system:masters everything', async () => {
  for (const name of ['robots', '', '__proto__', 'constructor']) assert.equal(await may({}, { name }), false, name)
  assert.equal(await may({}, { name: 'somebody', groups: ['robot'] }), false)
  assert.equal(await may({ verb: 'delete' }, { name: 'somebody', groups: ['system:masters'] }), true)
  assert.equal(await may({ resource: '', path: '/metrics' }, { name: 'somebody', groups: ['system:masters'] }), true)
})
