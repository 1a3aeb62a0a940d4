/** JSON nests as deep as upstream takes it, 10,000 levels; no request overflows the stack, and no object makes a later answer fail. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { serveParity } from './parity/serve.ts'
import type { Answer, Harness } from './harness.ts'

const WIDGETS = '/apis/parity.example/v1/namespaces/default/widgets'
const MERGE = 'application/merge-patch+json'
const JSON_PATCH = 'application/json-patch+json'
const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io'

const lists = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
const objects = (depth: number): string => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`
/** `value` stands below three objects. */
const widget = (name: string, value: string): string =>
  `{"apiVersion":"parity.example/v1","kind":"Widget","metadata":{"name":"${name}"},"spec":{"size":"small","free":{"x":${value}}}}`

let harness: Harness
before(async () => {
  harness = await serveParity()
})
after(() => harness[Symbol.asyncDispose]())

const create = (name: string, value: string, type?: string): Promise<Answer> => harness.send('POST', WIDGETS, { body: widget(name, value), ...(type ? { type } : {}) })

test('the deepest object can be created, read in every form, updated and deleted', async () => {
  for (const [name, value] of [['lists', lists(9_997)], ['objects', objects(9_997)]] as const) {
    assert.equal((await create(name, value)).status, 201)
    const read = await harness.send('GET', `${WIDGETS}/${name}`)
    assert.ok(read.text.includes(value))
    assert.equal((await harness.send('PUT', `${WIDGETS}/${name}`, { body: read.text.replace('"small"', '"large"') })).status, 200)
    assert.equal((await harness.send('PATCH', `${WIDGETS}/${name}`, { body: { metadata: { labels: { a: 'b' } } }, type: MERGE })).status, 200)
    assert.equal((await harness.send('PATCH', `${WIDGETS}/${name}`, { body: [{ op: 'add', path: '/metadata/labels/c', value: 'd' }], type: JSON_PATCH })).status, 200)
    for (const path of [`${WIDGETS}/${name}`, WIDGETS]) {
      for (const [query, accept] of [['', 'application/yaml'], ['?pretty=true', 'application/json'], ['?includeObject=Object', TABLE], ['?includeObject=Object&pretty=1', TABLE]] as const) {
        const answer = await harness.send('GET', `${path}${query}`, { headers: { accept } })
        assert.equal(answer.status, 200, `${path} ${accept}`)
        assert.ok(answer.text.length < 20_000_000)
      }
    }
    assert.equal((await harness.send('DELETE', `${WIDGETS}/${name}`)).status, 200)
  }
})

test('a level more is a 400 that says so', async () => {
  for (const [value, bracket] of [[lists(9_998), '['], [objects(9_998), '{']] as const) {
    const created = await create('deeper', value)
    assert.equal(created.status, 400)
    assert.ok(created.body.message.includes(`invalid character '${bracket}' exceeded max depth`))
    for (const depth of [10_001, 500_000]) {
      const value = bracket === '[' ? lists(depth) : objects(depth)
      const options = await harness.send('DELETE', `${WIDGETS}/none`, { body: value })
      assert.equal(options.status, 400)
      assert.equal(options.body.message, `couldn't get version/kind; json parse error: invalid character '${bracket}' exceeded max depth`)
    }
  }
})

test('YAML that nests too deep is a 400', async () => {
  const flow = (depth: number): string => `${'{a: '.repeat(depth)}1${'}'.repeat(depth)}`
  for (const value of [lists(10_000), objects(10_000), flow(10_000)]) {
    const answer = await create('yaml', value, 'application/yaml')
    assert.equal(answer.status, 400)
    assert.match(answer.body.message, /exceeded max depth/)
  }
})

test('an object that nests deep has owners and can be applied, also as YAML', async () => {
  const apply = (name: string, value: string, query = ''): Promise<Answer> =>
    harness.send('PATCH', `${WIDGETS}/${name}?fieldManager=gitops${query}`, { body: widget(name, value), type: 'application/apply-patch+yaml' })
  for (const depth of [512, 1_000, 9_980]) {
    const name = `owned-${depth}`
    assert.equal((await create(name, objects(depth), 'application/yaml')).status, 201)
    const managers = async (): Promise<string[]> => (await harness.send('GET', `${WIDGETS}/${name}`)).body.metadata.managedFields.map((entry: { manager: string }) => entry.manager)
    assert.equal((await managers()).length, 1)
    assert.equal((await apply(name, objects(depth).replace(':1', ':2'))).status, 409)
    assert.equal((await apply(name, objects(depth).replace(':1', ':2'), '&force=true')).status, 200)
    assert.equal((await managers()).length, 2)
    assert.equal((await apply(name, objects(depth >> 1), '&force=true')).status, 200)
    assert.equal((await apply(`new-${depth}`, lists(depth))).status, 201)
    assert.equal((await harness.send('DELETE', `${WIDGETS}/${name}`)).status, 200)
  }
})

test('what is read of an object at the limit of its owners can be sent back', async () => {
  for (const depth of [9_989, 9_990, 9_991, 9_992, 9_993, 9_994]) {
    assert.equal((await create(`edge-${depth}`, objects(depth))).status, 201)
    const { text } = await harness.send('GET', `${WIDGETS}/edge-${depth}`)
    assert.equal((await harness.send('PUT', `${WIDGETS}/edge-${depth}`, { body: text.replace('"small"', '"large"') })).status, 200, `depth ${depth}`)
    assert.equal(text.includes('managedFields'), depth <= 9_992, `depth ${depth}`)
  }
})

test('a patch of any type and depth is applied or refused, never a failure of the server', async () => {
  await create('patched', '1')
  for (const depth of [1_000, 3_000, 9_000, 9_997, 9_998, 10_001, 500_000]) {
    for (const value of [lists(depth), objects(depth)]) {
      const patches = [
        [`{"spec":{"free":{"x":${value}}}}`, MERGE],
        [`[{"op":"add","path":"/spec/free/y","value":${value}}]`, JSON_PATCH],
        [`[{"op":"test","path":"/spec/free/y","value":${value}}]`, JSON_PATCH],
      ] as const
      for (const [body, type] of patches) {
        const { status } = await harness.send('PATCH', `${WIDGETS}/patched`, { body, type })
        assert.ok(depth > 9_997 ? status === 400 || status === 422 : [200, 422].includes(status), `${type} at depth ${depth}: ${status}`)
      }
      const strategic = { body: `{"metadata":{"annotations":{"a":"b"}},"status":${value}}`, type: 'application/strategic-merge-patch+json' }
      assert.ok([200, 400, 422].includes((await harness.send('PATCH', '/api/v1/namespaces/default', strategic)).status))
    }
  }
})

test('a patch cannot make an object deeper than one that can be sent', async () => {
  await create('grown', lists(5_000))
  const wrap = [{ op: 'move', from: '/spec/free/x', path: '/spec/free/y' }, { op: 'add', path: '/spec/free/x', value: {} }, { op: 'move', from: '/spec/free/y', path: '/spec/free/x/a' }]
  const grow = (times: number) => harness.send('PATCH', `${WIDGETS}/grown`, { body: Array.from({ length: times }, () => wrap).flat(), type: JSON_PATCH })
  assert.equal((await grow(3_000)).status, 200)
  const refused = await grow(2_500)
  assert.equal(refused.status, 422)
  assert.match(refused.body.message, /: invalid character '\[' exceeded max depth$/)
})
