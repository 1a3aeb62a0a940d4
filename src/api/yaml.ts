/**
 * YAML as sigs.k8s.io/yaml reads and prints it: YAML 1.1 scalars without timestamps and sexagesimals, then the JSON data model.
 * upstream: sigs.k8s.io/yaml (YAMLToJSON, YAMLToJSONStrict, JSONToYAML), go.yaml.in/yaml/v2 decode.go, resolve.go
 */
import { Composer, isAlias, isMap, isScalar, isSeq, LineCounter, Parser, type CST, type Document, type Scalar, type YAMLMap } from 'yaml'
import { BoundedTexts } from './error-limits.ts'
import { DecodeError } from './go-json-error.ts'
import { decodeJson } from './json-parse.ts'
import { Float, setKey, type Json, type JsonObject } from './object.ts'
import { goQuote } from './status.ts'
import { yamlErrorText } from './yaml-error.ts'
import { jsonScalar, resolvePlain } from './yaml-resolve.ts'

export { encodeYaml } from './yaml-encode.ts'

/** A decoded YAML document. `duplicates` are lines like `line 10: key "a" already set in map`, in the order upstream finds them. */
export interface DecodedYaml {
  readonly value: Json
  readonly duplicates: string[]
}

/** Decodes a text as `decodeYaml` does, perhaps having done so before. */
export type YamlDecoder = (text: string) => DecodedYaml

