/** Comparing the outputs of one cell with those of its reference. */
import { createHash } from 'node:crypto'
import { getKey } from '../api/object.ts'
import type { Json, JsonObject } from '../api/object.ts'
import { resolveCarriageReturns } from './clean-text.ts'
import type { OutputOptions } from './comparison-options.ts'
import { compareJson } from './compare-json.ts'
import { compareNormalized, compareText, fitDifference, normalizeText } from './compare-text.ts'
import { joinLines, parseOutput } from './notebook.ts'
import type { Output } from './notebook.ts'
import type { Difference } from './report-types.ts'

/** The differences of a cell. */
export type OutputComparison = {
  /** Those that make a mismatch. At most 50. */
  readonly differences: readonly Difference[]
  /** Those that the options let pass: images that differ. At most 50. */
  readonly notices: readonly Difference[]
  /** Some were left out. */
  readonly truncated: boolean
}

type Stream = { readonly name: string; readonly text: string; readonly index: number }
type Rich = { readonly output: Exclude<Output, { type: 'stream' }>; readonly index: number }
type Comparable = { readonly streams: ReadonlyMap<string, Stream>; readonly rich: readonly Rich[] }

/** Differences of a cell that the API takes. */
export const MAX_DIFFERENCES = 50
const WIDGET_VIEW = 'application/vnd.jupyter.widget-view+json'

/**
 * Compares two lists of nbformat outputs. Streams are joined by name, so that neither their chunks nor the order of
 * stdout and stderr count; the others are compared place by place, MIME bundles key by key. Execution counts, metadata
 * and tracebacks are never looked at, widget views neither.
 */
export function compareOutputs(expected: readonly JsonObject[], actual: readonly JsonObject[], options: OutputOptions): OutputComparison {
  const [e, a] = [prepare(expected, options), prepare(actual, options)]
  const found = [...compareStreams(e, a, options), ...compareRich(e.rich, a.rich, options)]
  const notices = found.filter((difference) => isNotice(difference, options))
  const differences = found.filter((difference) => !isNotice(difference, options))
  return {
    differences: differences.slice(0, MAX_DIFFERENCES).map(fitDifference),
    notices: notices.slice(0, MAX_DIFFERENCES).map(fitDifference),
    truncated: differences.length > MAX_DIFFERENCES || notices.length > MAX_DIFFERENCES,
  }
}

function isNotice(difference: Difference, options: OutputOptions): boolean {
  return difference.kind === 'Image' && options.images === 'Ignore'
}

function prepare(outputs: readonly JsonObject[], options: OutputOptions): Comparable {
  const streams = new Map<string, { name: string; index: number; chunks: string[] }>()
  const rich: Rich[] = []
  for (const [index, value] of outputs.entries()) {
    const output = parseOutput(value)
    if (!output || options.ignoredOutputTypes.has(output.type)) continue
    if (output.type !== 'stream') rich.push({ output, index })
    else if (streams.has(output.name)) streams.get(output.name)!.chunks.push(output.text)
    else if (!options.ignoredStreams.has(output.name)) streams.set(output.name, { name: output.name, index, chunks: [output.text] })
  }
  // Coalescing resolves carriage returns in every mode: the runner has done so to what it wrote.
  const joined = [...streams.values()].map(({ name, index, chunks }) => {
    return { name, index, text: normalizeText(resolveCarriageReturns(chunks.join('')), options) }
  })
  // A stream of nothing but progress bars is as if it had not been written.
  return { streams: new Map(joined.filter(({ text }) => text !== '').map((stream) => [stream.name, stream])), rich }
}

function compareStreams(expected: Comparable, actual: Comparable, options: OutputOptions): Difference[] {
  const names = new Set([...expected.streams.keys(), ...actual.streams.keys()])
  return [...names].flatMap((name) => {
    const [e, a] = [expected.streams.get(name), actual.streams.get(name)]
    const mimeType = `application/vnd.jupyter.${name}`
    if (!a) return [missing(e!.index, mimeType, e!.text)]
    if (!e) return [extra(a.index, mimeType, a.text)]
    const difference = compareNormalized(e.text, a.text, options)
    return difference ? [{ outputIndex: a.index, mimeType, ...difference }] : []
  })
}

