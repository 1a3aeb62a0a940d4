/**
 * YAML as sigs.k8s.io/yaml reads and prints it: YAML 1.1 scalars without timestamps and sexagesimals, then the JSON data model.
 * upstream: sigs.k8s.io/yaml (YAMLToJSON, YAMLToJSONStrict, JSONToYAML), go.yaml.in/yaml/v2 decode.go, resolve.go
 */
import { Composer, isAlias, isMap, isScalar, isSeq, LineCounter, Parser, type Document, type ScalarTag, type YAMLMap } from 'yaml'
import { DecodeError } from './go-json-error.ts'
import { Float, setKey, type Json, type JsonObject } from './object.ts'
import { goQuote } from './status.ts'
import { yamlErrorText } from './yaml-error.ts'

export { encodeYaml } from './yaml-encode.ts'

/** A decoded YAML document. `duplicates` are lines like `line 10: key "a" already set in map`, in the order upstream finds them. */
export interface DecodedYaml {
  readonly value: Json
  readonly duplicates: string[]
}

const DROPPED = new Set(['tag:yaml.org,2002:timestamp', 'tag:yaml.org,2002:omap', 'tag:yaml.org,2002:pairs', 'tag:yaml.org,2002:set'])

const octal: ScalarTag = {
  tag: 'tag:yaml.org,2002:int',
  default: true,
  test: /^[-+]?0o[0-7_]+$/,
  resolve: (text) => {
    const digits = BigInt(text.replace(/^[-+]/, '').replaceAll('_', ''))
    return text.startsWith('-') ? -digits : digits
  },
}

/**
 * Parses the first document of a YAML text. A key that stands twice has the last value. Throws DecodeError with upstream's text
 * (`yaml: line 3: …`) where it has one for the mistake.
 */
export function decodeYaml(text: string): DecodedYaml {
  const lines = new LineCounter()
  try {
    const document = firstDocument(text, lines)
    if (document === undefined) return { value: null, duplicates: [] }
    const error = document.errors[0]
    if (error) throw new DecodeError(yamlErrorText(error, text, lines))
    const reader = new Reader(document, lines)
    const value = reader.node(document.contents)
    return { value, duplicates: reader.duplicates }
  } catch (error) {
    // The parser recurses; what is nested too deeply for it is over upstream's limit for all that anyone writes.
    if (error instanceof RangeError) throw new DecodeError('yaml: exceeded max depth of 10000')
    throw error
  }
}

function firstDocument(text: string, lines: LineCounter): Document.Parsed | undefined {
  const composer = new Composer({
    version: '1.1',
    intAsBigInt: true,
    uniqueKeys: false,
    lineCounter: lines,
    customTags: (tags) => [
      octal,
      ...tags.filter((tag) => typeof tag === 'string' || !(DROPPED.has(tag.tag) || (tag as ScalarTag).format === 'TIME')),
    ],
  })
  const tokens = new Parser(lines.addNewLine).parse(text)
  for (const document of composer.compose(tokens, true, text.length)) return document as Document.Parsed
  return undefined
}

// upstream: yaml/v2 decode.go allowedAliasRatio
const RATIO_LOW = 400_000
const RATIO_HIGH = 4_000_000

function allowedAliasRatio(decoded: number): number {
  if (decoded <= RATIO_LOW) return 0.99
  if (decoded >= RATIO_HIGH) return 0.1
  return 0.99 - 0.89 * ((decoded - RATIO_LOW) / (RATIO_HIGH - RATIO_LOW))
}

/** Turns nodes into JSON values, counting what aliases expand to. */
class Reader {
  readonly duplicates: string[] = []
  private readonly document: Document.Parsed
  private readonly lines: LineCounter
  private decoded = 0
  private throughAliases = 0
  private readonly aliases: object[] = []

  constructor(document: Document.Parsed, lines: LineCounter) {
    this.document = document
    this.lines = lines
  }

  node(node: unknown): Json {
    this.count()
    if (isAlias(node)) return this.alias(node.source, (target) => this.node(target))
    if (isMap(node)) {
      const out: JsonObject = {}
      this.members(node, out, new Set())
      return out
    }
    if (isSeq(node)) return node.items.map((item) => this.node(item))
    return isScalar(node) ? this.scalar(node.value) : null
  }

