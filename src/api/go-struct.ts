/**
 * JSON values decoded into Go structs that are described as data: zero values go, wrong types and unknown fields are reported with Go's texts.
 * upstream: sigs.k8s.io/json (UnmarshalStrict), apiextensions-apiserver/pkg/apis/apiextensions/v1/marshal.go
 */
import { BoundedTexts } from './error-limits.ts'
import { NEITHER } from './definition-props.ts'
import { SCHEMA, type GoType } from './definition-types.ts'
import { DecodeError, jsonKind } from './go-json-error.ts'
import { normalizeTime } from './go-time.ts'
import { coerceObjectMeta } from './metadata-coerce.ts'
import { Float, isInteger, isNumber, isObject, setKey, toNumber, type Json, type JsonObject } from './object.ts'
import { formatJsonNumber, sortKeys } from './status.ts'

/** `sorted`: members are visited in the order of their names, as in a document that came as YAML. */
export interface GoStructOptions {
  readonly sorted: boolean
}

/** A decoded struct, and the paths of the unknown fields in the order in which they were met. */
export interface GoStruct {
  readonly value: JsonObject
  readonly unknown: string[]
}

/** Decodes a value into a struct type. Throws DecodeError with Go's text for the first value of a wrong type. */
export function decodeGoStruct(value: Json, type: GoType, options: GoStructOptions): GoStruct {
  const decoder = new Decoder(options, true)
  const decoded = decoder.read(value, type, { struct: '', fields: '', path: '' })
  if (decoder.error !== undefined) throw decoder.error
  return { value: isObject(decoded) ? decoded : {}, unknown: decoder.found.texts }
}

/** Where Go's decoder stands: the innermost struct, the fields down to here (no keys, no indexes), and the whole path. */
interface Place {
  readonly struct: string
  readonly fields: string
  readonly path: string
}

/** A value of a wrong type. An outer decoder that called an unmarshaler puts its own place before it. */
class TypeMismatch extends DecodeError {
  readonly value: string
  readonly type: string
  readonly fields: string
  constructor(value: string, type: string, struct: string, fields: string) {
    super(`json: cannot unmarshal ${value} into Go ${struct === '' ? 'value' : `struct field ${struct}.${fields}`} of type ${type}`)
    this.value = value
    this.type = type
    this.fields = fields
  }
}

type Of<K extends GoType['kind'], T = GoType> = T extends { readonly kind: infer U } ? (K extends U ? T : never) : never

