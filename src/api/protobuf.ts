/**
 * Protobuf bodies as JSON objects. Messages are tables: field number → name and type. Unknown fields are skipped, as protobuf asks.
 * upstream: apimachinery/pkg/runtime/serializer/protobuf/protobuf.go
 */
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire'
import { parseStored } from './codec.ts'
import { setKey, type Json, type JsonObject } from './object.ts'

/**
 * The type of a field. `time` and `microTime` are messages of seconds and nanoseconds, shown as RFC 3339; `bytes` are shown in base64;
 * `rawJson` is a message whose only field is JSON.
 */
export type FieldType = 'string' | 'bytes' | 'bool' | 'int' | 'time' | 'microTime' | 'rawJson' | 'stringMap' | 'bytesMap' | Message

/** A field: its JSON name and its type; `repeated` makes a list. A `pointer` is written only when it is set, other fields always. */
export interface Field {
  readonly name: string
  readonly type: FieldType
  readonly repeated?: true
  readonly pointer?: true
}

/** A message: fields by number. */
export interface Message {
  readonly [field: number]: Field
}

/** What every body begins with. */
export const MAGIC = Buffer.from('k8s\0')

/** runtime.Unknown: the message in its envelope. */
export const UNKNOWN: Message = {
  1: { name: 'typeMeta', type: { 1: { name: 'apiVersion', type: 'string' }, 2: { name: 'kind', type: 'string' } } },
  2: { name: 'raw', type: 'bytes', pointer: true },
  3: { name: 'contentEncoding', type: 'string' },
  4: { name: 'contentType', type: 'string' },
}

/** A message out of its envelope: not decoded, but known by its kind, which may be empty. */
export interface Enveloped {
  readonly apiVersion: string
  readonly kind: string
  decode(message: Message): JsonObject
}

/** Decodes a body: the magic prefix, the envelope, then the message. Throws Error for anything else. */
export function decodeKubeProtobuf(bytes: Uint8Array, message: Message): JsonObject {
  return openKubeProtobuf(bytes).decode(message)
}

/** Opens the envelope of a body. Throws Error for what has none; so does decoding what is no such message. upstream: serializer/protobuf: Serializer.Decode */
export function openKubeProtobuf(bytes: Uint8Array): Enveloped {
  if (bytes.length === 0) throw new Error('empty data')
  if (!MAGIC.equals(bytes.subarray(0, MAGIC.length))) throw new Error('provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]')
  const { typeMeta, raw } = whole(() => decodeMessage(bytes.subarray(MAGIC.length), UNKNOWN))
  const { apiVersion, kind } = (typeMeta ?? {}) as JsonObject
  return {
    apiVersion: String(apiVersion ?? ''),
    kind: String(kind ?? ''),
    decode: (message) => whole(() => decodeMessage(Buffer.from(String(raw ?? ''), 'base64'), message)),
  }
}

// Go's text for a message that is cut off.
function whole(decode: () => JsonObject): JsonObject {
  try {
    return decode()
  } catch (error) {
    throw error instanceof RangeError ? new Error('unexpected EOF', { cause: error }) : error
  }
}

function decodeMessage(bytes: Uint8Array, message: Message): JsonObject {
  const reader = new BinaryReader(bytes)
  const out: JsonObject = {}
  while (reader.pos < reader.len) {
    const [number, wire] = reader.tag()
    const field = Object.hasOwn(message, number) ? message[number] : undefined
    if (!field) {
      reader.skip(wire, number)
      continue
    }
    addField(out, field, reader, wire)
  }
  return out
}

function addField(out: JsonObject, { name, type, repeated }: Field, reader: BinaryReader, wire: WireType): void {
  if (type === 'stringMap' || type === 'bytesMap') {
    const entry = decodeMessage(reader.bytes(), { 1: { name: 'key', type: 'string' }, 2: { name: 'value', type: type === 'bytesMap' ? 'bytes' : 'string' } })
    const map = (out[name] ?? {}) as JsonObject
    setKey(map, String(entry.key ?? ''), entry.value ?? '')
    out[name] = map
    return
  }
  const value = readValue(reader, type, wire)
  if (!repeated) out[name] = value
  else if (Array.isArray(out[name])) out[name].push(value)
  else out[name] = [value]
}

function readValue(reader: BinaryReader, type: Exclude<FieldType, 'stringMap' | 'bytesMap'>, wire: WireType): Json {
  const expected = type === 'bool' || type === 'int' ? WireType.Varint : WireType.LengthDelimited
  if (wire !== expected) throw new Error(`proto: wrong wireType = ${wire}`)
  switch (type) {
    case 'string':
      return reader.string()
    case 'bytes':
      return Buffer.from(reader.bytes()).toString('base64')
    case 'bool':
      return reader.bool()
    case 'int':
      return Number(reader.int64())
    case 'rawJson':
      return parseStored(Buffer.from(String(decodeMessage(reader.bytes(), RAW).raw ?? ''), 'base64'))
    case 'time':
    case 'microTime':
      return readTime(reader.bytes(), type)
    default:
      return decodeMessage(reader.bytes(), type)
  }
}

const RAW: Message = { 1: { name: 'raw', type: 'bytes' } }

// A zero time is sent as an empty message and stands for none.
function readTime(bytes: Uint8Array, type: 'time' | 'microTime'): Json {
  const { seconds, nanos } = decodeMessage(bytes, { 1: { name: 'seconds', type: 'int' }, 2: { name: 'nanos', type: 'int' } })
  if (seconds === undefined) return null
  const base = new Date(Number(seconds) * 1000).toISOString().slice(0, 19)
  if (type === 'time') return `${base}Z`
  return `${base}.${String(Math.floor(Number(nanos ?? 0) / 1000)).padStart(6, '0')}Z`
}
