import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkDefinition } from './definition-check.ts'
import { printDefinition } from './definition-print.ts'
import { readDefinition } from './definition.ts'
import type { JsonObject } from './object.ts'
import type { ResourceDefinition } from './resource.ts'
import { decodeYaml, encodeYaml } from './yaml.ts'

const WIDGETS: ResourceDefinition = {
  group: 'example.com',
  scope: 'Cluster',
  names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList', shortNames: ['w'], categories: ['all'] },
  versions: [
    {
      name: 'v1',
      served: true,
      storage: true,
      subresources: { status: {}, scale: { specReplicasPath: '.spec.n', statusReplicasPath: '.status.n' } },
      additionalPrinterColumns: [{ name: 'N', type: 'integer', jsonPath: '.spec.n' }],
      selectableFields: [{ jsonPath: '.spec.name' }],
      schema: {
        type: 'object',
        properties: {
          spec: {
            type: 'object',
            properties: {
              n: { type: 'number', minimum: 0.5, maximum: 2 ** 70, multipleOf: 1e-9, not: { maximum: 1 } },
              name: { type: 'string', anyOf: [{ pattern: '^a' }, { maxLength: 3 }] },
              map: { type: 'object', additionalProperties: { type: 'number', minimum: 1.5 } },
              any: { type: 'object', additionalProperties: true },
              list: { type: 'array', items: { type: 'integer', minimum: 1 } },
            },
          },
        },
      },
    },
    { name: 'v2', served: false, storage: false, deprecated: true, deprecationWarning: 'no', schema: { type: 'object', description: 'd' } },
  ],
}

test('what is printed reads back, also through YAML, and is a good definition', () => {
  const printed = printDefinition(WIDGETS)
  assert.deepEqual(readDefinition(printed), WIDGETS)
  const text = encodeYaml(printed)
  assert.deepEqual(readDefinition(decodeYaml(text).value as JsonObject), WIDGETS)
  const { status, definition } = checkDefinition(Buffer.from(text), 'application/yaml', 'Strict')
  assert.equal(status.status, 'Success', status.message)
  assert.deepEqual(definition, WIDGETS)
})
