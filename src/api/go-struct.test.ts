import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DEFINITION, SCHEMA } from './definition-types.ts'
import { DecodeError } from './go-json-error.ts'
import { decodeGoStruct } from './go-struct.ts'
import { decodeJson } from './json-parse.ts'

const decode = (json: string, type = SCHEMA) => decodeGoStruct(decodeJson(json).value, type, { sorted: false })

test('zero values go, except those behind pointers', () => {
  const json = '{"type":"","nullable":false,"minLength":0,"$ref":"","enum":[null,0],"required":[],"default":null,"x-kubernetes-preserve-unknown-fields":false}'
  assert.deepEqual(decode(json).value, { minLength: 0, $ref: '', enum: [null, 0], required: [], 'x-kubernetes-preserve-unknown-fields': false })
})

test('unknown fields are listed in the order of the document, but not below unmarshalers', () => {
  const { unknown, value } = decode('{"b":1,"properties":{"x":{"z":1},"__proto__":{"type":"string"}},"items":{"y":1},"allOf":[{"a":1}]}')
  assert.deepEqual(unknown, ['b', 'properties.x.z', 'allOf[0].a'])
  assert.deepEqual(Object.keys(value.properties as object), ['x', '__proto__'])
})

test('the first wrong type is reported; one in an unmarshaler comes before all', () => {
  const cases: [string, string][] = [
    ['{"type":1,"title":2}', 'json: cannot unmarshal number into Go struct field JSONSchemaProps.type of type string'],
    ['{"maxLength":1.0}', 'json: cannot unmarshal number 1.0 into Go struct field JSONSchemaProps.maxLength of type int64'],
    ['{"type":1,"items":{"items":{"type":true}}}', 'json: cannot unmarshal bool into Go struct field JSONSchemaProps.items.items.type of type string'],
    ['{"additionalProperties":1}', 'boolean or JSON schema expected'],
    ['{"dependencies":{"a":[1]}}', 'json: cannot unmarshal number into Go struct field JSONSchemaProps.dependencies of type string'],
    ['[]', 'json: cannot unmarshal array into Go value of type v1.JSONSchemaProps'],
  ]
  for (const [json, message] of cases) assert.throws(() => decode(json), (error) => error instanceof DecodeError && error.message === message, message)
})

test('metadata is that of every object', () => {
  const { value, unknown } = decode('{"metadata":{"name":"a","labels":null,"more":1}}', DEFINITION)
  assert.deepEqual({ value, unknown }, { value: { metadata: { name: 'a' } }, unknown: ['metadata.more'] })
  assert.throws(() => decode('{"metadata":{"labels":{"a":1}}}', DEFINITION), { message: 'json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string' })
})