// upstream: readerc.go yaml_parser_update_buffer; a byte order mark may only come first
// oxlint-disable-next-line no-control-regex -- all that is not printable is looked for
const CONTROL = /(?!^)\ufeff|[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u

/**
 * Parses the first document of a YAML text. A key that stands twice has the last value. Throws DecodeError with upstream's text
 * (`yaml: line 3: …`) where it has one for the mistake.
 */
export function decodeYaml(text: string): DecodedYaml {
  if (CONTROL.test(text)) throw new DecodeError('yaml: control characters are not allowed')
  const json = decodeJsonText(text)
  if (json !== undefined) return json
  const lines = new LineCounter()
  try {
    const document = firstDocument(text, lines)
    if (document === undefined) return { value: null, duplicates: [] }
    const error = document.errors[0]
    if (error) throw new DecodeError(yamlErrorText(error, text, lines))
    const reader = new Reader(document, lines)
    const value = reader.node(document.contents)
    return { value, duplicates: reader.found.texts }
  } catch (error) {
    // The parser recurses; what is nested too deeply for it is over upstream's limit for all that anyone writes.
    if (error instanceof RangeError) throw new DecodeError('yaml: exceeded max depth of 10000')
    throw error
  }
}

// upstream: yaml/v2 parserc.go max_flow_level
const MAX_JSON_DEPTH = 10_000

/**
 * The value of a YAML text that is a JSON object, which is read many times faster as such: most bodies of server-side apply are. Undefined for
 * what is none, and for what reads differently as YAML or has texts of its own there.
 */
export function decodeJsonText(text: string): DecodedYaml | undefined {
  if (!text.startsWith('{') || CONTROL.test(text)) return undefined
  try {
    const { value, duplicates } = decodeJson(text, { maxDepth: MAX_JSON_DEPTH, integralFloat: jsonScalar })
    return duplicates.length === 0 ? { value, duplicates } : undefined
  } catch {
    return undefined
  }
}

function firstDocument(text: string, lines: LineCounter): Document.Parsed | undefined {
  // All scalars as strings: what they mean is for resolvePlain to say.
  const composer = new Composer({ version: '1.1', schema: 'failsafe', merge: false, uniqueKeys: false, lineCounter: lines })
  const tokens = untilClosed(new Parser(lines.addNewLine).parse(text))
  for (const document of composer.compose(tokens, true, text.length)) return document as Document.Parsed
  return undefined
}

const BLANK = new Set<string>(['space', 'newline', 'comment', 'flow-map-end', 'flow-seq-end'])

// Upstream reads no further than to the end of what is in brackets or quotes: what follows would belong to another document.
function* untilClosed(tokens: Iterable<CST.Token>): Generator<CST.Token> {
  for (const token of tokens) {
    const root = token.type === 'document' ? token.value : undefined
    const closed = root?.type === 'flow-collection' || root?.type === 'double-quoted-scalar' || root?.type === 'single-quoted-scalar'
    if (token.type !== 'document' || !closed) {
      yield token
      continue
    }
    const after = root.end?.findIndex(({ type }) => !BLANK.has(type)) ?? -1
    const { end: _end, ...document } = token
    yield { ...document, value: after < 0 ? root : ({ ...root, end: root.end?.slice(0, after) } as CST.Token) }
    return
  }
}

// upstream: yaml/v2 decode.go allowedAliasRatio
const RATIO_LOW = 400_000
const RATIO_HIGH = 4_000_000

// Text that aliases may repeat: as much as a request may have. Upstream counts values alone; its store then refuses what comes out.
const MAX_ALIASED_TEXT = 3 * 1024 * 1024

function allowedAliasRatio(decoded: number): number {
  if (decoded <= RATIO_LOW) return 0.99
  if (decoded >= RATIO_HIGH) return 0.1
  return 0.99 - 0.89 * ((decoded - RATIO_LOW) / (RATIO_HIGH - RATIO_LOW))
}

const EXCESSIVE = 'yaml: document contains excessive aliasing'

/** Turns nodes into JSON values, counting what aliases expand to. */
class Reader {
  readonly found = new BoundedTexts()
  private readonly document: Document.Parsed
  private readonly lines: LineCounter
  private decoded = 0
  private throughAliases = 0
  private aliasedText = 0
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
    return isScalar(node) ? this.scalar(node) : null
  }

  private scalar(node: Scalar): Json {
    if (this.aliases.length > 0) this.countText(node)
    return scalar(node)
  }

  private countText(node: Scalar): void {
    this.aliasedText += String(node.value).length
    if (this.aliasedText > MAX_ALIASED_TEXT) throw new DecodeError(EXCESSIVE)
  }

  private count(): void {
    this.decoded++
    if (this.aliases.length > 0) this.throughAliases++
    if (this.throughAliases > 100 && this.decoded > 1000 && this.throughAliases / this.decoded > allowedAliasRatio(this.decoded)) {
      throw new DecodeError(EXCESSIVE)
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
      const { name, identity } = this.key(key)
      const member = this.node(value)
      // Values before keys: upstream finds inner duplicates first.
      if (seen.has(identity)) this.addDuplicate(this.line(value, key), identity)
      seen.add(identity)
      setKey(out, name, member)
    }
  }

  private addDuplicate(line: number, identity: string): void {
    if (this.found.full) return
    this.found.add(`line ${line}: key ${identity.startsWith('\0') ? identity.slice(1) : goQuote(identity)} already set in map`)
  }

  private merge(value: unknown, out: JsonObject, seen: Set<string>): void {
    this.count()
    if (isAlias(value)) this.alias(value.source, (target) => this.merge(target, out, seen))
    else if (isMap(value)) this.members(value, out, seen)
    // The first of several has precedence.
    else if (isSeq(value)) for (const item of value.items.toReversed()) this.merge(item, out, seen)
    else throw new DecodeError('yaml: map merge requires map or sequence of maps as the value')
  }

  // The name that a key gets in JSON, and what tells it from others: the text of a string, for the rest Go's syntax behind a NUL.
  private key(node: unknown): { readonly name: string; readonly identity: string } {
    const target = isAlias(node) ? this.anchor(node.source) : node
    if (isAlias(node) && isScalar(target)) this.countText(target)
    const value = isScalar(target) ? scalar(target) : isMap(target) || isSeq(target) ? undefined : null
    if (value === undefined) throw new DecodeError('yaml: invalid map key')
    if (typeof value === 'string') return { name: value, identity: value }
    if (value === null) throw new DecodeError('unsupported map key of type: %!s(<nil>), key: <nil>')
    const text = value instanceof Float ? String(value.value) : String(value)
    return { name: text, identity: `\0${text}` }
  }

  private line(value: unknown, key: unknown): number {
    const start = (value as { range?: [number, number, number] } | null)?.range?.[0] ?? (key as { range?: [number, number, number] }).range?.[0] ?? 0
    return this.lines.linePos(start).line
  }
}

function isMergeKey(key: unknown): boolean {
  return isScalar(key) && key.type === 'PLAIN' && key.value === '<<' && key.tag === undefined
}

const TAG = 'tag:yaml.org,2002:'
const RESOLVED_TAGS = new Set([undefined, `${TAG}int`, `${TAG}float`, `${TAG}bool`, `${TAG}null`, `${TAG}merge`, `${TAG}timestamp`])

function scalar(node: Scalar): Json {
  const text = typeof node.value === 'string' ? node.value.toWellFormed() : ''
  if (node.tag === `${TAG}binary`) return decodeBinary(text)
  // Quoted text is a string, unless a tag says otherwise.
  const plain = node.type === 'PLAIN' || node.type === undefined || node.tag !== undefined
  return plain && RESOLVED_TAGS.has(node.tag) ? jsonScalar(resolvePlain(text)) : text
}

function decodeBinary(text: string): string {
  const compact = text.replaceAll(/\s/g, '')
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(compact) || compact.length % 4 !== 0) throw new DecodeError('yaml: !!binary value contains invalid base64 data')
  return Buffer.from(compact, 'base64').toString('utf8')
}
