/**
 * The tokens by which a list goes on at its next page.
 * upstream: apiserver/pkg/storage/continue.go, apiserver/pkg/storage/etcd3/errors.go
 */
import { DecodeError, jsonKind } from './go-json-error.ts'
import { decodeJson } from './json-parse.ts'
import { getKey, isInteger, isObject, type Json } from './object.ts'
import { badRequest, expired, goQuote, renderJson, type StatusError } from './status.ts'

/** Where a list goes on. */
export interface ContinueToken {
  /** The revision of the first page; undefined: the latest, for a list that was told to go on inconsistently. */
  readonly revision: number | undefined
  /** The first key of the page, relative to the list's prefix: `<namespace>/<name>\0` or `<name>\0`. */
  readonly start: string
}

const VERSION = 'meta.k8s.io/v1'

/** Encodes a token. `lastKey` is the last key of this page, relative to the list's prefix. upstream: EncodeContinue */
export function encodeContinue(lastKey: string, revision: number): string {
  return encode({ start: `${lastKey}\0`, revision })
}

function encode({ revision, start }: ContinueToken): string {
  // a NUL is escaped in JSON, so that the token is the very text that upstream makes
  return Buffer.from(`{"v":"${VERSION}","rv":${revision ?? -1},"start":${renderJson(start)}}`).toString('base64url')
}

/** Decodes a token; throws 400 with upstream's text. upstream: DecodeContinue */
export function decodeContinue(token: string): ContinueToken {
  const { v, rv, start } = members(parse(decodeBase64(token)))
  if (v !== VERSION) return refuse(`server does not recognize this encoded version ${v}`)
  if (rv === 0) return refuse(`incorrect encoded start resourceVersion (version ${VERSION})`)
  if (start === '') return refuse(`encoded start key empty (version ${VERSION})`)
  // a key that is no clean path could lead out of the list's prefix
  const key = start.startsWith('/') ? start.slice(1) : start
  if (key !== '' && key.split('/').some((part) => part === '' || part === '.' || part === '..')) return refuse(start)
  return { revision: rv < 0 ? undefined : rv, start: key }
}

const refuse = (text: string): never => {
  throw badRequest(`invalid continue token: continue key is not valid: ${text}`)
}

// upstream: base64.RawURLEncoding.DecodeString, which skips line breaks and names the byte it stumbled over
function decodeBase64(token: string): Buffer {
  const bytes = Buffer.from(token)
  let digits = 0
  for (const [i, byte] of bytes.entries()) {
    if (byte === 0x0a || byte === 0x0d) continue
    if (!/[A-Za-z0-9_-]/.test(String.fromCharCode(byte))) return refuse(`illegal base64 data at input byte ${i}`)
    digits++
  }
  if (digits % 4 === 1) return refuse(`illegal base64 data at input byte ${bytes.length - 1}`)
  return Buffer.from(token.replace(/[\r\n]/g, ''), 'base64url')
}

function parse(bytes: Buffer): Json {
  const [lead = 0] = bytes
  // As text, a byte that is no UTF-8 would be another character.
  if (lead >= 0x80) return refuse(`invalid character '${goQuote(String.fromCharCode(lead)).slice(1, -1)}' looking for beginning of value`)
  try {
    return decodeJson(bytes.toString()).value
  } catch (error) {
    if (error instanceof DecodeError) return refuse(error.message)
    throw error
  }
}

function members(value: Json): { v: string; rv: number; start: string } {
  if (value === null) return { v: '', rv: 0, start: '' }
  if (!isObject(value)) return refuse(`json: cannot unmarshal ${jsonKind(value)} into Go value of type storage.continueToken`)
  const text = (name: string): string => {
    const member = getKey(value, name) ?? ''
    return typeof member === 'string' ? member : mismatch(member, name, 'string')
  }
  const rv = getKey(value, 'rv') ?? 0
  return { v: text('v'), rv: isInteger(rv) ? Number(rv) : mismatch(rv, 'rv', 'int64'), start: text('start') }
}

function mismatch(found: Json, name: string, type: string): never {
  const kind = jsonKind(found)
  return refuse(`json: cannot unmarshal ${kind === 'number' ? `number ${renderJson(found)}` : kind} into Go struct field continueToken.${name} of type ${type}`)
}

const INCONSISTENT =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. ' +
  'Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.'

/** 410 for a token whose revision is compacted; it carries a token that goes on from the same key at the latest revision. upstream: handleCompactedErrorForPaging */
export function expiredContinue(token: ContinueToken): StatusError {
  return expired(INCONSISTENT, encode({ revision: undefined, start: token.start }))
}