const join = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`)

class Decoder {
  readonly found = new BoundedTexts()
  /** The first wrong type: Go goes on after it. What an unmarshaler throws ends decoding at once. */
  error: DecodeError | undefined
  private readonly options: GoStructOptions
  private readonly strict: boolean
  constructor(options: GoStructOptions, strict: boolean) {
    this.options = options
    this.strict = strict
  }

  /** The decoded value, or undefined for a zero value that is left out. */
  read(value: Json, type: GoType, at: Place): Json | undefined {
    if (value === null) return undefined
    switch (type.kind) {
      case 'string':
        if (typeof value !== 'string') return this.mismatch(value, type, at)
        return value === '' && !type.pointer ? undefined : value
      case 'bool':
        if (typeof value !== 'boolean') return this.mismatch(value, type, at)
        return value || type.pointer ? value : undefined
      case 'int32':
      case 'int64':
      case 'float64':
        return this.number(value, type, at)
      case 'bytes':
        return this.bytes(value, type, at)
      case 'struct':
        return this.struct(value, type, at)
      case 'list':
        return this.list(value, type, at)
      case 'map':
        return this.map(value, type, at)
      case 'json':
        return value
      case 'time':
        return this.time(value)
      case 'metadata':
        return this.metadata(value, type, at)
      default:
        return this.unmarshal(value, type.kind, at)
    }
  }

  private mismatch(value: Json, type: GoType, at: Place, shown: string = jsonKind(value)): undefined {
    this.error ??= new TypeMismatch(shown, type.go, at.struct, at.fields)
    return undefined
  }

  private struct(value: Json, type: Of<'struct'>, at: Place): Json | undefined {
    if (!isObject(value)) return this.mismatch(value, type, at)
    const fields = type.fields()
    const out: JsonObject = {}
    for (const key of this.keys(value)) {
      const field = fields.get(key)
      const path = join(at.path, key)
      if (field === undefined) {
        if (this.strict) this.found.add(path)
        continue
      }
      const member = this.read(value[key] as Json, field, { struct: type.go.slice('v1.'.length), fields: join(at.fields, key), path })
      if (member !== undefined) out[key] = member
    }
    return out
  }

  private keys(value: JsonObject): string[] {
    const keys = Object.keys(value)
    return this.options.sorted ? sortKeys(keys) : keys
  }

  private list(value: Json, type: Of<'list'>, at: Place): Json | undefined {
    if (!Array.isArray(value)) return this.mismatch(value, type, at)
    return value.map((item, i) => this.read(item, type.of, { ...at, path: `${at.path}[${i}]` }) ?? zero(type.of))
  }

  private map(value: Json, type: Of<'map'>, at: Place): Json | undefined {
    if (!isObject(value)) return this.mismatch(value, type, at)
    const out: JsonObject = {}
    for (const key of this.keys(value)) setKey(out, key, this.read(value[key] as Json, type.of, { ...at, path: join(at.path, key) }) ?? zero(type.of))
    return out
  }

  private number(value: Json, type: Of<'int32'>, at: Place): Json | undefined {
    if (!isNumber(value)) return this.mismatch(value, type, at)
    if (type.kind === 'float64') return toNumber(value)
    const integer = asInteger(value, this.options.sorted)
    if (integer === undefined) return this.mismatch(value, type, at, `number ${numberText(value, this.options.sorted)}`)
    if (type.kind === 'int32' && Math.abs(Number(integer) + 0.5) > 2 ** 31) return this.mismatch(value, type, at, `number ${integer}`)
    return Number(integer) === 0 && !type.pointer ? undefined : integer
  }

  // Base64, or a list of numbers.
  private bytes(value: Json, type: GoType, at: Place): Json | undefined {
    if (Array.isArray(value)) {
      const byte: GoType = { kind: 'int32', go: 'uint8' }
      for (const item of value) if (item !== null && (!isInteger(item) || item < 0 || item > 255)) this.mismatch(item, byte, at, isNumber(item) ? `number ${numberText(item, this.options.sorted)}` : jsonKind(item))
      return undefined
    }
    if (typeof value !== 'string') return this.mismatch(value, type, at)
    const bad = base64Fault(value)
    if (bad !== undefined) this.error ??= new DecodeError(`illegal base64 data at input byte ${bad}`)
    return value === '' ? undefined : value
  }

  private time(value: Json): Json | undefined {
    if (typeof value !== 'string') throw new DecodeError(`json: cannot unmarshal ${jsonKind(value)} into Go value of type string`)
    return normalizeTime(value)
  }

  private metadata(value: Json, type: GoType, at: Place): Json | undefined {
    if (!isObject(value)) return this.mismatch(value, type, at)
    try {
      const { metadata, unknown } = coerceObjectMeta(value, { lenient: false, inOrder: !this.options.sorted })
      for (const path of unknown) this.found.add(`${at.path}.${path}`)
      return metadata
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error
      // Times have an unmarshaler, which ends decoding.
      if (!error.message.startsWith('json: cannot unmarshal')) throw error
      this.error ??= new DecodeError(error.message.replace(/^(json: cannot unmarshal .* into Go struct field \w+\.)/, `$1${at.fields}.`))
      return {}
    }
  }

  // Types with an unmarshaler decode what is below them anew, without looking for unknown fields.
  private unmarshal(value: Json, kind: 'schemaOrBool' | 'schemaOrList' | 'schemaOrNames', at: Place): Json | undefined {
    if (kind === 'schemaOrBool' && typeof value === 'boolean') return value
    if (isObject(value)) return this.below(value, SCHEMA, at)
    if (kind === 'schemaOrBool') throw new DecodeError('boolean or JSON schema expected')
    if (!Array.isArray(value)) return NEITHER as unknown as Json
    const of: GoType = kind === 'schemaOrList' ? SCHEMA : { kind: 'string', go: 'string' }
    return this.below(value, { kind: 'list', go: `[]${of.go}`, of }, at)
  }

  private below(value: Json, type: GoType, at: Place): Json {
    const inner = new Decoder(this.options, false)
    try {
      const decoded = inner.read(value, type, { struct: '', fields: '', path: '' })
      if (inner.error !== undefined) throw inner.error
      return decoded ?? null
    } catch (error) {
      if (!(error instanceof TypeMismatch)) throw error
      throw new TypeMismatch(error.value, error.type, at.struct, error.fields === '' ? at.fields : join(at.fields, error.fields))
    }
  }
}

function zero(type: GoType): Json {
  if (type.kind === 'string') return ''
  if (type.kind === 'json') return null
  return type.kind === 'schemaOrNames' ? (NEITHER as unknown as Json) : {}
}

// YAML's floats become JSON on the way, where 1.0 is 1; in a JSON document it is no integer for Go.
function asInteger(value: number | bigint | Float, fromYaml: boolean): number | bigint | undefined {
  if (isInteger(value)) return value
  const float = toNumber(value)
  return fromYaml && Number.isSafeInteger(float) ? float : undefined
}

// How the number was written is lost, so that this is its plainest form; nobody writes an integer that is too long with a fraction.
function numberText(value: number | bigint | Float, fromYaml: boolean): string {
  if (isInteger(value)) return String(value)
  const float = toNumber(value)
  if (!Number.isInteger(float) || Math.abs(float) >= 1e21) return formatJsonNumber(float)
  return `${BigInt(float)}${fromYaml || Math.abs(float) >= 2 ** 63 ? '' : '.0'}`
}

// Where Go's decoder of standard base64 stops, undefined when it does not.
function base64Fault(text: string): number | undefined {
  const bad = /[^A-Za-z0-9+/\r\n]/.exec(text.replace(/={1,2}[\r\n]*$/, (padding) => 'A'.repeat(padding.length)))
  if (bad !== null) return bad.index
  const digits = text.replace(/[\r\n]/g, '').length
  return digits % 4 === 0 ? undefined : text.length - (digits % 4)
}
