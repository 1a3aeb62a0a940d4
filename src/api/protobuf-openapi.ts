/**
 * OpenAPI v2 documents as protobuf, for clients that read them so (client-go's DiscoveryInterface.OpenAPISchema, Argo CD).
 * upstream: gnostic-models/openapiv2/OpenAPIv2.proto and OpenAPIv2.go: ParseDocument; kube-openapi/pkg/handler/handler.go: ToProtoBinary
 */
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import { encodeYaml } from './codec.ts'
import { isObject, type Json, type JsonObject } from './object.ts'

/** The document's bytes. Members that the format does not have are left out; parameters and responses that are references too. */
export function encodeOpenApiV2(document: JsonObject): Uint8Array {
  return encodeMembers(document, DOCUMENT)
}

/** Writes a value as a field. */
type Write = (writer: BinaryWriter, field: number, value: Json) => void

/** A message whose fields are members of an object; `extensions` takes the members that begin with `x-`, `others` every other one by its name. */
interface Members {
  readonly fields: Readonly<Record<string, readonly [field: number, write: Write]>>
  readonly extensions?: number
  readonly others?: readonly [field: number, write: Write]
}

const bytes = (writer: BinaryWriter, field: number, value: Uint8Array): void => void writer.tag(field, WireType.LengthDelimited).bytes(value)
const string = (writer: BinaryWriter, field: number, value: string): void => void writer.tag(field, WireType.LengthDelimited).string(value)

// What has the value that absence means is not written.
const text: Write = (writer, field, value) => {
  if (value !== '') string(writer, field, String(value))
}
const flag: Write = (writer, field, value) => {
  if (value === true) writer.tag(field, WireType.Varint).bool(true)
}
const integer: Write = (writer, field, value) => {
  if (Number(value) !== 0) writer.tag(field, WireType.Varint).int64(value as number | bigint)
}
const double: Write = (writer, field, value) => {
  if (Number(value) !== 0) writer.tag(field, WireType.Bit64).double(Number(value))
}
const texts: Write = (writer, field, value) => {
  for (const item of value as Json[]) string(writer, field, String(item))
}

/** Any value, as YAML. */
const any: Write = (writer, field, value) => wrapped(2, text)(writer, field, encodeYaml(value))
const list = (write: Write): Write => (writer, field, value) => {
  for (const item of value as Json[]) write(writer, field, item)
}
const message = (members: () => Members): Write => (writer, field, value) => bytes(writer, field, encodeMembers(value as JsonObject, members()))

/** A message of one field. */
function wrapped(inner: number, write: Write): Write {
  return (writer, field, value) => {
    const content = new BinaryWriter()
    write(content, inner, value)
    bytes(writer, field, content.finish())
  }
}

function encodeMembers(object: JsonObject, { fields, extensions, others }: Members): Uint8Array {
  const writes: (readonly [field: number, () => void])[] = []
  const writer = new BinaryWriter()
  for (const [name, value] of Object.entries(object)) {
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined
    if (value === undefined) continue
    if (field) writes.push([field[0], () => field[1](writer, field[0], value)])
    else if (extensions !== undefined && name.startsWith('x-')) writes.push([extensions, () => named(writer, extensions, name, value, any)])
    else if (others) writes.push([others[0], () => named(writer, others[0], name, value, others[1])])
  }
  // Fields come in the order of their numbers.
  for (const [, write] of writes.sort(([a], [b]) => a - b)) write()
  return writer.finish()
}

function named(writer: BinaryWriter, field: number, name: string, value: Json, write: Write): void {
  const entry = new BinaryWriter()
  text(entry, 1, name)
  write(entry, 2, value)
  bytes(writer, field, entry.finish())
}

const schema = message(() => SCHEMA)
const allowed: Write = (writer, field, value) => (isObject(value) ? wrapped(1, schema) : wrapped(2, always))(writer, field, value)
// One of several is written whatever it is.
const always: Write = (writer, field, value) => void writer.tag(field, WireType.Varint).bool(value === true)
const types: Write = (writer, field, value) => wrapped(1, texts)(writer, field, Array.isArray(value) ? value : [value])
const items: Write = (writer, field, value) => wrapped(1, list(schema))(writer, field, Array.isArray(value) ? value : [value])

const SCHEMA: Members = {
  fields: {
    $ref: [1, text], format: [2, text], title: [3, text], description: [4, text], default: [5, any], multipleOf: [6, double], maximum: [7, double], exclusiveMaximum: [8, flag],
    minimum: [9, double], exclusiveMinimum: [10, flag], maxLength: [11, integer], minLength: [12, integer], pattern: [13, text], maxItems: [14, integer], minItems: [15, integer],
    uniqueItems: [16, flag], maxProperties: [17, integer], minProperties: [18, integer], required: [19, texts], enum: [20, list(any)], additionalProperties: [21, allowed], type: [22, types],
    items: [23, items], allOf: [24, list(schema)], properties: [25, message(() => SCHEMAS)], discriminator: [26, text], readOnly: [27, flag], example: [30, any],
    externalDocs: [29, message(() => ({ fields: { description: [1, text], url: [2, text] } }))],
  },
  extensions: 31,
}

const SCHEMAS: Members = { fields: {}, others: [1, schema] }

const BODY_PARAMETER: Members = { fields: { description: [1, text], name: [2, text], in: [3, text], required: [4, flag], schema: [5, schema] }, extensions: 6 }
const PLACED = { required: [1, flag], in: [2, text], description: [3, text], name: [4, text] } as const
const QUERY_PARAMETER: Members = { fields: { ...PLACED, type: [6, text], format: [7, text], uniqueItems: [20, flag] }, extensions: 23 }
const PATH_PARAMETER: Members = { fields: { ...PLACED, type: [5, text], format: [6, text], uniqueItems: [19, flag] }, extensions: 22 }

const parameter: Write = (writer, field, value) => {
  const place = (value as JsonObject).in
  const own = place === 'body' ? wrapped(1, message(() => BODY_PARAMETER)) : wrapped(2, place === 'query' ? wrapped(3, message(() => QUERY_PARAMETER)) : wrapped(4, message(() => PATH_PARAMETER)))
  wrapped(1, own)(writer, field, value)
}

const RESPONSE: Members = { fields: { description: [1, text], schema: [2, wrapped(1, schema)] }, extensions: 5 }
const RESPONSES: Members = { fields: {}, extensions: 2, others: [1, wrapped(1, message(() => RESPONSE))] }

const OPERATION: Members = {
  fields: {
    tags: [1, texts], summary: [2, text], description: [3, text], operationId: [5, text], produces: [6, texts], consumes: [7, texts], parameters: [8, list(parameter)],
    responses: [9, message(() => RESPONSES)], schemes: [10, texts], deprecated: [11, flag],
  },
  extensions: 13,
}
const operation = message(() => OPERATION)

const PATH: Members = {
  fields: { get: [2, operation], put: [3, operation], post: [4, operation], delete: [5, operation], options: [6, operation], head: [7, operation], patch: [8, operation], parameters: [9, list(parameter)] },
  extensions: 10,
}

const DOCUMENT: Members = {
  fields: {
    swagger: [1, text], info: [2, message(() => ({ fields: { title: [1, text], version: [2, text], description: [3, text] }, extensions: 7 }))],
    paths: [8, message(() => ({ fields: {}, extensions: 1, others: [2, message(() => PATH)] }))], definitions: [9, message(() => SCHEMAS)],
  },
  extensions: 16,
}
