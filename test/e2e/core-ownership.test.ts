/** Who owns the fields of Secrets and Namespaces; recorded from a kube-apiserver 1.36.3. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startServer, type Answer, type Harness } from '../harness.ts'

const SECRETS = '/api/v1/namespaces/default/secrets'
const APPLY = 'application/apply-patch+yaml'
const MERGE = 'application/merge-patch+json'

describe('ownership of core kinds', { concurrency: 1 }, () => {
  let harness: Harness
  before(async () => {
    harness = await startServer()
  })
  after(() => harness[Symbol.asyncDispose]())

  const secret = (name: string, stringData: object) => ({ apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData })
  const owners = ({ status, text, body }: Answer): Record<string, unknown> => {
    assert.ok(status < 300, text)
    return Object.fromEntries(body.metadata.managedFields.map((entry: { manager: string; fieldsV1: unknown }) => [entry.manager, entry.fieldsV1]))
  }
  const apply = (manager: string, name: string, stringData: object) => harness.send('PATCH', `${SECRETS}/${name}?fieldManager=${manager}`, { type: APPLY, body: secret(name, stringData) })

  test('stringData that is written is data that is owned; stringData that is applied is owned as that', async () => {
    const created = { 'f:data': { '.': {}, 'f:a': {} }, 'f:type': {} }
    assert.deepEqual(owners(await harness.send('POST', `${SECRETS}?fieldManager=creator`, { body: secret('made', { a: 'b' }) })), { creator: created })
    const applied = await apply('bob', 'made', { a: 'c' })
    assert.deepEqual(owners(applied), { bob: { 'f:stringData': { 'f:a': {} } }, creator: created }, 'no conflict')
    assert.deepEqual([applied.body.data, applied.body.stringData], [{ a: 'Yw==' }, undefined])
  })

  test('a Secret that an apply makes, and a patch of it', async () => {
    assert.deepEqual(owners(await apply('bob', 'applied', { a: 'b' })), { bob: { 'f:stringData': { 'f:a': {} } } })
    const patched = await harness.send('PATCH', `${SECRETS}/applied?fieldManager=eve`, { type: MERGE, body: { stringData: { z: '1' } } })
    assert.deepEqual(owners(patched), { bob: { 'f:stringData': { 'f:a': {} } }, eve: { 'f:data': { 'f:z': {} } } })
    const again = await apply('bob', 'applied', { a: 'b' })
    assert.equal(again.body.metadata.resourceVersion, patched.body.metadata.resourceVersion, 'nothing has changed')
  })

  test('a namespace always has the label of its name', async () => {
    const namespace = (name: string, labels?: object) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, ...(labels ? { labels } : {}) } })
    const label = { 'f:kubernetes.io/metadata.name': {} }
    assert.deepEqual(owners(await harness.send('POST', '/api/v1/namespaces?fieldManager=creator', { body: namespace('made') })), { creator: { 'f:metadata': { 'f:labels': { '.': {}, ...label } } } })
    const applied = await harness.send('PATCH', '/api/v1/namespaces/applied?fieldManager=bob', { type: APPLY, body: namespace('applied', { a: 'b' }) })
    assert.deepEqual(owners(applied), { bob: { 'f:metadata': { 'f:labels': { 'f:a': {} } } } })
    const patched = await harness.send('PATCH', '/api/v1/namespaces/applied', { type: MERGE, body: { metadata: { labels: { 'kubernetes.io/metadata.name': null } } } })
    assert.deepEqual(patched.body.metadata.labels, { a: 'b', 'kubernetes.io/metadata.name': 'applied' })
    const generated = await harness.send('POST', '/api/v1/namespaces', { body: { apiVersion: 'v1', kind: 'Namespace', metadata: { generateName: 'made-' } } })
    assert.equal(generated.body.metadata.labels['kubernetes.io/metadata.name'], generated.body.metadata.name)
  })
})
