/** A codec for tests: objects with a key and a text, in versions that name the text differently. */
import { EnvelopeError, openEnvelope, sealEnvelope } from '../../storage/envelope.ts'
import { DecodeError } from '../../storage/object-codec.ts'
import type { ObjectCodec } from '../../storage/object-codec.ts'

export interface Twin {
  readonly key: string
  readonly text: string
  /** Versions that it names. */
  readonly names?: readonly string[]
}

/** Field that has the text. */
const FIELDS: Readonly<Record<string, string>> = { v1alpha1: 'a', v1beta1: 'b', v1: 'c', v2: 'd' }

/** The stored bytes of an object; `says` is put in the place of what it says of itself. */
export function sealTwin({ key, text, names }: Twin, version: string, says: { key?: string; version?: string } = {}): Uint8Array {
  const field = FIELDS[says.version ?? version] as string
  const payload = Buffer.from(JSON.stringify({ version: says.version ?? version, key: says.key ?? key, [field]: text, ...(names && { names }) }))
  return sealEnvelope({ version, digest: '0'.repeat(32), payload, place: 0 })
}

/** The object in stored bytes, whatever versions a program knows. */
export function openTwin(value: Uint8Array): Twin & { readonly version: string } {
  const { version, payload } = openEnvelope(value)
  const body = JSON.parse(Buffer.from(payload).toString()) as Record<string, string> & { readonly names?: readonly string[] }
  return { key: body.key as string, text: body[FIELDS[version] as string] as string, version, ...(body.names && { names: body.names }) }
}

/** A program's codec. A text that begins with "fails" cannot be decoded, one that begins with "lossy" is cut in v1. */
export function twinCodec(decodable: readonly string[] = ['v1alpha1', 'v1beta1', 'v1']): ObjectCodec<Twin> {
  const read = (value: Uint8Array): Twin & { version: string } => {
    const { version, payload } = openEnvelope(value)
    if (!decodable.includes(version)) throw new DecodeError('UnknownVersion', `unknown version ${version}`)
    try {
      JSON.parse(Buffer.from(payload).toString())
    } catch {
      throw new DecodeError('ParseError', 'no JSON')
    }
    return openTwin(value)
  }
  return {
    decodable,
    decode(value) {
      const { version: _, ...twin } = read(value)
      if (twin.text.startsWith('fails')) throw new Error('it fails')
      return twin
    },
    encode: ({ text, ...rest }, version) => sealTwin({ ...rest, text: version === 'v1' && text.startsWith('lossy') ? 'lossy' : text }, version),
    equal: (a, b) => a.key === b.key && a.text === b.text && String(a.names) === String(b.names),
    canonical: ({ key, text, names }) => JSON.stringify([key, text, ...(names ? [names] : [])]),
    identity(value) {
      const body = JSON.parse(Buffer.from(openEnvelope(value).payload).toString()) as Record<string, string>
      return { key: body.key as string, version: body.version as string }
    },
    view(hub) {
      if (hub.text.startsWith('hidden')) throw new EnvelopeError('Corrupt', 'cannot be shown')
    },
    names: ({ names = [] }, version) => names.includes(version),
    settle(twin, { retiredVersions, retiring }) {
      const gone = [...retiredVersions.map(({ version }) => version), retiring]
      if (!twin.names?.some((name) => gone.includes(name))) return twin
      return { ...twin, names: twin.names.map((name) => (gone.includes(name) ? 'v1' : name)) }
    },
  }
}
