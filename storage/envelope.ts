/**
 * The bytes of a stored object: a header that says what they are, the object, and what its version cannot hold.
 *
 *   0  magic (4)              8e 65 6e 76
 *   4  format (1)             1
 *   5  length of version (1)
 *   6  zero (2)
 *   8  schema digest (16)
 *  24  length of payload (4)
 *  28  length of remainder (4)
 *  32  place (4)
 *  36  CRC-32C of everything but these four bytes (4)
 *  40  version, payload, remainder
 *
 * Numbers are little-endian. The header is read without parsing what follows, so that a scan tells corrupt bytes from an unknown
 * version and from an object that does not convert. Released bytes are kept in test/compat and stay readable.
 */
import { crc32c } from './crc32c.ts'

/** What is sealed, and what is found again. */
export interface Envelope {
  /** Name of the API version that the payload is in, for example "v1". ASCII, at most 63 characters. */
  readonly version: string
  /** Digest of that version's schema when it was written: 32 hexadecimal digits, lower case. */
  readonly digest: string
  /** The object, without its revision. */
  readonly payload: Uint8Array
  /** What the version cannot hold; absent when there is nothing. */
  readonly remainder?: Uint8Array
  /** Byte offset in the payload where the revision goes when it is read. */
  readonly place: number
}

/** Corrupt: damaged; Truncated: the end is missing; UnknownFormat: no envelope, or one of a newer format. */
export type EnvelopeErrorClass = 'Corrupt' | 'Truncated' | 'UnknownFormat'

/** Bytes that are no readable envelope. */
export class EnvelopeError extends Error {
  readonly class: EnvelopeErrorClass
  constructor(errorClass: EnvelopeErrorClass, message: string) {
    super(message)
    this.name = 'EnvelopeError'
    this.class = errorClass
  }
}

const MAGIC = 0x766e658e
const FORMAT = 1
const HEADER_BYTES = 40
const CHECKSUM_AT = 36
const [DIGEST_AT, DIGEST_END] = [8, 24]

/** Makes the stored bytes. Throws RangeError for a version, digest or place that the header cannot hold. */
export function sealEnvelope({ version, digest, payload, remainder = new Uint8Array(), place }: Envelope): Uint8Array {
  if (!/^[\x21-\x7e]{1,63}$/.test(version)) throw new RangeError(`invalid version ${JSON.stringify(version)}`)
  if (!/^[0-9a-f]{32}$/.test(digest)) throw new RangeError(`invalid digest ${JSON.stringify(digest)}`)
  if (!Number.isInteger(place) || place < 0 || place > payload.length) throw new RangeError(`place ${place} is outside of the payload`)
  const payloadAt = HEADER_BYTES + version.length
  const bytes = new Uint8Array(payloadAt + payload.length + remainder.length)
  const header = new DataView(bytes.buffer)
  header.setUint32(0, MAGIC, true)
  header.setUint8(4, FORMAT)
  header.setUint8(5, version.length)
  bytes.set(Buffer.from(digest, 'hex'), DIGEST_AT)
  header.setUint32(24, payload.length, true)
  header.setUint32(28, remainder.length, true)
  header.setUint32(32, place, true)
  bytes.set(Buffer.from(version, 'latin1'), HEADER_BYTES)
  bytes.set(payload, payloadAt)
  bytes.set(remainder, payloadAt + payload.length)
  header.setUint32(CHECKSUM_AT, checksum(bytes), true)
  return bytes
}

/** Reads stored bytes; payload and remainder are views of them. Throws EnvelopeError. */
export function openEnvelope(bytes: Uint8Array): Envelope {
  const header = readHeader(bytes)
  const payloadAt = HEADER_BYTES + header.getUint8(5)
  const remainderAt = payloadAt + header.getUint32(24, true)
  const end = remainderAt + header.getUint32(28, true)
  if (bytes.length < end) throw new EnvelopeError('Truncated', `stored value has ${bytes.length} bytes, its header says ${end}`)
  if (bytes.length > end) throw new EnvelopeError('Corrupt', `stored value has ${bytes.length} bytes, its header says ${end}`)
  if (header.getUint32(CHECKSUM_AT, true) !== checksum(bytes)) throw new EnvelopeError('Corrupt', 'stored value does not match its checksum')
  const buffer = asBuffer(bytes)
  return {
    version: versionOf(bytes, header),
    digest: buffer.toString('hex', DIGEST_AT, DIGEST_END),
    payload: bytes.subarray(payloadAt, remainderAt),
    ...(end > remainderAt && { remainder: bytes.subarray(remainderAt, end) }),
    place: header.getUint32(32, true),
  }
}

/** The version of stored bytes, from the header alone: the checksum is not looked at. Throws EnvelopeError. */
export function peekVersion(bytes: Uint8Array): string {
  return versionOf(bytes, readHeader(bytes))
}

/** Whether two readable values have the same version under the same schema, from the headers alone. Throws EnvelopeError. */
export function isSameEncoding(a: Uint8Array, b: Uint8Array): boolean {
  return peekVersion(a) === peekVersion(b) && asBuffer(a).compare(b, DIGEST_AT, DIGEST_END, DIGEST_AT, DIGEST_END) === 0
}

function readHeader(bytes: Uint8Array): DataView {
  const header = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (bytes.length >= 4 && header.getUint32(0, true) !== MAGIC) throw new EnvelopeError('UnknownFormat', 'stored value is no envelope')
  if (bytes.length >= 5 && header.getUint8(4) !== FORMAT) {
    throw new EnvelopeError('UnknownFormat', `stored value has envelope format ${header.getUint8(4)}, this program reads ${FORMAT}`)
  }
  if (bytes.length < HEADER_BYTES || bytes.length < HEADER_BYTES + header.getUint8(5)) {
    throw new EnvelopeError('Truncated', `stored value has only ${bytes.length} bytes`)
  }
  return header
}

function versionOf(bytes: Uint8Array, header: DataView): string {
  return asBuffer(bytes).toString('latin1', HEADER_BYTES, HEADER_BYTES + header.getUint8(5))
}

function checksum(bytes: Uint8Array): number {
  return crc32c(bytes.subarray(HEADER_BYTES), crc32c(bytes.subarray(0, CHECKSUM_AT)))
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
