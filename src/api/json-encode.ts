/**
 * JSON as Go's encoding/json writes a map: keys sorted by their bytes, `<`, `>`, `&`, U+2028 and U+2029 escaped, int64 exact.
 * No recursion, so that nesting as deep as the parser takes can be written too.
 * upstream: encoding/json/encode.go
 */
import { compareBytes, formatJsonNumber, goJsonString } from './go-text.ts'
import { Float, type Json, type JsonObject } from './object.ts'

/** A container that is being written: an object with its keys, or an array (keys absent), and how far it is. */
interface Frame {
  readonly container: JsonObject | readonly Json[]
  readonly keys: readonly string[] | undefined
  next: number
}

/** Canonical JSON of a value. Members that are undefined are left out. */
export function encodeJson(value: Json): string {
  return encode(value, sortedKeys)
}

/** The same with the members of objects in the order in which they stand, as Go writes a struct. */
export function encodeInOrder(value: Json): string {
  return encode(value, definedKeys)
}

/**
 * A patched value, as errors quote it: what the patch brought, and nothing has changed since, has its members in the order in which they were sent.
 * upstream: evanphx/json-patch keeps the bytes of such a value
 */
export function encodePatched(value: Json, patch: readonly Json[] | JsonObject): string {
  const sent = new Set<Json>()
  const left: (Json | undefined)[] = [patch as Json]
  while (left.length > 0) {
    const next = left.pop()
    if (!isContainer(next) || sent.has(next)) continue
    sent.add(next)
    for (const member of Object.values(next)) left.push(member)
  }
  return encode(value, (object) => (sent.has(object) ? definedKeys(object) : sortedKeys(object)))
}

type KeysOf = (object: JsonObject) => readonly string[]

function encode(value: Json, keysOf: KeysOf): string {
  if (!isContainer(value)) return encodeScalar(value)
  let frame = openFrame(value, keysOf)
  let out = frame.keys ? '{' : '['
  const stack: Frame[] = []
  for (;;) {
    const i = frame.next++
    const { keys, container } = frame
    if (i === (keys ?? (container as readonly Json[])).length) {
      out += keys ? '}' : ']'
      const parent = stack.pop()
      if (parent === undefined) return out
      frame = parent
      continue
    }
    if (i > 0) out += ','
    let member: Json
    if (keys) {
      const key = keys[i] as string
      out += `${encodeString(key)}:`
      member = (container as JsonObject)[key] as Json
    } else {
      member = (container as readonly Json[])[i] as Json
    }
    if (!isContainer(member)) {
      out += encodeScalar(member)
      continue
    }
    stack.push(frame)
    frame = openFrame(member, keysOf)
    out += frame.keys ? '{' : '['
  }
}

function isContainer(value: Json | undefined): value is JsonObject | Json[] {
  return typeof value === 'object' && value !== null && !(value instanceof Float)
}

function openFrame(container: JsonObject | readonly Json[], keysOf: KeysOf): Frame {
  return { container, keys: Array.isArray(container) ? undefined : keysOf(container as JsonObject), next: 0 }
}

function definedKeys(object: JsonObject): string[] {
  return Object.keys(object).filter((key) => object[key] !== undefined)
}

/** The keys of an object that have a value, sorted by their UTF-8 bytes. */
export function sortedKeys(object: JsonObject): string[] {
  let keys = Object.keys(object)
  let sorted = true
  for (let i = 0; i < keys.length; i++) {
    if (object[keys[i] as string] === undefined) {
      keys = keys.filter((key) => object[key] !== undefined)
      return sortKeysFast(keys)
    }
    if (i > 0 && (keys[i - 1] as string) > (keys[i] as string)) sorted = false
  }
  return sorted && !keys.some(mayHaveSurrogates) ? keys : sortKeysFast(keys)
}

// Code units and bytes sort alike, unless characters beyond the basic plane are about.
function sortKeysFast(keys: string[]): string[] {
  return keys.some(mayHaveSurrogates) ? keys.sort(compareBytes) : keys.sort()
}

const SURROGATE = /[\ud800-\udfff]/

function mayHaveSurrogates(key: string): boolean {
  return SURROGATE.test(key)
}

function encodeScalar(value: Json | undefined): string {
  switch (typeof value) {
    case 'string':
      return encodeString(value)
    case 'number':
      return String(value)
    case 'boolean':
    case 'bigint':
      return String(value)
    default:
      return value instanceof Float ? floatText(value) : 'null'
  }
}

// Upstream answers with what it has read back from its store, where -0 has become an integer.
const floatText = ({ value }: Float): string => (value === 0 ? '0' : formatJsonNumber(value))

// What needs an escape, and the surrogates, of which JSON.stringify escapes the lone ones.
// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const SPECIAL = /[\x00-\x1f"\\<>&\u2028\u2029\ud800-\udfff]/

/** A JSON string as Go writes it. */
export function encodeString(value: string): string {
  return SPECIAL.test(value) ? goJsonString(value) : `"${value}"`
}
