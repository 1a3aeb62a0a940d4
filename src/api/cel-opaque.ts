/** Values that rules can only pass on and call methods of (quantities, URLs, addresses): messages of a type made here, which carry a payload. */
import { create, createFileRegistry, equals, type DescMessage, type Message } from '@bufbuild/protobuf'
import { isReflectMessage, reflect, type ReflectMessage } from '@bufbuild/protobuf/reflect'
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import { celError } from '@bufbuild/cel'
import { meter, OBJECT } from './cel-meter.ts'

const payloads = new WeakMap<Message, unknown>()
const equalities = new Map<string, (a: unknown, b: unknown) => boolean>()

/** A type of opaque values. `unwrap` throws for a value of another type. */
export interface OpaqueType<T> {
  readonly desc: DescMessage
  wrap(payload: T): ReflectMessage
  unwrap(value: unknown): T
}

/** Makes a type of opaque values, e.g. `kubernetes.Quantity`; `equal` decides `==`. */
export function opaqueType<T>(name: string, equal: (a: T, b: T) => boolean): OpaqueType<T> {
  const desc = describe(name)
  equalities.set(name, (a, b) => equal(a as T, b as T))
  return {
    desc,
    wrap(payload) {
      meter.charge(OBJECT)
      const message = create(desc)
      payloads.set(message, payload)
      return reflect(desc, message)
    },
    unwrap(value) {
      if (!isReflectMessage(value) || value.desc !== desc) throw celError('no such overload')
      return payloads.get(value.message) as T
    },
  }
}

function describe(fullName: string): DescMessage {
  const dot = fullName.lastIndexOf('.')
  const file = create(FileDescriptorProtoSchema, { name: `${fullName}.proto`, syntax: 'proto3', package: fullName.slice(0, Math.max(dot, 0)), messageType: [{ name: fullName.slice(dot + 1) }] })
  const desc = createFileRegistry(create(FileDescriptorSetSchema, { file: [file] })).getMessage(fullName)
  if (desc === undefined) throw new Error(`${fullName} is no message`)
  return desc
}

/** Equality of messages: opaque values by their payload, timestamps and durations by their fields. An opaque value can be compared with nothing else. */
export function equalOpaque(a: unknown, b: unknown): boolean {
  if (!isReflectMessage(a)) return false
  const equal = equalities.get(a.desc.typeName)
  if (!isReflectMessage(b) || a.desc.typeName !== b.desc.typeName) {
    if (equal !== undefined && a.desc.typeName !== 'optional_type') throw celError('no such overload')
    return false
  }
  return equal === undefined ? equals(a.desc, a.message, b.message) : equal(payloads.get(a.message), payloads.get(b.message))
}
