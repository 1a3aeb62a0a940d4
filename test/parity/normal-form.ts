/**
 * Answers in a form in which two servers can be compared: what differs from run to run (uids, resourceVersions, times, …) becomes a name by
 * order of first appearance within a scenario, so that equality still shows; what has no order is sorted. The recorded answers are in this
 * form.
 */
import type { Recorded } from './scenarios.ts'
import type { RawAnswer } from './send.ts'

const HEADERS = new Set(['content-type', 'cache-control', 'allow', 'location', 'www-authenticate', 'retry-after', 'content-disposition'])
const NOW = '<now>'

/** The names given in one scenario. */
export class Names {
  readonly #byKind = new Map<string, Map<string, string>>()

  of(kind: string, value: string): string {
    const known = this.all(kind)
    const name = known.get(value) ?? `<${kind}${known.size + 1}>`
    known.set(value, name)
    return name
  }

  all(kind: string): Map<string, string> {
    const known = this.#byKind.get(kind) ?? new Map<string, string>()
    this.#byKind.set(kind, known)
    return known
  }
}

/** The body as JSON where it is JSON; a stream is a list of its lines. `revive` is that of JSON.parse. */
export function parseBody(text: string, stream: boolean, revive?: Parameters<typeof JSON.parse>[1]): unknown {
  try {
    return stream ? text.split('\n').filter((line) => line !== '').map((line) => JSON.parse(line, revive) as unknown) : JSON.parse(text, revive)
  } catch {
    return text
  }
}

/** The normal form of an answer. `body` is undefined where it does not count. */
export function normalAnswer(raw: RawAnswer, body: unknown, names: Names): Recorded {
  const headers: Record<string, string | string[]> = {}
  for (const [name, value] of raw.headers) if (HEADERS.has(name)) headers[name] = value
  const warnings = raw.headers.filter(([name]) => name === 'warning').map(([, value]) => value)
  if (warnings.length > 0) headers.warning = warnings.sort()
  const frames = Array.isArray(body) ? body.filter((frame) => !isPeriodicBookmark(frame)).map(sortFrame) : body
  return { status: raw.status, headers, body: frames === undefined ? null : sorted(normal(frames, names, [])) }
}

// Bookmarks of progress come when they come.
function isPeriodicBookmark(frame: unknown): boolean {
  return isRecord(frame) && frame.type === 'BOOKMARK' && !JSON.stringify(frame).includes('initial-events-end')
}

function sortFrame(frame: unknown): unknown {
  if (!isRecord(frame)) return frame
  return frame.type === undefined ? sorted(frame) : { ...frame, object: sorted(frame.object) }
}

type Path = readonly string[]

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function normal(value: unknown, names: Names, path: Path): unknown {
  if (typeof value === 'string') return normalText(value, names)
  if (Array.isArray(value)) return value.map((item) => normal(item, names, path))
  if (!isRecord(value)) return value
  const ofList = 'items' in value || value.kind === 'Table'
  const members = Object.entries(value).filter(([key]) => key !== 'selfLink')
  const place = (key: string): Path => [...path, key === 'metadata' && ofList ? 'list' : key]
  // Unlike an assignment, this makes a member of `__proto__` too.
  return Object.fromEntries(members.map(([key, member]) => [key.startsWith('k:{"uid":') ? normalText(key, names) : key, normalMember(key, member, names, path) ?? normal(member, names, place(key))]))
}

// Undefined: nothing special about this member.
function normalMember(key: string, value: unknown, names: Names, path: Path): unknown {
  if (key === 'managedFields' && Array.isArray(value)) return value.map((entry) => timeless(normal(entry, names, path))).sort(byText)
  if (typeof value !== 'string') return undefined
  const parent = path.at(-1)
  if (key === 'uid' && value.length === 36) return names.of('uid', value)
  // A list's moves with the writes of others.
  if (key === 'resourceVersion' && parent === 'list') return value === '' ? value : '<list-rv>'
  if (key === 'resourceVersion' && /^\d+$/.test(value)) return names.of('rv', value)
  if (key === 'creationTimestamp' || key === 'deletionTimestamp') return NOW
  if (key === 'continue' && value !== '') return '<continue>'
  if (key === 'name' && parent === 'metadata' && /-gen-[a-z0-9]{5}$/.test(value)) return names.of('gen', value)
  return undefined
}

function timeless(entry: unknown): unknown {
  const members = isRecord(entry) ? Object.entries(entry).map(([key, value]) => [key, key === 'time' ? NOW : value] as const) : []
  return Object.fromEntries([...members].sort(([a], [b]) => byCodePoint(a, b)))
}

const PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/\b202[6-9]-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, NOW],
  [/(too old resource version: \d+) \(\d+\)/g, '$1 (<n>)'],
  [/(Too large resource version: \d+, current: )(?:\d+|<rv\d+>)/g, '$1<n>'],
  [/(\nmetadata:\n {2}continue: ""\n {2}resourceVersion: ")[^"]*/g, '$1<list-rv>'],
  [/-gen-[a-z0-9]{5}\b/g, '-gen-<x>'],
  [/0xc[0-9a-f]{9}/g, '<ptr>'],
]

function normalText(text: string, names: Names): string {
  let out = text
  for (const [revision, name] of names.all('rv')) if (revision.length > 2) out = out.replace(new RegExp(`(?<!\\d)${revision}(?!\\d)`, 'g'), name)
  for (const [uid, name] of names.all('uid')) out = out.replaceAll(uid, name)
  out = out.replace(/(resourceVersion\W{1,8})(\d+)/g, (_whole, lead: string, revision: string) => lead + names.of('rv', revision))
  out = out.replace(/(ResourceVersion in record \()(\d+)/g, (_whole, lead: string, revision: string) => lead + names.of('rv', revision))
  // Of a patch that copies it to where something else belongs.
  out = out.replace(/(accessor error: )(\d{5,})/g, (_whole, lead: string, revision: string) => lead + names.of('rv', revision))
  out = out.replace(/(uid\W{1,8})([0-9a-f]{8}-[0-9a-f-]{27})/g, (_whole, lead: string, uid: string) => lead + names.of('uid', uid))
  out = out.replace(/(UID in (?:object meta: |record \())([0-9a-f]{8}-[0-9a-f-]{27})/g, (_whole, lead: string, uid: string) => lead + names.of('uid', uid))
  for (const [pattern, replacement] of PATTERNS) out = out.replace(pattern, replacement)
  return out
}

/** A recorded answer as it is compared: its managedFields in the order of ours. */
export function normalReference({ status, headers, body }: Recorded): Recorded {
  const ordered = withSortedManagedFields(body)
  return { status, headers, body: Array.isArray(ordered) ? ordered.map(sortFrame) : sorted(ordered) }
}

function withSortedManagedFields(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withSortedManagedFields)
  if (!isRecord(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, key === 'managedFields' && Array.isArray(member) ? member.map(timeless).sort(byText) : withSortedManagedFields(member)]),
  )
}

// Causes and the errors of an aggregate have no order, nor have the resources of a discovery document; ages pass.
function sorted(value: unknown): unknown {
  if (!isRecord(value)) return value
  if (value.kind === 'Status') return sortedStatus(value)
  if (value.kind === 'APIResourceList') return { ...value, resources: sortedResources(value.resources as Record<string, unknown>[]) }
  if (value.kind === 'Table') return withoutAges(value)
  return value
}

function sortedStatus(status: Record<string, unknown>): unknown {
  const { details, message } = status
  // Which of several errors are named is random.
  if (typeof message === 'string' && message.includes('create typed patch object')) return { ...status, message: message.replace(/\): [\s\S]*/, ')') }
  if (typeof message === 'string' && message.includes(': field not declared in schema')) {
    return { ...status, message: message.replace(/(errors:\n[\s\S]*?)?\.\S*: field not declared in schema[\s\S]*/, '<undeclared>') }
  }
  if (!isRecord(details) || !Array.isArray(details.causes) || details.causes.length === 0) return status
  const causes = [...(details.causes as unknown[])].sort(byText)
  return { ...status, details: { ...details, causes }, ...(typeof message === 'string' ? { message: sortedAggregate(message) } : {}) }
}

function sortedAggregate(message: string): string {
  const start = message.indexOf(': [')
  if (start < 0 || !message.endsWith(']')) return message
  return `${message.slice(0, start)}: [${message.slice(start + 3, -1).split(', ').sort(byCodePoint).join(' | ')}]`
}

function sortedResources(resources: readonly Record<string, unknown>[]): unknown[] {
  return resources
    .map((resource) => (resource.storageVersionHash ? { ...resource, storageVersionHash: '<hash>' } : resource))
    .sort((a, b) => byCodePoint(String(a.name), String(b.name)))
}

function withoutAges(table: Record<string, unknown>): unknown {
  const columns = ((table.columnDefinitions ?? []) as { name: string }[]).map(({ name }) => name)
  const rows = (table.rows ?? []) as { cells: unknown[] }[]
  const cell = (value: unknown, name: string | undefined) => ((name === 'Age' || name === 'Created At') && value !== null && value !== '<unknown>' ? '<age>' : value)
  return { ...table, rows: rows.map((row) => ({ ...row, cells: row.cells.slice(0, columns.length).map((value, i) => cell(value, columns[i])) })) }
}

const byCodePoint = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

// As the recorder sorted: by the text of each cause, its members in the order in which they came.
const byText = (a: unknown, b: unknown): number => byCodePoint(JSON.stringify(a), JSON.stringify(b))
