import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseRequest } from './request-info.ts'
import { selectorAttributes } from './selector-attributes.ts'

const of = (method: string, query: string) => selectorAttributes(parseRequest(method, `/apis/mlops.dev/v1/namespaces/a/jobs${query}`))

test('an authorizer is told what a collection is limited to', () => {
  assert.deepEqual(of('GET', '?labelSelector=app%3Dweb,tier%20in%20(a,b),!old,new,size%3E3,x!%3Dy&fieldSelector=metadata.name%3Dx,status.phase!%3Dy'), {
    fieldSelector: [{ key: 'metadata.name', operator: 'In', values: ['x'] }, { key: 'status.phase', operator: 'NotIn', values: ['y'] }],
    labelSelector: [
      { key: 'app', operator: 'In', values: ['web'] }, { key: 'new', operator: 'Exists' }, { key: 'old', operator: 'DoesNotExist' },
      { key: 'tier', operator: 'In', values: ['a', 'b'] }, { key: 'x', operator: 'NotIn', values: ['y'] },
    ],
  })
  assert.deepEqual(Object.keys(of('DELETE', '?labelSelector=a')), ['labelSelector'])
  assert.deepEqual(Object.keys(of('GET', '?watch=1&fieldSelector=metadata.name%3Dx')), ['fieldSelector'])
})

test('nothing is told of what cannot be parsed, and of other verbs', () => {
  assert.deepEqual(of('GET', '?labelSelector=(&fieldSelector=x'), {})
  assert.deepEqual(of('POST', '?labelSelector=a'), {})
  assert.deepEqual(of('GET', ''), {})
})
