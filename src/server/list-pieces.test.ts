import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { systemClock } from '../base/clock.ts'
import { startServer, type Harness } from '../../test/harness.ts'

const JOBS = '/apis/mlops.dev/v1/namespaces/default/notebookvalidationjobs'
const TABLE = 'application/json;as=Table;g=meta.k8s.io;v=v1'
const PARTIAL = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1'

let harness: Harness
before(async () => {
  // Ages must be the same in both answers.
  harness = await startServer({ clock: { ...systemClock, now: () => Date.parse('2026-01-01T00:00:00Z') } })
  for (const name of ['a', 'b']) {
    const body = {
      apiVersion: 'mlops.dev/v1', kind: 'NotebookValidationJob', metadata: { name, annotations: { note: 'значение }"{' } },
      spec: { notebook: { git: { url: 'https://git.example/nb.git' }, path: 'тетрадь.ipynb' } },
    }
    assert.equal((await harness.send('POST', JOBS, { body })).status, 201)
  }
  await harness.send('POST', '/api/v1/namespaces/default/secrets', { body: { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, stringData: { a: 'b' } } })
})
after(() => harness[Symbol.asyncDispose]())

// An indented answer is made of the parsed objects.
async function bothWays(path: string, accept: string) {
  const joined = await harness.send('GET', path, { headers: { accept } })
  const made = await harness.send('GET', `${path}${path.includes('?') ? '&' : '?'}pretty=true`, { headers: { accept } })
  return { joined: joined.body, made: made.body }
}

for (const [what, path, accept] of [
  ['objects', JOBS, 'application/json'],
  ['metadata', JOBS, PARTIAL],
  ['a Table', JOBS, TABLE],
  ['a Table with objects', `${JOBS}?includeObject=Object`, TABLE],
  ['a Table without objects', `${JOBS}?includeObject=None`, TABLE],
  ['a Table in another version', JOBS.replace('/v1/', '/v1alpha1/'), TABLE],
  ['metadata of a page', `${JOBS}?limit=1`, PARTIAL],
  ['a Table of objects with members before their metadata', '/api/v1/namespaces/default/secrets', TABLE],
  ['metadata of nothing', `${JOBS}?labelSelector=no%3Done`, PARTIAL],
] as const) {
  test(`joined bytes are what the parsed objects give: ${what}`, async () => {
    const { joined, made } = await bothWays(path, accept)
    assert.equal(typeof joined, 'object')
    assert.deepEqual(joined, made)
  })
}
