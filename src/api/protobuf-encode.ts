/**
 * JSON objects as protobuf messages, byte for byte as Kubernetes writes them: fields in the order of their numbers, keys of maps sorted.
 * upstream: apimachinery/pkg/runtime/serializer/protobuf/protobuf.go, .../serializer/streaming
 */
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import { encodeJson, sortedKeys } from './json-encode.ts'
import type { Json, JsonObject } from './object.ts'
import { MAGIC, UNKNOWN, type Field, type FieldType, type Message } from './protobuf.ts'

/** An object in its envelope: what `decodeKubeProtobuf` reads. */
export function encodeKubeProtobuf(object: JsonObject, message: Message): Buffer {
  const { apiVersion = '', kind = '' } = object
  const raw = Buffer.from(encodeMessage(object, message)).toString('base64')
  return Buffer.concat([MAGIC, encodeMessage({ typeMeta: { apiVersion, kind }, raw }, UNKNOWN)])
}

/** A frame of a watch: its length in four bytes, then the event around an enveloped object. */
export function encodeWatchFrame(type: string, object: Uint8Array): Buffer {
  const extension = new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(object).finish()
  const event = new BinaryWriter().tag(1, WireType.LengthDelimited).string(type).tag(2, WireType.LengthDelimited).bytes(extension).finish()
  const length = Buffer.alloc(4)
  length.writeUInt32BE(event.length)
  return Buffer.concat([length, event])
}

function encodeMessage(object: JsonObject, message: Message): Uint8Array {
  const writer = new BinaryWriter()
  // Keys that are integers come in their order.
  for (const [number, field] of Object.entries(message) as [string, Field][]) writeField(writer, Number(number), field, object[field.name])
  return writer.finish()
}

function writeField(writer: BinaryWriter, number: number, { type, repeated, pointer }: Field, value: Json | undefined): void {
  if (type === 'stringMap' || type === 'bytesMap') {
    const map = (value ?? {}) as JsonObject
    const entry: Message = { 1: { name: 'key', type: 'string' }, 2: { name: 'value', type: type === 'bytesMap' ? 'bytes' : 'string' } }
    for (const key of sortedKeys(map)) writeValue(writer, number, entry, { key, value: map[key] })
  } else if (repeated) {
    for (const item of (value ?? []) as Json[]) writeValue(writer, number, type, item)
  } else if (!pointer || (value !== undefined && value !== null)) {
    writeValue(writer, number, type, value)
  }
}

function writeValue(writer: BinaryWriter, number: number, type: Exclude<FieldType, 'stringMap' | 'bytesMap'>, value: Json | undefined): void {
  writer.tag(number, type === 'bool' || type === 'int' ? WireType.Varint : WireType.LengthDelimited)
  switch (type) {
    case 'string':
      writer.string(typeof value === 'string' ? value : '')
      break
    case 'bytes':
      writer.bytes(Buffer.from(typeof value === 'string' ? value : '', 'base64'))
      break
    case 'bool':
      writer.bool(value === true)
      break
    case 'int':
      writer.int64(typeof value === 'number' || typeof value === 'bigint' ? value : 0)
      break
    case 'rawJson':
      writer.bytes(new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(Buffer.from(encodeJson(value ?? null))).finish())
      break
    case 'time':
    case 'microTime':
      writer.bytes(encodeTime(value))
      break
    default:
      writer.bytes(encodeMessage((value ?? {}) as JsonObject, type))
  }
}

// No time is an empty message.
function encodeTime(value: Json | undefined): Uint8Array {
  if (typeof value !== 'string') return new Uint8Array()
  const seconds = Math.floor(Date.parse(value) / 1000)
  const micros = Number(/\.(\d{6})Z$/.exec(value)?.[1] ?? 0)
  return new BinaryWriter().tag(1, WireType.Varint).int64(seconds).tag(2, WireType.Varint).int32(micros * 1000).finish()
}
