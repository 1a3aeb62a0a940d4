/** What the bytes of an object mean, as far as scans and migrations need it. Injected: nothing in storage/ knows a Kubernetes object. */
import { MAX_VALUE_BYTES } from './backend.ts'
import { EnvelopeError, isSameEncoding, openEnvelope } from './envelope.ts'
import type { EnvelopeErrorClass } from './envelope.ts'
import type { FenceRecord } from './fence-record.ts'

/**
 * Why a stored value cannot be used. UnknownVersion: no decoder; ParseError: no object; ConversionError: the decoder fails;
 * LossyConversion: it changes when it is written anew; KeyMismatch: it is another object than its key says, or another version than its header says.
 */
export type UndecodableClass = EnvelopeErrorClass | 'UnknownVersion' | 'ParseError' | 'ConversionError' | 'LossyConversion' | 'KeyMismatch'

/** A stored value that cannot be used, with its class. */
export class DecodeError extends Error {
  readonly class: UndecodableClass
  constructor(errorClass: UndecodableClass, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'DecodeError'
    this.class = errorClass
  }
}

/** Between stored values and hub objects. Hub objects are opaque here. */
export interface ObjectCodec<Hub = unknown> {
  /** Versions whose stored values can be decoded. */
  readonly decodable: readonly string[]
  /** Stored value → hub object. Throws EnvelopeError or DecodeError. */
  decode(value: Uint8Array): Hub
  /** Hub object → stored value at a version. */
  encode(hub: Hub, version: string): Uint8Array
  /** Whether two hub objects are the same in everything that a client can see, except their resourceVersion. */
  equal(a: Hub, b: Hub): boolean
  /** One text for all equal hub objects. */
  canonical(hub: Hub): string
  /** What the object itself says of its key (relative to the prefix) and of its version. Throws DecodeError. */
  identity(value: Uint8Array): { readonly key: string; readonly version: string }
  /** Decodes into every version that is served. Throws DecodeError. */
  view(hub: Hub): void
  /** Whether an object speaks of a version in what it says of itself, so that no program may forget the version yet. */
  names(hub: Hub, version: string): boolean
  /** The object as it is where versions are retired, or one is being retired: it names none of them, and says the same in other words. */
  settle(hub: Hub, retirements: Retirements): Hub
}

/** What of a fence says that versions may be named no more. */
export type Retirements = Pick<FenceRecord, 'retiredVersions' | 'retiring'>

/** The class of what decoding threw; ConversionError for anything that has none of its own. */
export function undecodableClass(error: unknown): UndecodableClass {
  if (error instanceof DecodeError || error instanceof EnvelopeError) return error.class
  return 'ConversionError'
}

/** A value written anew at a version: its bytes, or why it must not be. */
export type Reencoded = { readonly value: Uint8Array } | { readonly problem: UndecodableClass; readonly message: string }

/** Writes a stored value anew at a version (the same value where it is at it already) and proves that nothing else changed: both decode to the same hub object. */
export function reencode(codec: ObjectCodec, value: Uint8Array, version: string): Reencoded {
  try {
    const hub = codec.decode(value)
    const written = codec.encode(hub, version)
    // The same version under the same schema: only the order of members can differ, which is no reason for an event.
    if (isSameEncoding(value, written)) return { value }
    if (written.length > MAX_VALUE_BYTES) {
      return { problem: 'ConversionError', message: `it would have ${written.length} bytes at ${version}, the limit is ${MAX_VALUE_BYTES}` }
    }
    if (!codec.equal(codec.decode(written), hub)) return { problem: 'LossyConversion', message: `writing it at ${version} would change it` }
    return { value: written }
  } catch (error) {
    return { problem: undecodableClass(error), message: error instanceof Error ? error.message : String(error) }
  }
}

/** Writes a stored value anew at a version so that it names no retired version (the same value where it does not), and proves that this can be read. */
export function settleValue(codec: ObjectCodec, value: Uint8Array, version: string, retirements: Retirements): Reencoded {
  try {
    const hub = codec.decode(value)
    const settled = codec.settle(hub, retirements)
    if (settled === hub) return { value }
    const written = codec.encode(settled, version)
    if (written.length > MAX_VALUE_BYTES) {
      return { problem: 'ConversionError', message: `it would have ${written.length} bytes at ${version}, the limit is ${MAX_VALUE_BYTES}` }
    }
    if (!codec.equal(codec.decode(written), settled)) return { problem: 'LossyConversion', message: `writing it at ${version} would change it` }
    return { value: written }
  } catch (error) {
    return { problem: undecodableClass(error), message: error instanceof Error ? error.message : String(error) }
  }
}

/** What is wrong with a stored value at a key (relative to the prefix), looking at all of it; undefined: nothing. */
export function examine(codec: ObjectCodec, key: string, value: Uint8Array): { readonly problem: UndecodableClass; readonly message: string } | undefined {
  try {
    const { version } = openEnvelope(value)
    if (!codec.decodable.includes(version)) throw new DecodeError('UnknownVersion', `version ${version} is not one of ${codec.decodable.join(', ')}`)
    const identity = codec.identity(value)
    if (identity.key !== key) throw new DecodeError('KeyMismatch', `the object says that it is ${identity.key}`)
    if (identity.version !== version) throw new DecodeError('KeyMismatch', `the header says ${version}, the object ${identity.version}`)
    codec.view(codec.decode(value))
    return undefined
  } catch (error) {
    return { problem: undecodableClass(error), message: error instanceof Error ? error.message : String(error) }
  }
}