  private count(): void {
    this.decoded++
    if (this.aliases.length > 0) this.throughAliases++
    if (this.throughAliases > 100 && this.decoded > 1000 && this.throughAliases / this.decoded > allowedAliasRatio(this.decoded)) {
      throw new DecodeError('yaml: document contains excessive aliasing')
    }
  }

  private alias<T>(name: string, use: (target: unknown) => T): T {
    const target = this.anchor(name)
    if (this.aliases.includes(target)) throw new DecodeError(`yaml: anchor '${name}' value contains itself`)
    this.aliases.push(target)
    const value = use(target)
    this.aliases.pop()
    return value
  }

  private anchors: Map<string, object> | undefined

  // Anchors may be set again; upstream's parser and this one differ only in documents that do so.
  private anchor(name: string): object {
    if (this.anchors === undefined) {
      this.anchors = new Map()
      const pending: unknown[] = [this.document.contents]
      while (pending.length > 0) {
        const node = pending.pop()
        if (isAlias(node) || typeof node !== 'object' || node === null) continue
        const anchor = (node as { anchor?: string }).anchor
        if (anchor !== undefined) this.anchors.set(anchor, node)
        if (isMap(node)) for (const pair of node.items) pending.push(pair.value, pair.key)
        else if (isSeq(node)) for (const item of node.items) pending.push(item)
      }
    }
    const target = this.anchors.get(name)
    if (target === undefined) throw new DecodeError(`yaml: unknown anchor '${name}' referenced`)
    return target
  }

  private members(map: YAMLMap<unknown, unknown>, out: JsonObject, seen: Set<string>): void {
    for (const { key, value } of map.items) {
      if (isMergeKey(key)) {
        this.merge(value, out, seen)
        continue
      }
      const [name, shown] = this.key(key)
      const member = this.node(value)
      // Values before keys: upstream finds inner duplicates first.
      if (seen.has(shown)) this.duplicates.push(`line ${this.line(value, key)}: key ${shown} already set in map`)
      seen.add(shown)
      setKey(out, name, member)
    }
  }

  private merge(value: unknown, out: JsonObject, seen: Set<string>): void {
    this.count()
    if (isAlias(value)) this.alias(value.source, (target) => this.merge(target, out, seen))
    else if (isMap(value)) this.members(value, out, seen)
    // The first of several has precedence.
    else if (isSeq(value)) for (const item of value.items.toReversed()) this.merge(item, out, seen)
    else throw new DecodeError('yaml: map merge requires map or sequence of maps as the value')
  }

  /** The name that a key gets in JSON, and the key in Go's syntax. */
  private key(node: unknown): [name: string, shown: string] {
    const target = isAlias(node) ? this.anchor(node.source) : node
    const value = isScalar(target) ? this.scalar(target.value) : isMap(target) || isSeq(target) ? undefined : null
    if (value === undefined) throw new DecodeError('yaml: invalid map key')
    if (typeof value === 'string') return [value, goQuote(value)]
    if (value === null) throw new DecodeError('unsupported map key of type: %!s(<nil>), key: <nil>')
    const text = value instanceof Float ? String(value.value) : String(value)
    return [text, text]
  }

  private line(value: unknown, key: unknown): number {
    const start = (value as { range?: [number, number, number] } | null)?.range?.[0] ?? (key as { range?: [number, number, number] }).range?.[0] ?? 0
    return this.lines.linePos(start).line
  }

  private scalar(value: unknown): Json {
    if (typeof value === 'bigint') return integer(value)
    if (typeof value === 'number') return float(value)
    if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8')
    if (typeof value === 'string') return value.toWellFormed()
    return typeof value === 'boolean' ? value : null
  }
}

function isMergeKey(key: unknown): boolean {
  if (!isScalar(key)) return false
  return typeof key.value === 'symbol' || (key.value === '<<' && key.type === 'PLAIN')
}

function integer(value: bigint): Json {
  if (BigInt.asIntN(64, value) !== value) return new Float(Number(value))
  return Number.isSafeInteger(Number(value)) ? Number(value) : value
}

// Upstream goes through JSON text, where an integral float is written without a fraction, so that it comes back as an int64.
function float(value: number): Json {
  if (Number.isNaN(value)) throw new DecodeError('json: unsupported value: NaN')
  if (!Number.isFinite(value)) throw new DecodeError(`json: unsupported value: ${value > 0 ? '+' : '-'}Inf`)
  if (!Number.isInteger(value)) return value
  return Math.abs(value) < 1e21 ? integer(BigInt(String(value))) : new Float(value)
}
