/** What a program must read rightly before it may touch a store: stored bytes whose meaning is known. */
import { crc32c } from '../../storage/crc32c.ts'
import type { ObjectCodec } from '../../storage/object-codec.ts'

/** Stored bytes, in Base64, and the canonical text of the object that they are. */
export interface StoredSample {
  readonly value: string
  readonly hub: string
}

/** Throws when a sample is not read as what it is, cannot be written again at every version, or the checksum is not CRC-32C. */
export function checkSamples(codec: ObjectCodec, samples: readonly StoredSample[]): void {
  // The check value of the algorithm's definition.
  if (crc32c(Buffer.from('123456789')) !== 0xe3069283) throw new Error('the checksum of 123456789 is wrong')
  for (const [i, { value, hub }] of samples.entries()) {
    const object = codec.decode(Buffer.from(value, 'base64'))
    if (codec.canonical(object) !== hub) throw new Error(`sample ${i + 1} is read as another object`)
    for (const version of codec.decodable) {
      if (codec.canonical(codec.decode(codec.encode(object, version))) !== hub) throw new Error(`sample ${i + 1} cannot be written at ${version}: that would change it`)
    }
  }
}
