/**
 * The JSON parser for what comes from outside: int64 and float64 kept apart, duplicate keys found, `__proto__` an ordinary key,
 * no recursion (nesting up to 10000 needs no stack), one pass.
 * upstream: sigs.k8s.io/json (UnmarshalStrict, convertNumber), texts of encoding/json
 */
import { BoundedTexts } from './error-limits.ts'
import { DecodeError, syntaxError, type SyntaxContext } from './go-json-error.ts'
import { Float, isObject, setKey, type Json, type JsonObject } from './object.ts'

/** A member of the outermost object whose key stands there again. */
export type ReplacedMember = readonly [key: string, value: Json]

/**
 * A decoded document. `duplicates` are the paths of keys that stand twice in an object, in document order, each path once; `replaced` the values that
 * those of the outermost object had before the last one, which some decoders look at.
 */
export interface DecodedJson {
  readonly value: Json
  readonly duplicates: string[]
  readonly replaced: readonly ReplacedMember[]
}

const MAX_DEPTH = 10_000
// Upstream stops collecting after so many.
const MAX_FINDINGS = 100
const MAX_INT64 = 9223372036854775807n
const MIN_INT64 = -9223372036854775808n

/**
 * Parses JSON. A key that stands twice has the last value. Lone surrogates become U+FFFD. `maxDepth` is how deep it may nest, `integralFloat` what a
 * number such as `1.0` or `1e3` becomes.
 * Throws DecodeError with Go's text for broken JSON and for numbers beyond float64.
 */
export function decodeJson(text: string, { maxDepth = MAX_DEPTH, integralFloat = (value: number): Json => new Float(value) } = {}): DecodedJson {
  const parser = new Parser(text, maxDepth, integralFloat)
  const value = parser.document()
  return { value, duplicates: [...parser.duplicates], replaced: parser.replaced }
}

/** Throws DecodeError with the parser's text for a value that nests deeper than the parser would take: a patch can make one. */
export function checkDepth(value: Json): void {
  let level: (JsonObject | Json[])[] = isContainer(value) ? [value] : []
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) throw new DecodeError(`invalid character '${Array.isArray(level[0]) ? '[' : '{'}' exceeded max depth`)
    level = level.flatMap((container) => Object.values(container).filter(isContainer))
  }
}

function isContainer(value: Json | undefined): value is JsonObject | Json[] {
  return Array.isArray(value) || isObject(value)
}

class Parser {
  readonly duplicates = new Set<string>()
  private readonly paths = new BoundedTexts()
  readonly replaced: ReplacedMember[] = []
  private readonly text: string
  private readonly maxDepth: number
  private readonly integralFloat: (value: number) => Json
  private at = 0
  private outOfRange: string | undefined
  // The open containers, outermost first, and for each object the key whose value is being read.
  private readonly containers: (JsonObject | Json[])[] = []
  private readonly keys: string[] = []

  constructor(text: string, maxDepth: number, integralFloat: (value: number) => Json) {
    this.text = text
    this.maxDepth = maxDepth
    this.integralFloat = integralFloat
  }

  document(): Json {
    for (;;) {
      let value = this.begin()
      if (value === undefined) continue
      for (;;) {
        const container = this.containers.at(-1)
        if (container === undefined) return this.finish(value)
        if (this.attach(container, value)) break
        value = container
        this.containers.pop()
        this.keys.pop()
      }
    }
  }

  /** Reads a scalar or an empty container; or opens a container, reads up to its first value and returns undefined. */
  private begin(): Json | undefined {
    const code = this.skipBlanks()
    switch (code) {
      case 0x22:
        return this.string()
      case 0x7b:
        return this.open({}, 0x7d)
      case 0x5b:
        return this.open([], 0x5d)
      case 0x74:
        return this.literal('true', true)
      case 0x66:
        return this.literal('false', false)
      case 0x6e:
        return this.literal('null', null)
      default:
        if (code === 0x2d || (code >= 0x30 && code <= 0x39)) return this.number()
        return this.fail('looking for beginning of value')
    }
  }

  private open(container: JsonObject | Json[], close: number): Json | undefined {
    if (this.containers.length >= this.maxDepth) this.fail('exceeded max depth')
    this.at++
    if (this.skipBlanks() === close) {
      this.at++
      return container
    }
    this.containers.push(container)
    this.keys.push('')
    if (!Array.isArray(container)) this.key(container)
    return undefined
  }

  /** Puts a value into its container and reads on: true when another value follows, false when the container was closed. */
  private attach(container: JsonObject | Json[], value: Json): boolean {
    if (Array.isArray(container)) {
      container.push(value)
      const code = this.skipBlanks()
      if (code !== 0x2c && code !== 0x5d) this.fail('after array element')
      this.at++
      return code === 0x2c
    }
    const key = this.keys[this.keys.length - 1] as string
    // Values are never undefined; names of Object.prototype take the careful way, `__proto__` among them.
    if (container[key] === undefined) container[key] = value
    else {
      if (this.containers.length === 1 && Object.hasOwn(container, key) && this.replaced.length < MAX_FINDINGS) this.replaced.push([key, container[key] as Json])
      setKey(container, key, value)
    }
    const code = this.skipBlanks()
    if (code === 0x2c) {
      this.at++
      this.skipBlanks()
      this.key(container)
      return true
    }
    if (code !== 0x7d) this.fail('after object key:value pair')
    this.at++
    return false
  }

