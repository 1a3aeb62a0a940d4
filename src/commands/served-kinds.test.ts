import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ResourceDefinition } from '../api/resource.ts'
import { resources } from '../resources/index.ts'
import { kubectlGets, servedGroups } from './served-kinds.ts'

const [jobs] = resources
assert.ok(jobs)
const widgets = (n: number): { definition: ResourceDefinition } => ({
  definition: { ...jobs.definition, group: 'example.com', names: { ...jobs.definition.names, plural: `widgets${n}`, shortNames: ['nvj'] } },
})

test('the built-in kind alone goes by its short name', () => {
  assert.equal(servedGroups(resources), 'mlops.dev')
  assert.deepEqual(kubectlGets(resources, resources), ['get nvj'])
})

test('kinds of definitions are named first, and in full', () => {
  const served = [...resources, widgets(1), widgets(2)]
  assert.equal(servedGroups(served), 'mlops.dev, example.com')
  assert.deepEqual(kubectlGets(served, resources), ['get widgets2.example.com', 'get widgets1.example.com', 'get nvj'])
})

test('of many kinds some are named, and how to see all', () => {
  const words = kubectlGets([...resources, ...[1, 2, 3, 4, 5, 6].map(widgets)], resources)
  assert.equal(words.length, 6)
  assert.equal(words.at(-1), 'api-resources')
})
