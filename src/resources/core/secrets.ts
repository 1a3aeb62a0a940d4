/** Secret, as much of core/v1 as standalone mode needs. upstream: pkg/registry/core/secret/strategy.go, pkg/apis/core/validation */
import { noConversion } from '../../api/lens-conversion.ts'
import { deepEqual, getKey, isObject, setKey, type JsonObject, type KubeObject } from '../../api/object.ts'
import { decodeKubeProtobuf, type Message } from '../../api/protobuf.ts'
import { OBJECT_META } from '../../api/protobuf-meta.ts'
import type { ComputedColumn, ResourceDefinition, Strategy } from '../../api/resource.ts'
import { corruptBase64 } from '../../api/go-base64.ts'
import { badRequest, fieldError, NO_VALUE, type FieldError } from '../../api/status.ts'
import { CREATED_AT, NAME } from './columns.ts'
import { withoutGeneration } from './generation.ts'

const definition: ResourceDefinition = {
  group: '',
  scope: 'Namespaced',
  names: { plural: 'secrets', singular: 'secret', kind: 'Secret', listKind: 'SecretList' },
  versions: [
    {
      name: 'v1',
      served: true,
      storage: true,
      schema: {
        type: 'object',
        description: 'Secret holds secret data of a certain type.',
        properties: {
          data: { type: 'object', additionalProperties: { type: 'string', format: 'byte', nullable: true }, description: 'The secret data, base64.' },
          stringData: { type: 'object', additionalProperties: { type: 'string' }, description: 'Secret data as plain text; written only, merged into data.' },
          type: { type: 'string', default: 'Opaque', description: 'The type of the secret data.' },
          immutable: { type: 'boolean', description: 'Data may not be changed any more.' },
        },
      },
    },
  ],
}

const MESSAGE: Message = {
  1: { name: 'metadata', type: OBJECT_META },
  2: { name: 'data', type: 'bytesMap' },
  3: { name: 'type', type: 'string' },
  4: { name: 'stringData', type: 'stringMap' },
  5: { name: 'immutable', type: 'bool' },
}

const MAX_BYTES = 1024 * 1024
const KEY = /^[-._a-zA-Z0-9]+$/
const BAD_KEY =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"

function dataOf(object: KubeObject): JsonObject {
  const data = getKey(object, 'data')
  return isObject(data) ? data : {}
}

const COLUMNS: readonly ComputedColumn[] = [
  NAME,
  { name: 'Type', type: 'string', description: 'The type of the secret', cell: (object) => String(object.type ?? '') },
  { name: 'Data', type: 'string', description: 'Number of keys', cell: (object) => Object.keys(dataOf(object)).length },
  CREATED_AT,
]

// stringData wins over data and is never stored. An empty value stays an empty text.
function mergeStringData(object: KubeObject): KubeObject {
  const { stringData, ...rest } = object
  const data: JsonObject = {}
  for (const [key, value] of Object.entries(dataOf(object))) {
    const corrupt = typeof value === 'string' ? corruptBase64(value) : undefined
    if (corrupt !== undefined) throw badRequest(`Secret in version "v1" cannot be handled as a Secret: illegal base64 data at input byte ${corrupt}`)
    setKey(data, key, value ?? '')
  }
  if (isObject(stringData)) for (const [key, value] of Object.entries(stringData)) setKey(data, key, Buffer.from(String(value ?? '')).toString('base64'))
  return (Object.keys(data).length > 0 ? { ...rest, data } : rest) as KubeObject
}

function validate(object: KubeObject, old: KubeObject | undefined): FieldError[] {
  const errors: FieldError[] = []
  let size = 0
  for (const [key, value] of Object.entries(dataOf(object))) {
    if (!KEY.test(key)) errors.push(fieldError('FieldValueInvalid', `data[${key}]`, key, BAD_KEY))
    size += Buffer.from(String(value ?? ''), 'base64').length
  }
  if (size > MAX_BYTES) errors.push(fieldError('FieldValueTooLong', 'data', '', `may not be more than ${MAX_BYTES} bytes`))
  if (old && object.type !== old.type) errors.push(fieldError('FieldValueInvalid', 'type', object.type, 'field is immutable'))
  if (old?.immutable === true) {
    if (object.immutable !== true) errors.push(fieldError('FieldValueForbidden', 'immutable', NO_VALUE, 'field is immutable when `immutable` is set'))
    if (!deepEqual(dataOf(object), dataOf(old))) errors.push(fieldError('FieldValueForbidden', 'data', NO_VALUE, 'field is immutable when `immutable` is set'))
  }
  return errors
}

const strategy: Strategy = {
  allowUnconditionalUpdate: true,
  columns: COLUMNS,
  selectableFields: { type: (object) => String(object.type ?? '') },
  strategicMergeKeys: { 'metadata.ownerReferences': 'uid' },
  decodeProtobuf: (bytes) => decodeKubeProtobuf(bytes, MESSAGE),
  // Protobuf sends an empty type for none.
  settleDecoded: (object) => mergeStringData(object.type ? object : { ...object, type: 'Opaque' }),
  prepareForCreate: withoutGeneration,
  prepareForUpdate: withoutGeneration,
  validate,
}

/** The Secret resource. */
export const secrets = { definition, strategy, conversion: noConversion(definition) }