  private key(container: JsonObject): void {
    if (this.text.charCodeAt(this.at) !== 0x22) this.fail('looking for beginning of object key string')
    const key = this.string()
    this.keys[this.keys.length - 1] = key
    if (container[key] !== undefined && Object.hasOwn(container, key) && this.duplicates.size < MAX_FINDINGS) this.addDuplicate()
    if (this.skipBlanks() !== 0x3a) this.fail('after object key')
    this.at++
  }

  private addDuplicate(): void {
    const path = this.path()
    if (this.paths.full || this.duplicates.has(path)) return
    this.duplicates.add(path)
    this.paths.count(path.length)
  }

  private path(): string {
    let path = ''
    this.containers.forEach((container, i) => {
      if (Array.isArray(container)) path += `[${container.length}]`
      else path += `${path === '' ? '' : '.'}${this.keys[i]}`
    })
    return path
  }

  private finish(value: Json): Json {
    this.skipBlanks()
    if (this.at < this.text.length) this.fail('after top-level value')
    if (this.outOfRange !== undefined) throw new DecodeError(`json: cannot unmarshal number ${this.outOfRange} into Go value of type float64`)
    return value
  }

  private skipBlanks(): number {
    for (;;) {
      const code = this.text.charCodeAt(this.at)
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return code
      this.at++
    }
  }

  private literal<T>(word: string, value: T): T {
    for (let i = 1; i < word.length; i++) {
      this.at++
      if (this.text[this.at] !== word[i]) this.fail(`in literal ${word} (expecting '${word[i]}')`)
    }
    this.at++
    return value
  }

  private string(): string {
    const text = this.text
    const start = ++this.at
    let at = start
    for (;;) {
      const code = text.charCodeAt(at)
      if (code === 0x22) break
      // NaN, the end of the text, is not greater either.
      if (code === 0x5c || !(code >= 0x20)) return this.escapedString(start, at)
      at++
    }
    this.at = at + 1
    return text.slice(start, at)
  }

  private escapedString(start: number, from: number): string {
    const text = this.text
    this.at = from
    for (;;) {
      const code = text.charCodeAt(this.at)
      if (code === 0x22) break
      if (!(code >= 0x20)) this.fail('in string literal')
      this.at++
      if (code === 0x5c) this.escape()
    }
    this.at++
    return (JSON.parse(text.slice(start - 1, this.at)) as string).toWellFormed()
  }

  private escape(): void {
    const char = this.text[this.at]
    if (char === undefined || !'"\\/bfnrtu'.includes(char)) this.fail('in string escape code')
    this.at++
    if (char !== 'u') return
    for (const end = this.at + 4; this.at < end; this.at++) {
      if (!isHex(this.text.charCodeAt(this.at))) this.fail('in \\u hexadecimal character escape')
    }
  }

  private number(): Json {
    const text = this.text
    const start = this.at
    if (text.charCodeAt(this.at) === 0x2d) this.at++
    if (text.charCodeAt(this.at) === 0x30) this.at++
    else this.digits('in numeric literal')
    const code = text.charCodeAt(this.at)
    if (code !== 0x2e && code !== 0x65 && code !== 0x45) return this.integer(text.slice(start, this.at))
    if (code === 0x2e) {
      this.at++
      this.digits('after decimal point in numeric literal')
    }
    if ((text.charCodeAt(this.at) | 0x20) === 0x65) {
      this.at++
      const sign = text.charCodeAt(this.at)
      if (sign === 0x2b || sign === 0x2d) this.at++
      this.digits('in exponent of numeric literal')
    }
    return this.float(text.slice(start, this.at))
  }

  private digits(context: SyntaxContext): void {
    const start = this.at
    while (isDigit(this.text.charCodeAt(this.at))) this.at++
    if (this.at === start) this.fail(context)
  }

  private integer(token: string): Json {
    // `-0` is the integer 0.
    if (token.length <= 15) return Number(token) + 0
    if (token.length <= 20) {
      const exact = BigInt(token)
      if (exact >= MIN_INT64 && exact <= MAX_INT64) return Number.isSafeInteger(Number(exact)) ? Number(exact) : exact
    }
    const value = Number(token)
    if (!Number.isFinite(value)) this.outOfRange ??= token
    return new Float(value)
  }

  private float(token: string): Json {
    const value = Number(token)
    if (!Number.isFinite(value)) this.outOfRange ??= token
    return Number.isInteger(value) ? this.integralFloat(value) : value
  }

  private fail(context: SyntaxContext): never {
    throw syntaxError(this.text, this.at, context)
  }
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39
}

function isHex(code: number): boolean {
  return isDigit(code) || ((code | 0x20) >= 0x61 && (code | 0x20) <= 0x66)
}
