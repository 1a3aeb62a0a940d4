/** Texts and users are those of a kube-apiserver 1.36.3. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Request, Response } from 'express'
import { startServer, type Harness } from '../../test/harness.ts'
import { StatusError } from '../api/status.ts'
import { identify } from './identity.ts'
import { readImpersonation } from './impersonation.ts'

const ADMIN = { name: 'admin', groups: ['system:masters'] }

type Headers = readonly (readonly [name: string, value: string])[]

function actingAs(...headers: Headers) {
  return readImpersonation(headers.flat(), ADMIN)
}

const refusal = (...headers: Headers): string => {
  try {
    actingAs(...headers)
  } catch (error) {
    if (error instanceof StatusError) return `${error.status.code} ${error.status.message}`
    throw error
  }
  return assert.fail('it is not refused')
}

test('without its headers, and with an empty name, there is none', () => {
  assert.equal(actingAs(['Accept', 'x'], ['Impersonate-User', '']), undefined)
})

test('whom it makes of the headers', () => {
  assert.deepEqual(actingAs(['Impersonate-User', 'nobody'])?.user, { name: 'nobody', groups: ['system:authenticated'] })
  assert.deepEqual(actingAs(['impersonate-user', 'nobody'], ['Impersonate-Group', 'g, h'], ['impersonate-group', 'i'])?.user, { name: 'nobody', groups: ['g, h', 'i', 'system:authenticated'] })
  assert.deepEqual(actingAs(['Impersonate-User', 'system:anonymous'])?.user, { name: 'system:anonymous', groups: ['system:unauthenticated'] })
  assert.deepEqual(actingAs(['Impersonate-User', 'x'], ['Impersonate-Group', 'system:unauthenticated'])?.user.groups, ['system:unauthenticated'])
  assert.deepEqual(actingAs(['Impersonate-User', 'system:serviceaccount:a:b'], ['Impersonate-Uid', '7'], ['Impersonate-Extra-A%2fb', 'x'], ['Impersonate-Extra-A%2fb', 'y'], ['Impersonate-Extra-__proto__', 'z'])?.user, {
    name: 'system:serviceaccount:a:b', groups: ['system:serviceaccounts', 'system:serviceaccounts:a', 'system:authenticated'], uid: '7',
    extra: Object.fromEntries([['a/b', ['x', 'y']], ['__proto__', ['z']]]),
  })
})

test('everything that is asked for needs a permission', () => {
  const asked = actingAs(['Impersonate-User', 'system:serviceaccount:a:b'], ['Impersonate-Group', 'g'], ['Impersonate-Uid', '7'], ['Impersonate-Extra-Scopes', 'x'])
  assert.deepEqual(asked?.permissions.map(({ user, verb, group, resource, subresource, namespace, name }) => [user.name, verb, group, resource, subresource, namespace, name].join(' ')), [
    'admin impersonate  serviceaccounts  a b', 'admin impersonate authentication.k8s.io uids   7', 'admin impersonate  groups   g', 'admin impersonate authentication.k8s.io userextras scopes  x',
  ])
  assert.deepEqual(actingAs(['Impersonate-User', 'system:serviceaccount:A:b'])?.permissions.map(({ resource, name }) => `${resource} ${name}`), ['users system:serviceaccount:A:b'])
})

test('nothing else without a user', () => {
  assert.equal(refusal(['Impersonate-Group', 'g']), '400 requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"g"}, Extra:map[string][]string(nil)} without impersonating a user name')
  assert.equal(refusal(['Impersonate-Uid', '5'], ['Impersonate-Extra-Scopes', 'x']),
    '400 requested &user.DefaultInfo{Name:"", UID:"5", Groups:[]string(nil), Extra:map[string][]string{"scopes":[]string{"x"}}} without impersonating a user name')
})

describe('requests of somebody else', { concurrency: 1 }, () => {
  const path = '/apis/mlops.dev/v1/namespaces/default/notebookvalidationjobs'
  let harness: Harness
  before(async () => {
    harness = await startServer()
  })
  after(() => harness[Symbol.asyncDispose]())

  test('have their rights', async () => {
    const send = (headers: Record<string, string>, target = path) => harness.send('GET', target, { headers })
    const refused = await send({ 'impersonate-user': 'nobody' })
    assert.deepEqual([refused.status, refused.body.message],
      [403, 'notebookvalidationjobs.mlops.dev is forbidden: User "nobody" cannot list resource "notebookvalidationjobs" in API group "mlops.dev" in the namespace "default"'])
    assert.equal((await send({ 'impersonate-user': 'nobody' }, '/version')).status, 200)
    assert.equal((await send({ 'impersonate-user': 'nobody', 'impersonate-group': 'system:masters' })).status, 200)
    assert.equal((await send({ 'impersonate-group': 'system:masters' })).status, 400)
  })

  test('are for those who may', async () => {
    for (const target of [path, '/version']) {
      const { status } = await harness.send('GET', target, { headers: { 'impersonate-user': 'nobody', 'impersonate-group': 'system:masters' }, anonymous: true })
      assert.equal(status, 401, target)
    }
    const identified = identify(async () => ({ name: 'eve', groups: [] }), async ({ verb, resource }) => ({ allowed: verb !== 'impersonate' || resource === 'users' }))
    const ask = async (...rawHeaders: string[]) => {
      const request = { method: 'GET', originalUrl: path, headers: {}, rawHeaders, socket: {}, httpVersionMajor: 1 } as unknown as Request
      await identified(request, {} as Response, () => {})
      return request.user?.name
    }
    assert.equal(await ask('Impersonate-User', 'nobody'), 'nobody')
    const message = 'groups "system:masters" is forbidden: User "eve" cannot impersonate resource "groups" in API group "" at the cluster scope'
    await assert.rejects(ask('Impersonate-User', 'nobody', 'Impersonate-Group', 'system:masters'), { message })
  })
})