function compareRich(expected: readonly Rich[], actual: readonly Rich[], options: OutputOptions): Difference[] {
  const differences: Difference[] = []
  for (let i = 0; i < Math.max(expected.length, actual.length) && differences.length <= 2 * MAX_DIFFERENCES; i++) {
    const [e, a] = [expected[i], actual[i]]
    if (!a) differences.push(missing(e!.index, e!.output.type, summarize(e!.output)))
    else if (!e) differences.push(extra(a.index, a.output.type, summarize(a.output)))
    else differences.push(...comparePair(e.output, a.output, options).map((difference) => ({ outputIndex: a.index, ...difference })))
  }
  return differences
}

function comparePair(expected: Rich['output'], actual: Rich['output'], options: OutputOptions): Difference[] {
  if (expected.type === 'error' && actual.type === 'error') {
    const difference = compareText(`${expected.name}: ${expected.value}`, `${actual.name}: ${actual.value}`, options)
    return difference ? [{ mimeType: 'application/vnd.jupyter.error', ...difference }] : []
  }
  if (expected.type === 'error' || actual.type === 'error' || expected.type !== actual.type) {
    return [{ kind: 'OutputType', expected: `${expected.type}: ${summarize(expected)}`, actual: `${actual.type}: ${summarize(actual)}` }]
  }
  const mimeTypes = new Set([...Object.keys(expected.data), ...Object.keys(actual.data)])
  return [...mimeTypes]
    .filter((mimeType) => !isIgnored(mimeType, options))
    .flatMap((mimeType) => compareData(mimeType, getKey(expected.data, mimeType), getKey(actual.data, mimeType), options))
}

function isIgnored(mimeType: string, options: OutputOptions): boolean {
  const { ignoredMimeTypes } = options
  return mimeType === WIDGET_VIEW || ignoredMimeTypes.has(mimeType) || ignoredMimeTypes.has(`${mimeType.split('/', 1)[0]}/*`)
}

function compareData(mimeType: string, expected: Json | undefined, actual: Json | undefined, options: OutputOptions): Difference[] {
  if (isImage(mimeType)) {
    const [e, a] = [expected, actual].map((data) => (data === undefined ? undefined : fingerprint(data)))
    return e === a ? [] : [{ kind: 'Image', mimeType, ...(e === undefined ? {} : { expected: e }), ...(a === undefined ? {} : { actual: a }) }]
  }
  if (actual === undefined) return [{ kind: 'MissingOutput', mimeType, expected: textOf(expected) }]
  if (expected === undefined) return [{ kind: 'ExtraOutput', mimeType, actual: textOf(actual) }]
  const [e, a] = isJson(mimeType) ? [undefined, undefined] : [joinLines(expected), joinLines(actual)]
  const difference = e === undefined || a === undefined ? compareJson(expected, actual, options) : compareText(e, a, options)
  return difference ? [{ mimeType, ...difference }] : []
}

/** Pictures, documents, sound and film: content that is compared byte by byte, under the option `images`. */
export function isImage(mimeType: string): boolean {
  return /^(?:image|audio|video)\//.test(mimeType) || mimeType === 'application/pdf'
}

function isJson(mimeType: string): boolean {
  return mimeType === 'application/json' || mimeType.endsWith('+json')
}

/** Hash and size of a base64 (or SVG) payload; line breaks, which writers set as they like, do not count. */
function fingerprint(data: Json): string {
  const payload = (joinLines(data) ?? JSON.stringify(data, (_, value) => (typeof value === 'bigint' ? String(value) : value))).replace(/[\r\n]/g, '')
  const size = payload.startsWith('<') ? Buffer.byteLength(payload) : Buffer.byteLength(payload, 'base64')
  return `sha256:${createHash('sha256').update(payload).digest('hex').slice(0, 16)} (${size} bytes)`
}

function textOf(data: Json | undefined): string {
  return joinLines(data) ?? '(JSON)'
}

function summarize(output: Rich['output']): string {
  if (output.type === 'error') return `${output.name}: ${output.value}`.slice(0, 1000)
  const text = joinLines(getKey(output.data, 'text/plain'))
  return text?.slice(0, 1000) ?? Object.keys(output.data).slice(0, 5).join(', ')
}

function missing(outputIndex: number, mimeType: string, expected: string): Difference {
  return { outputIndex, kind: 'MissingOutput', mimeType: mimeTypeOf(mimeType), expected }
}

function extra(outputIndex: number, mimeType: string, actual: string): Difference {
  return { outputIndex, kind: 'ExtraOutput', mimeType: mimeTypeOf(mimeType), actual }
}

function mimeTypeOf(type: string): string {
  if (type.includes('/')) return type
  return type === 'error' ? 'application/vnd.jupyter.error' : 'text/plain'
}
