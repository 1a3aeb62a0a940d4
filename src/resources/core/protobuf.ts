/**
 * Protobuf bodies of the core kinds that kubectl sends, as JSON objects. Messages are tables: field number → name and type.
 * Unknown fields are skipped, as protobuf asks.
 * upstream: k8s.io/api/core/v1/generated.proto, apimachinery/pkg/apis/meta/v1/generated.proto, .../runtime/serializer/protobuf
 */
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire'
import { setKey, type Json, type JsonObject } from '../../api/object.ts'

/** The type of a field. `time` and `microTime` are messages of seconds and nanoseconds, shown as RFC 3339. */
export type FieldType = 'string' | 'bytes' | 'bool' | 'int' | 'time' | 'microTime' | 'stringMap' | 'bytesMap' | Message

/** A field: its JSON name and its type; `repeated` makes a list. */
export interface Field {
  readonly name: string
  readonly type: FieldType
  readonly repeated?: true
}

/** A message: fields by number. */
export interface Message {
  readonly [field: number]: Field
}

const OWNER_REFERENCE: Message = {
  1: { name: 'kind', type: 'string' },
  3: { name: 'name', type: 'string' },
  4: { name: 'uid', type: 'string' },
  5: { name: 'apiVersion', type: 'string' },
  6: { name: 'controller', type: 'bool' },
  7: { name: 'blockOwnerDeletion', type: 'bool' },
}

/** metav1.ObjectMeta without managedFields. */
export const OBJECT_META: Message = {
  1: { name: 'name', type: 'string' },
  2: { name: 'generateName', type: 'string' },
  3: { name: 'namespace', type: 'string' },
  5: { name: 'uid', type: 'string' },
  6: { name: 'resourceVersion', type: 'string' },
  7: { name: 'generation', type: 'int' },
  8: { name: 'creationTimestamp', type: 'time' },
  9: { name: 'deletionTimestamp', type: 'time' },
  10: { name: 'deletionGracePeriodSeconds', type: 'int' },
  11: { name: 'labels', type: 'stringMap' },
  12: { name: 'annotations', type: 'stringMap' },
  13: { name: 'ownerReferences', type: OWNER_REFERENCE, repeated: true },
  14: { name: 'finalizers', type: 'string', repeated: true },
}

const MAGIC = Buffer.from('k8s\0')
const TYPE_META: Message = { 1: { name: 'apiVersion', type: 'string' }, 2: { name: 'kind', type: 'string' } }
const UNKNOWN: Message = { 1: { name: 'typeMeta', type: TYPE_META }, 2: { name: 'raw', type: 'bytes' } }

/** Decodes a body: the magic prefix, the envelope, then the message. Throws Error for anything else. */
export function decodeKubeProtobuf(bytes: Uint8Array, message: Message): JsonObject {
  if (!MAGIC.equals(bytes.subarray(0, MAGIC.length))) throw new Error('provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]')
  const envelope = decodeMessage(bytes.subarray(MAGIC.length), UNKNOWN)
  return decodeMessage(Buffer.from(String(envelope.raw ?? ''), 'base64'), message)
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
  if (repeated) out[name] = [...((out[name] as Json[] | undefined) ?? []), value]
  else out[name] = value
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
    case 'time':
    case 'microTime':
      return readTime(reader.bytes(), type)
    default:
      return decodeMessage(reader.bytes(), type)
  }
}

// A zero time is sent as an empty message and stands for none.
function readTime(bytes: Uint8Array, type: 'time' | 'microTime'): Json {
  const { seconds, nanos } = decodeMessage(bytes, { 1: { name: 'seconds', type: 'int' }, 2: { name: 'nanos', type: 'int' } })
  if (seconds === undefined) return null
  const base = new Date(Number(seconds) * 1000).toISOString().slice(0, 19)
  if (type === 'time') return `${base}Z`
  return `${base}.${String(Math.floor(Number(nanos ?? 0) / 1000)).padStart(6, '0')}Z`
}
